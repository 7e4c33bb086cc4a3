"""Processor time of a division by run and by query in Spark: `python -m tests.benchmarks.divisions`.

It is the time of this process and of all that it has started, once the executors are warm.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import duckdb

from warehouse import Warehouse
from warehouse.extensions.spark.engine import connected

_METRICS = "nDCG@10 AP RR P@10 R@100"
_RUN = (
    "copy (select 'q' || q as query_id, "
    "'msmarco_passage_' || ((hash(q, d, $n) % 8000) * 1000 + d) as doc_id, 1000.0 - d as score "
    "from range(2000) t(q), range(1000) u(d) order by q, d) to '{}' (format parquet)"
)


def main(num_runs: int) -> None:
    """Score runs of two million predictions each by one process and in both divisions."""
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as con:
        runs = [Path(folder, f"{number:04}.parquet") for number in range(num_runs)]
        for number, run in enumerate(runs):
            con.execute(_RUN.format(run), {"n": number})
        sql = f"select query_id, doc_id, 1 as relevance from '{runs[0]}' where score % 25 = 0"
        qrels = con.sql(sql).to_arrow_table()
        with connected("local[2]") as spark:
            ways: dict[str, dict[str, Any]] = {
                "one process": {},
                "by run": {"engine": spark.session},
                "by query": {"engine": spark.session, "by": "query"},
            }
            for name, how in ways.items():
                Warehouse.score(qrels, runs[:2], _METRICS, **how)
                before = _seconds()
                Warehouse.score(qrels, runs, _METRICS, **how)
                each = (_seconds() - before) / num_runs / 2
                print(f"{name}: {each:.2f} µs of one core for each prediction", flush=True)


def _seconds() -> float:
    """Return the processor time of this process, its children, and theirs, dead or alive."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True)
    parents = dict(map(int, line.split()) for line in listed.stdout.splitlines())
    family = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    ticks = 0
    for pid in family:
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists():
            ticks += sum(map(int, stat.read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    main(parser.parse_args().runs)
