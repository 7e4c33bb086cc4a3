"""A dataset's leaderboard from Python: `leaderboard_calls.py FILE DATASET call|open`.

`call` is the method, which opens the file; `open` is what it does on a connection that is open.
"""

from __future__ import annotations

import sys

import arguments

from warehouse import Warehouse, protocols
from warehouse.analyze import board

CALLS = 6

_, path, dataset, way = sys.argv
warehouse = Warehouse(path)
if way == "call":
    found = arguments.timed(lambda: warehouse.leaderboard(dataset).fetchall(), CALLS)
    names = warehouse.leaderboard(dataset).columns
else:
    rules = protocols.get("default")
    with warehouse._read() as con:

        def call() -> list[tuple[object, ...]]:
            return board.leaderboard(con, dataset, [], rules).relation.fetchall()

        found = arguments.timed(call, CALLS)
        names = board.leaderboard(con, dataset, [], rules).relation.columns
for column, name in enumerate(names):
    values = [row[column] for row in found]
    if values and all(isinstance(value, float) for value in values):
        print(f"{name},{sum(values) / len(values)!r}")
