"""`warehouse attributes`."""

from __future__ import annotations

from warehouse.cli import options, output
from warehouse.config.settings import LOCK_TIMEOUT

SECTION, PLACE = "Look", 11
EXAMPLES = {"attributes": ("warehouse attributes -d dl19",)}


def attributes(
    dataset: options.AnyDataset = None,
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """List the attributes of documents and queries."""
    from warehouse.warehouse import Warehouse

    found = Warehouse(db, lock_timeout=lock_timeout).attributes(dataset)
    output.show(found, format, out, wide=wide)
