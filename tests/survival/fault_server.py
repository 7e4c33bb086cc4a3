"""A process that forks children which do one operation each, with a fault at one of their writes.

`faults.c` is preloaded into it. Each line of its input is a JSON object: the `folder` to work in, the
`name` of the operation, and at which write which fault happens, as `nth` and `mode`; 0 is never. The
answer has the number of writes, and the error of the operation or null; `killed` says that there was
neither.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import next_revision

from warehouse.errors import WarehouseError
from warehouse.warehouse import Warehouse

METRICS = "RR nDCG@10"
QUERIES = [f"q{number}" for number in range(20)]


def run(seed: int) -> dict[str, dict[str, float]]:
    """Return a run; every seed has its own."""
    return {q: {f"d{d}": float((d * seed) % 7) for d in range(8)} for q in QUERIES}


def qrels(grade: int) -> dict[str, dict[str, int]]:
    """Return judgments with one grade."""
    return {q: {"d1": grade, "d2": 0, "d3": 1} for q in QUERIES}


def years(first: int) -> dict[str, dict[str, int]]:
    """Return an attribute of the documents."""
    return {f"d{d}": {"year": first + d % 2} for d in range(8)}


def fill(wh: Warehouse) -> None:
    """Make what the operations begin with."""
    wh.ingest_qrels("tiny", qrels(1))
    wh.ingest_training("tiny", {str(n): {f"d{n}": 1, "d0": 1} for n in range(4)})
    wh.ingest_attributes("tiny", years(1999), of="docs", name="years")
    for seed, name in enumerate(("one", "two", "three"), start=2):
        wh.ingest_run("tiny", run(seed), name=name, system=name)
    wh.evaluate(metrics=METRICS)


# What is done by a program with a newer schema.
MIGRATING = "init, older schema"
OPERATIONS: dict[str, Callable[[Warehouse], object]] = {
    "init": lambda wh: Warehouse("new.duckdb").init(),
    MIGRATING: lambda wh: wh.init(),
    "ingest run": lambda wh: wh.ingest_run("tiny", run(5), name="new"),
    "ingest run --replace": lambda wh: wh.ingest_run("tiny", run(5), name="one", replace=True),
    "ingest run, several": lambda wh: wh.ingest_runs("tiny", ["a.run", "b.run", "c.run"]),
    "ingest qrels --replace": lambda wh: wh.ingest_qrels("tiny", qrels(2), replace=True),
    "ingest training --replace": lambda wh: wh.ingest_training(
        "tiny", {"1": {"d5": 1}}, replace=True
    ),
    "ingest attributes --replace": lambda wh: wh.ingest_attributes(
        "tiny", years(2009), of="docs", name="years", replace=True
    ),
    "deciles make": lambda wh: wh.make_deciles("tiny", parts=2),
    "evaluate": lambda wh: wh.evaluate(metrics="AP P@3"),
    "evaluate --slice": lambda wh: wh.evaluate(metrics="RR", slices=["year"]),
    "curve": lambda wh: wh.curve("tiny", "PrecisionByRank@3", store=True),
    "compare --store": lambda wh: wh.compare(
        "tiny", ["two"], metrics="RR", bases="one", store=True
    ),
    "fuse": lambda wh: wh.fuse("tiny", ["one", "two"], name="both"),
    "forget": lambda wh: wh.forget("tiny", "three", reason="a test"),
    "publish": lambda wh: wh.publish("replica.duckdb"),
    "publish --parquet": lambda wh: wh.publish_parquet("replica"),
}


def work(folder: str, name: str, nth: int, mode: int, output: int) -> None:
    """Do an operation and tell the end of it."""
    os.chdir(folder)
    faults: Any = ctypes.CDLL(None)
    wh, error = Warehouse("w.duckdb"), None
    newer = next_revision.installed(Path("migrations")) if name == MIGRATING else nullcontext()
    with newer:
        faults.faults_arm(ctypes.c_long(nth), mode)
        try:
            OPERATIONS[name](wh)
        except WarehouseError as refusal:
            error = ["refused", str(refusal)]
        except BaseException:
            error = ["traceback", traceback.format_exc()]
    told = {"writes": faults.faults_seen(), "error": error, "killed": False}
    os.write(output, json.dumps(told).encode())


def serve(request: dict[str, Any]) -> dict[str, Any]:
    """Fork a child for an operation, and return what it told."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work(**request, output=writing)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        text = told.read()
    _, status = os.waitpid(child, 0)
    if text:
        found: dict[str, Any] = json.loads(text)
        return found
    signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    error = None if signal == 9 else ["traceback", f"ended by signal {signal}"]
    return {"writes": 0, "error": error, "killed": True}


if __name__ == "__main__":
    Warehouse.sql(METRICS)
    for line in sys.stdin:
        print(json.dumps(serve(json.loads(line))), flush=True)
