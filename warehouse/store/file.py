"""The file of a warehouse: where it is, its limits, and how it is opened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from warehouse.config.project import request
from warehouse.config.settings import DATABASE_VARIABLE, LOCK_TIMEOUT, database_path
from warehouse.errors import UsageError, seconds
from warehouse.store import checksums, database
from warehouse.store.database import Resources
from warehouse.store.engine_errors import at_the_edge


class WarehouseFile:
    """A database file, which is closed again after each use.

    `path` is as in `Warehouse`. `is_named` says whether it was given, or comes from WAREHOUSE_DB, and
    not from the project's file. While the file is open, the project's files are read at most once.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        resources: Resources | None = None,
        lock_timeout: float = LOCK_TIMEOUT,
    ) -> None:
        self._path = database_path(path)
        self._absolute = self._path.absolute()
        self.is_named = bool(path or os.environ.get(DATABASE_VARIABLE))
        self.resources = resources or Resources()
        self.lock_timeout = seconds("lock_timeout", lock_timeout)

    @property
    def path(self) -> Path:
        """Return the path as it was given, or the absolute path if the current folder has changed."""
        is_there = self._path.is_absolute() or self._path.absolute() == self._absolute
        return self._path if is_there else self._absolute

    def existing(self) -> Path:
        """Return the path. Raises UsageError if there is no file."""
        if not self.path.exists():
            raise UsageError(
                f"{self.path}: no such database; make one with 'warehouse init' or 'warehouse demo', "
                "or say where it is with --db or WAREHOUSE_DB"
            )
        return self.path

    def ensure(self) -> bool:
        """Make the file if it is missing, or upgrade its schema; return whether it changed."""
        from warehouse.store import schema

        return schema.ensure(self.path, resources=self.resources, lock_timeout=self.lock_timeout)

    @contextmanager
    def read(
        self, resources: Resources | None = None, staged: duckdb.DuckDBPyConnection | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file for reading, as `database.read` does; other limits can be set."""
        with (
            request(),
            database.read(
                self.existing(),
                resources=resources or self.resources,
                lock_timeout=self.lock_timeout,
                staged=staged,
            ) as con,
        ):
            database.check_schema(con, self.path)
            yield con

    @contextmanager
    def transaction(
        self, staged: duckdb.DuckDBPyConnection | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file for one transaction: see `database.transaction`.

        Raises UsageError if there is no file, or if it has another schema.
        """
        with (
            request(),
            database.transaction(
                self.existing(),
                resources=self.resources,
                lock_timeout=self.lock_timeout,
                staged=staged,
            ) as con,
        ):
            database.check_schema(con, self.path)
            with checksums.kept(con):
                yield con

    @contextmanager
    def staging(self) -> Iterator[Staging]:
        """Open a connection for work before the file is written."""
        with database.staging(self.resources) as con:
            yield Staging(self, con)


class OpenFile(WarehouseFile):
    """A replica that stays open: reading it takes a connection, but opens no file.

    When it is replaced, this one goes on reading what it opened.
    """

    def __init__(self, path: Path, resources: Resources | None = None) -> None:
        super().__init__(path, resources)
        self._con = database.attached(self.existing(), self.resources)
        database.check_schema(self._con, self.path)

    @contextmanager
    def read(
        self, resources: Resources | None = None, staged: duckdb.DuckDBPyConnection | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a connection for reading; the limits come from the open file."""
        if staged is not None:
            raise ValueError("an open file is read on connections of its own")
        with request(), at_the_edge(self.path):
            yield database.another(self._con, self.resources)


@dataclass(frozen=True)
class Staging:
    """A connection for temporary tables; the file is attached to it only while it is needed."""

    file: WarehouseFile
    con: duckdb.DuckDBPyConnection

    def read(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """Open the file for reading on this connection."""
        return self.file.read(staged=self.con)

    def transaction(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """Open the file for one transaction on this connection."""
        return self.file.transaction(self.con)
