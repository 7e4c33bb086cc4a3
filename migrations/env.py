"""Alembic's entry: runs the migrations on the connection that warehouse.schema hands over."""

from __future__ import annotations

from alembic import context
from alembic.ddl.impl import DefaultImpl


class DuckDBImpl(DefaultImpl):
    """Tells Alembic that DuckDB's DDL is part of the transaction."""

    __dialect__ = "duckdb"
    transactional_ddl = True


context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
