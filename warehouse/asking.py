"""SQL queries, replicas and the schema: methods of the class `Warehouse`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb

from warehouse.analyze import sql_query, view_examples
from warehouse.config.arguments import bindable
from warehouse.errors import UsageError, check_at_least
from warehouse.opened import File
from warehouse.report import file_replacement, formats, query_process, replica
from warehouse.sql_text.templates import render
from warehouse.store import database


class Asking(File):
    """Runs SQL, and writes replicas."""

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

        The statement has no access to files, network or settings. It can use 4 GB of memory, or
        half of the machine's if that is less; `Warehouse(memory_limit=…)` sets another limit. It
        runs in this process: after `timeout` seconds it is asked to stop, and a crash of DuckDB
        would crash this process. For SQL that you do not trust, use `stream`. Raises
        WarehouseError.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.init()
        >>> wh.query("select $a + 1 as b, count(*) as runs from runs", a=1).fetchall()
        [(2, 0)]
        """
        with self._read(sql_query.caps(self.resources)) as con:
            return sql_query.query(con, sql, bindable({**(params or {}), **named}), timeout)

    def stream(
        self,
        sql: str,
        params: Mapping[str, object] | None = None,
        *,
        write: Callable[[str], object],
        format: str = "csv",
        limit: int | None = None,
        places: int = 4,
        timeout: float | None = sql_query.TIMEOUT,
    ) -> query_process.Answer:
        """Run one SQL statement in a process of its own and write its rows as text, as they come.

        It is like `query`, but the statement cannot harm this process, and after `timeout` seconds
        its process is ended. `write` is called with each piece of the text. At most `limit` rows
        are written. Returns the number of rows, and whether there were more.

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
            raise UsageError("parquet is not text; use stream_parquet")
        work = query_process.Work(
            self._existing(), sql, bindable(params or {}), format, places, limit,
            resources=self.resources, lock_timeout=self.lock_timeout,
        )  # fmt: skip
        return query_process.run(work, write, timeout)

    def stream_parquet(
        self,
        sql: str,
        path: str | os.PathLike[str],
        params: Mapping[str, object] | None = None,
        *,
        limit: int | None = None,
        timeout: float | None = sql_query.TIMEOUT,
    ) -> query_process.Answer:
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
        with file_replacement.new_file(Path(path)) as part:
            work = query_process.Work(
                self._existing(), sql, bindable(params or {}), limit=limit, output=part,
                resources=self.resources, lock_timeout=self.lock_timeout,
            )  # fmt: skip
            return query_process.run(work, lambda _: None, timeout)

    def publish(
        self, path: str | os.PathLike[str], *, storage_version: str = replica.STORAGE_VERSION
    ) -> replica.Published:
        """Write a replica that other programs can keep open.

        The new replica is written completely before it replaces the old one. It has every table,
        view and comment; `storage_version` is the oldest DuckDB version that can read it. A file
        that is not a replica is never replaced. Raises UsageError and LockedError.

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

        `folder` is a link to the newest files, which is replaced in one step.

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
        """Return every view and table with its columns, their meaning, and an example for each view.

        Columns: `kind, relation, column, type, comment, example`. The row of a view or table itself
        has no `column`. The main views come first.
        """
        with self._read() as con:
            return database.keep(
                con,
                render("analyses/schema", database=database.ALIAS, examples=view_examples.EXAMPLES),
            )
