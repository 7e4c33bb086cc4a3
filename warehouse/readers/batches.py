"""Many runs, read in batches: files of one format that are alike are staged by one statement.

Reading, checking and ranking some runs at once takes a fraction of the time that each takes alone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
from duckdb import DuckDBPyConnection as Connection

from warehouse.config import limits
from warehouse.errors import InputError, WarehouseError
from warehouse.readers import checks, clear, registry, stage, staging
from warehouse.readers.files import LocalFile, open_file
from warehouse.readers.formats import FileFormat, Reading
from warehouse.readers.kinds import RUN_NUMBER, ColumnNames, Staged, column_mapping
from warehouse.readers.objects import is_table
from warehouse.readers.records import is_records

# The most bytes of text at once, which bounds the memory, and the most files, which stay open; some
# of the open files that the system allows are for the program, its libraries and the database.
_BYTES = 1 << 27
_FILES = 200
_OTHER_FILES = 40
# The format of files that can be read together, and their other common properties.
_Key = tuple[FileFormat, tuple[object, ...]]


@dataclass(frozen=True)
class Batch:
    """Staged runs, one by itself or several `together`; `run_number` then counts them from 0.

    `first` is the index of the first one among the sources.
    """

    first: int
    runs: tuple[Staged, ...]
    together: bool


@dataclass(frozen=True)
class Refusal:
    """A source that cannot be loaded as it is."""

    index: int
    error: WarehouseError


@dataclass(frozen=True)
class Group:
    """Open sources to stage together, if there are several; the first one is at index `first`.

    Several sources have one `format`.
    """

    first: int
    sources: Sequence[object]
    how: Mapping[str, Any]
    format: FileFormat | None = None

    def read(self, con: Connection) -> Iterator[Batch | Refusal]:
        """Stage the runs, all at once if nothing is in doubt, else one after another.

        The tables are as in `readers.stage`, made again each time; a batch that is together also
        has a column `run_number`.
        """
        if len(self.sources) > 1 and self.format is not None:
            files = [source for source in self.sources if isinstance(source, LocalFile)]
            runs = _stage_together(con, files, self.format, self.how["columns"])
            if runs is not None:
                yield Batch(self.first, runs, together=True)
                return
        for index, source in enumerate(self.sources, start=self.first):
            if isinstance(source, InputError):
                yield Refusal(index, source)
                continue
            try:
                staged = stage(con, source, "run", **self.how)
            except WarehouseError as error:
                yield Refusal(index, error)
            else:
                yield Batch(index, (staged,), together=False)


def source_list(sources: object) -> list[object]:
    """Return the sources as a list; a single one, whatever its parts, is the only one.

    >>> source_list("one.run"), source_list(["one.run", "other.run"])
    (['one.run'], ['one.run', 'other.run'])
    """
    is_one = isinstance(sources, str | os.PathLike | Mapping) or is_table(sources)
    if is_one or not isinstance(sources, Iterable):
        return [sources]
    several = list(sources)
    return [several] if is_records(several) else several


def groups(
    sources: Iterable[object],
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    normalise: str | None = None,
    where: str | None = None,
    repeated: str | None = None,
    hashed: bool = True,
    shared: bool = False,
    single: bool = False,
    empty: bool = False,
    watched: bool = True,
    as_view: bool = False,
) -> Iterator[Group]:
    """Open the sources and yield those that can be staged together, in order, the others singly.

    The options of `readers.stage` are the same for all; `single` requests groups of one. A source
    that cannot be opened is yielded as its error. A group is closed when the next one is requested;
    `as_view` says that nobody reads its staged rows after that, or changes them.
    """
    mapping = column_mapping("run", columns)
    how = {
        "format": format, "columns": mapping, "normalise": normalise, "where": where,
        "repeated": repeated, "hashed": hashed, "shared": shared, "empty": empty,
    }  # fmt: skip
    given = None if format is None else registry.find(format, "run")
    can = normalise is None and where is None and repeated is None and not single
    first = size = 0
    most = _most_files()
    group: list[object] = []
    shares: _Key | None = None
    with contextlib.ExitStack() as stack:
        for source in sources:
            opened, closing = _open(source, hashed, watched)
            if isinstance(opened, LocalFile):
                opened = replace(opened, stays_open=as_view and normalise is None)
            key = _batch_key(opened, given, mapping) if can else None
            bytes_ = (
                opened.size * (key[0].text_size if key else 1)
                if isinstance(opened, LocalFile)
                else 0
            )
            is_full = size + bytes_ > _BYTES or len(group) == most
            if group and (key is None or key != shares or is_full):
                yield Group(first, tuple(group), how, shares[0] if shares else None)
                stack.close()
                first, size = first + len(group), 0
                group.clear()
            stack.enter_context(closing)
            group.append(opened)
            shares, size = key, size + bytes_
        if group:
            yield Group(first, tuple(group), how, shares[0] if shares else None)


def _most_files() -> int:
    try:
        import resource
    except ImportError:  # not on Windows
        return _FILES
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if allowed == resource.RLIM_INFINITY:
        return _FILES
    return min(max(allowed - _OTHER_FILES, 1), _FILES)


def _open(source: object, hashed: bool, watched: bool) -> tuple[object, contextlib.ExitStack]:
    """Return a source, opened if it is a file, or its error, and the stack that closes it."""
    closing = contextlib.ExitStack()
    source = registry.meant(source, "run")
    if not isinstance(source, str | os.PathLike):
        return source, closing
    try:
        return closing.enter_context(open_file(source, hashed=hashed, watched=watched)), closing
    except InputError as error:
        return error, closing


def _batch_key(source: object, given: FileFormat | None, mapping: ColumnNames) -> _Key | None:
    """Return the key that files read together must share, or None for files read alone."""
    if not isinstance(source, LocalFile) or not source.head:
        return None
    try:
        format = given or registry.guess(source, "run", registry.column_names(mapping))
        shared = format.batch_key(source, mapping)
    except InputError:  # reading it alone says so
        return None
    return None if shared is None else (format, shared)


def _stage_together(
    con: Connection, files: Sequence[LocalFile], format: FileFormat, mapping: ColumnNames
) -> tuple[Staged, ...] | None:
    """Stage runs in one statement; return None if anything is in doubt."""
    clear(con)
    with staging.file_order(con):
        readings = _read_together(con, files, format, mapping)
        if readings is None:
            return None
        columns = staging.types_of(con)
        ranks = "rank" in columns
        ranked_by = readings[0].ranked_by
        if ranked_by == "rank" and checks.any_gap(con):
            return None
        warnings = checks.run_warnings(
            con, ranks=ranks, ranked_by=ranked_by, value=readings[0].value, together=True
        )
    sizes = dict(
        con.execute(
            f"select {RUN_NUMBER}, sum(num_ret)::bigint from staged_ranking group by {RUN_NUMBER}"
        ).fetchall()
    )
    if len(sizes) < len(files) or max(sizes.values()) > limits.current().rows:
        return None  # one has no line, or too many: reading it alone says so
    checks.drop_service_columns(con, "run", columns)
    return tuple(
        Staged(
            kind="run",
            source=file.source,
            format=format.name,
            rows=sizes[number],
            source_sha256=file.sha256,
            ranked_by=reading.ranked_by,
            tag=reading.tag,
            warnings=tuple(warnings.get(number, ())),
            columns=mapping,
            value=reading.value,
        )
        for number, (file, reading) in enumerate(zip(files, readings, strict=True))
    )


def _read_together(
    con: Connection, files: Sequence[LocalFile], format: FileFormat, mapping: ColumnNames
) -> Sequence[Reading] | None:
    try:
        readings = format.read_batch(con, files, mapping)
    except duckdb.InterruptException:
        raise
    except (duckdb.Error, InputError):
        readings = None
    if readings is None:
        con.execute("drop table if exists temp.staged")
    return readings
