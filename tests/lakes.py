"""What tests of lakes share."""

from importlib.util import find_spec

import pytest
from extended import FOLDER

needs_lake = pytest.mark.skipif(
    find_spec("deltalake") is None or not (FOLDER / "lake").is_dir(),
    reason="deltalake not installed: see the extra lake",
)
