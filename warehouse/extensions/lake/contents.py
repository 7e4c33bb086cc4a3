"""Runs and qrels whole in a lake: their predictions and judgments, for who computes other metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from warehouse.extensions.lake.tables import Lake, lake_errors
from warehouse.readers.in_place import provide_predictions
from warehouse.sql_text.templates import render
from warehouse.store.file import WarehouseFile

# The tables, each with the statement for the rows that the file could add.
TABLES = {"judgment": "lake/judgment_due", "prediction": "lake/prediction_due"}
# The most predictions that are in memory at once, unless one run has more.
_PREDICTIONS = 5_000_000


def push(file: WarehouseFile, lake: Lake) -> dict[str, int]:
    """Append the lists of the current runs, and the judgments, that the lake does not have.

    Preferences stay in the file. Returns how many runs and qrels were added.
    """
    added = dict.fromkeys(TABLES, 0)
    with file.read() as con, lake_errors(lake.url):
        known = {table: hashes(lake, table) for table in TABLES}
        for table, statement in TABLES.items():
            found = con.execute(render(statement)).fetchall()
            due = [one for one in found if (one[1], one[2]) not in known[table]]
            for ids in _batches([(key, size) for key, _, _, size in due]):
                if table == "prediction":
                    provide_predictions(con, ids)
                rows: Any = con.sql(render(f"lake/{table}", ids=ids))
                lake.append(table, rows.to_arrow_table())
                added[table] += len(ids)
    return added


def hashes(lake: Lake, table: str) -> set[tuple[str, str]]:
    """Return the datasets and hashes of which a lake has the contents."""
    rows = lake.read(table)
    if rows is None:
        return set()
    found = rows.to_table(columns=["dataset", "content_hash"]).group_by(["dataset", "content_hash"])
    return {(row["dataset"], row["content_hash"]) for row in found.aggregate([]).to_pylist()}


def _batches(sizes: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    batch: list[int] = []
    total = 0
    for key, size in sizes:
        if batch and total + size > _PREDICTIONS:
            yield batch
            batch, total = [], 0
        batch.append(key)
        total += size
    if batch:
        yield batch
