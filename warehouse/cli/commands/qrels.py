"""`warehouse qrels`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options

SECTION, PLACE = "History", 2
EXAMPLES = {
    "qrels": ("warehouse qrels -d dl19",),
    "qrels diff": (
        "warehouse qrels diff 1 2 -d grown",
        "warehouse qrels diff 1 2 -d grown --rows -f jsonl",
        "warehouse qrels diff 1 2 -d grown --boards --protocol default",
    ),
}


def qrels(
    context: typer.Context,
    dataset: options.AnyDataset = None,
    *,
    table: options.Table,
    database: options.File,
) -> None:
    """List the versions of the qrels.

    The list says how many runs have values against each version."""
    if context.invoked_subcommand is not None:
        return

    found = database.open().qrels(dataset)
    table.show(found)


def diff(
    before: Annotated[int, "A version of the qrels.", {"min": 1}],
    after: Annotated[int, "The version to compare it with.", {"min": 1}],
    dataset: options.OneDataset = None,
    rows: Annotated[bool, "List the judgments that differ."] = False,
    boards: Annotated[bool, "List the runs' values and places under both versions."] = False,
    metric: options.Metrics = None,
    protocol: options.Protocol = "default",
    *,
    table: options.NumberTable,
    database: options.File,
) -> None:
    """Compare two versions of the qrels.

    The result is the number of judgments that were added, removed or changed. Kendall's tau-b
    between the two boards goes to stderr, for each metric that has values against both versions by
    the same formula. To compute values of an older version, run: warehouse evaluate -d DATASET
    --qrels N.
    """
    from warehouse.errors import UsageError

    if rows and boards:
        raise UsageError("--rows and --boards: one at a time")
    wh = database.open()
    found = wh.qrels_diff(dataset, before, after, metrics=metric or (), protocol=protocol)
    shown = found.rows if rows else found.boards if boards else found
    table.show(shown)
