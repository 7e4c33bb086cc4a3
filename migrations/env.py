"""Alembic's entry: runs the migrations on the connection that warehouse.schema hands over."""

from __future__ import annotations

import duckdb
from alembic import context
from alembic.ddl.impl import DefaultImpl

from warehouse import database


class Statements:
    """Runs the statements of migrations on DuckDB itself, in the same transaction.

    Most take less time than SQLAlchemy adds to them.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con

    def exec_driver_sql(self, sql: str) -> duckdb.DuckDBPyConnection:
        """Run one statement; its rows are read with `fetchall`."""
        return self._con.execute(sql)


class DuckDBImpl(DefaultImpl):
    """Tells Alembic that DuckDB's DDL is part of the transaction."""

    __dialect__ = "duckdb"
    transactional_ddl = True

    @property
    def bind(self) -> Statements:
        """What `op.get_bind` returns."""
        return Statements(database.raw(self.connection))


context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
