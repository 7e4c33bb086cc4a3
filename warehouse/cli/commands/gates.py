"""`warehouse gates`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output

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
    red: Annotated[bool, "List only the runs that are red, and why."] = False,
    *,
    table: options.NumberTable,
    database: options.File,
) -> None:
    """List the verdicts of the gates on current runs, newest first.

    A run is red if it was worse when a gate of warehouse.toml last checked it, until someone
    accepts the run, or another version replaces it; with auto_resolve = true, also until the next
    run of its group is good. As long as a run is red, 'warehouse sync' ends with exit code 1, and
    no run is compared with it.
    """
    if context.invoked_subcommand is not None:
        return

    found = database.open().gates(dataset, red=red)
    table.show(found)


def accept(
    why: Annotated[str, "Why; it is stored with the verdict.", "--why"],
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]...", help="The red runs to accept.")
    ] = None,
    every: Annotated[bool, "Accept all red runs of the dataset.", "--all"] = False,
    dataset: options.OneDataset = None,
    *,
    database: options.File,
) -> None:
    """Accept red runs.

    They are no longer red then, and later runs are compared with them, as with any other run. A
    later version of such a run is checked for itself.
    """
    from warehouse.errors import UsageError, listing

    if bool(runs) == every:
        raise UsageError("name the runs to accept, or take all red ones with --all")
    wh = database.open()
    output.say(f"accepted: {listing(wh.accept(dataset, runs or None, why=why))}")


def baseline(
    run: Annotated[str, "The run."],
    why: Annotated[str, "Why; it is stored with who you are.", "--why"],
    dataset: options.OneDataset = None,
    *,
    database: options.File,
) -> None:
    """Make a run the baseline of its group.

    Gates with against = "baseline" compare runs of the same group with it, until the next one is
    set. A red run has to be accepted first.
    """
    database.open().baseline(run, dataset, why=why)
    output.say(f"baseline: {run}")


def log(
    run: Annotated[str, "The run."],
    dataset: options.OneDataset = None,
    *,
    table: options.NumberTable,
    database: options.File,
) -> None:
    """List all verdicts on a run, oldest first.

    Each has its reason, what had changed since the one before, and who accepted the run.
    """
    found = database.open().gate_log(run, dataset)
    table.show(found)
