"""The most lines that each room may have: a feature that enters says what leaves.

`python tests/test_budget.py` prints the lines of the rooms as they are, in the form of `budget.toml`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUDGET = Path(__file__).with_name("budget.toml")

pytestmark = pytest.mark.skipif(
    not (ROOT / "sql").is_dir(), reason="the tests do not run from a checkout"
)


def lines() -> dict[str, int]:
    """Return the lines of Python and SQL by room: an extension is one, a folder of SQL too."""
    found: dict[str, int] = {}
    for top in ("warehouse", "sql", "migrations"):
        for path in sorted((ROOT / top).rglob("*")):
            inside = path.relative_to(ROOT)
            if not path.name.endswith((".py", ".sql", ".sql.j2")) or "__pycache__" in path.parts:
                continue
            depth = 3 if inside.parts[1] == "extensions" else 2
            room = "/".join(inside.parent.parts[: 1 if top == "migrations" else depth])
            found[room] = found.get(room, 0) + len(path.read_text(encoding="utf-8").splitlines())
    return found


def test_no_room_has_more_lines_than_its_budget() -> None:
    budget = tomllib.loads(BUDGET.read_text(encoding="utf-8"))
    found = lines()
    assert {room: n for room, n in found.items() if n > budget.get(room, 0)} == {}
    # a core without extensions is tested, too
    gone = {room for room in budget.keys() - found.keys() if "extensions" not in room}
    assert not gone, "delete their lines in the budget"


if __name__ == "__main__":
    print("# The most lines of Python and SQL of each room.")
    print("\n".join(f'"{room}" = {number}' for room, number in lines().items()))
