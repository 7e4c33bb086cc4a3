"""One state of the warehouse, which does not change: its pages are made when asked for, and kept."""

from __future__ import annotations

import datetime as dt
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from warehouse.config.settings import SHOWN_METRICS, VERSION
from warehouse.errors import DatabaseError
from warehouse.metrics import protocols
from warehouse.metrics.notation import parse
from warehouse.report.pages import site
from warehouse.report.pages.contents import Contents, State, contents, state
from warehouse.report.pages.past_file import NOW, Then
from warehouse.sql_text.templates import render
from warehouse.store import database
from warehouse.store.database import Resources
from warehouse.store.file import OpenFile

_T = TypeVar("_T")
Pages = dict[str, Callable[[], str]]
# The most that is kept: sets of metrics that somebody asked for, and the bytes of answers.
_MOST_KEPT = 64
_MOST_BYTES = 64 << 20
# Values of so many queries and runs are read at once; of more, each page reads its own.
_MOST_READ = 20_000


class Kept:
    """Values by key; when they are too many, or too large together, the longest unused ones go."""

    def __init__(self, most: int, size: Callable[[Any], int] = lambda _: 1) -> None:
        self._most, self._size, self._total = most, size, 0
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return a value, which is made if it is not there; others who want it wait."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                found: _T = self._values[key]
                return found
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                if key in self._values:
                    there: _T = self._values[key]
                    return there
            try:
                made = make()
            finally:
                with self._lock:
                    self._making.pop(key, None)
            with self._lock:
                self._values[key] = made
                self._total += self._size(made)
                while self._total > self._most and len(self._values) > 1:
                    self._total -= self._size(self._values.popitem(last=False)[1])
            return made


class Snapshot:
    """A replica that is open, what is on its pages, and the answers that were given."""

    def __init__(
        self, path: Path, name: str, stamp: Sequence[int], resources: Resources, depth: int
    ) -> None:
        self.file = OpenFile(path, resources)
        self.depth = depth
        with self.file.read() as con:
            found = database.publication(con)
        if found is None:
            raise DatabaseError(f"{path}: is no replica; make one with: warehouse publish")
        self.published_at: dt.datetime = found[1]
        # answers are the same while this is
        words = f"{VERSION} {self.published_at.isoformat()} {list(stamp)}"
        self.stamp = hashlib.sha256(words.encode()).hexdigest()[:16]
        self.about = site.About(
            database=name, written_at=self.published_at, is_live=True, stamp=self.stamp
        )
        self.kept = Kept(_MOST_KEPT)
        self.answers = Kept(_MOST_BYTES, len)

    @property
    def state(self) -> State:
        """The contents of the database."""

        def read() -> State:
            with self.file.read() as con:
                return state(con, ())

        return self.kept.get("state", read)

    def days(self, dataset: str) -> tuple[str, ...]:
        """Return the days on which a board of a dataset changed."""

        def read() -> tuple[str, ...]:
            with self.file.read() as con:
                rows = con.execute(render("server/changed_days"), {"dataset": dataset})
                return tuple(day.isoformat() for (day,) in rows.fetchall())

        return self.kept.get(("days", dataset), read)

    def contents(
        self, dataset: str, protocol: str, metrics: tuple[str, ...] = (), then: Then = NOW
    ) -> Contents | None:
        """Return the contents of the pages of a dataset, for some metrics or for those that are stored.

        Raises UsageError for a past state without values.
        """
        (row,) = (row for row in self.state.datasets if row["dataset"] == dataset)
        is_large = (row["runs"] or 0) * (row["queries"] or 0) > _MOST_READ
        return self.kept.get(
            ("contents", dataset, protocol, metrics, then),
            lambda: contents(
                self.file, dataset, protocol, metrics=metrics, depth=self.depth,
                one_by_one=is_large or bool(metrics) or not then.is_now, with_text=True,
                then=then, days=self.days(dataset),
            ),
        )  # fmt: skip

    def all_contents(self) -> list[Contents]:
        """Return the contents of the pages of all datasets, under each protocol that has values."""
        found = [
            self.contents(row["dataset"], protocol)
            for row in self.state.datasets
            for protocol in self.state.evaluated[row["dataset"]]
        ]
        return [one for one in found if one is not None]

    def at(self, path: str) -> tuple[str, str] | None:
        """Return the dataset and the protocol whose folder a path is in."""

        def folders() -> dict[str, tuple[str, str]]:
            return {
                site.folder_of(row["dataset"], protocol): (row["dataset"], protocol)
                for row in self.state.datasets
                for protocol in {*protocols.catalogue(), *self.state.evaluated[row["dataset"]]}
            }

        return self.kept.get("folders", folders).get(path.partition("/")[0])

    def metrics(self, dataset: str, protocol: str, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Return the metrics to show: those asked for, or none if there are stored ones."""
        evaluated = self.state.evaluated[dataset]
        if asked or protocol in evaluated:
            return asked
        stored = self.contents(dataset, evaluated[0]) if evaluated else None
        return SHOWN_METRICS if stored is None else stored.names

    def pages(self, path: str, metrics: tuple[str, ...] = (), then: Then = NOW) -> Pages:
        """Return what makes each page; of another state or other metrics, the pages of one dataset."""
        there = self.at(path) if metrics or not then.is_now else None
        if there is None:
            return self.kept.get("pages", lambda: self._pages(self.all_contents()))

        def make() -> Pages:
            asked = self.contents(*there, metrics, then)
            others = [
                one
                for one in self.all_contents()
                if one.dataset == there[0] and one.protocol != there[1]
            ]
            return self._pages([*others, *([] if asked is None else [asked])])

        return self.kept.get(("pages", there, metrics, then), make)

    def _pages(self, found: Sequence[Contents]) -> Pages:
        made = site.files(self.about, self.state, found)
        return {path.partition("?")[0]: make for path, make in made}

    def page(self, path: str, metrics: tuple[str, ...] = (), then: Then = NOW) -> str | None:
        """Return the text of a page, for some metrics or for those that are stored."""
        if path.startswith("metrics/"):
            for name, protocol in product(map(str, parse(*metrics)), protocols.catalogue()):
                if site.metric_path(name, protocol) == path:
                    return site.metric_page(self.about, name, protocol)
        make = self.pages(path, metrics, then).get(path)
        return None if make is None else make()

    def warm(self) -> None:
        """Read the contents of the first page, so that the first reader need not wait."""
        self.page("index.html")

    def read_ahead(self) -> None:
        """Read the contents of the other pages, as far as they are small."""
        for found in self.all_contents():
            if not found.one_by_one:
                found.read_all()
