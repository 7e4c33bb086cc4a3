"""The command that tries what is survived, with few cases; `python -m tests.survival` has them whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="works in forks of a process"),
]
COMMAND = [sys.executable, "-m", "tests.survival"]
# Of cases, or seconds.
FEW = {"mutations": 100, "faults": 5, "kills": 3, "crowd": 2}


@pytest.mark.parametrize(
    "suite",
    [
        # a disk that is full, and a crowd, take longest
        pytest.param(name, marks=[pytest.mark.long] if name in ("faults", "crowd") else [])
        for name in FEW
    ],
)
def test_a_few(suite: str) -> None:
    seed = 1
    done = subprocess.run(
        [*COMMAND, suite, "--count", str(FEW[suite]), "--seed", str(seed)],
        check=False,
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, f"seed {seed}\n{done.stdout}\n{done.stderr}"
    assert " 0 not survived" in done.stdout
