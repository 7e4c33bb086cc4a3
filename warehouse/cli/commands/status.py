"""`warehouse status`."""

from __future__ import annotations

from warehouse.cli import options, output
from warehouse.config.settings import LOCK_TIMEOUT

SECTION, PLACE = "History", 3
EXAMPLES = {"status": ("warehouse status", "warehouse status -d dl19 -f json")}


def status(
    dataset: options.AnyDataset = None,
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """List what is missing, stale, red or orphaned.

    The list also says what computing it would read. A value is missing if other runs of the dataset
    have the metric; if no run has any value, the default metrics of evaluate are missing. A value
    is stale if the formula has changed since. A run is red in a metric if a gate fired and nobody
    has accepted the run (see: warehouse gates). Orphaned values belong to nothing any more.
    Predictions are read if a run's hits have not been made yet, or if a metric reads whole lists.
    """
    from warehouse.warehouse import Warehouse

    found = Warehouse(db, lock_timeout=lock_timeout).status(dataset)
    output.show(found, format, out, wide=wide)
