"""Attributes of documents or queries: any table with an id column, as rows of single values."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duckdb import DuckDBPyConnection as Connection

from warehouse.config import limits
from warehouse.errors import InputError, UsageError, listing, nearest, option
from warehouse.readers import registry, staging
from warehouse.readers.columns import candidates
from warehouse.readers.csv_tsv import Tsv
from warehouse.readers.files import LocalFile, check_file, open_file
from warehouse.readers.formats import Table
from warehouse.readers.kinds import IDS, Subject
from warehouse.readers.normalise import normalise as normalise_ids
from warehouse.readers.tables import is_nested, trim_ids

_LIST = re.compile(r"(?P<element>.*)\[\d*\]")
_NUMBER = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|BIGNUM|VARINT|FLOAT|DOUBLE|DECIMAL.*")
_DATE = re.compile(r"DATE|TIMESTAMP.*")


@dataclass(frozen=True)
class StagedAttributes:
    """The rows that `stage_attributes` read into the temporary table `staged_attribute`.

    `columns` is `{attribute: type}` in the order of the source; `num_subjects` counts the rows of the
    source, `num_values` the number in the table.
    """

    subject: Subject
    source: str
    format: str
    source_sha256: str | None
    normalise: str | None
    columns: Mapping[str, str]
    num_subjects: int
    num_values: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Column:
    """How a column is read; `type` is None if only its values can tell."""

    name: str
    is_list: bool
    is_json: bool
    type: str | None
    separator: str | None = None


def stage_attributes(
    con: Connection,
    source: Any,
    subject: Subject | None,
    *,
    id: str | None = None,
    split: Mapping[str, str] | None = None,
    leave_out: Sequence[str] = (),
    format: str | None = None,
    normalise: str | None = None,
) -> StagedAttributes:
    """Read attributes into `staged_attribute (subject_id, attribute, position, text, number)`.

    The ids are in the column `doc_id` (of documents) or `query_id` (of queries), under our name or one
    of another program (`movieId`), or in the column `id`; every other column is an attribute. Without
    a `subject` they are of queries if there is a column for these and none for documents, else of
    documents, whose ids alone `normalise` then makes. `split` maps columns of text to the separator
    that makes lists of them; the columns of `leave_out` are not read. What is null, empty or NaN is
    absent. Raises InputError and UsageError.

    >>> from warehouse.store import database
    >>> con = database.memory()
    >>> read = stage_attributes(con, {"d1": {"year": 1999, "tags": ["a", "b"]}}, "document")
    >>> read.columns, read.num_subjects
    ({'year': 'number', 'tags': 'list'}, 1)
    >>> con.execute("from staged_attribute order by all").fetchall()
    [('d1', 'tags', 1, 'a', None), ('d1', 'tags', 2, 'b', None), ('d1', 'year', 1, '1999', 1999.0)]
    """
    staging.drop(con, "staged", "staged_value", "staged_type", "staged_attribute")
    key = IDS[subject or "document"]
    hints = [name for name in (id, *(split or {})) if name is not None]
    hints += [] if subject else IDS.values()
    try:
        with staging.file_order(con), open_table(con, source, key, format, hints) as table:
            if subject is None:
                subject = _subject(table)
                key = IDS[subject]
                normalise = normalise if subject == "document" else None
            column = _id_column(table, key, id)
            columns = _columns(table, column, split or {}, leave_out)
            warnings = stage_rows(con, table, key, column, [column.name for column in columns])
            for one in columns:
                if one.is_json:
                    table.check(con, "checks/attribute_nested", column=one)
            if normalise is not None:
                normalise_ids(con, table.source, normalise, id=key, within=())
            rows = staging.row_count(con)
            limits.current().check_rows(table.source, rows)
            types = _unfold(con, table, key, columns)
    except BaseException:
        staging.drop(con, "staged_attribute")
        raise
    finally:
        staging.drop(con, "staged", "staged_value", "staged_type")
    values = staging.row_count(con, "staged_attribute")
    return StagedAttributes(
        subject, table.source, table.format, table.sha256, normalise, types, rows, values, warnings
    )


def _subject(table: Table) -> Subject:
    names = list(table.columns)
    has = {of: key in names or bool(candidates("run", key, names)) for of, key in IDS.items()}
    return "query" if has["query"] and not has["document"] else "document"


@contextlib.contextmanager
def open_table(
    con: Connection,
    source: Any,
    key: str,
    format: str | None,
    hints: Sequence[str],
    bare: Mapping[int, Sequence[str]] | None = None,
) -> Iterator[Table]:
    """Read all columns of a source into `staged_table`, which is dropped when the block ends.

    `key` names the column for the outer keys of nested values. `hints` are further columns by which
    the header of a table may be recognised. `bare` has the names of the columns of a file with tabs
    and without a header, by their number.
    """
    if format is not None:
        registry.find(format, "attributes")
    source = registry.meant(source, "attributes")
    try:
        if isinstance(source, str | os.PathLike):
            with open_file(source) as file:
                check_file(file)
                yield table_of(con, file, key, format, hints, bare)
        else:
            yield registry.in_memory(source, "attributes").read_table(con, source, key, [key])
    finally:
        staging.drop(con, "staged_table")


def table_of(
    con: Connection,
    file: LocalFile,
    key: str,
    format: str | None,
    hints: Sequence[str],
    bare: Mapping[int, Sequence[str]] | None = None,
) -> Table:
    """Read all columns of an open file into `staged_table`; the arguments are as in `open_table`."""
    ids = [key, *hints]
    known = {*ids, *registry.column_names({})}
    given = None if format is None else registry.find(format, "attributes")
    found = given or registry.guess(file, "attributes", known)
    if bare and isinstance(found, Tsv) and not found.has_header(file, ids):
        return found.read_bare(con, file, bare)
    return found.read_table(con, file, key, ids)


def _id_column(table: Table, key: str, given: str | None) -> str:
    has = f"the source has: {listing(table.columns)}"
    if given is None:
        if key in table.columns:
            return key
        named = [name for name in table.columns if name == "_id"]  # of BEIR
        named = named or candidates("run", key, list(table.columns))
        if len(named) == 1:
            return named[0]
        called_id = [name for name in table.columns if name.lower() == "id"]
        each = " or ".join(option("id", name) for name in named or called_id or ["NAME"])
        raise InputError(
            f"{table.source}: there is no column {key}; {has}. Say which one holds the ids: {each}"
        )
    if given not in table.columns:
        raise InputError(
            f"{table.source}: there is no column {given!r}{nearest(given, table.columns)} ({has})"
        )
    if given != key and key in table.columns:
        raise InputError(
            f"{table.source}: {option('id', given)}: there is a column {key} too, which holds "
            f"ids by its "
            f"name; leave {option('id', None)} out, or rename that column"
        )
    return given


def _columns(
    table: Table, id: str, split: Mapping[str, str], leave_out: Sequence[str]
) -> list[_Column]:
    for name in leave_out:
        if name == id or name not in table.columns:
            raise UsageError(
                f"{option('leave-out', name)}: {table.source} has no attribute of that name"
                f"{nearest(name, table.columns)} (it has: {listing(table.columns)})"
            )
    names = [name for name in table.columns if name != id and name not in leave_out]
    if not names:
        raise InputError(f"{table.source}: there is no attribute: {id} is its only column")
    for name, separator in split.items():
        given = option("split", (name, separator))
        if name not in names:
            raise UsageError(
                f"{given}: {table.source} has no attribute of that name{nearest(name, names)} "
                f"(it has: {listing(names)})"
            )
        if not isinstance(separator, str):
            raise UsageError(f"{given}: the separator is a text, not {separator!r}")
        if not separator:
            raise UsageError(
                f"{given}: the separator is empty; write one, as in {option('split', (name, '|'))}"
            )
        if table.columns[name] != "VARCHAR":
            raise UsageError(f"{given}: this column of {table.source} is not text")
    return [_column(table, name, split.get(name)) for name in names]


def _column(table: Table, name: str, separator: str | None) -> _Column:
    kind = table.columns[name]
    if separator is not None:
        return _Column(name, True, False, None if not table.typed else "text", separator)
    found = _LIST.fullmatch(kind)
    element = found["element"] if found else kind
    if is_nested(element):
        raise InputError(
            f"{table.source}: the column {name!r} holds records or lists of lists; "
            "an attribute is a value or a list of values: take it apart, or leave it out: "
            f"{option('leave-out', name)}"
        )
    inferred = not table.typed or element == "JSON"
    return _Column(name, found is not None, element == "JSON", None if inferred else _type(element))


def _type(kind: str) -> str:
    if kind == "BOOLEAN":
        return "boolean"
    if _NUMBER.fullmatch(kind):
        return "number"
    return "date" if _DATE.fullmatch(kind) else "text"


def stage_rows(
    con: Connection, table: Table, key: str, id: str, names: Sequence[str]
) -> tuple[str, ...]:
    """Fill `staged` with the ids as text under the name `key` and some raw columns; check the ids.

    Returns a warning about blanks around ids of a text, if there are any.
    """
    kind = table.columns[id]
    if is_nested(kind):
        raise InputError(f"{table.source}: the column {id!r} holds lists or records, not ids")
    family = "json" if kind == "JSON" else "real" if re.match("FLOAT|DOUBLE|DEC", kind) else "text"
    staging.run(con, "ingest/subjects", id=id, family=family, key=key, names=names)
    if not staging.row_count(con):
        raise InputError(f"{table.source}: is empty: there is no row of data")
    warnings = () if table.typed else trim_ids(con, [key])
    table.check(con, "checks/subjects", key=key)
    return warnings


def _unfold(con: Connection, table: Table, key: str, columns: list[_Column]) -> dict[str, str]:
    """Make `staged_attribute` from `staged`, one row per value; return the types."""
    staging.run(con, "ingest/attribute_values", key=key, columns=columns)
    staging.run(con, "ingest/attribute_types", columns=columns)
    staging.run(con, "ingest/attribute_rows")
    table.check(con, "checks/attribute_not_finite", key=key)
    found = con.execute("select attribute, type from staged_type order by number").fetchall()
    return {str(name): str(kind) for name, kind in found}
