"""A ground truth that is one set of documents for every query."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import duckdb

from warehouse.errors import InputError, UsageError, counted, listing, nearest
from warehouse.readers import checks, documents, objects, tables, trec, wide
from warehouse.readers.files import LocalFile, check_file, open_file
from warehouse.readers.guess import first_data_line, guess, head_text, header_cells, looks_like_trec
from warehouse.readers.lines import BadLines, blocks
from warehouse.readers.normalise import normalise as normalise_ids
from warehouse.readers.staged import FIELDS, Staged, canonical_format, file_order
from warehouse.sql_text import templates
from warehouse.sql_text.quoting import ident, literal

TEXT = "text"
_COLUMNS = ("doc_id", "relevance")
_NAMED = ("csv", "tsv", "jsonl", "parquet", "table")
# A placeholder for the query of judgments without queries.
_EVERY = "(every query)"


def stage_everywhere(
    con: duckdb.DuckDBPyConnection,
    source: Any,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    normalise: str | None = None,
) -> Staged:
    """Read a set of documents into the temporary table `staged_everywhere (doc_id, relevance)`.

    `source` has one document id per line (the format "text"), or a column doc_id and, unless all
    are relevant, a column relevance. It may also be qrels, whose queries are ignored; a document
    must then have the same relevance for all of them. In Python it may also be a collection of ids
    or a dict of relevances.

    >>> con = duckdb.connect()
    >>> stage_everywhere(con, {"a", "b"}).rows
    2
    >>> queries = "select unnest(['q1', 'q2']) as query_id"
    >>> con.execute(for_queries(queries)).fetchall()
    [('q1', 'a', 1, '0'), ('q1', 'b', 1, '0'), ('q2', 'a', 1, '0'), ('q2', 'b', 1, '0')]
    """
    mapping = _mapping(columns)
    name = None if format is None else TEXT if format.lower() == TEXT else canonical_format(format)
    _clear(con, "staged", "staged_everywhere")
    try:
        with file_order(con):
            if isinstance(source, str | os.PathLike):
                with open_file(source) as file:
                    staged = _read_file(con, file, name, mapping)
            else:
                staged = _read_object(con, source, mapping)
            _collapse(con, staged.source)
            if normalise is not None:
                normalise_ids(con, staged.source, normalise, within=())
            con.execute("alter table staged rename to staged_everywhere")
    finally:
        _clear(con, "staged")
    ((rows,),) = con.execute("select count(*) from staged_everywhere").fetchall()
    return replace(staged, rows=int(rows), normalise=normalise)


def for_queries(queries: str) -> str:
    """Return the SQL of the staged set as judgments of the queries that a SELECT returns."""
    return templates.render("ingest/everywhere", queries=queries)


def stage_queries(con: duckdb.DuckDBPyConnection, source: Any) -> tuple[str, str]:
    """Read query ids, one per line or from a collection; return their SQL and their source."""
    if not isinstance(source, str | os.PathLike):
        several = _collection(source)
        if not several:
            raise UsageError(
                "the queries are a file with one id per line, or a list of one id or more"
            )
        name = f"<{type(source).__name__}>"
        ids = [documents.text_of(name, id) for id in several]
        return f"select unnest({literal(ids)}::varchar[]) as query_id", name
    with open_file(source) as file:
        check_file(file)
        _read_ids(con, file, "staged_query_id")
        found = file.source
    if con.execute("select count(*) from staged_query_id").fetchall() == [(0,)]:
        raise InputError(f"{found}: is empty: there is no query id in it")
    return "select id as query_id from staged_query_id", found


def _collection(source: Any) -> list[Any] | None:
    """Return the ids of a collection, as a list or a column of a frame, or None for other objects."""
    if not isinstance(source, Collection) or isinstance(source, str | bytes):
        return None
    if hasattr(source, "columns") or getattr(source, "ndim", 1) != 1:  # a table or a matrix
        return None
    return sorted(source, key=str) if isinstance(source, set | frozenset) else list(source)


def _clear(con: duckdb.DuckDBPyConnection, *names: str) -> None:
    with contextlib.suppress(duckdb.Error):
        for name in names:
            con.execute(f"drop table if exists temp.{name}")


def _mapping(columns: Mapping[str, str] | None) -> dict[str, str]:
    for ours in columns or ():
        if ours not in _COLUMNS:
            raise UsageError(
                f"one set for all queries has no column {ours!r}{nearest(ours, _COLUMNS)} "
                f"(known: {', '.join(_COLUMNS)})"
            )
    return dict(columns or {})


def _read_file(
    con: duckdb.DuckDBPyConnection, file: LocalFile, name: str | None, mapping: Mapping[str, str]
) -> Staged:
    check_file(file)
    format = name or _guessed(file, mapping)
    if mapping and format not in _NAMED:
        raise UsageError(f"columns can be named for {', '.join(_NAMED)}, not for {format}")
    if format == "trec":
        trec.read(con, file, "qrels")
    elif format == "ranx":
        documents.read_nested_file(con, file, "qrels")
    elif format == TEXT:
        _read_lines(con, file)
    else:
        ids = [mapping.get("doc_id", "doc_id"), "query_id"]
        try:
            _read_table(con, wide.load_file(con, file, format, "doc_id", ids=ids), mapping)
        finally:
            _clear(con, "staged_table")
    return Staged("qrels", file.source, format, 0, file.sha256, None, None, ())


def _read_object(con: duckdb.DuckDBPyConnection, source: Any, mapping: Mapping[str, str]) -> Staged:
    name, format = f"<{type(source).__name__}>", "dict"
    if isinstance(source, Mapping):
        nested = any(isinstance(value, Mapping) for value in source.values())
        documents.read_dict(con, source if nested else {_EVERY: source}, name, "qrels")
    elif (ids := _collection(source)) is not None:
        documents.read_dict(con, {_EVERY: dict.fromkeys(ids, 1)}, name, "qrels")
    else:
        name, format = objects.object_name(source), "table"
        try:
            _read_table(con, wide.load_object(con, source, "doc_id"), mapping)
        finally:
            _clear(con, "staged_table")
    return Staged("qrels", name, format, 0, None, None, None, ())


def _guessed(file: LocalFile, mapping: Mapping[str, str]) -> str:
    id = mapping.get("doc_id", "doc_id")
    found = guess(file, [id])
    line = first_data_line(head_text(file))
    if found in ("jsonl", "ranx", "parquet"):
        return found
    for delimiter, format in ((",", "csv"), ("\t", "tsv")):
        if id in header_cells(line, delimiter):
            return format
    if file.name.lower().endswith((".csv", ".tsv")):
        return found
    if not looks_like_trec(line):
        return TEXT
    if len(line.split()) != FIELDS["qrels"]:
        raise InputError(
            f"{file.source}: this looks like a run; one set for all queries is a document id on each "
            "line (--format text), a table with a column doc_id, or qrels"
        )
    return "trec"


def _read_ids(con: duckdb.DuckDBPyConnection, file: LocalFile, table: str) -> None:
    """Make a table `(line, id)` of the lines of a text file; blank lines are ignored."""
    con.execute(f"create or replace temp table {ident(table)} (line bigint, id varchar)")
    insert = templates.render("ingest/id_lines", table=table)
    bad = BadLines(checks.LIMIT)
    for block in blocks(file, bad, single_blanks=False):
        con.execute(insert, {"text": block.text, "first": block.first}).fetchall()
    if bad.total:
        raise checks.refuse(file.source, bad.problems, bad.total)


def _read_lines(con: duckdb.DuckDBPyConnection, file: LocalFile) -> None:
    try:
        _read_ids(con, file, "staged_id")
        con.execute(templates.render("ingest/careful_table", kind="qrels"))
        con.execute(
            "insert into staged by name select $every as query_id, id as doc_id, 1 as relevance, line "
            "from staged_id",
            {"every": _EVERY},
        ).fetchall()
    finally:
        _clear(con, "staged_id")
    found, total = checks.problems(con, "qrels", place="line")
    if total:
        raise checks.refuse(file.source, checks.in_words(found), total)


def _read_table(
    con: duckdb.DuckDBPyConnection, table: wide.Table, mapping: Mapping[str, str]
) -> None:
    for ours in ("doc_id", *mapping):
        theirs = mapping.get(ours, ours)
        if theirs not in table.columns:
            raise InputError(
                f"{table.source}: there is no column {theirs!r}{nearest(theirs, table.columns)} "
                f"(the source has: {listing(table.columns)}); say which one holds the document ids, "
                f"e.g. --column doc_id={next(iter(table.columns))}"
            )
    columns = {
        "query_id": _reading(table, "query_id", (literal(_EVERY), "text")),
        "doc_id": _reading(table, mapping.get("doc_id", "doc_id"), ("null", "text")),
        "value": _reading(table, mapping.get("relevance", "relevance"), ("1", "whole")),
    }
    tables.fill(con, "qrels", "staged_table", columns)
    found, total = checks.problems(con, "qrels", place=checks.PLACE, unread=None)
    if total:
        raise table.refuse(found, total)


def _reading(table: wide.Table, name: str, otherwise: tuple[str, str]) -> tuple[str, str]:
    """Return a column's SQL and how it is read, or a placeholder if the table lacks it."""
    if name not in table.columns:
        return otherwise
    return tables.by_type(table.source, name, table.columns[name])


def _collapse(con: duckdb.DuckDBPyConnection, source: str) -> None:
    """Keep each document once in `staged`; refuse one with several relevances."""
    found = con.execute(templates.render("checks/relevances_differ", limit=checks.LIMIT)).fetchall()
    if found:
        total = int(found[0][5])
        contradict = "has another relevance" if total == 1 else "have other relevances"
        raise InputError(
            f"{source}: {counted(total, 'document')} {contradict} in one query than in another, so "
            "this is no one set for all queries; load it without --global, or make them agree",
            problems=[
                (None, f"document {doc!r}: {low} for query {first!r}, {high} for query {last!r}")
                for doc, low, first, high, last, _ in found
            ],
            total=total,
        )
    con.execute(templates.render("ingest/documents_once")).fetchall()
    _clear(con, "staged")
    con.execute("alter table staged_once rename to staged")
    if not checks.row_count(con):
        raise InputError(f"{source}: is empty: there is no document in it")
