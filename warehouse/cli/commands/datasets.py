"""`warehouse datasets`."""

from __future__ import annotations

from warehouse.cli import options

SECTION, PLACE = "Look", 8
EXAMPLES = {"datasets": ("warehouse datasets -f json",)}


def datasets(table: options.Table, database: options.File) -> None:
    """List the datasets with their qrels and number of runs."""
    found = database.open().datasets()
    table.show(found)
