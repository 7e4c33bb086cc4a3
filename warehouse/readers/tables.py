"""Tables: CSV, TSV and Parquet files, and Python objects that hold one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import duckdb

from warehouse.errors import InputError, first_line
from warehouse.readers import checks, delimited, objects, rejects
from warehouse.readers.columns import chosen, ranked_by_rank
from warehouse.readers.files import LocalFile
from warehouse.readers.guess import is_number
from warehouse.readers.lines import refuse_if_not_text
from warehouse.readers.staged import Kind
from warehouse.sql_text import templates
from warehouse.sql_text.quoting import ident, literal
from warehouse.store.engine_errors import in_words

Ranking = Literal["score", "rank"]
# Our columns with their SQL and their family, as in ingest/from_relation.
Columns = Mapping[str, tuple[str, str]]
_WHOLE = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|BOOLEAN")
_REAL = re.compile(r"FLOAT|DOUBLE|DECIMAL.*")
# Types with a fraction represent integers below these exactly.
_EXACT = {"FLOAT": 2**24, "DOUBLE": 2**53}
_NESTED = re.compile(r"(STRUCT|MAP|UNION|VARIANT|TUPLE)\b.*|.*\]", re.DOTALL)


def read_delimited(
    con: duckdb.DuckDBPyConnection,
    file: LocalFile,
    kind: Kind,
    delimiter: str,
    mapping: Mapping[str, str],
) -> Ranking | None:
    """Fill `staged` from a CSV or TSV file with a header line. Raises InputError."""
    refuse_if_not_text(file, checks.LIMIT)
    header, blank_lines = delimited.header_of(file, delimiter)
    if sum(map(is_number, header)) > 0 and "query_id" not in (*header, *mapping):
        names = "query_id, doc_id, " + ("rank, score" if kind == "run" else "relevance")
        marks = "commas" if delimiter == "," else "tabs"
        raise InputError(
            f"{file.source}: neither a TREC run, nor qrels, nor a table with a header line: its "
            f"first line holds values ({', '.join(header[:6])}). Put a line with the names of the "
            f"columns on top ({names}, as they come, with {marks} between)"
        )
    found = chosen(file.source, kind, header, mapping)
    with delimited.relation_of_records(
        con, [file], delimiter, len(header), blank_lines
    ) as relation:
        fill(con, kind, relation, _by_place(found, header))
        rejected = rejects.first(con, checks.LIMIT)
    by_rank = ranked_by_rank(kind, found, header, mapping)
    problems, total = checks.problems(
        con, kind, place=checks.PLACE, word=_word(by_rank), unread=None
    )
    if total or rejected:
        lines = delimited.Lines(
            file, delimiter, (record for record, _, _ in rejected), checks.row_count(con)
        )
        refused = [(lines.of_record(record), reason) for record, reason, _ in rejected]
        total += rejected[0][2] if rejected else 0
        found_places = checks.in_words(problems, lines.of_row)
        raise checks.refuse_staged(con, kind, file.source, [*found_places, *refused], total)
    return _ranking(kind, by_rank)


def _by_place(found: Mapping[str, str], header: Sequence[str]) -> Columns:
    """Return the columns of records, which are identified by position."""
    return {ours: (f"c{header.index(theirs)}", "text") for ours, theirs in found.items()}


def read_parquet(
    con: duckdb.DuckDBPyConnection, file: LocalFile, kind: Kind, mapping: Mapping[str, str]
) -> Ranking | None:
    """Fill `staged` from a Parquet file. Raises InputError."""
    relation = _parquet([file])
    return _read_relation(
        con, file.source, kind, relation, mapping, partial(_parquet_names, con, file)
    )


def _parquet_names(con: duckdb.DuckDBPyConnection, file: LocalFile) -> Iterable[str]:
    """Return the names of a file's columns, and of their nested fields."""
    rows = con.execute("select name from parquet_schema($1)", [file.path]).fetchall()
    return [str(name) for (name,) in rows]


def _parquet(files: Sequence[LocalFile]) -> str:
    return f"read_parquet({literal([file.path for file in files])}, binary_as_string = true)"


def read_together(
    con: duckdb.DuckDBPyConnection,
    files: Sequence[LocalFile],
    format: str,
    mapping: Mapping[str, str],
) -> Ranking | None:
    """Fill `staged` from tables of runs in one statement, and return what ranks them.

    They have one format; text files have the same header line and the same line ends. Returns None,
    with nothing staged, if anything is in doubt: reading each by itself tells what.
    """
    try:
        if format == "parquet":
            by_rank = _parquet_together(con, files, mapping)
        else:
            by_rank = _delimited_together(con, files, delimited.DELIMITERS[format], mapping)
        if by_rank is not None and not checks.any_problem(con, "run", unread=None, together=True):
            return _ranking("run", by_rank)
    except duckdb.InterruptException:
        raise
    except (duckdb.Error, InputError):
        pass
    con.execute("drop table if exists temp.staged")
    return None


def _parquet_together(
    con: duckdb.DuckDBPyConnection, files: Sequence[LocalFile], mapping: Mapping[str, str]
) -> bool | None:
    """Fill `staged` from Parquet files with the same columns; return whether ranks rank them."""
    types, *others = (objects.types_of(con, _parquet([file])) for file in files)
    if any(list(of.items()) != list(types.items()) for of in others):
        return None
    if "file_index" in map(str.lower, types):  # it hides which file a row is of
        return None
    found = chosen(files[0].source, "run", list(types), mapping)
    _refuse_lost_digits(con, files[0].source, _parquet(files), types, found)
    fill(con, "run", _parquet(files), _by_type(files[0].source, found, types), together=True)
    return ranked_by_rank("run", found, list(types), mapping)


