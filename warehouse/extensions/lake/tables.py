"""A lake: Delta tables on a folder or an object store, to which many processes append at once."""

from __future__ import annotations

import datetime as dt
import json
import random
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from warehouse.config.installation import adding
from warehouse.config.ownership import refuse_links
from warehouse.errors import UsageError, first_line, listing, visible
from warehouse.store.interrupts import is_interrupt

if TYPE_CHECKING:
    import pyarrow as pa

# In the order of writing: a row of `evaluation` makes its values visible, so it comes last.
TABLES = (
    "query_score", "score", "run", "qrels", "made_current", "tombstone", "gate_result",
    "gate_acceptance", "evaluation",
)  # fmt: skip
# Runs and qrels whole, which no value is read from: only some are pushed.
CONTENTS = ("judgment", "prediction")
# The table whose commits are the versions of the lake: it is written last.
_LAST = TABLES[-1]
# The fields of its commits: the versions of all tables that it has found, and who wrote it.
_FOUND, _BY = "versions", "pushed_by"
# The layout of the tables, which each has as its name: a lake of another is neither read nor written.
# A table without a name has this one.
_LAYOUT = "ranking-warehouse lake, layout 1"
_TRIES = 20
_PAUSE = 0.05
# The size in bytes of a file of many rows, and up to which small files are joined.
_FILE_SIZE = 128 * 2**20


@dataclass(frozen=True)
class Files:
    """How many files a table has, and their bytes."""

    count: int
    size: int


