"""`warehouse show`."""

from __future__ import annotations

from warehouse.cli import options, output

SECTION, PLACE = "Look", 10
EXAMPLES = {"show": ("warehouse show bm25 -d dl19", "warehouse show bm25 -d dl19 -f json")}


def show(
    run: options.OneRun,
    dataset: options.OneDataset = None,
    *,
    table: options.Table,
    database: options.File,
) -> None:
    """Show where a run came from.

    The output has its source, hashes, times, tags, versions and evaluated metrics. The table has a
    column for each version. The other formats have a row for each version, the newest first,
    forgotten versions included.
    """
    wh = database.open()
    found = wh.show(dataset, run).relation
    if table.format == "table":
        found = output.transpose(found, "version")
    table.show(found)
