"""`warehouse status`."""

from __future__ import annotations

from warehouse.cli import options

SECTION, PLACE = "History", 3
EXAMPLES = {"status": ("warehouse status", "warehouse status -d dl19 -f json")}


def status(
    dataset: options.AnyDataset = None, *, table: options.Table, database: options.File
) -> None:
    """List missing, stale, red or orphaned values.

    The list also names the rows to read for it. A value is missing if other runs of the dataset
    have the metric; if no run has any value, the default metrics of evaluate are missing. A value
    is stale if the formula has changed since. A run is red in a metric if a gate fired and nobody
    has accepted the run (see: warehouse gates). Orphaned values belong to nothing any more.
    Predictions are read if a run's hits have not been made yet, or if a metric reads whole lists.
    """
    found = database.open().status(dataset)
    table.show(found)
