"""`warehouse queries`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output
from warehouse.config.settings import LOCK_TIMEOUT

SECTION, PLACE = "Look", 2
EXAMPLES = {
    "queries": (
        "warehouse queries bm25 -d dl19 -m nDCG@10 --worst 5",
        "warehouse queries bm25 -d dl19 -m AP --slice size --worst 2",
        'warehouse queries bm25 -d dl19 -m AP --as-of "$(date -u +%F)"',
    )
}


def queries(
    run: options.OneRun,
    dataset: options.OneDataset = None,
    metric: options.ShownMetrics = None,
    slice: options.Slice = None,
    worst: Annotated[
        int | None, typer.Option("--worst", min=1, help="Only the N worst by the first metric.")
    ] = None,
    as_of: options.AsOf = None,
    qrels: options.QrelsVersion = None,
    protocol: options.Protocol = "default",
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    names: options.Names = False,
    places: options.Places = 4,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Show a run query by query.

    The table also shows how many documents were retrieved and relevant, and how many of the first
    ten are unjudged. With --slice, values are those in each part. A metric that is not stored is
    computed for the table; 'warehouse evaluate' stores it.
    """
    from warehouse.warehouse import Warehouse

    wh = Warehouse(db, lock_timeout=lock_timeout)
    found = wh.queries(
        dataset, run, metrics=metric or (), slice=slice, worst=worst, protocol=protocol,
        as_of=as_of, qrels=qrels,
    )  # fmt: skip
    output.show(found, format, out, places=places, wide=wide)
    if names:
        output.say_names(found)
