"""`warehouse datasets`."""

from __future__ import annotations

from warehouse.cli import options, output
from warehouse.config.settings import LOCK_TIMEOUT

SECTION, PLACE = "Look", 8
EXAMPLES = {"datasets": ("warehouse datasets -f json",)}


def datasets(
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """List the datasets with their qrels and number of runs."""
    from warehouse.warehouse import Warehouse

    found = Warehouse(db, lock_timeout=lock_timeout).datasets()
    output.show(found, format, out, wide=wide)
