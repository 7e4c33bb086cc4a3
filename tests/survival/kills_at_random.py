"""Kills at random moments: what was acknowledged is there, and nothing is there by half.

They are those of `tests/test_kills.py`, in other numbers.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from kills import Folder
from test_kills import KINDS, kill_often

from tests.survival.outcome import Outcome


def survive(count: int, seed: int) -> Outcome:
    """Kill so many processes."""
    outcome = Outcome("kills at random moments")
    outcome.notes.append(f"of {', '.join(KINDS)}; a sync after every twentieth")
    with tempfile.TemporaryDirectory(prefix="survival-") as place:
        folder = Folder(Path(place) / "project")
        try:
            with outcome.case(f"seed {seed}"):
                outcome.ends += kill_often(folder, count, seed, measured=2, synced=20)
        finally:
            folder.close()
    return outcome
