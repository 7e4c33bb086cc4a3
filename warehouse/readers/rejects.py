"""The lines that DuckDB's CSV reader refused, in the temporary table `staged_reject`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import duckdb

from warehouse.sql_text import templates


@contextlib.contextmanager
def collected(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let the CSV reader, told to do so, store refused lines in a table; it is dropped after."""
    try:
        yield
    finally:
        with contextlib.suppress(duckdb.Error):
            _drop(con)


def first(con: duckdb.DuckDBPyConnection, limit: int) -> list[tuple[int, str, int]]:
    """Return the first refused records: their number, the reason and the count of all."""
    return con.execute(templates.render("ingest/rejects", limit=limit)).fetchall()


def any_at_all(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether a line was refused."""
    return bool(con.execute("select 1 from staged_reject limit 1").fetchall())


def _drop(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "drop table if exists temp.staged_reject; drop table if exists temp.staged_reject_scan"
    )
