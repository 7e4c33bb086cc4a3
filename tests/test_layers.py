"""How the package is cut: the contract of the layers names every module, and none is a long read."""

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


def test_no_module_is_longer_than_400_lines() -> None:
    lines = {str(path): len(path.read_text("utf-8").splitlines()) for path in ROOT.rglob("*.py")}
    assert {path: count for path, count in lines.items() if count > 400} == {}
