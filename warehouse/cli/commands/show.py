"""`warehouse show`."""

from __future__ import annotations

from warehouse.cli import options, output
from warehouse.config.settings import LOCK_TIMEOUT

SECTION, PLACE = "Look", 10
EXAMPLES = {"show": ("warehouse show bm25 -d dl19", "warehouse show bm25 -d dl19 -f json")}


def show(
    run: options.OneRun,
    dataset: options.OneDataset = None,
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Show where a run came from.

    The output has its source, hashes, times, tags, versions and evaluated metrics. The table has a
    column for each version. The other formats have a row for each version, the newest first,
    forgotten versions included.
    """
    from warehouse.warehouse import Warehouse

    wh = Warehouse(db, lock_timeout=lock_timeout)
    found = wh.show(dataset, run).relation
    if format == "table":
        found = output.transpose(found, "version")
    output.show(found, format, out, wide=wide)
