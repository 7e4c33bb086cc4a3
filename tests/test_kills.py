"""kill -9 at random moments of everything that writes: nothing acknowledged is lost or half done."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest
from kills import Folder, Step

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")

KINDS = ("ingest", "evaluate", "replace", "migrate", "create", "publish")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    made = Folder(tmp_path / "project")
    yield made
    made.close()


class Times:
    """How long a step of each kind takes, and when it says that it commits, as measured here."""

    def __init__(self, folder: Folder, rounds: int) -> None:
        said = []
        for _ in range(rounds):
            steps = [folder.step(kind) for kind in KINDS]
            answer = folder.ask(steps, None)
            done(folder, steps, answer)
            said.append(answer["said"])
        self.whole: dict[str, float] = {}
        self.after_commits: dict[str, list[float]] = {}
        for number, kind in enumerate(KINDS):
            rounds_said = [[w for w in words if w[1] == number] for words in said]
            self.whole[kind] = median(words[-1][2] - words[0][2] for words in rounds_said)
            # from each commit to the end: the first of several rounds stands for all
            self.after_commits[kind] = [
                rounds_said[0][-1][2] - when for word, _, when in rounds_said[0] if word == "commit"
            ]

    def moment(self, dice: random.Random, kind: str) -> tuple[str, int, float]:
        """Choose a moment: half of them anywhere, half soon after a commit has begun."""
        commits = self.after_commits[kind]
        if dice.random() < 0.5:
            return "begin", 0, dice.random() * self.whole[kind]
        number = dice.randrange(len(commits))
        return "commit", number, dice.random() ** 2 * commits[number]


def done(folder: Folder, steps: list[Step], answer: dict) -> Step | None:
    """Compare the files with what was acknowledged; return the step that the kill fell into."""
    said = [(word, number) for word, number, _ in answer["said"]]
    for number, step in enumerate(steps):
        if ("done", number) in said:
            folder.state = step.after(folder.state)
    begun = [step for number, step in enumerate(steps) if ("begin", number) in said]
    acknowledged = [step for number, step in enumerate(steps) if ("done", number) in said]
    within = begun[-1] if len(begun) > len(acknowledged) else None
    states = [folder.state]
    if within is not None:
        states.append(within.after(folder.state))
    found = folder.found({step.kind for step in steps})
    assert found in [state.shown for state in states]
    folder.state = next(state for state in states if state.shown == found)
    return within


def kill_often(folder: Folder, kills: int, seed: int, *, measured: int, synced: int) -> Counter:
    """Kill so many processes, all kinds in turn; return into steps of which kinds the kills fell."""
    dice = random.Random(seed)
    times = Times(folder, measured)
    fell: Counter[str] = Counter()
    killed = 0
    for turn in range(kills * 2):
        kind = KINDS[turn % len(KINDS)]
        steps = [folder.step(kind)]
        if kind == "evaluate" and not folder.state.pending():
            steps.insert(0, folder.step("ingest"))
        target = len(steps) - 1
        # so that a process is still at work when it is killed too late for its step
        steps.append(folder.step("evaluate" if kind == "publish" else "publish"))
        answer = folder.ask(steps, (target, *times.moment(dice, kind)))
        within = done(folder, steps, answer)
        if not answer["killed"]:
            continue
        killed += 1
        fell[within.kind if within is not None else "between"] += 1
        if killed % synced == 0:
            folder.sync()
        if killed == kills:
            break
    assert killed == kills
    verified = folder.warehouse.verify()
    assert verified.is_good
    assert verified.num_verified == verified.num_stored
    return fell


@pytest.mark.long
def test_killed_at_any_moment(folder: Folder) -> None:
    seed = random.randrange(1 << 32)
    print("seed", seed)
    fell = kill_often(folder, 12, seed, measured=1, synced=12)
    assert sum(fell[kind] for kind in KINDS) >= 1, fell


@pytest.mark.long
def test_killed_at_any_moment_often(folder: Folder) -> None:
    seed = random.randrange(1 << 32)
    print("seed", seed)
    fell = kill_often(folder, 216, seed, measured=3, synced=27)
    print(fell)
    assert all(fell[kind] >= 5 for kind in KINDS), fell