class Lake:
    """The tables below a URL or a folder, each partitioned by dataset; rows are only ever added.

    With `version` it is read as it was after that push. Raises UsageError if there is no such
    version.
    """

    def __init__(self, url: str, version: int | None = None) -> None:
        self.url = url.rstrip("/")
        if Path(self.url).is_file():
            raise UsageError(
                f"{self.url}: a file; a lake is a folder, or a URL as s3://bucket/lake"
            )
        refuse_links(Path(self.url.removeprefix("file://")), "lake")
        self._delta = _deltalake()
        self._then = None if version is None else self._tables_of(version)

    def append(self, table: str, rows: pa.Table, *, by: str = "", always: bool = False) -> int:
        """Append rows in one commit, which is seen whole or not at all; return their number.

        Without rows there is no commit, unless `always`. The commit of a version says whom it is `by`.
        """
        if not (len(rows) or always):
            return 0
        table_url = f"{self.url}/{table}"
        with self._failures(table_url):
            properties = None
            if table == _LAST:
                found = {
                    name: number
                    for name, number in zip(TABLES, self.version(), strict=True)
                    if name != _LAST and number is not None
                }
                properties = self._delta.CommitProperties(
                    custom_metadata={_FOUND: json.dumps(found), _BY: by}
                )
            for turn in range(_TRIES):
                try:
                    self._delta.write_deltalake(
                        table_url, rows, mode="append", partition_by=["dataset"],
                        commit_properties=properties, target_file_size=_FILE_SIZE, name=_LAYOUT,
                    )  # fmt: skip
                    break
                except self._delta.exceptions.DeltaError:
                    # another process has made the table, or was faster with a commit
                    if turn == _TRIES - 1:
                        raise
                    time.sleep(_PAUSE * (1 + random.random()) * (turn + 1))
        return len(rows)

    def read(self, table: str) -> Any:
        """Return the rows of a table as a dataset of Arrow, None if there is no such table."""
        if self._then is not None and table not in self._then:
            return None
        table_url = f"{self.url}/{table}"
        with self._failures(table_url):
            try:
                number = None if self._then is None else self._then[table]
                return self._open(table_url, number).to_pyarrow_dataset()
            except self._delta.exceptions.TableNotFoundError:
                return None

    def version(self) -> tuple[int | None, ...]:
        """Return the number of commits of each table: it changes with every push."""
        found: list[int | None] = []
        for table in TABLES:
            table_url = f"{self.url}/{table}"
            with self._failures(table_url):
                try:
                    found.append(self._open(table_url).version())
                except self._delta.exceptions.TableNotFoundError:
                    found.append(None)
        return tuple(found)

    def versions(self) -> list[tuple[int, dt.datetime, str]]:
        """Return the lake's versions, when each was written and by whom, the newest first."""
        return [(number, at, by) for number, at, by, _ in self._history()]

    def _tables_of(self, version: int) -> Mapping[str, int]:
        """Return the version that each table had in a version of the lake.

        A commit of the last table says which versions its writer had found. A writer that was faster
        may have found newer ones, so the highest of all commits up to then hold.
        """
        found: dict[str, int] = {_LAST: version}
        history = self._history()
        numbers = [number for number, *_ in history]
        if version not in numbers:
            there = f"{numbers[-1]} to {numbers[0]}" if numbers else "none"
            raise UsageError(f"{self.url}: has no version {version}; its versions: {there}")
        for commit, _, _, tables in history:
            if commit <= version:
                for table, number in tables.items():
                    found[table] = max(number, found.get(table, 0))
        return found

    def _history(self) -> list[tuple[int, dt.datetime, str, dict[str, int]]]:
        """Return the commits of the last table, the newest first: number, time, who, versions found."""
        table_url = f"{self.url}/{_LAST}"
        with self._failures(table_url):
            try:
                history: list[dict[str, Any]] = self._open(table_url).history()
            except self._delta.exceptions.TableNotFoundError:
                return []
        try:
            return [
                (
                    entry["version"],
                    dt.datetime.fromtimestamp(entry["timestamp"] / 1000, dt.UTC),
                    str(entry.get(_BY, "")),
                    {name: int(one) for name, one in json.loads(entry.get(_FOUND, "{}")).items()},
                )
                for entry in history
            ]
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise UsageError(
                f"{table_url}: its history is not as this program writes it ({first_line(error)})"
            ) from error

    def compact(self, table: str, *, by: str = "") -> tuple[Files, Files]:
        """Join the small files of each dataset; return the files before and after.

        A reader of an earlier version goes on: the files that were joined stay in the lake.
        """
        properties = self._delta.CommitProperties(custom_metadata={_BY: by})
        table_url = f"{self.url}/{table}"
        with self._failures(table_url):
            there = self._open(table_url)
            before = _files(there)
            there.optimize.compact(target_size=_FILE_SIZE, commit_properties=properties)
            return before, _files(there)

    def check(self) -> None:
        """Refuse a folder or a bucket without a lake."""
        if self.read("evaluation") is None:
            raise UsageError(
                f"{self.url}: no lake, or nothing was pushed into it: warehouse push --lake URL"
            )

    def _open(self, table_url: str, number: int | None = None) -> Any:
        """Return a table of this program's layout; another is refused before anything is read."""
        found = self._delta.DeltaTable(table_url, version=number)
        layout = found.metadata().name or _LAYOUT
        if layout != _LAYOUT:
            raise UsageError(
                f"{table_url}: another version of this program wrote it ({visible(layout)}; this one "
                f"knows {_LAYOUT!r}); upgrade it: pip install --upgrade ranking-warehouse"
            )
        return found

    @contextmanager
    def _failures(self, table_url: str) -> Iterator[None]:
        try:
            yield
        except (OSError, OverflowError, self._delta.exceptions.DeltaError) as error:
            raise UsageError(f"{table_url}: {_in_one_line(error)}") from error


def _in_one_line(error: Exception) -> str:
    r"""Return a message with its causes, which delta-rs draws as a tree in colours.

    >>> _in_one_line(OSError("S3 error" + chr(10) + "  \x1b[31m↳\x1b[0m GET failed" + chr(10)))
    'S3 error: GET failed'
    """
    return re.sub(r"\s*(?:\x1b\[\d+m)*↳(?:\x1b\[\d+m)*\s*", ": ", str(error)).strip().split("\n")[0]


@contextmanager
def lake_errors(url: str) -> Iterator[None]:
    """Raise the engine's errors about rows of the lake as one sentence about it."""
    try:
        yield
    except duckdb.Error as error:
        if is_interrupt(error):
            raise
        raise UsageError(
            f"{url}: its tables are not as this program writes them, or lack a file: {first_line(error)}"
        ) from error


def _files(table: Any) -> Files:
    sizes = table.get_add_actions(flatten=True)["size_bytes"].to_pylist()
    return Files(len(sizes), sum(sizes))


def _deltalake() -> Any:
    lacks = []
    for name in ("deltalake", "pyarrow"):
        try:
            __import__(name)
        except ImportError:
            lacks.append(name)
    if lacks:
        raise UsageError(f"a lake needs {listing(lacks)}: {adding('lake')}")
    import deltalake
    import deltalake.exceptions

    return deltalake
