"""What the scripts of the peers share: `--qrels FILE [--metric OURS=THEIRS ...] RUN [RUN ...]`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


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
    return Arguments(given.qrels, given.runs, dict(m.split("=", 1) for m in given.metric))


def show(means: Mapping[str, float] | Iterable[tuple[str, float]]) -> None:
    """Print one run's means."""
    for name, value in means.items() if isinstance(means, Mapping) else means:
        print(f"{name},{value!r}")
