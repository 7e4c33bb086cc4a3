"""Read runs, qrels and training sets, from files of many formats and Python objects, into one table.

The way of a source: `files` opens it, `registry` finds its format, the format reads it into the table
`staged`, and `checks` refuses bad rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from warehouse.config import limits
from warehouse.errors import EmptyError, UsageError, check_text, option
from warehouse.readers import checks, registry, row_rules, staging
from warehouse.readers.files import LocalFile, check_file, open_file
from warehouse.readers.formats import FileFormat, Format, Reading
from warehouse.readers.kinds import (
    KEYS,
    ColumnNames,
    Kind,
    Query,
    Staged,
    canonical_kind,
    column_mapping,
    columns_of,
)
from warehouse.readers.registry import qrels_kind

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

__all__ = ["Kind", "Query", "Staged", "columns_of", "qrels_kind", "stage"]


def stage(
    con: Connection,
    source: Any,
    kind: Kind,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    relevance: str | None = None,
    normalise: str | None = None,
    where: str | None = None,
    repeated: str | None = None,
    hashed: bool = True,
    shared: bool = False,
    empty: bool = False,
) -> Staged:
    """Read a source into the temporary table `staged` of the connection, replacing the one before.

    `source` is a path (plain, .gz, .bz2, .xz or .zst), `-` for standard input, a file that is open,
    the name of a dataset (`ir_datasets:…`), a dict of dicts, a pandas or polars data frame, an Arrow
    table, a DuckDB relation or a `Query`.
    `format`, one of `registry.names`, is guessed unless given. `columns` maps our column names to those
    of a table; if they are `shared`, they are meant for other sources too, and a format without named
    columns ignores them. `relevance` is an SQL expression over the columns of judgments, the relevance
    among them by our name or theirs; its value becomes the relevance. `normalise` is an SQL expression
    over the columns of the table below; its value becomes the document id. `where` is an SQL condition
    over the columns of the source, by our names if its format names none, and what it is true for is
    read. `repeated`, one of `row_rules.REPEATED`, says which row counts, or what of its rows, where a
    document is there several times for a query. `hashed` says whether the bytes of a file are hashed,
    `empty` whether a run may have nothing at all.

    A row may have lists in the columns of the document and its score, or one list of records: each of
    its elements counts as a row. A list of documents alone is in the order of their ranks.

    The table, in the order of the source, is by kind (all ids are varchar):

    - run: `(query_id, doc_id, score double)`, and next to it in `staged_ranking` for each query
      `(query_id, num_ret, lowest, highest, first_position, last_position, is_together)`, the length of
      its list (0 if it is there without a document), the extremes of its scores and the row ids
      between which it stands, and in `list_step`
      `(position, step)` where scores are equal or rise
    - qrels, a document once per query, and iterations, once per query and iteration:
      `(query_id, doc_id, relevance double, iteration varchar)`
    - preferences: `(query_id, judgment_group, judgment_subgroup, doc_id, level double)`; qrels whose
      format is prefs are these
    - training: `(query_id, doc_id, relevance double)`, 1 in a table without that column; a query that
      is there without a document has one row without these

    Raises InputError, with the first ten problems and their lines, when the source cannot be taken
    as it is, and UsageError for an unknown format or column of ours; then no `staged` is left.

    >>> from warehouse.store import database
    >>> con = database.memory()
    >>> result = stage(con, {"q1": {"d1": 0.5, "d2": 0.25}}, "run")
    >>> result.rows, result.format, result.ranked_by
    (2, 'dict', 'score')
    >>> con.execute("select * from staged").fetchall()
    [('q1', 'd1', 0.5), ('q1', 'd2', 0.25)]
    """
    texts = {"relevance": relevance, "normalise": normalise, "where": where, "repeated": repeated}
    for name, text in texts.items():
        if text is not None:
            check_text(name, text)
    wanted = canonical_kind(kind)
    all_alike = reads_words = False
    # a name in the expression is no name of a column that is given for this source
    shared = shared or not columns
    if relevance is not None:
        # the help of commands names the formats, and does without the engine
        from warehouse.readers.relevance import is_constant, map_relevance, with_relevance

        columns = with_relevance(con, relevance, columns)
        all_alike = is_constant(con, relevance)
        reads_words = not all_alike and "'" in relevance
    mapping = column_mapping(wanted, columns)
    source = registry.meant(source, wanted)
    given = None if format is None else registry.find(format, wanted)
    if given is not None:
        wanted = given.kind_of(wanted)
    rules = row_rules.RowRules(where, repeated, all_alike, reads_words)
    clear(con)
    try:
        with staging.file_order(con):
            if isinstance(source, str | os.PathLike):
                with open_file(source, hashed=hashed) as file:
                    staged = _stage(con, file, wanted, given, mapping, shared, rules)
            else:
                staged = _stage(con, source, wanted, given, mapping, shared, rules)
            if relevance is not None:
                is_read = staged.value == mapping.get("relevance")
                map_relevance(con, staged.source, relevance, mapping if is_read else {})
            if normalise is not None:
                _normalise(con, staged, normalise)
            if wanted == "training":
                checks.add_untrained(con)
        return replace(
            staged, normalise=normalise, relevance=relevance, where=where, repeated=repeated,
            columns=mapping,
        )  # fmt: skip
    except BaseException as error:
        with staging.suppress_errors():
            clear(con)
        if empty and wanted == "run" and isinstance(error, EmptyError):
            return _stage_nothing(con, error.source, given)
        raise


def refuse_rules(where: str | None, repeated: str | None) -> None:
    """Refuse rules for the rows of one set of documents, which are judged for all queries."""
    for name, given in (("where", where), ("repeated", repeated)):
        if given is not None:
            raise UsageError(f"{option(name, given)}: goes with judgments that name their queries")


def clear(con: Connection) -> None:
    """Remove the rows that were staged last."""
    import duckdb

    try:
        con.execute("drop table if exists temp.staged")
    except duckdb.CatalogException:  # it is a view of a file
        con.execute("drop view temp.staged")
    tables = ("staged_ranking", "staged_key", "staged_empty", "list_step")
    con.execute("; ".join(f"drop table if exists temp.{table}" for table in tables))


def _stage_nothing(con: Connection, source: str, given: FileFormat | None) -> Staged:
    """Stage a run without any query."""
    staged = _stage(con, {}, "run", None, {}, True, row_rules.RowRules(), empty=True)
    warning = f"{source}: is empty: the run answers no query"
    return replace(
        staged, source=source, format=given.name if given else staged.format, warnings=(warning,)
    )


def _stage(
    con: Connection,
    source: Any,
    kind: Kind,
    given: FileFormat | None,
    mapping: ColumnNames,
    shared: bool,
    rules: row_rules.RowRules,
    *,
    empty: bool = False,
) -> Staged:
    """Read a source in its format, warn about it as a whole, and drop service columns."""
    format: Format
    if isinstance(source, LocalFile):
        check_file(source)
        format = given or registry.guess(source, kind, registry.column_names(mapping))
    else:
        format = registry.in_memory(source, kind)
    if not shared:
        registry.check_mapping(format, mapping)
    name = format.source_name(source)
    of_table = rules.where if format.names_columns else None
    with row_rules.applied(replace(rules, where=None) if of_table else rules):
        if of_table is None:
            reading = format.read(con, source, kind, mapping)
        else:
            reading = _read_where(con, format, source, kind, mapping, of_table)
    rows = staging.row_count(con)
    if rows == 0 and not (kind == "run" and (empty or checks.any_empty(con))):
        raise EmptyError(name, format.unit)
    limits.current().check_rows(name, rows)
    warnings = (*reading.warnings, *rules.warnings)
    columns = staging.types_of(con)
    if kind == "run":
        if reading.ranked_by == "rank" and rules.where is None and rules.repeated is None:
            checks.refuse_gaps(con, name, reading.value or "rank")
        ranks = "rank" in columns and mapping.get("score") != "rank"
        found = checks.run_warnings(
            con, ranks=ranks, ranked_by=reading.ranked_by, value=reading.value
        )
        warnings = (*found.get(0, ()), *warnings)
        checks.add_empty(con)
    checks.drop_service_columns(con, kind, columns)
    return Staged(
        kind=kind,
        source=name,
        format=format.name,
        rows=rows,
        source_sha256=source.sha256 if isinstance(source, LocalFile) else None,
        ranked_by=reading.ranked_by if kind == "run" else None,
        tag=reading.tag,
        warnings=warnings,
        about=reading.about,
        value=reading.value,
        is_view=reading.is_view,
    )


def _read_where(
    con: Connection, format: Format, source: Any, kind: Kind, mapping: ColumnNames, where: str
) -> Reading:
    """Fill `staged` from the rows of a source for which a condition is true."""
    from warehouse.readers import reshaped

    ids = [name for name in registry.column_names(mapping) if name not in ("score", "relevance")]
    table = format.read_table(con, source, "query_id", ids)
    return reshaped.read(con, table, kind, mapping, where)


def _normalise(con: Connection, staged: Staged, expression: str) -> None:
    """Make the document ids again by an expression, and the rows derived from them."""
    from warehouse.readers.normalise import normalise

    within = [column for column in KEYS[staged.kind] if column != "doc_id"]
    normalise(con, staged.source, expression, within=within)
    if staged.kind == "run":  # the rows have changed
        checks.make_rankings(con)
        checks.walk_staged(con, ranks=False, lowest_first=staged.ranked_by == "rank")
        checks.add_empty(con)
