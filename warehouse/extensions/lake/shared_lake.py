"""What a team shares: the values of files are pushed into a lake, and collected into files again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from warehouse.errors import UsageError, counted, first_line, listing
from warehouse.extensions.lake.tables import TABLES, Files, Lake
from warehouse.report import replica
from warehouse.sql_text.templates import render
from warehouse.store.database import LAKE
from warehouse.store.file import WarehouseFile
from warehouse.store.interrupts import is_interrupt
from warehouse.store.scratch_folders import scratch_folder

# The table that says which evaluations the lake has: their values are written before.
_KNOWN_BY = {"query_score": "evaluation", "score": "evaluation"}


def push(file: WarehouseFile, url: str) -> Mapping[str, int]:
    """Append what the lake does not have; return the number of rows for each of its tables.

    Runs, qrels, forgotten runs, results of gates, evaluations of whole datasets and their values are
    pushed, not predictions, judgments, slices and curves.
    """
    lake = Lake(url)
    rows: dict[str, Any] = {}
    with file.read() as con:
        for table in TABLES:
            known_by = _KNOWN_BY.get(table, table)
            there = lake.read(known_by)
            known = None
            if there is not None:
                known = f"known_{known_by}"
                con.register(known, there)
            with _lake_errors(url):
                found: Any = con.sql(_pushed(table, known))
                rows[table] = found.to_arrow_table()
            if known is not None:
                con.unregister(known)
    # each push that adds anything is a version of the lake, also one without evaluations
    adds = any(map(len, rows.values()))
    return {
        table: lake.append(table, rows[table], always=adds and table == TABLES[-1])
        for table in TABLES
    }


def version(url: str) -> object:
    """Return what changes with each push."""
    return Lake(url).version()


def said(added: Mapping[str, int]) -> str:
    """Return what a push has added, in words."""
    values = counted(added["score"] + added["query_score"], "value")
    parts = [
        counted(added["run"], "run"),
        f"{counted(added['evaluation'], 'evaluation')} with {values}",
    ]
    if verdicts := added["gate_result"]:
        parts.append(counted(verdicts, "verdict"))
    return f"pushed {listing(parts)}"


def _pushed(table: str, known: str | None = None) -> str:
    return render(f"lake/{table}", table=table, known=known)


def collect(
    url: str,
    target: Path,
    *,
    version: int | None = None,
    per_query: bool = True,
    lock_timeout: float,
) -> replica.Published:
    """Make a replica of a lake: a file with its runs and values, without predictions and judgments.

    It replaces an earlier one. `version` is one of the lake's versions, None the newest.
    """
    Lake(url).check()
    lake = Lake(url, version)
    with scratch_folder() as folder:
        made = WarehouseFile(folder / "lake.duckdb", lock_timeout=lock_timeout)
        made.ensure()
        with made.transaction() as con:
            # evaluations first: the values of those that are seen have been written before
            for table in reversed(TABLES):
                rows = lake.read(table)
                name = f"lake_{table}"
                if rows is None or (table == "query_score" and not per_query):
                    # what would be pushed from this file, which is empty: the columns without rows
                    con.execute(f"create temp table {name} as {_pushed(table)}")
                else:
                    con.register(name, rows)
            with _lake_errors(url):
                con.execute(render("lake/collect"))
                twice = con.execute(render("lake/contradictions")).fetchall()
            if twice:
                raise UsageError(
                    f"{url}: {twice[0][0]} is in it with two contents, one of them damaged or forged: "
                    "collect a version before it: see 'warehouse lake versions'"
                )
            for name, kind in con.execute(
                "select table_name, 'table' from duckdb_tables() where temporary "
                "union all select view_name, 'view' from duckdb_views() where temporary and not internal"
            ).fetchall():
                con.execute(f"drop {kind} temp.{name}")
        with made.read() as con:
            return replica.publish(
                con, made.path, target, called=LAKE + url, lock_timeout=lock_timeout
            )


@contextmanager
def _lake_errors(url: str) -> Iterator[None]:
    """Raise the engine's errors about rows of the lake as one sentence about it."""
    try:
        yield
    except duckdb.Error as error:
        if is_interrupt(error):
            raise
        raise UsageError(
            f"{url}: its tables are not as this program writes them, or lack a file: {first_line(error)}"
        ) from error


def versions(url: str) -> list[tuple[int, dt.datetime]]:
    """Return the versions of a lake and when each was written, the newest first."""
    lake = Lake(url)
    lake.check()
    return lake.versions()


def optimize(url: str) -> Mapping[str, tuple[Files, Files]]:
    """Join the small files of a lake; return the files before and after by table."""
    lake = Lake(url)
    lake.check()
    return {table: lake.compact(table) for table in TABLES if lake.read(table) is not None}


def views() -> str:
    """Return the SQL of views with which other engines read a lake's tables, each row once."""
    return (Path(__file__).parent / "sql" / "lake" / "views.sql").read_text(encoding="utf-8")
