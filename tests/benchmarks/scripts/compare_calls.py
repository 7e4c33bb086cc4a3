"""Runs held against each other: `compare_calls.py FILE DATASET pairs|randomisation|bootstrap`.

Prints each metric's mean p, or the width of its interval.
"""

from __future__ import annotations

import sys

import arguments

from warehouse import Warehouse

_, path, dataset, way = sys.argv
warehouse = Warehouse(path)
if way == "pairs":
    found = warehouse.compare(dataset, (), all_pairs=True, judged=False)
    shown = "select metric, avg(p order by base, run) from pairs group by metric"
else:
    test, interval = ("randomisation", "t") if way == "randomisation" else ("t", "bootstrap")
    runs = ["run00", "run01"]
    found = warehouse.compare(dataset, runs, "AP", test=test, interval=interval, judged=False)
    shown = "select metric, p from pairs"
    if way == "bootstrap":
        shown = "select metric, high - low from pairs"
arguments.show(found.pairs.query("pairs", shown).fetchall())
