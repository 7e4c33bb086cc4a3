"""A file that is read as it was: every reader of it sees the past, without knowing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from warehouse.analyze import past_state
from warehouse.store.database import Resources
from warehouse.store.file import WarehouseFile


@dataclass(frozen=True)
class Then:
    """The state that pages show: up to a day or moment, against a version of the qrels.

    By default it is the present, against the current qrels.
    """

    as_of: str = ""
    qrels: int | None = None

    @property
    def is_now(self) -> bool:
        """Whether nothing is cut off."""
        return not self.as_of and self.qrels is None

    @property
    def words(self) -> dict[str, str]:
        """The parameters of an address that shows this state."""
        given = {"as_of": self.as_of, "qrels": "" if self.qrels is None else str(self.qrels)}
        return {name: word for name, word in given.items() if word}


NOW = Then()


class PastFile(WarehouseFile):
    """A warehouse of which a dataset is read as it was then."""

    def __init__(self, file: WarehouseFile, dataset: str, then: Then) -> None:
        super().__init__(file.path, file.resources, file.lock_timeout)
        self._file, self._dataset = file, dataset
        self._state = past_state.state(then.as_of or None, then.qrels)

    @contextmanager
    def read(
        self, resources: Resources | None = None, staged: duckdb.DuckDBPyConnection | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file for reading; its views have the state of then."""
        with (
            self._file.read(resources, staged) as con,
            past_state.read_one(con, self._dataset, self._state),
        ):
            yield con
