"""A ground truth that is one set of documents for every query."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from duckdb import DuckDBPyConnection as Connection

from warehouse.errors import InputError, UsageError, counted, listing, nearest, option
from warehouse.readers import checks, registry, staging, tables
from warehouse.readers.files import LocalFile, check_file, open_file
from warehouse.readers.formats import FileFormat, Format, Table
from warehouse.readers.kinds import ColumnNames, Staged
from warehouse.readers.lines import LIMIT
from warehouse.readers.meanings import advice
from warehouse.readers.normalise import normalise as normalise_ids
from warehouse.readers.ranx import Dict, read_dict, text_of
from warehouse.readers.relevance import map_relevance, with_relevance
from warehouse.readers.text import EVERY_QUERY, read_ids
from warehouse.sql_text.quoting import ident, literal

_COLUMNS = ("doc_id", "relevance")


def stage_everywhere(
    con: Connection,
    source: Any,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    relevance: str | None = None,
    normalise: str | None = None,
) -> Staged:
    """Read a set of documents into the temporary table `staged_everywhere (doc_id, relevance)`.

    `source` has one document id per line (the format "text"), or a column doc_id and, unless all
    are relevant, a column relevance. It may also be qrels, whose queries are ignored; a document
    must then have the same relevance for all of them. In Python it may also be a collection of ids
    or a dict of relevances.

    >>> from warehouse.store import database
    >>> con = database.memory()
    >>> stage_everywhere(con, {"a", "b"}).rows
    2
    >>> queries = "select unnest(['q1', 'q2']) as query_id"
    >>> con.execute(for_queries(queries)).fetchall()
    [('q1', 'a', 1.0, '0'), ('q1', 'b', 1.0, '0'), ('q2', 'a', 1.0, '0'), ('q2', 'b', 1.0, '0')]
    """
    mapping = _mapping(with_relevance(con, relevance, columns))
    given = None if format is None else registry.find(format, "documents")
    staging.drop(con, "staged", "staged_everywhere")
    try:
        with staging.file_order(con):
            if isinstance(source, str | os.PathLike):
                with open_file(source) as file:
                    staged = _read(con, file, given, mapping)
            else:
                staged = _read(con, source, given, mapping)
            if relevance is not None:
                map_relevance(con, staged.source, relevance, mapping)
            _collapse(con, staged.source)
            if normalise is not None:
                normalise_ids(con, staged.source, normalise, within=())
            con.execute("alter table staged rename to staged_everywhere")
    finally:
        staging.drop(con, "staged")
    rows = staging.row_count(con, "staged_everywhere")
    return replace(staged, rows=rows, normalise=normalise, relevance=relevance)


def for_queries(queries: str) -> str:
    """Return the SQL of the staged set as judgments of the queries that a SELECT returns."""
    return staging.render("ingest/everywhere", queries=queries)


def stage_queries(con: Connection, source: Any) -> tuple[str, str]:
    """Read query ids, one per line or from a collection; return their SQL and their source."""
    if not isinstance(source, str | os.PathLike):
        several = _collection(source)
        if not several:
            raise UsageError(
                "the queries are a file with one id per line, or a list of one id or more"
            )
        name = f"<{type(source).__name__}>"
        ids = [text_of(name, id) for id in several]
        return f"select unnest({literal(ids)}::varchar[]) as query_id", name
    with open_file(source) as file:
        check_file(file)
        read_ids(con, file, "staged_query_id")
        found = file.source
    if not staging.row_count(con, "staged_query_id"):
        raise InputError(f"{found}: is empty: there is no query id in it")
    return "select id as query_id from staged_query_id", found


def _collection(source: Any) -> list[Any] | None:
    """Return the ids of a collection, as a list or a column of a frame, or None for other objects."""
    if not isinstance(source, Collection) or isinstance(source, str | bytes):
        return None
    if hasattr(source, "columns") or getattr(source, "ndim", 1) != 1:  # a table or a matrix
        return None
    return sorted(source, key=str) if isinstance(source, set | frozenset) else list(source)


def _mapping(columns: Mapping[str, str] | None) -> dict[str, str]:
    for ours in columns or ():
        if ours not in _COLUMNS:
            raise UsageError(
                f"one set for all queries has no column {ours!r}{nearest(ours, _COLUMNS)} "
                f"(known: {', '.join(_COLUMNS)})"
            )
    return dict(columns or {})


def _read(con: Connection, source: Any, given: FileFormat | None, mapping: ColumnNames) -> Staged:
    """Fill `staged` with judgments, under a placeholder if the source has no queries."""
    nested = _as_dict(source)
    if nested is not None:
        name = f"<{type(source).__name__}>"
        read_dict(con, nested, name, "qrels")
        return Staged("qrels", name, Dict.name, 0, None, None, None, ())
    id = mapping.get("doc_id", "doc_id")
    format: Format
    if isinstance(source, LocalFile):
        check_file(source)
        format = given or registry.guess(source, "documents", [id])
        registry.check_mapping(format, mapping)
    else:
        format = registry.in_memory(source, "documents")
    warnings: tuple[str, ...] = ()
    if format.names_columns:
        try:
            warnings = _read_table(
                con, format.read_table(con, source, "doc_id", [id, "query_id"]), mapping
            )
        finally:
            staging.drop(con, "staged_table")
    else:
        format.read(con, source, "qrels", {})
    sha256 = source.sha256 if isinstance(source, LocalFile) else None
    return Staged("qrels", format.source_name(source), format.name, 0, sha256, None, None, warnings)


def _as_dict(source: Any) -> Mapping[Any, Any] | None:
    """Return a dict or a collection of ids as judgments by query, or None for other objects."""
    if isinstance(source, Mapping):
        nested = any(isinstance(value, Mapping) for value in source.values())
        return source if nested else {EVERY_QUERY: source}
    ids = _collection(source)
    return None if ids is None else {EVERY_QUERY: dict.fromkeys(ids, 1)}


def _read_table(con: Connection, table: Table, mapping: ColumnNames) -> tuple[str, ...]:
    for ours in ("doc_id", *mapping):
        theirs = mapping.get(ours, ours)
        if theirs not in table.columns:
            raise InputError(
                f"{table.source}: there is no column {theirs!r}{nearest(theirs, table.columns)} "
                f"(the source has: {listing(table.columns)}); "
                + advice(
                    "qrels", [ours], list(table.columns), mapping,
                    lambda name: staging.first_values(con, "staged_table", ident(name)),
                )
            )  # fmt: skip
    columns: tables.Columns = {
        "query_id": _reading(table, "query_id", (literal(EVERY_QUERY), "text")),
        "doc_id": _reading(table, mapping.get("doc_id", "doc_id"), ("null", "text")),
        "value": _reading(table, mapping.get("relevance", "relevance"), ("1", "whole")),
    }
    columns = columns if table.typed else tables.trimmed_numbers(columns)
    tables.fill(con, "qrels", "staged_table", columns)
    warnings = () if table.typed else tables.trim_ids(con, ["query_id", "doc_id"])
    found, total = checks.problems(con, "qrels", position=checks.POSITION, unread=None)
    if total:
        raise table.refuse(found, total)
    return warnings


def _reading(table: Table, name: str, otherwise: tuple[str, str]) -> tuple[str, str]:
    """Return a column's SQL and how it is read, or a placeholder if the table lacks it."""
    if name not in table.columns:
        return otherwise
    return tables.by_type(table.source, name, table.columns[name])


def _collapse(con: Connection, source: str) -> None:
    """Keep each document once in `staged`; refuse one with several relevances."""
    found = staging.run(con, "checks/relevances_differ", limit=LIMIT)
    if found:
        total = int(found[0][5])
        contradict = "has another relevance" if total == 1 else "have other relevances"
        raise InputError(
            f"{source}: {counted(total, 'document')} {contradict} in one query than in another, so "
            f"this is no one set for all queries; load it without {option('global')}, or make "
            f"them agree",
            problems=[
                (
                    None,
                    f"document {doc!r}: {low:g} for query {first!r}, {high:g} for query {last!r}",
                )
                for doc, low, first, high, last, _ in found
            ],
            total=total,
        )
    staging.run(con, "ingest/documents_once")
    con.execute("drop table staged")
    con.execute("alter table staged_once rename to staged")
    if not staging.row_count(con):
        raise InputError(f"{source}: is empty: there is no document in it")
