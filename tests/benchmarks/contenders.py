"""What a contender is, and how ours and a peer's become one."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks import metrics

CHECKOUT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(__file__).resolve().parent / "scripts"

Command = tuple[str, ...]


@dataclass(frozen=True)
class Contender:
    """Some commands whose cost, all together, is measured; each round starts anew."""

    name: str
    commands: tuple[Command, ...]
    ours: bool = False
    group: str = ""
    """Ours is divided by, and compared with, those of its group."""
    before: tuple[Command, ...] = ()
    """Run before each round, not measured."""
    shows: Command | None = None
    """Prints the values afterwards, where the commands only store them; not measured."""
    file: Path | None = None
    """The database, which is removed before each round."""
    times_itself: bool = False
    """The last command prints what its work took, without start-up and what it prepares."""


def warehouse(*arguments: object) -> Command:
    """Return our command line as a process of its own."""
    code = "import sys; sys.argv[0] = 'warehouse'; from warehouse.cli import main; main()"
    return (sys.executable, "-c", code, *map(str, arguments))


def script(name: str, *arguments: object) -> Command:
    """Return one of our scripts, ours or a peer's, as a process of its own."""
    return (sys.executable, str(SCRIPTS / f"{name}.py"), *map(str, arguments))


def module(name: str, *arguments: object) -> Command:
    """Return a module of this package as a process of its own."""
    return (sys.executable, "-m", f"tests.benchmarks.{name}", *map(str, arguments))


def environment() -> dict[str, str]:
    """Return the environment of every contender: this checkout's package, nobody's own settings.

    Python keeps what it has compiled, as it has of every package that was installed.
    """
    own = ("WAREHOUSE_DB", "WAREHOUSE_CONFIG", "PYTHONDONTWRITEBYTECODE")
    return {k: v for k, v in os.environ.items() if k not in own} | {"PYTHONPATH": str(CHECKOUT)}


def repeated(option: str, values: Sequence[str]) -> list[str]:
    """Return an option that is given once for each value."""
    return [word for value in values for word in (option, value)]


PEERS = ("trec_eval", "pytrec_eval", "ranx", "ir_measures", "polars")


def peers(
    qrels: Path, runs: list[Path], wanted: Sequence[str] = PEERS
) -> tuple[list[Contender], list[str]]:
    """Return the peers that are here, and a line about each that is not."""
    found: list[Contender] = []
    missing: list[str] = []
    for peer in wanted:
        if peer == "trec_eval":
            program = os.environ.get("TREC_EVAL")
            if program:
                words = (program, *metrics.trec_options(), str(qrels))
                commands = tuple((*words, str(run)) for run in runs)
                found.append(Contender("trec_eval (C)", commands))
            else:
                missing.append("trec_eval (C) is left out: TREC_EVAL is not set to its path")
        elif importlib.util.find_spec(peer):
            title = "polars by hand" if peer == "polars" else peer
            found.append(Contender(title, (reading(peer, qrels, runs),)))
        else:
            missing.append(absent(peer))
    return found, missing


def reading(program: str, qrels: Path, runs: list[Path]) -> Command:
    """Return the process in which a program, ours or a peer's, reads files and prints the means."""
    options = repeated("--metric", metrics.pairs(program))
    return script(f"with_{program}", "--qrels", qrels, *options, *runs)


def absent(peer: str) -> str:
    """Say that a peer is left out."""
    return f"{peer} is left out: it is not installed"
