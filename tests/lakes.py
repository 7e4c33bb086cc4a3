"""What tests of lakes share."""

from importlib.util import find_spec
from pathlib import Path

import pytest

import warehouse

EXTENSION = Path(warehouse.__file__).parent / "extensions" / "lake"
needs_lake = pytest.mark.skipif(
    find_spec("deltalake") is None or not EXTENSION.is_dir(),
    reason="deltalake not installed: see the extra lake",
)
