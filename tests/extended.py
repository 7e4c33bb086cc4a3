"""A mark for tests of the whole house, which a core without extensions does not have."""

from pathlib import Path
from types import ModuleType

import pytest

import warehouse

FOLDER = Path(warehouse.__file__).parent / "extensions"
needs_extensions = pytest.mark.skipif(not FOLDER.is_dir(), reason="a core without extensions")


def extension(name: str) -> ModuleType:
    """Return an extension; without it, the test is skipped."""
    return pytest.importorskip(
        f"warehouse.extensions.{name}", reason=f"without the extension {name}"
    )


def needs(name: str) -> pytest.MarkDecorator:
    """Return the mark of a test that needs one extension."""
    return pytest.mark.skipif(not (FOLDER / name).is_dir(), reason=f"without the extension {name}")
