"""Rows of the catalogue tables, read and added inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb


def as_dicts(
    con: duckdb.DuckDBPyConnection, sql: str, params: Mapping[str, object]
) -> list[dict[str, Any]]:
    """Return the rows that a statement finds, as dicts."""
    con.execute(sql, params)
    columns = [column[0] for column in con.description or ()]
    return [dict(zip(columns, row, strict=True)) for row in con.fetchall()]


def add(con: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Insert rows with the same columns into a table."""
    sql = f"insert into store.{table} by name select unnest($rows, max_depth := 2)"
    con.execute(sql, {"rows": rows}).fetchall()


def next_id(con: duckdb.DuckDBPyConnection, column: str, *tables: str) -> int:
    """Return the next id: there is one writer, so it is the highest id plus one."""
    every = " union all ".join(f"select {column} from store.{table}" for table in tables)
    ((highest,),) = con.execute(f"select coalesce(max({column}), 0) from ({every})").fetchall()
    return int(highest) + 1
