"""Rows for the tables of a test."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb


def insert(con: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Sequence[object]]) -> None:
    """Insert rows by one statement: one for each row would take most of a test's time."""
    columns = ", ".join("unnest(?)" for _ in rows[0])
    con.execute(f"insert into {table} select {columns}", [list(c) for c in zip(*rows, strict=True)])
