"""`warehouse attributes`."""

from __future__ import annotations

from warehouse.cli import options

SECTION, PLACE = "Look", 11
EXAMPLES = {"attributes": ("warehouse attributes -d dl19",)}


def attributes(
    dataset: options.AnyDataset = None, *, table: options.Table, database: options.File
) -> None:
    """List the attributes of documents and queries."""
    found = database.open().attributes(dataset)
    table.show(found)
