"""The verbs of SQL for everyone, which the class `Warehouse` has beside its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb

from warehouse import database
from warehouse.analyze import adhoc, views
from warehouse.arguments import bindable
from warehouse.errors import UsageError, check_at_least
from warehouse.opened import File
from warehouse.report import apart, formats, replacing, replica
from warehouse.templates import render


class Asking(File):
    """A warehouse file that can be asked anything in SQL."""

    def query(
        self,
        sql: str,
        params: Mapping[str, object] | None = None,
        /,
        *,
        timeout: float | None = None,
        **named: object,
    ) -> duckdb.DuckDBPyRelation:
        """Run one SQL statement, read-only, with `$name` bound from `params` and the keywords.

        Files, network and settings are closed to it; it may use 4 GB of memory, or half of what the
        machine has, unless `Warehouse(memory_limit=…)` says otherwise. It runs in this process: after
        `timeout` seconds it is asked to stop, and a crash of the engine would crash this process. For
        SQL of people you do not know take `stream`. Raises WarehouseError.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.init()
        >>> wh.query("select $a + 1 as b, count(*) as runs from runs", a=1).fetchall()
        [(2, 0)]
        """
        with self._read(adhoc.caps(self.resources)) as con:
            return adhoc.query(con, sql, bindable({**(params or {}), **named}), timeout)

    def stream(
        self,
        sql: str,
        params: Mapping[str, object] | None = None,
        *,
        write: Callable[[str], object],
        format: str = "csv",
        limit: int | None = None,
        places: int = 4,
        timeout: float | None = adhoc.TIMEOUT,
    ) -> apart.Answer:
        """Run one SQL statement in a process of its own and write its rows as text while they come.

        As `query`, but nothing that the statement does can hurt this process, and after `timeout`
        seconds it is ended, whatever it is doing. `write` gets the text piece by piece; at most `limit`
        rows. Returns how many, and whether there were more.

        >>> import sys, tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.init()
        >>> wh.stream("select unnest([3, 4, 5]) as i", write=sys.stdout.write, limit=2)
        i
        3
        4
        Answer(rows=2, truncated=True)
        """
        check_at_least(1, limit=limit)
        if formats.check(format) == "parquet":
            raise UsageError("parquet is no text; take stream_parquet")
        work = apart.Work(
            self._existing(), sql, bindable(params or {}), format, places, limit,
            resources=self.resources, lock_timeout=self.lock_timeout,
        )  # fmt: skip
        return apart.run(work, write, timeout)

    def stream_parquet(
        self,
        sql: str,
        path: str | os.PathLike[str],
        params: Mapping[str, object] | None = None,
        *,
        limit: int | None = None,
        timeout: float | None = adhoc.TIMEOUT,
    ) -> apart.Answer:
        """Run one SQL statement as `stream` does, and write its rows to a Parquet file.

        >>> import tempfile
        >>> from pathlib import Path
        >>> from warehouse.warehouse import Warehouse
        >>> folder = Path(tempfile.mkdtemp())
        >>> wh = Warehouse(folder / "example.duckdb")
        >>> _ = wh.init()
        >>> wh.stream_parquet("select unnest([3, 4, 5]) as i", folder / "i.parquet").rows
        3
        """
        check_at_least(1, limit=limit)
        with replacing.written(Path(path)) as part:
            work = apart.Work(
                self._existing(), sql, bindable(params or {}), limit=limit, output=part,
                resources=self.resources, lock_timeout=self.lock_timeout,
            )  # fmt: skip
            return apart.run(work, lambda _: None, timeout)

    def publish(
        self, path: str | os.PathLike[str], *, storage_version: str = replica.STORAGE_VERSION
    ) -> replica.Published:
        """Write a copy for those who read long: whole, or the one before stays as it was.

        It has every table, view and comment, and is in the storage version of an older DuckDB, so that
        other clients open it too. Only a replica is ever replaced. Raises UsageError and LockedError.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> folder = tempfile.mkdtemp()
        >>> wh = Warehouse(folder + "/example.duckdb")
        >>> _ = wh.init()
        >>> wh.publish(folder + "/replica.duckdb").path.name
        'replica.duckdb'
        """
        with self._read() as con:
            return replica.publish(
                con, self.path, Path(path),
                storage_version=storage_version, lock_timeout=self.lock_timeout,
            )  # fmt: skip

    def publish_parquet(self, folder: str | os.PathLike[str]) -> replica.Published:
        """Write every table and view as a Parquet file, with `manifest.json`, to a folder.

        The folder is a link to the newest one, replaced in one step.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> folder = tempfile.mkdtemp()
        >>> wh = Warehouse(folder + "/example.duckdb")
        >>> _ = wh.init()
        >>> (wh.publish_parquet(folder + "/replica").path / "leaderboard.parquet").is_file()
        True
        """
        with self._read() as con:
            return replica.publish_parquet(
                con, self.path, Path(folder), lock_timeout=self.lock_timeout
            )

    def schema(self) -> duckdb.DuckDBPyRelation:
        """Return every view and table with its columns, what they mean, and an example of each view.

        Columns: `kind, relation, column, type, comment, example`; a view's or table's own row has no
        `column`. The views for people come first.
        """
        with self._read() as con:
            return database.keep(
                con, render("analyses/schema", database=database.ALIAS, examples=views.EXAMPLES)
            )
