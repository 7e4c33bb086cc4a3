"""Making a database file, and upgrading one to this program's schema by the migrations."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from warehouse.config import system_memory
from warehouse.config.settings import LOCK_TIMEOUT, SCHEMA_REVISION, resource_folder
from warehouse.errors import UsageError
from warehouse.store import checksums, database, own_schema
from warehouse.store.engine_errors import newer_schema
from warehouse.store.locks import wait_for_lock

if TYPE_CHECKING:
    import sqlalchemy as sa
    from alembic.config import Config


def ensure(
    path: Path, *, resources: database.Resources | None = None, lock_timeout: float = LOCK_TIMEOUT
) -> bool:
    """Make the file if it is missing and upgrade its schema; return whether it changed."""
    database.check_is_file(path)
    folder = (path.resolve() if path.is_symlink() else path).parent
    if not folder.is_dir():
        raise UsageError(f"{path}: there is no folder {folder}")
    if path.is_dir():
        raise UsageError(f"{path}: is a directory; name a file in it")
    if not path.exists():
        database.check_name(path)
        if resources is not None:
            database.scratch(resources).close()  # wrong limits are refused before there is a file
        wait_for_lock(lambda: database.create(path), path, lock_timeout)
        return True
    if path.stat().st_nlink > 1:  # whoever made it may have been killed since
        database.remove_parts(path)
    if database.is_as_left(path):
        return False
    # looking takes a fraction of the time of opening for writing
    with database.read(path, lock_timeout=lock_timeout) as con:
        found = database.revision(con, path)
    if found == SCHEMA_REVISION:
        return False
    # a database in memory of its own has no views of this program, which the migrations could meet;
    # making the tables of a new file calls none of its functions
    own = replace(resources or database.Resources(), for_one_statement=found is None)
    with (
        closing(database.memory(own)) as con,
        database.transaction(path, lock_timeout=lock_timeout, staged=con),
    ):
        if own_schema.revision(con, path) != (found or ""):
            return True  # another process was faster
        if found is None:
            own_schema.make_new(con)
            return True
        if not own_schema.script(found).exists():
            raise newer_schema(path, found)
        own_schema.refuse_macros(con, path)
        own_schema.make_again(con, database.ALIAS, found, alone=False)
        with checksums.kept(con, is_older=True):
            migrate(con)
    return True


def migrate(con: duckdb.DuckDBPyConnection) -> None:
    """Run the migrations that the attached file has not had, in the transaction of a connection."""
    system_memory.check(system_memory.LEAST_TO_MIGRATE)
    from alembic import command

    from warehouse.store.tables import connected

    with connected(con) as connection:
        command.upgrade(alembic_config(connection), "head")


def alembic_config(connection: sa.Connection | None = None) -> Config:
    """Return Alembic's configuration for a connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(resource_folder("migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
