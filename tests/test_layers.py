"""The contract of the layers names every module: what it does not name, it does not look at."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import warehouse

ROOT = Path(warehouse.__file__).parent
PROJECT = ROOT.parent / "pyproject.toml"


@pytest.mark.skipif(not PROJECT.exists(), reason="the tests do not run from a checkout")
def test_every_module_has_a_floor() -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    named = {name for layer in contract["layers"] for name in layer.split(" : ")}
    inside = (*ROOT.glob("*.py"), *(path.parent for path in ROOT.glob("*/__init__.py")))
    assert {f"warehouse.{path.stem}" for path in inside} - {"warehouse.__init__"} == named
