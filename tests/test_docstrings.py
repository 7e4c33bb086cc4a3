"""The docstrings say what is true: their examples are run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import pytest

import warehouse


def modules() -> list[str]:
    """Return the name of every module of the package."""
    found = pkgutil.walk_packages(warehouse.__path__, "warehouse.")
    skipped = ("warehouse.migrations", "warehouse.sql")
    return ["warehouse", *(m.name for m in found if not m.name.startswith(skipped))]


# The examples of the class are a tour of it.
TOUR = "warehouse.warehouse"


@pytest.mark.sample(8, 2)
@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name == TOUR else []) for name in modules()],
)
def test_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, made = tmp_path / "here", tmp_path / "made"
    here.mkdir()
    made.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    module: ModuleType = importlib.import_module(name)
    done = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert done.failed == 0
    assert list(here.iterdir()) == []


def test_there_are_docstrings_with_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    count = sum(
        len(test.examples)
        for name in modules()
        for test in finder.find(importlib.import_module(name))
    )
    assert count > 20
    assert sys.version_info >= (3, 11)
