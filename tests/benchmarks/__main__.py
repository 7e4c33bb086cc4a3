"""The command: `python -m tests.benchmarks --help`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.benchmarks import contenders, report, rounds
from tests.benchmarks.measure import Failed

HELP = "help"
NAMES = {
    "msmarco": "6,980 queries with 1,000 documents each, about one relevant per query",
    "deep": "54 queries with 1,000 documents each, 15 thousand graded judgments",
    "many": "100 runs of 200 queries with 1,000 documents each, 50 judged",
    "slices": "ten metrics for 10,000 queries with 200 documents each and a million judgments: "
    "the whole, and beside it the parts of slices",
    HELP: "warehouse --help",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write; 1 when somebody failed."""
    asked = _parser().parse_args(arguments)
    if unknown := [name for name in asked.names if name not in NAMES]:
        print(f"{unknown[0]}: is one of {', '.join(NAMES)}", file=sys.stderr)
        return 2
    if asked.repeat < 1 or asked.scale <= 0:
        print("--repeat is at least 1, --scale above 0", file=sys.stderr)
        return 2
    found: dict[str, Any] = {
        "command": f"python -m tests.benchmarks {' '.join(arguments or sys.argv[1:])}".strip(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": report.machine(),
        "versions": report.versions(),
        "repeat": asked.repeat,
        "scale": asked.scale,
        "load": [os.getloadavg()[0]],
        "benchmarks": [],
    }
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as temporary:
        data = asked.data.resolve() if asked.data else Path(temporary)
        for name in asked.names or NAMES:
            measured, failed = _benchmark(name, data, asked)
            failures += failed
            found["benchmarks"].append(measured)
            print(report.table(measured), flush=True)
    found["load"].append(os.getloadavg()[0])
    print(report.footer(found))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    return 1 if failures else 0


def _parser() -> argparse.ArgumentParser:
    listed = "\n".join(f"  {name:<9} {text}" for name, text in NAMES.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=f"Measure the warehouse beside its peers.\n\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="rounds; default: 5")
    parser.add_argument(
        "--peer",
        action="append",
        choices=contenders.PEERS,
        help="only this one; may be given again; default: all",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found, too")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="where the files are, or are made and stay"
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, metavar="X", help="of the size, for a quick look"
    )
    return parser


def _benchmark(
    name: str, data: Path, asked: argparse.Namespace
) -> tuple[dict[str, Any], list[str]]:
    work: dict[str, Any] = {}
    if name == HELP:
        folder = data / HELP
        folder.mkdir(parents=True, exist_ok=True)
        everybody, left_out = [contenders.HELP], []
    else:
        folder = data / (name if asked.scale == 1 else f"{name}-{asked.scale:g}")
        work = _made(name, folder, asked.scale)
        qrels, runs = folder / "qrels.txt", sorted(folder.glob("run*.trec"))
        everybody, left_out = contenders.OURS[name](folder), []
        if all(contender.ours for contender in everybody):
            others, left_out = contenders.peers(qrels, runs, asked.peer or contenders.PEERS)
            everybody += others
    results, failed = rounds.alternate(everybody, folder, asked.repeat, _say)
    return report.benchmark(name, work, results, left_out + failed), failed


def _made(name: str, folder: Path, scale: float) -> dict[str, Any]:
    """Make the files unless they are there, in a process of its own that may grow large."""
    made = folder / "made.json"
    if not made.exists():
        _say(f"making {folder}")
        module = ("-m", "tests.benchmarks.data", name, str(folder), str(scale))
        subprocess.run([sys.executable, *module], check=True, cwd=contenders.CHECKOUT)
    work: dict[str, Any] = json.loads(made.read_text())
    return work


def _say(text: str) -> None:
    print(f"benchmarks: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(f"benchmarks: {error}")
