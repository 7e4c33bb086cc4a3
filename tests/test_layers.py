"""The rooms of the package: the contract of the layers names every one of them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import warehouse

ROOT = Path(warehouse.__file__).parent
PROJECT = ROOT.parent / "pyproject.toml"


@pytest.mark.skipif(not PROJECT.exists(), reason="the tests do not run from a checkout")
def test_every_room_has_a_floor() -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    named = {name for layer in contract["layers"] for name in layer.strip("()").split(" : ")}
    inside = (*ROOT.glob("*.py"), *(path.parent for path in ROOT.glob("*/__init__.py")))
    # a core without extensions is tested, too
    assert {path.stem for path in inside} - {"__init__"} | {"extensions"} == named
