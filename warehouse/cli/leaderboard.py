"""`warehouse leaderboard`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output
from warehouse.cli.examples import epilog


def leaderboard(
    dataset: options.Dataset,
    metric: options.Metrics = None,
    sort: Annotated[
        str | None, typer.Option("--sort", help="Order by this metric; default: the first one.")
    ] = None,
    top: Annotated[int | None, typer.Option("--top", min=1, help="Only the first N.")] = None,
    protocol: options.Protocol = "default",
    format: options.Format = "table",
    out: options.Output = None,
    places: options.Places = 4,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = 30.0,
) -> None:
    """Show the runs of a dataset, best first.

    An arrow tells which direction is better. "answered" counts the judged queries that the run has a
    document for; under the protocol default the others count as 0.
    """
    from warehouse.errors import counted
    from warehouse.warehouse import Warehouse

    wh = Warehouse(db, lock_timeout=lock_timeout)
    board = wh.leaderboard(dataset, metrics=metric or (), sort=sort, top=top, protocol=protocol)
    output.show_board(board, format, out, places=places)
    known = output.say_forgotten(board.columns[3:-2], protocol)
    if not known:
        return
    due = wh.evaluate(dataset, metrics=known, protocol=protocol, dry_run=True)
    if due.computed:
        option = "" if protocol == "default" else f" --protocol {protocol}"
        output.say(
            f"{counted(due.computed - due.stale, 'value')} missing, {due.stale:,} stale: "
            f"warehouse evaluate -d {dataset}{option} -m METRIC"
        )


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=epilog("leaderboard"))(leaderboard)
