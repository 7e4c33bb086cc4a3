"""`warehouse runs`."""

from __future__ import annotations

from warehouse.cli import options, output
from warehouse.config.settings import LOCK_TIMEOUT

SECTION, PLACE = "Look", 9
EXAMPLES = {"runs": ("warehouse runs -d dl19",)}


def runs(
    dataset: options.AnyDataset = None,
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """List the current runs with their systems, tags and sizes."""
    from warehouse.warehouse import Warehouse

    found = Warehouse(db, lock_timeout=lock_timeout).runs(dataset)
    output.show(found, format, out, wide=wide)
