"""Read runs, qrels and training sets, from files of many formats and Python objects, into one table."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import duckdb

from warehouse.errors import InputError, UsageError, counted
from warehouse.readers import checks, delimited, documents, objects, preferences, tables, trec
from warehouse.readers.files import LocalFile, check_file, open_file
from warehouse.readers.guess import guess, other_layout
from warehouse.readers.normalise import normalise as normalise_ids
from warehouse.readers.staged import (
    FORMATS,
    KEYS,
    NAMED_COLUMNS,
    PREFERENCES,
    Kind,
    Query,
    Staged,
    canonical_format,
    canonical_kind,
    checked_mapping,
    columns_of,
    file_order,
    qrels_kind,
)

__all__ = [
    "FORMATS", "PREFERENCES", "Kind", "Query", "Staged", "columns_of", "qrels_kind", "stage",
]  # fmt: skip


def stage(
    con: duckdb.DuckDBPyConnection,
    source: Any,
    kind: Kind,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    normalise: str | None = None,
    hashed: bool = True,
    shared: bool = False,
) -> Staged:
    """Read a source into the temporary table `staged` of the connection, replacing the one before.

    `source` is a path (plain, .gz, .bz2, .xz or .zst), `-` for standard input, a file that is open, a
    dict of dicts, a pandas or polars data frame, an Arrow table, a DuckDB relation or a `Query`.
    `format` is guessed unless given: trec, csv, tsv, jsonl, parquet, ranx. `columns` maps our column
    names to those of a table. `normalise` is an SQL expression over the columns of the table below; its
    value becomes the document id. `hashed` says whether the bytes of a file are hashed. Where they are
    `shared` the columns are those of other sources too, and one without named columns passes them over.

    The table, in the order of the source, is by kind (all ids are varchar):

    - run: `(query_id, doc_id, score double)`, and beside it in `staged_ranking` for each query
      `(query_id, num_ret, lowest, highest, first_position, last_position, is_together)`, the length of
      its list, the extremes of its scores and the row ids between which it stands, and in `list_step`
      `(position, step)` where scores are equal or rise
    - qrels, a document once per query, and iterations, once per query and iteration:
      `(query_id, doc_id, relevance integer, iteration varchar)`
    - preferences: `(query_id, judgment_group, judgment_subgroup, doc_id, level double)`; qrels whose
      format is prefs are these
    - training: `(query_id, doc_id, relevance integer)`, 1 in a table without that column

    Raises InputError, with the first ten problems and their lines, when the source cannot be taken
    as it is, and UsageError for an unknown format or column of ours; then no `staged` is left.

    >>> con = duckdb.connect()
    >>> result = stage(con, {"q1": {"d1": 0.5, "d2": 0.25}}, "run")
    >>> result.rows, result.format, result.ranked_by
    (2, 'dict', 'score')
    >>> con.execute("select * from staged").fetchall()
    [('q1', 'd1', 0.5), ('q1', 'd2', 0.25)]
    """
    wanted = canonical_kind(kind)
    mapping = checked_mapping(wanted, columns)
    name = None if format is None else canonical_format(format, wanted)
    if name == PREFERENCES:
        wanted = "preferences"
    clear(con)
    try:
        with file_order(con):
            with contextlib.ExitStack() as stack:
                if isinstance(source, str | os.PathLike):
                    source = stack.enter_context(open_file(source, hashed=hashed))
                if isinstance(source, LocalFile):
                    staged = _stage_file(con, source, wanted, name, mapping, shared)
                else:
                    staged = _stage_object(con, source, wanted, mapping, shared)
            if normalise is not None:
                within = [column for column in KEYS[staged.kind] if column != "doc_id"]
                normalise_ids(con, staged.source, normalise, within=within)
                if staged.kind == "run":  # the rows have changed
                    checks.make_rankings(con)
                    checks.walk_staged(con, ranks=False, lowest_first=staged.ranked_by == "rank")
            return replace(staged, normalise=normalise)
    except BaseException:
        with contextlib.suppress(duckdb.Error):
            clear(con)
        raise


def clear(con: duckdb.DuckDBPyConnection) -> None:
    """Remove what was staged last."""
    tables = ("staged", "staged_ranking", "list_step")
    con.execute("; ".join(f"drop table if exists temp.{table}" for table in tables))


def _stage_file(
    con: duckdb.DuckDBPyConnection,
    file: LocalFile,
    kind: Kind,
    name: str | None,
    mapping: dict[str, str],
    shared: bool,
) -> Staged:
    check_file(file)
    format = name or guess(file, mapping.values())
    if format == "trec" and not name and (other := other_layout(file)):
        raise InputError(f"{file.source}: {other}")
    if not shared:
        _refuse_mapping(format, mapping)
    _refuse_iterations(file.source, format, kind)
    tag: str | None = None
    empty = 0
    ranked_by: Literal["score", "rank"] | None = "score" if kind == "run" else None
    if kind == "preferences":
        format = PREFERENCES
        preferences.read(con, file)
    elif format == "trec":
        tag = trec.read(con, file, kind)
    elif format in delimited.DELIMITERS:
        delimiter = delimited.DELIMITERS[format]
        ranked_by = tables.read_delimited(con, file, kind, delimiter, mapping)
    elif format == "jsonl":
        ranked_by = documents.read_lines(con, file, kind, mapping)
    elif format == "parquet":
        ranked_by = tables.read_parquet(con, file, kind, mapping)
    else:
        empty = documents.read_nested_file(con, file, kind)
    return _finished(con, kind, file.source, format, file.sha256, ranked_by, tag, empty)


def _stage_object(
    con: duckdb.DuckDBPyConnection, source: Any, kind: Kind, mapping: dict[str, str], shared: bool
) -> Staged:
    ranked_by: Literal["score", "rank"] | None = "score" if kind == "run" else None
    if kind == "preferences":
        raise UsageError(f"preferences are read from files of the format {PREFERENCES} only")
    if isinstance(source, Mapping):
        name, format = f"<{type(source).__name__}>", "dict"
        if not shared:
            _refuse_mapping(format, mapping)
        _refuse_iterations(name, format, kind)
        empty = documents.read_dict(con, source, name, kind)
    else:
        empty = 0
        name, format = objects.object_name(source), "table"
        ranked_by = tables.read_object(con, source, name, kind, mapping)
    return _finished(con, kind, name, format, None, ranked_by, None, empty)


def _finished(
    con: duckdb.DuckDBPyConnection,
    kind: Kind,
    source: str,
    format: str,
    sha256: str | None,
    ranked_by: Literal["score", "rank"] | None,
    tag: str | None,
    empty: int,
) -> Staged:
    """Warn about the source as a whole, drop service columns, and return what was read."""
    rows = checks.row_count(con)
    if rows == 0:
        what = "row" if format in ("dict", "table") else "line"
        raise InputError(f"{source}: is empty: there is no {what} of data")
    warnings: list[str] = []
    columns = checks.columns(con)
    ranks = kind == "run" and "rank" in columns
    if kind == "run":
        warnings = checks.run_warnings(con, ranks=ranks, word=ranked_by or "score").get(0, [])
        if "fields" in columns:
            warnings += checks.long_tags(con)
    if empty:
        warnings.append(_without_documents(kind, empty))
    checks.drop_service_columns(con, kind, columns)
    return Staged(kind, source, format, rows, sha256, ranked_by, tag, tuple(warnings))


def _without_documents(kind: Kind, empty: int) -> str:
    """Return the warning about queries without documents in a dict."""
    some = counted(empty, "query")
    if kind == "run":
        return f"{some} without a document passed over: the run does not answer them"
    if kind == "qrels":
        return f"{some} without a document passed over: to count them, judge one with relevance 0"
    return f"{some} without a document passed over"


def _refuse_mapping(format: str, mapping: dict[str, str]) -> None:
    if mapping and format not in NAMED_COLUMNS:
        raise UsageError(f"columns can be named for {', '.join(NAMED_COLUMNS)}, not for {format}")


def _refuse_iterations(source: str, format: str, kind: Kind) -> None:
    if kind == "iterations" and format in ("ranx", "dict"):
        raise UsageError(
            f"{source}: {{query: {{document: grade}}}} holds no iterations: a document is there once "
            "for each query. Leave them out (--iterations), or take a format that has them, as trec"
        )
