"""Runs whose files are gone: deleted, or renamed and then known by their content."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb

from warehouse.errors import InputError
from warehouse.ingest.forget import forget
from warehouse.ingest.known_runs import FILE_GONE
from warehouse.readers.remote import Location, location
from warehouse.sql_text.templates import render
from warehouse.store import checksums
from warehouse.store.clock import Clock
from warehouse.sync.declarations import Declarations, Runs

_ROW = "kind = 'run' and dataset_id = $dataset_id and path = $path"


@dataclass(frozen=True)
class Remembered:
    """A file of a run that was read.

    `run` is None if the run is not there any more, or another file has it. `is_known` says whether
    a sync has found before that the file is gone.
    """

    dataset_id: int
    dataset: str
    path: Location
    run: str | None
    is_known: bool

    @property
    def key(self) -> dict[str, object]:
        """Return the values by which its row is found."""
        return {"dataset_id": self.dataset_id, "path": str(self.path)}


@dataclass(frozen=True)
class Missing:
    """The declared files of runs that are gone, by what is to be done, and those that are back.

    `superseded` have no run any more.
    """

    kept: Sequence[Remembered]
    forgotten: Sequence[Remembered]
    superseded: Sequence[Remembered]
    back: Sequence[Remembered]

    @property
    def names(self) -> dict[str, frozenset[str]]:
        """Return the runs whose files are gone, by dataset."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for one in (*self.kept, *self.forgotten):
            found[one.dataset].add(str(one.run))
        return {dataset: frozenset(names) for dataset, names in found.items()}

    @property
    def is_news(self) -> bool:
        """Whether there is something to store."""
        untold = [one for one in self.kept if not one.is_known]
        return bool(untold or self.forgotten or self.superseded or self.back)


def look(con: duckdb.DuckDBPyConnection, asked: Declarations) -> Missing:
    """Look for the files that were read. Files of a source that has none at all are not gone.

    The folder of such a source is rather not mounted. Nor are files gone whose store does not answer.
    """
    rows = con.execute(render("statements/run_files")).fetchall()
    every = [Remembered(n, str(dataset), location(path), *rest) for n, dataset, path, *rest in rows]
    listed = _listing(asked)
    there = {one for one in every if _is_there(one.path, asked, listed)}
    taken = {(one.dataset, one.run) for one in there}
    found: dict[str, list[Remembered]] = {"keep": [], "forget": [], "superseded": []}
    for one in every:
        runs = None if one in there else _declared(asked, one.path)
        if runs is not None and listed(runs.where):
            is_superseded = one.run is None or (one.dataset, one.run) in taken
            found["superseded" if is_superseded else runs.missing].append(one)
    back = [one for one in every if one in there and one.is_known]
    return Missing(found["keep"], found["forget"], found["superseded"], back)


def _listing(asked: Declarations) -> Callable[[str], Set[str] | None]:
    """Return a function that lists the files of a source, once; None if its store does not answer."""

    @cache
    def listed(where: str) -> Set[str] | None:
        (runs,) = (runs for runs in asked.runs if runs.where == where)
        with suppress(InputError):
            return {str(file) for p in runs.patterns for file, _ in p.files(asked.folder)}
        return None

    return listed


def _is_there(
    file: Location, asked: Declarations, listed: Callable[[str], Set[str] | None]
) -> bool:
    """Whether a file is there, or cannot be looked for."""
    if isinstance(file, Path):
        return file.exists()
    runs = _declared(asked, file)
    found = set() if runs is None else listed(runs.where)
    return found is None or file.url in found


def _declared(asked: Declarations, path: Location) -> Runs | None:
    """Return the source of runs that a file belongs to."""
    return next(
        (r for r in asked.runs if any(p.matches(str(path), asked.folder) for p in r.patterns)), None
    )


def store(con: duckdb.DuckDBPyConnection, found: Missing) -> None:
    """Remember which files are gone and which are back, and forget the runs that are to be forgotten."""
    for one in found.forgotten:
        forget(con, str(one.run), one.dataset, reason=FILE_GONE)
    for one in (*found.forgotten, *found.superseded):
        con.execute(f"delete from source_file where {_ROW}", one.key).fetchall()
    untold = [one for one in found.kept if not one.is_known]
    for some, since in ((untold, Clock(con).now()), (found.back, None)):
        for one in some:
            checksums.change(con, "source_file", {"missing_since": since}, _ROW, one.key)
