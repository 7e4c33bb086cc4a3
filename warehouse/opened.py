"""The database file, and how it is opened for reading and writing."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import duckdb

from warehouse.config.arguments import checked
from warehouse.config.settings import DATABASE_VARIABLE, LOCK_TIMEOUT, database_path
from warehouse.errors import UsageError, check_at_least, seconds
from warehouse.store import database
from warehouse.store.clock import Clock

if TYPE_CHECKING:
    import sqlalchemy as sa

    from warehouse.evaluate.stored_runs import Job, Outcome

Texts = str | Iterable[str]
_T = TypeVar("_T")


def texts(given: str | Iterable[_T]) -> list[str | _T]:
    """Return one text, or several, as a list."""
    return [given] if isinstance(given, str) else list(given)


class File:
    """A warehouse database; it is closed again after each use.

    The arguments of the public methods of all subclasses are checked against their signatures.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, verb in [*vars(cls).items()]:
            if inspect.isfunction(verb) and not name.startswith("_"):
                setattr(cls, name, checked(verb))

    @checked
    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        memory_limit: str | None = None,
        threads: int | None = None,
        temp_directory: str | None = None,
        lock_timeout: float = LOCK_TIMEOUT,
    ) -> None:
        check_at_least(1, threads=threads)
        self._path = database_path(path)
        self._absolute = self._path.absolute()
        self._is_named = bool(path or os.environ.get(DATABASE_VARIABLE))
        self.resources = database.Resources(memory_limit, threads, temp_directory)
        self.lock_timeout = seconds("lock_timeout", lock_timeout)

    @property
    def path(self) -> Path:
        """Return the path as it was given, or the absolute path if the current folder has changed."""
        is_there = self._path.is_absolute() or self._path.absolute() == self._absolute
        return self._path if is_there else self._absolute

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def _evaluate(
        self,
        jobs: Sequence[Job],
        dataset: str | None,
        runs: Sequence[str],
        *,
        qrels: int | None = None,
        dry_run: bool = False,
        on_metric: Callable[[str], None] | None = None,
        with_it: Callable[[duckdb.DuckDBPyConnection], object] | None = None,
    ) -> Outcome:
        """Compute what is missing or stale for some jobs; open the file for writing only if needed.

        `with_it` then writes in the same transaction.
        """
        from warehouse.evaluate import candidates, requirements, stored_runs

        with self._read() as con:
            asked = candidates.find(con, dataset, runs, qrels)
            possible, found = stored_runs.look(con, jobs, asked)
        if dataset in found.unfit:
            raise UsageError(requirements.unfit(dataset, found.unfit[dataset]))
        if not dry_run and found.computed:
            with self._transaction() as con:
                found = stored_runs.Outcome(left_out=found.left_out, at=Clock(con).now())
                asked = candidates.find(con, dataset, runs, qrels)
                for job in possible:
                    stored_runs.evaluate(con, job, asked, on_metric=on_metric, outcome=found)
                if with_it is not None:
                    with_it(con)
        return found

    def _transaction(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        return database.transaction(
            self.path, resources=self.resources, lock_timeout=self.lock_timeout
        )

    def _write(self) -> AbstractContextManager[sa.Connection]:
        return database.write(self.path, resources=self.resources, lock_timeout=self.lock_timeout)

    def _ensure(self) -> bool:
        """Make the file if it is missing, or upgrade its schema; return whether it changed."""
        from warehouse.store import schema

        return schema.ensure(self.path, resources=self.resources, lock_timeout=self.lock_timeout)

    def _existing(self) -> Path:
        if not self.path.exists():
            raise UsageError(
                f"{self.path}: no such database; make one with 'warehouse init' or 'warehouse demo', "
                "or say where it is with --db or WAREHOUSE_DB"
            )
        return self.path

    @contextmanager
    def _read(
        self, resources: database.Resources | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        with database.read(
            self._existing(), resources=resources or self.resources, lock_timeout=self.lock_timeout
        ) as con:
            database.check_schema(con, self.path)
            yield con
