"""`warehouse queries`."""

from __future__ import annotations

from typing import Annotated

from warehouse.cli import options, output

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
    worst: Annotated[int | None, "Only the N worst by the first metric.", {"min": 1}] = None,
    *,
    state: options.State,
    table: options.Table,
    names: options.Names = False,
    places: options.Places = 4,
    database: options.File,
) -> None:
    """Show a run query by query.

    The table also shows how many documents were retrieved and relevant, and how many of the first
    ten are unjudged. With --slice, values are those in each part. A metric that is not stored is
    computed for the table; 'warehouse evaluate' stores it.
    """
    wh = database.open()
    found = wh.queries(
        dataset, run, metrics=metric or (), slice=slice, worst=worst, **vars(state),
    )  # fmt: skip
    table.show(found, places)
    if names:
        output.say_names(found)
