"""Run a contender as processes of its own and say what it cost."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# ru_maxrss counts kibibytes, on macOS bytes
_MEBIBYTE = 1024**2 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Cost:
    """What some processes, one after the other, took: seconds, and the peak of the largest."""

    wall_s: float
    cpu_s: float
    peak_mb: float


class Failed(Exception):  # noqa: N818
    """A contender did not end well."""


def run(commands: Sequence[Sequence[str]], out: Path, env: dict[str, str]) -> Cost:
    """Run commands one after the other, their output into a file, and return their cost.

    Raises Failed, with the end of what the command said.
    """
    cpu = peak = 0.0
    said = out.with_suffix(".stderr")
    with out.open("wb") as stdout, said.open("wb") as stderr:
        start = time.perf_counter()
        for command in commands:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                cwd=out.parent,
                env=env,
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            cpu += usage.ru_utime + usage.ru_stime
            peak = max(peak, usage.ru_maxrss / _MEBIBYTE)
            if process.returncode != 0:
                end = said.read_text(errors="replace")[-500:].strip()
                raise Failed(f"{' '.join(command)[:200]} …: exit {process.returncode}: {end}")
        wall = time.perf_counter() - start
    return Cost(wall, cpu, peak)


def median(costs: Sequence[Cost]) -> Cost:
    """Return the median of each figure."""
    return Cost(
        statistics.median(cost.wall_s for cost in costs),
        statistics.median(cost.cpu_s for cost in costs),
        statistics.median(cost.peak_mb for cost in costs),
    )
