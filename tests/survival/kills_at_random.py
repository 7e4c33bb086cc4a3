"""Kills at random moments of every operation: what was acknowledged is there, and nothing by half.

Half of the moments are anywhere in the operation, half soon after a commit has begun.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

from operations import OPERATIONS

from tests.survival.bench import Bench, Contents
from tests.survival.outcome import Outcome

# An operation takes longer when others use the processors too, and then the kill is early.
_SLOWER = 1.2


def survive(outcome: Outcome, count: int, seed: int) -> None:
    """Kill so many processes."""
    with tempfile.TemporaryDirectory(prefix="survival-") as place:
        bench = Bench(Path(place).resolve())
        try:
            _survive(bench, outcome, count, random.Random(seed))
        finally:
            bench.close()


def _survive(bench: Bench, outcome: Outcome, count: int, dice: random.Random) -> None:
    after: dict[str, Contents] = {}
    said: dict[str, Any] = {}
    names = list(OPERATIONS)[: max(count, 1)]
    for name in names:
        with bench.copy() as folder:
            done = bench.do(name)
            assert done["error"] is None, (name, done)
            after[name], said[name] = bench.contents(folder), done["said"]
    outcome.begin(0, f"{count:,} kills of {len(names)} operations")
    while outcome.ends["killed"] < count:
        name = names[outcome.ends.total() % len(names)]
        moment = _moment(said[name], dice)
        with bench.copy(), outcome.case(f"{name}, killed {moment}"):
            bench.check(name, bench.do(name, kill=moment), after[name], outcome)


def _moment(said: list[tuple[str, float]], dice: random.Random) -> tuple[str, int, float]:
    """Choose a word, how many of that word come before, and the seconds after it."""
    commits = [when for word, when in said if word == "commit"]
    begun, ended = said[0][1], said[-1][1]
    if not commits or dice.random() < 0.5:
        return "begin", 0, dice.random() * (ended - begun) * _SLOWER
    number = dice.randrange(len(commits))
    return "commit", number, dice.random() ** 2 * (ended - commits[number]) * _SLOWER
