"""`warehouse gates`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output
from warehouse.config.settings import LOCK_TIMEOUT

SECTION, PLACE = "Compare", 3
EXAMPLES = {
    "gates": ("warehouse gates --red", "warehouse gates -d dl19 -f json"),
    "gates accept": ("warehouse gates accept bm25 -d dl19 --why 'a smaller index, on purpose'",),
    "gates baseline": ("warehouse gates baseline bm25 -d dl19 --why 'the release of May'",),
    "gates log": ("warehouse gates log bm25 -d dl19",),
}


def gates(
    context: typer.Context,
    dataset: options.AnyDataset = None,
    red: Annotated[
        bool, typer.Option("--red", help="List only the runs that are red, and why.")
    ] = False,
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    places: options.Places = 4,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """List the verdicts of the gates on current runs, newest first.

    A run is red if it was worse when a gate of warehouse.toml last checked it, until someone
    accepts the run, or another version replaces it; with auto_resolve = true, also until the next
    run of its group is good. As long as a run is red, 'warehouse sync' ends with exit code 1, and
    no run is compared with it.
    """
    if context.invoked_subcommand is not None:
        return
    from warehouse.warehouse import Warehouse

    found = Warehouse(db, lock_timeout=lock_timeout).gates(dataset, red=red)
    output.show(found, format, out, places=places, wide=wide)


def accept(
    why: Annotated[str, typer.Option("--why", help="Why; it is stored with the verdict.")],
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]...", help="The red runs to accept.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Accept all red runs of the dataset.")
    ] = False,
    dataset: options.OneDataset = None,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Accept red runs.

    They are no longer red then, and later runs are compared with them, as with any other run. A
    later version of such a run is checked for itself.
    """
    from warehouse.errors import UsageError, listing
    from warehouse.warehouse import Warehouse

    if bool(runs) == every:
        raise UsageError("name the runs to accept, or take all red ones with --all")
    wh = Warehouse(db, lock_timeout=lock_timeout)
    output.say(f"accepted: {listing(wh.accept(dataset, runs or None, why=why))}")


def baseline(
    run: Annotated[str, typer.Argument(help="The run.")],
    why: Annotated[str, typer.Option("--why", help="Why; it is stored with who you are.")],
    dataset: options.OneDataset = None,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Make a run the baseline of its group.

    Gates with against = "baseline" compare runs of the same group with it, until the next one is
    set. A red run has to be accepted first.
    """
    from warehouse.warehouse import Warehouse

    Warehouse(db, lock_timeout=lock_timeout).baseline(run, dataset, why=why)
    output.say(f"baseline: {run}")


def log(
    run: Annotated[str, typer.Argument(help="The run.")],
    dataset: options.OneDataset = None,
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    places: options.Places = 4,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """List all verdicts on a run, oldest first.

    Each has its reason, what had changed since the one before, and who accepted the run.
    """
    from warehouse.warehouse import Warehouse

    found = Warehouse(db, lock_timeout=lock_timeout).gate_log(run, dataset)
    output.show(found, format, out, places=places, wide=wide)
