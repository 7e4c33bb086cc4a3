"""Many runs, one after another: regular TREC files of one layout are staged by one statement.

Reading, checking and ranking some runs at once takes a fraction of the time that each takes by itself.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from warehouse.errors import InputError, WarehouseError
from warehouse.readers import checks, clear, stage, trec
from warehouse.readers.files import LocalFile, open_file
from warehouse.readers.guess import guess
from warehouse.readers.staged import RUN_NUMBER, Staged, canonical_format, file_order

# So many bytes of text at once, what bounds the memory, and so many files, for each stays open.
_BYTES = 1 << 27
_FILES = 200


@dataclass(frozen=True)
class Batch:
    """Runs that are staged, one by itself or several `together`: then `run_number` counts them from 0.

    `first` is the place of the first of them among the sources.
    """

    first: int
    runs: tuple[Staged, ...]
    together: bool


@dataclass(frozen=True)
class Refused:
    """A source that cannot be taken as it is."""

    place: int
    error: WarehouseError


@dataclass(frozen=True)
class Group:
    """Sources that are open, to be staged together if there are several; they begin at place `first`."""

    first: int
    sources: Sequence[object]
    how: Mapping[str, Any]

    def staged(self, con: duckdb.DuckDBPyConnection) -> Iterator[Batch | Refused]:
        """Stage the runs, all at once if nothing is in doubt, else one after another.

        The tables are those of `readers.stage`, each time anew, with a column `run_number` in a batch
        that is together.
        """
        if len(self.sources) > 1:
            files = [source for source in self.sources if isinstance(source, LocalFile)]
            runs = _together(con, files)
            if runs is not None:
                yield Batch(self.first, runs, together=True)
                return
        for place, source in enumerate(self.sources, start=self.first):
            if isinstance(source, InputError):
                yield Refused(place, source)
                continue
            try:
                staged = stage(con, source, "run", **self.how)
            except WarehouseError as error:
                yield Refused(place, error)
            else:
                yield Batch(place, (staged,), together=False)


def groups(
    sources: Iterable[object],
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    normalise: str | None = None,
    hashed: bool = True,
    single: bool = False,
) -> Iterator[Group]:
    """Open the sources and give those that can be staged together, in their order, else one by itself.

    What `readers.stage` is asked for is the same for all; `single` asks for each by itself. A source
    that cannot be opened is given as the error. A group is closed when the next is asked for.
    """
    how = {"format": format, "columns": columns, "normalise": normalise, "hashed": hashed}
    plain = format is None or canonical_format(format) == "trec"
    can = plain and not columns and normalise is None and not single
    first = size = 0
    group: list[object] = []
    alike: tuple[bool, bool] | None = None
    with contextlib.ExitStack() as stack:
        for source in sources:
            given, opened = _opened(source, hashed)
            layout = _layout(given, guessed=format is None) if can else None
            bytes_ = given.size if isinstance(given, LocalFile) else 0
            is_full = size + bytes_ > _BYTES or len(group) == _FILES
            if group and (layout is None or layout != alike or is_full):
                yield Group(first, tuple(group), how)
                stack.close()
                first, size = first + len(group), 0
                group.clear()
            stack.enter_context(opened)
            group.append(given)
            alike, size = layout, size + bytes_
        if group:
            yield Group(first, tuple(group), how)


def _opened(source: object, hashed: bool) -> tuple[object, contextlib.ExitStack]:
    opened = contextlib.ExitStack()
    if not isinstance(source, str | os.PathLike):
        return source, opened
    try:
        return opened.enter_context(open_file(source, hashed=hashed)), opened
    except InputError as error:
        return error, opened


def _layout(given: object, guessed: bool) -> tuple[bool, bool] | None:
    """Return what files need in common to be read together; None for what is read by itself."""
    if not isinstance(given, LocalFile) or given.size == 0 or not trec.is_regular(given):
        return None
    return None if guessed and guess(given) != "trec" else trec.layout(given)


def _together(
    con: duckdb.DuckDBPyConnection, files: Sequence[LocalFile]
) -> tuple[Staged, ...] | None:
    """Stage runs by one statement; None where anything is in doubt."""
    clear(con)
    with file_order(con):
        tags = trec.read_together(con, files)
        if tags is None:
            return None
        warnings = checks.run_warnings(con, ranks=True, word="score", together=True)
    sizes = dict(
        con.execute(
            f"select {RUN_NUMBER}, sum(num_ret)::bigint from staged_ranking group by {RUN_NUMBER}"
        ).fetchall()
    )
    if len(sizes) < len(files):  # one has no line: reading it by itself says so
        return None
    checks.drop_service_columns(con, "run", ["rank"])
    return tuple(
        Staged(
            kind="run",
            source=file.source,
            format="trec",
            rows=sizes[number],
            source_sha256=file.sha256,
            ranked_by="score",
            tag=tag,
            warnings=tuple(warnings.get(number, ())),
        )
        for number, (file, tag) in enumerate(zip(files, tags, strict=True))
    )
