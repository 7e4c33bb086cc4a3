"""What the scripts share: `--qrels FILE [--metric OURS=THEIRS ...] RUN [RUN ...]`, and their output."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Arguments:
    qrels: str
    runs: list[str]
    theirs: dict[str, str]
    """The peer's name of each metric by ours."""


def read() -> Arguments:
    parser = argparse.ArgumentParser()
    parser.add_argument("--qrels", required=True)
    parser.add_argument("--metric", action="append", default=[])
    parser.add_argument("runs", nargs="+")
    given = parser.parse_args()
    return Arguments(given.qrels, given.runs, pairs(given.metric))


def pairs(metrics: Iterable[str]) -> dict[str, str]:
    """Read OURS=THEIRS."""
    return dict(metric.split("=", 1) for metric in metrics)


def show(means: Mapping[str, float] | Iterable[tuple[str, float]]) -> None:
    """Print one run's means."""
    for name, value in means.items() if isinstance(means, Mapping) else means:
        print(f"{name},{value!r}")


def timed(call: Callable[[], T], calls: int) -> T:
    """Print what a call takes, the median from the second on if there are several; return the last."""
    wall, cpu = [], []
    for _ in range(calls):
        start, start_cpu = time.perf_counter(), time.process_time()
        result = call()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - start_cpu)
    later = slice(1, None) if calls > 1 else slice(None)
    print(f"wall_s: {statistics.median(wall[later])!r}")
    print(f"cpu_s: {statistics.median(cpu[later])!r}")
    return result
