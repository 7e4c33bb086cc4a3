"""What the driver does: divide the work, have an engine do it, and put the replies together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import duckdb

from warehouse.errors import UsageError, WarehouseError, nearest
from warehouse.evaluate import scoring
from warehouse.evaluate.engines import Engine, is_session, runs, tasks
from warehouse.evaluate.files import ScoredRun
from warehouse.sql_text.quoting import ident
from warehouse.store.database import RESULT

NAMES = ("local", "spark")


@dataclass(frozen=True)
class Collected:
    """What was read of the runs that were scored, and why others were refused, by their names."""

    runs: Mapping[str, ScoredRun]
    refused: Mapping[str, WarehouseError]
    num_judged: int


def check(engine: object) -> None:
    """Refuse what is no engine."""
    if isinstance(engine, str):
        if engine not in NAMES:
            raise UsageError(
                f"unknown engine {engine!r}{nearest(engine, NAMES)} (known: {', '.join(NAMES)})"
            )
    elif not (hasattr(engine, "map") or is_session(engine)):
        raise UsageError(
            f"engine: {type(engine).__name__} is none: give 'spark', a session of Spark, or an object "
            "with map(function, parts)"
        )


@contextmanager
def opened(engine: Any, master: str | None = None) -> Iterator[Engine]:
    """Open an engine by its name, or wrap a session of Spark, for the block."""
    if isinstance(engine, str):
        from warehouse.evaluate.engines import spark

        with spark.connected(master) as found:
            yield found
    elif is_session(engine):
        from warehouse.evaluate.engines import spark

        yield spark.Spark(engine)
    else:
        yield engine


def score(
    con: duckdb.DuckDBPyConnection,
    engine: Engine,
    work: tasks.Work,
    names: Sequence[str],
    sources: Sequence[object],
) -> Collected:
    """Score runs; leave their values on the connection as `scoring.keep_values` does."""
    replies = list(engine.map(partial(runs.score, work), tasks.parts(names, sources)))
    tasks.check_versions(replies)
    whole = runs.joined(replies)
    if not whole.runs:
        raise next(iter(whole.refused.values()))
    for name, rows in {RESULT: whole.values, scoring.TOTALS: whole.totals}.items():
        con.register("given", rows)
        con.execute(f"create or replace temp table {ident(name)} as from given")
        con.unregister("given")
    return Collected(whole.runs, whole.refused, whole.num_judged)
