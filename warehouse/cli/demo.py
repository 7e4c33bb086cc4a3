"""`warehouse demo`."""

from __future__ import annotations

import shlex
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Annotated

import typer

from warehouse.cli import output
from warehouse.cli.examples import epilog

DATA = Path(__file__).parent.parent / "demo"


def demo(
    db: Annotated[Path, typer.Option("--db", help="The database file to make.")] = Path(
        "demo.duckdb"
    ),
) -> None:
    """Make a database from real judgments and runs, and show its leaderboard.

    They ship with the package: TREC 2019 Deep Learning, passage task, 43 queries, nine systems.
    """
    from warehouse.warehouse import Warehouse

    plan = tomllib.loads((DATA / "demo.toml").read_text(encoding="utf-8"))
    dataset, metrics = plan["dataset"], plan["metrics"]
    wh = Warehouse(db)
    with output.Progress("loading", len(plan["runs"]) + 1) as step:
        step("qrels")
        wh.ingest_qrels(str(DATA / plan["qrels"]), dataset, label=plan["label"])
        for name, about in plan["runs"].items():
            step(name)
            wh.ingest_run(str(DATA / f"{name}.run.gz"), dataset, name=name, **about)
    done = wh.evaluate(dataset, metrics=metrics)
    output.say(
        f"{db}: {len(plan['runs'])} runs of dataset {dataset}; "
        f"{done.computed} values computed, {done.up_to_date} up to date"
    )
    output.show_board(wh.board(dataset, metrics=metrics), "table", None)
    output.say("\nTry next:")
    for command in plan["next"]:
        output.say(f"  {_program()} {command} --db {shlex.quote(str(db))}")


def _program() -> str:
    """Return how this program was called, so that the commands it prints work as printed."""
    called = sys.argv[0]
    on_path = shutil.which("warehouse")
    if on_path is not None and Path(called).exists() and Path(on_path).samefile(called):
        return "warehouse"
    return shlex.quote(called) if Path(called).name == "warehouse" else "warehouse"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=epilog("demo"))(demo)
