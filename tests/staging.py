"""What readers leave in the connection that they read into."""

from __future__ import annotations

import duckdb
import pytest

from warehouse import readers
from warehouse.errors import InputError


def rows(con: duckdb.DuckDBPyConnection) -> list[tuple]:
    """Return the staged rows."""
    return con.execute("from staged").fetchall()


def refused(
    con: duckdb.DuckDBPyConnection, source: object, kind: str, **options: object
) -> InputError:
    """Return the error for a source, which leaves no table behind and names its file."""
    with pytest.raises(InputError) as caught:
        readers.stage(con, source, kind, **options)
    assert caught.value.message.startswith(str(source))
    assert nothing_left(con)
    return caught.value


def nothing_left(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether there is no table of staged rows."""
    sql = "select table_name from duckdb_tables() where table_name like 'staged%'"
    return con.execute(sql).fetchall() == []
