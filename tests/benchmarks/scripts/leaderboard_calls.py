"""A dataset's leaderboard from Python: `leaderboard_calls.py FILE DATASET call|open`.

`call` is the method, which opens the file; `open` is what it does on a connection that is open. Either
ends with a relation that has its rows; making Python objects of them is not timed.
"""

from __future__ import annotations

import sys

import arguments
import duckdb

from warehouse import Warehouse
from warehouse.analyze import dataset_board
from warehouse.metrics import protocols

CALLS = 6

_, path, dataset, way = sys.argv
warehouse = Warehouse(path)
if way == "call":
    relation = arguments.timed(lambda: warehouse.leaderboard(dataset), CALLS)
    names, found = relation.columns, relation.fetchall()
else:
    rules = protocols.get("default")

    def asked(con: duckdb.DuckDBPyConnection) -> dataset_board.Board:
        with dataset_board.narrowed(con, dataset, rules):
            return dataset_board.of_dataset(con, dataset, [], rules)

    with warehouse.file.read() as con:
        made = arguments.timed(lambda: asked(con), CALLS)
        names, found = made.relation.columns, made.relation.fetchall()
for column, name in enumerate(names):
    values = [row[column] for row in found]
    if values and all(isinstance(value, float) for value in values):
        print(f"{name},{sum(values) / len(values)!r}")
