"""Many runs, one after another: regular TREC files of one layout are staged by one statement, and so are
tables of one format.

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
from warehouse.readers import checks, clear, delimited, objects, stage, tables, trec
from warehouse.readers.files import LocalFile, open_file
from warehouse.readers.guess import guess, other_layout
from warehouse.readers.staged import (
    RUN_NUMBER,
    Staged,
    canonical_format,
    checked_mapping,
    file_order,
)

# The most bytes of text at once, which bounds the memory, and the most files, which stay open; some
# of the open files that the system allows are for the program, its libraries and the database.
_BYTES = 1 << 27
_FILES = 200
_OTHER_FILES = 40
# The size of TREC text relative to Parquet, measured on large runs.
_PARQUET = 3
# The formats of files that can be read together, and what else they must share.
_Layout = tuple[str, *tuple[object, ...]]


@dataclass(frozen=True)
class Batch:
    """Staged runs, one by itself or several `together`; `run_number` then counts them from 0.

    `first` is the place of the first one among the sources.
    """

    first: int
    runs: tuple[Staged, ...]
    together: bool


@dataclass(frozen=True)
class Refused:
    """A source that cannot be loaded as it is."""

    place: int
    error: WarehouseError


@dataclass(frozen=True)
class Group:
    """Open sources to stage together, if there are several; the first one is at place `first`.

    Several sources have one `format`.
    """

    first: int
    sources: Sequence[object]
    how: Mapping[str, Any]
    format: str | None = None

    def staged(self, con: duckdb.DuckDBPyConnection) -> Iterator[Batch | Refused]:
        """Stage the runs, all at once if nothing is in doubt, else one after another.

        The tables are those of `readers.stage`, made anew each time; a batch that is together also
        has a column `run_number`. A table that cannot be read ends an open transaction: with
        several sources that raises duckdb.TransactionException, and each needs its own transaction.
        """
        if len(self.sources) > 1 and self.format is not None:
            files = [source for source in self.sources if isinstance(source, LocalFile)]
            runs = _together(con, files, self.format, self.how["columns"])
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
        if len(self.sources) > 1:
            # committing an ended transaction raises nothing, but this does
            con.execute("select 1").fetchall()

    def each(self) -> list[Group]:
        """Return the sources as groups of one."""
        return [
            Group(place, (source,), self.how)
            for place, source in enumerate(self.sources, start=self.first)
        ]


def listed(sources: object) -> list[object]:
    """Return the sources as a list; a single one, whatever its parts, is the only one.

    >>> listed("one.run"), listed(["one.run", "other.run"])
    (['one.run'], ['one.run', 'other.run'])
    """
    is_one = isinstance(sources, str | os.PathLike | Mapping) or objects.is_table(sources)
    return list(sources) if isinstance(sources, Iterable) and not is_one else [sources]


def groups(
    sources: Iterable[object],
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    normalise: str | None = None,
    hashed: bool = True,
    shared: bool = False,
    single: bool = False,
) -> Iterator[Group]:
    """Open the sources and yield those that can be staged together, in order, the others singly.

    The options of `readers.stage` are the same for all; `single` requests groups of one. A source
    that cannot be opened is yielded as its error. A group is closed when the next one is requested.
    """
    mapping = checked_mapping("run", columns)
    how = {
        "format": format, "columns": mapping, "normalise": normalise, "hashed": hashed,
        "shared": shared,
    }  # fmt: skip
    wanted = None if format is None else canonical_format(format)
    can = normalise is None and not single
    first = size = 0
    most = _most_files()
    group: list[object] = []
    alike: _Layout | None = None
    with contextlib.ExitStack() as stack:
        for source in sources:
            given, opened = _opened(source, hashed)
            layout = _layout(given, wanted, mapping) if can else None
            bytes_ = _text_size(given, layout)
            is_full = size + bytes_ > _BYTES or len(group) == most
            if group and (layout is None or layout != alike or is_full):
                yield Group(first, tuple(group), how, alike[0] if alike else None)
                stack.close()
                first, size = first + len(group), 0
                group.clear()
            stack.enter_context(opened)
            group.append(given)
            alike, size = layout, size + bytes_
        if group:
            yield Group(first, tuple(group), how, alike[0] if alike else None)


def _most_files() -> int:
    try:
        import resource
    except ImportError:  # not on Windows
        return _FILES
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if allowed == resource.RLIM_INFINITY:
        return _FILES
    return min(max(allowed - _OTHER_FILES, 1), _FILES)


def _opened(source: object, hashed: bool) -> tuple[object, contextlib.ExitStack]:
    opened = contextlib.ExitStack()
    if not isinstance(source, str | os.PathLike):
        return source, opened
    try:
        return opened.enter_context(open_file(source, hashed=hashed)), opened
    except InputError as error:
        return error, opened


def _layout(given: object, format: str | None, mapping: Mapping[str, str]) -> _Layout | None:
    """Return what files must share to be read together, or None for those read singly."""
    if not isinstance(given, LocalFile) or not given.head:
        return None
    found = format or guess(given, mapping.values())
    if found == "parquet":
        return (found,)
    if found == "trec" and not format and other_layout(given):  # reading it by itself says so
        return None
    try:
        look = given.look
        if found == "trec" and not mapping and trec.is_regular(look):
            return found, *trec.layout(look)
        if found in delimited.DELIMITERS and look.is_text:
            header, blank_lines = delimited.header_of(given, delimited.DELIMITERS[found])
            return found, look.has_return, look.windows_ends, blank_lines, tuple(header)
    except InputError:  # reading it by itself says so
        pass
    return None


def _text_size(given: object, layout: _Layout | None) -> int:
    """Return the size of the text in bytes, or an estimate."""
    if not isinstance(given, LocalFile):
        return 0
    return given.size * (_PARQUET if layout == ("parquet",) else 1)


def _together(
    con: duckdb.DuckDBPyConnection,
    files: Sequence[LocalFile],
    format: str,
    mapping: Mapping[str, str],
) -> tuple[Staged, ...] | None:
    """Stage runs in one statement; return None if anything is in doubt."""
    clear(con)
    ranked_by: tables.Ranking | None = "score"
    tags: list[str | None] | None = [None] * len(files)
    with file_order(con):
        if format == "trec":
            tags = trec.read_together(con, files)
        else:
            ranked_by = tables.read_together(con, files, format, mapping)
        if tags is None or ranked_by is None:
            return None
        present = checks.columns(con)
        ranks = "rank" in present
        warnings = checks.run_warnings(con, ranks=ranks, word=ranked_by, together=True)
    sizes = dict(
        con.execute(
            f"select {RUN_NUMBER}, sum(num_ret)::bigint from staged_ranking group by {RUN_NUMBER}"
        ).fetchall()
    )
    if len(sizes) < len(files):  # one has no line: reading it by itself says so
        return None
    checks.drop_service_columns(con, "run", present)
    return tuple(
        Staged(
            kind="run",
            source=file.source,
            format=format,
            rows=sizes[number],
            source_sha256=file.sha256,
            ranked_by=ranked_by,
            tag=tag,
            warnings=tuple(warnings.get(number, ())),
        )
        for number, (file, tag) in enumerate(zip(files, tags, strict=True))
    )
