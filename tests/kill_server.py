"""A process that forks children which work on a warehouse, and kills them when it is told to.

It has imported what the work needs and opened no database, so that a child costs a fork and no start of
Python. Each line of its input is a JSON object: `steps` are lists of a verb and its arguments; `kill`
says when to kill the child, as the step's number, a word, how many of that word come before, and the
seconds from there; null lets it finish. The answer is what the child said: a word (begin, commit, done),
the step's number and the time of each. `load` are modules to import before.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import next_revision

from warehouse.store import database
from warehouse.warehouse import Warehouse

DATASET, METRICS = "tiny", "RR nDCG@10"
Words = list[tuple[str, int, float]]


def migrate() -> None:
    """Migrate a file as a newer program would."""
    with next_revision.installed(Path("migrations")):
        Warehouse("old.duckdb").init()


VERBS: dict[str, Callable[..., object]] = {
    "ingest": lambda path, name: Warehouse("w.duckdb").ingest_run(DATASET, path, name=name),
    "replace": lambda path, name: Warehouse("w.duckdb").ingest_run(
        DATASET, path, name=name, replace=True
    ),
    "evaluate": lambda: Warehouse("w.duckdb").evaluate(DATASET, metrics=METRICS),
    "migrate": migrate,
    "create": lambda: Warehouse("new.duckdb").init(),
    "publish": lambda: Warehouse("w.duckdb").publish("replica.duckdb"),
}


def announce_commits(say: Callable[[str], None]) -> None:
    """Let this process say so just before a commit, and before a file takes its place."""

    def on_audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("os.rename", "os.link") and str(arguments[1]).endswith(".duckdb"):
            say("commit")

    opened = database.transaction

    @contextmanager
    def transaction(*of: Any, **how: Any) -> Iterator[duckdb.DuckDBPyConnection]:
        with opened(*of, **how) as con:
            yield con
            say("commit")

    database.transaction = transaction  # type: ignore
    sys.addaudithook(on_audit)


def work(steps: list[list[Any]], output: int) -> None:
    """Do some steps and say so, also before commits."""
    current = 0

    def say(word: str) -> None:
        os.write(output, f"{word} {current} {time.monotonic()}\n".encode())

    announce_commits(say)
    for number, (verb, *arguments) in enumerate(steps):
        current = number
        say("begin")
        VERBS[verb](*arguments)
        say("done")


def serve(steps: list[list[Any]], kill: list[Any] | None) -> dict[str, Any]:
    """Fork a child for some steps, kill it in time, and return what it said."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        status = 1
        try:
            work(steps, writing)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    said: Words = []
    with os.fdopen(reading) as lines:
        for line in lines:
            word, step, when = line.split()
            said.append((word, int(step), float(when)))
            if kill is None:
                continue
            number, awaited, before, seconds = kill
            matching = [1 for word, step, _ in said if (word, step) == (awaited, number)]
            if said[-1][:2] == (awaited, number) and len(matching) == before + 1:
                time.sleep(seconds)
                os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return {"said": said, "killed": os.WIFSIGNALED(status), "failed": os.WEXITSTATUS(status) != 0}


if __name__ == "__main__":
    Warehouse.sql(METRICS)
    for line in sys.stdin:
        request = json.loads(line)
        for module in request.pop("load"):
            importlib.import_module(module)
        print(json.dumps(serve(**request)), flush=True)
