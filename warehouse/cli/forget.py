"""`warehouse forget`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output
from warehouse.cli.examples import epilog
from warehouse.settings import LOCK_TIMEOUT


def forget(
    run: Annotated[str, typer.Argument(help="Name of the run.")],
    dataset: options.Dataset,
    version: Annotated[
        int | None,
        typer.Option("--version", min=1, help="Only this version of the run; default: all."),
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", help="Why; it stays with what is left of the run.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Remove it; without this, say what would be removed.")
    ] = False,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Remove a run with its predictions and values. This cannot be undone.

    What it was, when it was removed and why stays in the table forgotten_run. Where one version is
    removed, the newest that is left takes its place. Boards as of past days lose the values too. Of a
    file with the same content 'warehouse sync' and 'warehouse ingest mlflow' say so and leave it away,
    however new it is; 'warehouse ingest run' loads it again.
    """
    from warehouse.errors import UsageError, counted
    from warehouse.warehouse import Warehouse

    wh = Warehouse(db, lock_timeout=lock_timeout)
    gone = wh.forget(run, dataset, version=version, reason=reason, dry_run=not yes)
    those = " and ".join(map(str, gone.versions))
    what = (
        f"{run}: version {those} with {counted(gone.num_predictions, 'prediction')} and "
        f"{counted(gone.num_evaluations, 'evaluation')}"
    )
    if not yes:
        raise UsageError(f"{what} would be removed for ever; to do so, add --yes")
    output.say(f"forgotten {what}")
    if gone.current is not None:
        output.say(f"{run}: the current version is {gone.current} now")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=epilog("forget"))(forget)
