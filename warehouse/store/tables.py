"""SQLAlchemy, for who wants it and for Alembic: the tables of a warehouse, and a connection.

Nothing else imports it, because that takes longer than scoring a small run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import duckdb_sqlalchemy
import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from warehouse.store import database, own_schema

_TYPES: dict[str, type[sa.types.TypeEngine[Any]]] = {
    "INTEGER": sa.Integer, "BIGINT": sa.BigInteger, "UBIGINT": sa.BigInteger, "VARCHAR": sa.String,
    "BOOLEAN": sa.Boolean, "DOUBLE": sa.Double, "TIMESTAMP WITH TIME ZONE": sa.TIMESTAMP,
}  # fmt: skip


def metadata() -> sa.MetaData:
    """Return the tables of a warehouse's file for SQLAlchemy Core.

    >>> runs = metadata().tables["store.run"]
    >>> print(sa.select(runs.c.name).where(runs.c.version > 1))  # doctest: +NORMALIZE_WHITESPACE
    SELECT store.run.name
    FROM store.run
    WHERE store.run.version > :version_1
    """
    found = sa.MetaData(schema=database.STORE)
    with duckdb.connect() as con:
        con.execute("create schema store; " + " ".join(own_schema.tables().values()))
        rows = con.execute(
            "select table_name, column_name, data_type, is_nullable from duckdb_columns() "
            "where schema_name = 'store' order by table_oid, column_index"
        ).fetchall()
    for name in own_schema.tables():
        columns = [sa.Column(c, _TYPES[kind], nullable=n) for t, c, kind, n in rows if t == name]
        sa.Table(name, found, *columns)
    return found


@contextmanager
def connected(con: duckdb.DuckDBPyConnection) -> Iterator[sa.Connection]:
    """Yield a connection of SQLAlchemy in the transaction of one of DuckDB, whose owner ends it."""
    wrapped: Any = duckdb_sqlalchemy.ConnectionWrapper(con)
    wrapped.begin = wrapped.commit = wrapped.rollback = wrapped.close = lambda: None
    engine = sa.create_engine(
        "duckdb://", creator=lambda: wrapped, poolclass=StaticPool, pool_reset_on_return=None
    )
    with engine.connect() as connection:
        connection.info[database.ALIAS] = con
        yield connection
