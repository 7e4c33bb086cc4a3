"""Ad-hoc SQL, read-only: one statement that returns rows, closed to files, network and settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb

from warehouse.analyze.board import keep
from warehouse.errors import UsageError, WarehouseError
from warehouse.quoting import literal

_CLOSE = (
    "set enable_external_access = false",
    "set autoinstall_known_extensions = false",
    "set autoload_known_extensions = false",
    "set python_enable_replacements = false",
    "set lock_configuration = true",
)


def query(
    con: duckdb.DuckDBPyConnection,
    sql: str,
    params: Mapping[str, object],
    output: Path | None = None,
) -> duckdb.DuckDBPyRelation:
    """Run one statement on a reading connection and return its rows.

    `output` is the one file that may be written afterwards, with the relation's own methods.
    """
    if output is not None:
        con.execute(f"set allowed_paths = {literal([str(output.absolute())])}")
    for setting in _CLOSE:
        con.execute(setting)
    try:
        statements = con.extract_statements(sql)
        if len(statements) != 1 or "SELECT" not in str(statements[0].type):
            raise UsageError(
                "give one statement that returns rows (select, from, with, describe, summarize); "
                "the database is open for reading only"
            )
        text = statements[0].query.strip().rstrip(";")
        try:
            return keep(con, text, dict(params))
        except duckdb.ParserException:
            # describe, show and summarize stand only inside parentheses on DuckDB 1.5
            return keep(con, f"select * from (\n{text}\n)", dict(params))
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        raise WarehouseError(str(error).strip()) from error
