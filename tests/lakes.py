"""What tests of lakes share."""

import importlib.util

import pytest

needs_lake = pytest.mark.skipif(
    importlib.util.find_spec("deltalake") is None,
    reason="deltalake not installed: see the extra lake",
)
