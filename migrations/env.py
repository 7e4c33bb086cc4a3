"""Alembic's entry: runs the migrations on the connection that warehouse.store.schema hands over."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import duckdb
from alembic import context
from alembic.ddl.impl import DefaultImpl

from warehouse.store import database


class Statements:
    """Runs the statements of migrations on DuckDB itself, in the same transaction.

    Most take less time than SQLAlchemy adds to them, and comments less than a call: those that follow
    each other go into one.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        self._comments: list[str] = []

    def exec_driver_sql(self, sql: str) -> duckdb.DuckDBPyConnection:
        """Run one statement; its rows are read with `fetchall`."""
        if sql.startswith("comment on "):
            self._comments.append(sql)
            return self._con
        self.finish()
        return self._con.execute(sql)

    def finish(self) -> None:
        """Run the comments that wait for the next statement."""
        if self._comments:
            self._con.execute(";".join(self._comments))
            self._comments = []


class DuckDBImpl(DefaultImpl):
    """Tells Alembic that DuckDB's DDL is part of the transaction, and how migrations run it."""

    __dialect__ = "duckdb"
    transactional_ddl = True

    @cached_property
    def bind(self) -> Statements:
        """What `op.get_bind` returns."""
        return Statements(database.raw(self.connection))


# Migrations name tables as `store.run`; what has no schema in them, a view for people, is in `main`.
_connection = context.config.attributes["connection"]
_raw = database.raw(_connection)
_raw.execute(f"use {database.ALIAS}.main")
_raw.execute(f"create schema if not exists {database.STORE}")
context.configure(connection=_connection, version_table_schema=database.STORE)
context.run_migrations()
context.script.get_revision("r0001").module.create(
    context.get_context().impl.bind.exec_driver_sql, Path(__file__).with_name("views.sql")
)
context.get_context().impl.bind.finish()
