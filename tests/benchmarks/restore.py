"""Take a run and metrics out of a stored history: `python -m tests.benchmarks.restore FILE …`.

Whatever the tables are, each row goes that names the run or an evaluation of what goes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import duckdb


def restore(path: str, run: str, metrics: Sequence[str]) -> None:
    """Leave the file as if the run had not come and the metrics had never been asked for."""
    with duckdb.connect(path) as con:
        con.execute("begin")
        con.execute(
            "create temp table gone_run as select run_id from store.run where name = $run",
            {"run": run},
        )
        con.execute(
            "create temp table gone_evaluation as select evaluation_id from store.evaluation "
            "where run_id in (from gone_run) or list_contains($metrics, metric)",
            {"metrics": list(metrics)},
        )
        for key in ("evaluation_id", "run_id"):
            gone = f"gone_{key.removesuffix('_id')}"
            ((some,),) = con.execute(f"select exists (from {gone})").fetchall()
            if not some:
                continue
            tables = con.execute(
                "select table_name from duckdb_columns() join duckdb_tables() "
                "using (database_name, schema_name, table_name) "
                "where column_name = $key and not temporary",
                {"key": key},
            ).fetchall()
            for (table,) in tables:
                con.execute(f'delete from store."{table}" where {key} in (from {gone})')
        con.execute("commit")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path")
    parser.add_argument("--run", required=True)
    parser.add_argument("--metric", action="append", default=[])
    given = parser.parse_args()
    restore(given.path, given.run, given.metric)
