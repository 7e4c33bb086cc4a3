"""An option changes what a command prints, or is refused: none is ignored in silence."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
import typer
from extended import FOLDER
from projects import invoked

from warehouse.cli import application, commands
from warehouse.warehouse import Warehouse

# A minimal call of each command that reads a warehouse.
CALLS = {
    "agree": "agree",
    "compare": "compare -m RR",
    "curve": "curve ROC",
    "explain": "explain old RR q3",
    "history": "history -m RR",
    "holes": "holes",
    "leaderboard": "leaderboard",
    "queries": "queries old",
    "runs": "runs",
    "show": "show old",
    "status": "status",
}
ADDED = (
    {"discriminate": "discriminate --resamples 200"} if (FOLDER / "collections").is_dir() else {}
)
# Values by the name of the option; others are tried with numbers and with a word.
VALUES = {
    "alpha": ["0.3"], "as-of": ["2001-01-01"], "base": ["old"], "by": ["system"], "columns": ["run"],
    "correction": ["bonferroni"], "family": ["all"], "interval": ["bootstrap"], "label": ["old=X"],
    "metric": ["P@1"], "only": ["values", "pairs"], "run": ["old"], "scale": ["z"], "sort": ["P@1"],
    "system": ["OLD"], "tag": ["k=old"], "test": ["sign"], "weights": ["queries"],
}  # fmt: skip
# Where things lie and how they look, not what is computed; and names of what is the only one anyway.
NOT_TRIED = {
    "dataset", "db", "lock-timeout", "output", "format", "wide", "names", "help", "lake", "protocol",
}  # fmt: skip
# Commands that write, print no table, need more than a warehouse, or have commands below them.
NOT_READING = {
    "attributes", "check", "config", "curves", "datasets", "deciles",
    "demo", "edit", "evaluate", "export", "extensions", "forget", "fuse", "fusions", "gates",
    "ingest", "init", "list", "metrics", "protocols", "publish", "qrels", "query", "report",
    "schema", "score", "shell", "slices", "sql", "sync",
    "trec-eval", "verify", "watch",
}  # fmt: skip
# Options that say the default: all pairs are compared if no base is named.
THE_DEFAULT = {("compare", "all-pairs")}
COMMANDS = typer.main.get_command(application.application()).commands  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a warehouse of three runs on eight queries, whose orders by RR and by P@1 differ."""
    wh = Warehouse(tmp_path_factory.mktemp("effects") / "effects.duckdb")
    wh.ingest_qrels("tiny", {f"q{n}": {"a": 1, "x1": 0} for n in range(1, 9)})
    ranks = {"old": (1, 1, 9, 9, 9, 1, 9, 9), "new": (2, 2, 2, 2, 1, 2, 2, 3), "mid": (2,) * 8}
    for day, (name, of_run) in enumerate(ranks.items(), 1):
        run = {
            f"q{n}": {"a" if k == rank else f"x{k}": -float(k) for k in range(1, rank + 1)}
            for n, rank in enumerate(of_run, 1)
        }
        wh.ingest_run(
            "tiny", run, name=name, system=name.upper(), tags={"k": name},
            run_at=dt.datetime(2026, 1, day, tzinfo=dt.UTC),
        )  # fmt: skip
    wh.evaluate(metrics="RR P@1")
    return wh.path


def options(command: str) -> list[tuple[str, list[list[str]]]]:
    """Return the options of a command, each with the words to try it with."""
    found = []
    for one in COMMANDS[command].params:
        if one.param_type_name != "option":
            continue
        flag = max(one.opts, key=len)
        name = flag.removeprefix("--")
        if name not in NOT_TRIED and (command, name) not in THE_DEFAULT:
            words: list[Any] = VALUES.get(name, ["1", "2", "250", "0.3", "word"])
            found.append((name, [[flag]] if one.is_flag else [[flag, word] for word in words]))
    return found


@pytest.mark.parametrize(
    "command",
    [pytest.param(c, marks=[] if c == "runs" else [pytest.mark.slow]) for c in CALLS | ADDED],
)
def test_an_option_has_an_effect_or_is_refused(
    command: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call = [*(CALLS | ADDED)[command].split(), "--db", str(file)]
    plain = invoked(*call)
    assert plain.exit_code == 0, plain.output
    idle = []
    for name, tried in options(command):
        found = [invoked(*call, *words) for words in tried]
        taken = [one for one in found if one.exit_code != 2]
        if taken and all((one.exit_code, one.output) == (0, plain.output) for one in taken):
            idle.append(name)
    assert not idle, f"{command}: no effect, and no word about it: {idle}"


def test_every_command_is_tried_or_named_here() -> None:
    ours = {name.replace("_", "-") for _, name, _ in iter_modules(commands.__path__)}
    assert ours == set(CALLS) | NOT_READING
