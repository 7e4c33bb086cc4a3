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

# So many bytes of text at once, what bounds the memory, and so many files, for each stays open; of those
# that the system lets a process have some are for the program, its libraries and the database.
_BYTES = 1 << 27
_FILES = 200
_OTHER_FILES = 40
# What a byte of Parquet is in bytes of TREC text, measured on runs of some size.
_PARQUET = 3
# The format of files that can be read together, and what else they need in common.
_Layout = tuple[str, *tuple[object, ...]]


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
    """Sources that are open, to be staged together if there are several; they begin at place `first`.

    Several are files of one `format`.
    """

    first: int
    sources: Sequence[object]
    how: Mapping[str, Any]
    format: str | None = None

    def staged(self, con: duckdb.DuckDBPyConnection) -> Iterator[Batch | Refused]:
        """Stage the runs, all at once if nothing is in doubt, else one after another.

        The tables are those of `readers.stage`, each time anew, with a column `run_number` in a batch
        that is together. A table that cannot be read ends an open transaction: of several sources that
        raises duckdb.TransactionException, and each needs a transaction of its own.
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
            # to commit a transaction that is at its end raises nothing, but this does
            con.execute("select 1").fetchall()

    def each(self) -> list[Group]:
        """Return the sources as groups of one."""
        return [
            Group(place, (source,), self.how)
            for place, source in enumerate(self.sources, start=self.first)
        ]


def listed(sources: object) -> list[object]:
    """Return the sources; one by itself, whatever it has of parts, is the only one.

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
    """Open the sources and give those that can be staged together, in their order, else one by itself.

    What `readers.stage` is asked for is the same for all; `single` asks for each by itself. A source
    that cannot be opened is given as the error. A group is closed when the next is asked for.
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
    """Return what files need in common to be read together; None for what is read by itself."""
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
    """Return how many bytes of text there are, or would be."""
    if not isinstance(given, LocalFile):
        return 0
    return given.size * (_PARQUET if layout == ("parquet",) else 1)


def _together(
    con: duckdb.DuckDBPyConnection,
    files: Sequence[LocalFile],
    format: str,
    mapping: Mapping[str, str],
) -> tuple[Staged, ...] | None:
    """Stage runs by one statement; None where anything is in doubt."""
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
