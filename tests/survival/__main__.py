"""The command: `python -m tests.survival --help`."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

# the shared parts of tests import each other by their names alone
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from tests.survival import crowd, faults, kills_at_random, mutations
from tests.survival.outcome import Outcome

# What can be tried, how often unless said otherwise, and what is counted.
SUITES: dict[str, tuple[Callable[[Outcome, int, int], None], int, str]] = {
    "mutations": (mutations.survive, 20_000, "mutated files of every format, read in every way"),
    "faults": (
        faults.survive,
        2_500,
        "kills and errors at the writes of every operation, by chance",
    ),
    "kills": (kills_at_random.survive, 1_000, "kills at random moments of every operation"),
    "crowd": (crowd.survive, 600, "seconds with eight processes on one file"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Try, print and return 1 if something was not survived, 130 if it was interrupted."""
    asked = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    failed = False
    for name in asked.suites or SUITES:
        survive, usual, _ = SUITES[name]
        outcome = Outcome(name)
        is_whole = False
        try:
            survive(outcome, asked.count or usual, asked.seed)
            is_whole = True
        except KeyboardInterrupt:
            outcome.notes.append("interrupted")
        finally:
            print("\n".join(outcome.lines()), flush=True)
        if not is_whole:
            return 130
        failed |= bool(outcome.failures)
    return int(failed)


def _parser() -> argparse.ArgumentParser:
    listed = "\n".join(
        f"  {name:<10} {usual:,} {what}" for name, (_, usual, what) in SUITES.items()
    )
    parser = argparse.ArgumentParser(
        prog="python -m tests.survival",
        description=f"Try what the warehouse survives:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="which (default: all)")
    parser.add_argument("--count", type=int, help="how many cases, or seconds of a crowd")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the dice (default: 0)")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