def _delimited_together(
    con: duckdb.DuckDBPyConnection,
    files: Sequence[LocalFile],
    delimiter: str,
    mapping: Mapping[str, str],
) -> bool | None:
    """Fill `staged` from CSV or TSV files; return whether ranks rank them."""
    header, blank_lines = delimited.header_of(files[0], delimiter)
    found = chosen(files[0].source, "run", header, mapping)
    with delimited.relation_of_records(con, files, delimiter, len(header), blank_lines) as relation:
        fill(con, "run", relation, _by_place(found, header), together=True)
        if rejects.any_at_all(con):
            return None
    return ranked_by_rank("run", found, header, mapping)


def _by_type(source: str, found: Mapping[str, str], types: Mapping[str, str]) -> Columns:
    """Return the columns of a relation, read according to their types."""
    return {ours: by_type(source, theirs, types[theirs]) for ours, theirs in found.items()}


def by_type(source: str, name: str, type_name: str) -> tuple[str, str]:
    """Return a column's SQL and its family, from its DuckDB type. Raises InputError for lists."""
    if is_nested(type_name):
        raise InputError(
            f"{source}: the column {name!r} holds lists or records: give each document a row of its "
            "own, as explode of pandas and polars does, and unnest in SQL"
        )
    return ident(name), family(type_name)


def read_object(
    con: duckdb.DuckDBPyConnection,
    table: Any,
    source: str,
    kind: Kind,
    mapping: Mapping[str, str],
) -> Ranking | None:
    """Fill `staged` from a data frame, an Arrow table or a relation. Raises InputError."""
    objects.refuse_index(table, [mapping.get(name, name) for name in ("query_id", "doc_id")])
    with objects.relation_of(con, table) as relation:
        return _read_relation(
            con, source, kind, relation, mapping, partial(objects.column_names, table)
        )


def fill_from(con: duckdb.DuckDBPyConnection, table: Any, kind: Kind, columns: Columns) -> None:
    """Fill `staged` from a table in memory."""
    with objects.relation_of(con, table) as relation:
        fill(con, kind, relation, columns)


def _read_relation(
    con: duckdb.DuckDBPyConnection,
    source: str,
    kind: Kind,
    relation: str,
    mapping: Mapping[str, str],
    names: Callable[[], Iterable[str]],
) -> Ranking | None:
    """Fill `staged` from a relation; `names` gives the names of its columns in the source."""
    try:
        with in_words():
            types = objects.types_of(con, relation)
            found = chosen(source, kind, list(types), mapping)
            _refuse_twins(source, types, found, names)
            _refuse_lost_digits(con, source, relation, types, found)
            fill(con, kind, relation, _by_type(source, found, types))
    except duckdb.Error as error:
        raise InputError(f"{source}: cannot be read as a table: {first_line(error)}") from error
    by_rank = ranked_by_rank(kind, found, list(types), mapping)
    problems, total = checks.problems(
        con, kind, place=checks.PLACE, word=_word(by_rank), unread=None
    )
    if total:
        raise checks.refuse_staged(con, kind, source, checks.in_words_by_row(problems), total)
    return _ranking(kind, by_rank)


def _refuse_twins(
    source: str,
    types: Mapping[str, str],
    found: Mapping[str, str],
    names: Callable[[], Iterable[str]],
) -> None:
    """Refuse a second column of a name that is read, which DuckDB numbers: `score_1`."""
    read = {theirs.lower(): theirs for theirs in found.values()}
    numbered = {name: read.get(re.sub(r"_\d+$", "", name).lower()) for name in types}
    twins = {name: twin for name, twin in numbered.items() if twin not in (None, name)}
    if twins and (renamed := sorted(twins.keys() - set(names()))):
        raise InputError(f"{source}: the column {twins[renamed[0]]!r} is there twice")


def _refuse_lost_digits(
    con: duckdb.DuckDBPyConnection,
    source: str,
    relation: str,
    types: Mapping[str, str],
    found: Mapping[str, str],
) -> None:
    """Refuse ids that are real numbers too large to be exact: other ids were rounded to them."""
    for name in (found["query_id"], found["doc_id"]):
        limit = _EXACT.get(types[name])
        if limit is None:
            continue
        column = ident(name)
        ((highest,),) = con.execute(
            f"select max(abs({column})) filter (where isfinite({column})) from {relation}"
        ).fetchall()
        if highest is not None and highest >= limit:
            raise InputError(
                f"{source}: the column {name!r} holds ids as real numbers ({types[name]}) of {limit:,} "
                "and above, where several ids become one: read them as text or as integers, as pandas "
                "does with dtype='Int64'"
            )


def fill(
    con: duckdb.DuckDBPyConnection,
    kind: Kind,
    relation: str,
    columns: Columns,
    *,
    together: bool = False,
) -> None:
    """Fill `staged` from the SQL of a relation, for one source or for the files of several runs."""
    source = {"relation": relation, "columns": columns, "together": together}
    con.execute(templates.render("ingest/from_relation", kind=kind, **source)).fetchall()


def is_nested(type_name: str) -> bool:
    """Whether the values of a DuckDB type are lists or records.

    >>> is_nested("VARCHAR[]"), is_nested("STRUCT(a INTEGER)"), is_nested("DECIMAL(18,3)")
    (True, True, False)
    """
    return _NESTED.fullmatch(type_name) is not None


def family(type_name: str) -> str:
    """Return how a DuckDB type is read: whole, real or text."""
    if _WHOLE.fullmatch(type_name):
        return "whole"
    return "real" if _REAL.fullmatch(type_name) else "text"


def _word(by_rank: bool) -> str:
    return "rank" if by_rank else "score"


def _ranking(kind: Kind, by_rank: bool) -> Ranking | None:
    if kind != "run":
        return None
    return "rank" if by_rank else "score"
