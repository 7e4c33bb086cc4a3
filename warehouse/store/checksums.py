"""The checksums of what is stored, by which `warehouse verify` finds what was changed since."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from warehouse.sql_text.templates import render


def complete(con: duckdb.DuckDBPyConnection) -> None:
    """Give the rows that were written in this transaction their checksums.

    Rows whose checksum is there keep it: what was changed from outside stays recognisable.
    """
    for (table,) in con.execute(render("statements/without_checksum")).fetchall():
        con.execute(render("statements/checksums", table=table)).fetchall()


def change(
    con: duckdb.DuckDBPyConnection,
    table: str,
    columns: Mapping[str, object],
    condition: str,
    values: Mapping[str, object],
) -> None:
    """Change columns of the rows that meet a condition, whose parameters are `values`.

    Rows that were not as they had been written keep their wrong checksum.
    """
    sql = render("statements/change", table=table, columns=list(columns), condition=condition)
    con.execute(sql, {**columns, **values}).fetchall()
