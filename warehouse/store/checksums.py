"""The checksums of what is stored, by which `warehouse verify` finds what was changed since."""

from __future__ import annotations

import duckdb

from warehouse.sql_text.templates import render


def complete(con: duckdb.DuckDBPyConnection) -> None:
    """Give the rows that were written in this transaction their checksums.

    Rows whose checksum is there keep it: what was changed from outside stays recognisable.
    """
    for (table,) in con.execute(render("statements/without_checksum")).fetchall():
        con.execute(render("statements/checksums", table=table)).fetchall()
