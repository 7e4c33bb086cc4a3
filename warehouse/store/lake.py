"""A lake: Delta tables on a folder or an object store, to which many processes append at once."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warehouse.config.installation import adding
from warehouse.errors import UsageError, first_line, listing

if TYPE_CHECKING:
    import pyarrow as pa

# In the order of writing: a row of `evaluation` makes its values visible, so it comes last.
TABLES = (
    "query_score", "score", "run", "qrels", "tombstone", "gate_result", "gate_acceptance", "evaluation",
)  # fmt: skip
_TRIES = 20
_PAUSE = 0.05
# The size in bytes up to which small files are joined.
_FILE_SIZE = 128 * 2**20


class Lake:
    """The tables below a URL or a folder, each partitioned by dataset; rows are only ever added."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        if Path(self.url).is_file():
            raise UsageError(
                f"{self.url}: a file; a lake is a folder, or a URL as s3://bucket/lake"
            )
        self._delta = _deltalake()

    def append(self, table: str, rows: pa.Table) -> int:
        """Append rows in one commit, which is seen whole or not at all; return their number."""
        if not len(rows):
            return 0
        place = f"{self.url}/{table}"
        with self._failures(place):
            for turn in range(_TRIES):
                try:
                    self._delta.write_deltalake(
                        place, rows, mode="append", partition_by=["dataset"]
                    )
                    break
                except self._delta.exceptions.DeltaError:
                    # another process has made the table, or was faster with a commit
                    if turn == _TRIES - 1:
                        raise
                    time.sleep(_PAUSE * (1 + random.random()) * (turn + 1))
        return len(rows)

    def read(self, table: str) -> Any:
        """Return the rows of a table as a dataset of Arrow, None if there is no such table."""
        place = f"{self.url}/{table}"
        with self._failures(place):
            try:
                return self._delta.DeltaTable(place).to_pyarrow_dataset()
            except self._delta.exceptions.TableNotFoundError:
                return None

    def version(self) -> tuple[int | None, ...]:
        """Return the number of commits of each table: it changes with every push."""
        found: list[int | None] = []
        for table in TABLES:
            place = f"{self.url}/{table}"
            with self._failures(place):
                try:
                    found.append(self._delta.DeltaTable(place).version())
                except self._delta.exceptions.TableNotFoundError:
                    found.append(None)
        return tuple(found)

    def compact(self, table: str) -> tuple[int, int]:
        """Join the small files of each dataset; return the numbers of files before and after.

        A reader of an earlier version goes on: the files that were joined stay in the lake.
        """
        place = f"{self.url}/{table}"
        with self._failures(place):
            there = self._delta.DeltaTable(place)
            before = len(there.file_uris())
            there.optimize.compact(target_size=_FILE_SIZE)
            return before, len(there.file_uris())

    def check(self) -> None:
        """Refuse a place where there is no lake."""
        if self.read("evaluation") is None:
            raise UsageError(
                f"{self.url}: no lake, or nothing was pushed into it: warehouse push --lake URL"
            )

    @contextmanager
    def _failures(self, place: str) -> Iterator[None]:
        try:
            yield
        except (OSError, self._delta.exceptions.DeltaError) as error:
            raise UsageError(f"{place}: {first_line(error)}") from error


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
