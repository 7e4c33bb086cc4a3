"""`warehouse runs`."""

from __future__ import annotations

from warehouse.cli import options

SECTION, PLACE = "Look", 9
EXAMPLES = {"runs": ("warehouse runs -d dl19",)}


def runs(
    dataset: options.AnyDataset = None, *, table: options.Table, database: options.File
) -> None:
    """List the current runs with their systems, tags and sizes."""
    found = database.open().runs(dataset)
    table.show(found)
