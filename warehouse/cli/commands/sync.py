"""`warehouse sync`."""

from __future__ import annotations

import json
from collections.abc import Container
from typing import TYPE_CHECKING, Annotated

import typer

from warehouse.cli import options
from warehouse.cli.output import emit, say, warn
from warehouse.cli.progress import Progress
from warehouse.config import project
from warehouse.errors import UsageError, visible

if TYPE_CHECKING:
    from warehouse.sync.events import Event, Status, Synced
    from warehouse.warehouse import Warehouse

SECTION, PLACE = "Load", 2
EXAMPLES = {
    "sync": (
        "warehouse sync",
        "warehouse sync --config warehouse.toml --dry-run",
        "warehouse sync --json --check-content --lock-timeout 60",
    )
}


def sync(
    config: options.Config = None,
    dry_run: Annotated[bool, "List the steps, but do nothing."] = False,
    check_content: Annotated[
        bool, "Also read files whose size and time have not changed, and compare their content."
    ] = False,
    as_json: Annotated[bool, "Print the outcome as one JSON object.", "--json"] = False,
    *,
    database: options.ProjectFile,
) -> None:
    """Bring the database up to date with warehouse.toml.

    New files are loaded, and missing values are computed. A file is read again only if its size,
    its time or its settings have changed; other content becomes a new version. A file that is still
    being written is left for the next sync. A file with a problem does not stop the others: it is
    reported, tried again at the next sync, and makes the exit code 2. A run whose file is deleted
    stays, unless missing = "forget"; a file that is renamed renames its run. Every new run is checked
    by the gates, and the exit code is 1 as long as a run is red (see: warehouse gates). If there is
    nothing to do, nothing is printed. Two syncs at once are safe. Start with: warehouse init
    """
    with project.using(config):
        wh = open_project(database)
        done = run(wh, dry_run=dry_run, check_content=check_content, quiet=as_json)
    if as_json:
        emit(json.dumps(done.as_dict(), ensure_ascii=False, indent=2) + "\n", None, "json")
    if done.exit_code:
        raise typer.Exit(done.exit_code)


def open_project(database: options.ProjectFile) -> Warehouse:
    """Return the warehouse of the project, which must name its database."""
    here = project.required()
    if database.db is None and here.database is None:
        raise UsageError(
            f"{here.where}: the key 'database' is missing, as in database = \"warehouse.duckdb\""
        )
    return database.open()


def run(
    wh: Warehouse,
    *,
    dry_run: bool = False,
    check_content: bool = False,
    quiet: bool = False,
    silent: Container[Status] = ("unchanged",),
    reported: set[str] | None = None,
) -> Synced:
    """Sync and print each event, on stdout unless `quiet`; problems go to stderr.

    `reported` has the problems, verdicts of gates and remarks printed last time, which are not
    repeated; it becomes those of this time.
    """
    before = frozenset(reported or ())
    found: set[str] = set()
    progress = Progress("syncing", "file")

    def on_file(label: str, total: int) -> None:
        progress.total = total
        progress.step(label)

    def on_event(event: Event) -> None:
        if event.status in ("failed", "passed", "worse", "unchecked", "late", "red"):
            found.add(event.text)
        if event.text in before:
            return
        if event.status == "failed":
            say(f"warehouse: {event.text}")
        elif event.status not in silent and not quiet:
            emit(visible(event.text) + "\n", None)
        for text in event.warnings:
            warn(f"{visible(str(event.file or event.dataset))}: {text}")

    with progress:
        done = wh.sync(
            dry_run=dry_run, check_content=check_content, on_event=on_event, on_file=on_file
        )
    for text in done.remarks:
        found.add(text)
        if text not in before:
            warn(text)
    if reported is not None:
        reported.clear()
        reported |= found
    return done
