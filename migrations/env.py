"""Alembic's entry: runs the migrations on the connection that warehouse.store.schema hands over."""

from __future__ import annotations

from pathlib import Path

from alembic import context
from alembic.ddl.impl import DefaultImpl

from warehouse.store import database


class DuckDBImpl(DefaultImpl):
    """Tells Alembic that DuckDB's DDL is part of the transaction."""

    __dialect__ = "duckdb"
    transactional_ddl = True


# Migrations name tables as `store.run`; what has no schema in them, a view for people, is in `main`.
_connection = context.config.attributes["connection"]
_connection.exec_driver_sql(f"use {database.ALIAS}.main")
_connection.exec_driver_sql(f"create schema if not exists {database.STORE}")
context.configure(connection=_connection, version_table_schema=database.STORE)
context.run_migrations()
context.script.get_revision("v0001").module.create(
    _connection.exec_driver_sql, Path(__file__).with_name("views.sql")
)
