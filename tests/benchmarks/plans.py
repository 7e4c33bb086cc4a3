"""Which tables an evaluation scans: `python -m tests.benchmarks.plans FILE DATASET METRIC`.

The metric's values are forgotten and computed again, every statement explained before it is run. Prints
the means and what was scanned; ends with 1 where predictions were.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import duckdb

from tests.benchmarks import restore
from warehouse import Warehouse
from warehouse.store import database

FORBIDDEN = frozenset({"prediction_by_text", "prediction_by_number"})
# What EXPLAIN does not take, and what reads no rows.
_UNEXPLAINED = ("ATTACH", "DETACH", "EXPLAIN", "TRANSACTION", "SET")
_PASSED_ON = ("begin", "close", "commit", "fetchall", "rollback", "table")


class Watched:
    """A connection that notes which stored tables its statements scan, as EXPLAIN has it."""

    def __init__(self, con: duckdb.DuckDBPyConnection, scanned: set[str]) -> None:
        self._con = con
        self._scanned = scanned

    def execute(self, sql: str, params: Any = None) -> duckdb.DuckDBPyConnection:
        """Explain each statement, then run it; only the last one takes the parameters."""
        statements = self._con.extract_statements(sql)
        for statement in statements:
            bound = params if statement is statements[-1] else None
            if statement.type.name not in _UNEXPLAINED:
                explained = self._con.execute(f"explain (format json) {statement.query}", bound)
                for _, plan in explained.fetchall():
                    self._scanned.update(_tables(json.loads(plan)))
            self._con.execute(statement, bound)
        return self._con

    def __getattr__(self, name: str) -> Any:
        if name not in _PASSED_ON:
            raise AttributeError(f"{name}: statements could be run by it unseen")
        return getattr(self._con, name)


def _tables(nodes: list[dict[str, Any]]) -> Iterator[str]:
    for node in nodes:
        name = node["extra_info"].get("Table", "")
        if name and not name.startswith('"temp".'):
            yield name.rpartition(".")[2]
        yield from _tables(node["children"])


def scanned(path: str, dataset: str, metric: str) -> set[str]:
    """Evaluate a metric for all runs and return the stored tables that were scanned."""
    found: set[str] = set()
    ways = {name: getattr(database, name) for name in ("read", "transaction", "staging")}

    def watched(way: Callable[..., Any]) -> Callable[..., Any]:
        @contextmanager
        def opened(*of: Any, **how: Any) -> Iterator[Any]:
            with way(*of, **how) as con:
                yield con if isinstance(con, Watched) else Watched(con, found)

        return opened

    try:
        for name, way in ways.items():
            setattr(database, name, watched(way))
        done = Warehouse(path).evaluate(dataset, metrics=metric)
    finally:
        for name, way in ways.items():
            setattr(database, name, way)
    if not done.computed:
        sys.exit(f"{metric}: nothing was computed")
    return found


def main(path: str, dataset: str, metric: str) -> None:
    """Do what the module says."""
    restore.restore(path, "", [metric])
    found = scanned(path, dataset, metric)
    if read := found & FORBIDDEN:
        sys.exit(f"{metric}: {', '.join(sorted(read))} is scanned")
    mean = "select avg(value order by run) from scores where metric = $metric"
    ((value,),) = Warehouse(path).query(mean, metric=metric).fetchall()
    print(f"{metric},{value!r}")
    print(f"note: EXPLAIN shows scans of {', '.join(sorted(found))}; no prediction among them")


if __name__ == "__main__":
    main(*sys.argv[1:])
