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

from tests.benchmarks import contenders, goals, report, rounds, stored
from tests.benchmarks.measure import Failed
from tests.benchmarks.works import BENCHMARKS


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write; 1 when somebody failed."""
    asked = _parser().parse_args(arguments)
    if asked.markdown:
        print(goals.markdown(asked.markdown), end="")
        return 0
    if unknown := [name for name in asked.names if name not in BENCHMARKS]:
        print(f"{unknown[0]}: is one of {', '.join(BENCHMARKS)}", file=sys.stderr)
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
        for name in asked.names or BENCHMARKS:
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
    listed = "\n".join(f"  {name:<16} {known.title}" for name, known in BENCHMARKS.items())
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
    parser.add_argument(
        "--markdown",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="measure nothing: print the figures in these JSON files beside the goals",
    )
    return parser


def _benchmark(
    name: str, data: Path, asked: argparse.Namespace
) -> tuple[dict[str, Any], list[str]]:
    known = BENCHMARKS[name]
    work: dict[str, Any] = {}
    if known.data is None:
        folder = data / name
        folder.mkdir(parents=True, exist_ok=True)
    else:
        folder = data / (known.data if asked.scale == 1 else f"{known.data}-{asked.scale:g}")
        work = _made(known.data, folder, asked.scale)
    everybody, left_out = known.everybody(folder, asked.peer or contenders.PEERS)
    results, failed = rounds.alternate(everybody, folder, asked.repeat, _say)
    return report.benchmark(name, work, results, left_out + failed), failed


def _made(name: str, folder: Path, scale: float) -> dict[str, Any]:
    """Make the files unless they are there, in a process of its own that may grow large."""
    made = folder / "made.json"
    if not made.exists():
        _say(f"making {folder}")
        command = contenders.module("data", name, folder, scale)
        subprocess.run(command, check=True, cwd=contenders.CHECKOUT)
    if (folder / stored.FILE).exists():  # a program before this one may have made it
        command = contenders.warehouse("init", "--db", folder / stored.FILE)
        subprocess.run(command, check=True, cwd=contenders.CHECKOUT)
    work: dict[str, Any] = json.loads(made.read_text())
    return work


def _say(text: str) -> None:
    print(f"benchmarks: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(f"benchmarks: {error}")
