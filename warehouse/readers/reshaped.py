"""Tables that are filtered by a condition, or that have lists in the place of single documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from warehouse.errors import InputError, UsageError, counted, option
from warehouse.readers import checks, staging, tables
from warehouse.readers.columns import candidates, choose
from warehouse.readers.formats import Format, Reading, Table
from warehouse.readers.kinds import ColumnNames, Kind
from warehouse.readers.lines import LIMIT
from warehouse.sql_text.quoting import ident
from warehouse.store.engine_errors import in_words

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from warehouse.sql_text import expressions

_ONE = "write one condition over the columns of the file, as in rating >= 4"
_LIST = re.compile(r".*\[\d*\]", re.DOTALL)
_RECORDS = re.compile(r"STRUCT\(.*\)\[\d*\]", re.DOTALL)


def has_lists(kind: Kind, types: Mapping[str, str], mapping: ColumnNames) -> bool:
    """Whether a table of these columns has lists of documents: of ids, or of records with an id.

    >>> has_lists("run", {"user": "INTEGER", "items": "VARCHAR[]"}, {})
    True
    >>> has_lists("run", {"user": "INTEGER", "item": "VARCHAR", "genres": "VARCHAR[]"}, {})
    False
    """
    ids = _named(kind, "doc_id", types, mapping)
    if ids is not None:
        return bool(_LIST.fullmatch(types[ids]))
    return _records(types) is not None


def read_relation(
    con: Connection,
    source: str,
    kind: Kind,
    relation: str,
    mapping: ColumnNames,
    names: Callable[[], Iterable[str]],
) -> Reading:
    """Fill `staged` from the SQL of a relation, as `tables.read`, whether or not it has lists."""
    with tables.table_errors(source):
        types = staging.types_of(con, relation)
    if has_lists(kind, types, mapping):
        types = tables.fill_table(con, source, relation)
        return read(con, Table(source, "", None, types), kind, mapping)
    return tables.read(con, source, kind, relation, mapping, names)


def check_condition(con: Connection, format: Format, where: str) -> None:
    """Refuse what is no condition over a row, and a format whose columns have no names."""
    # the help of commands names the formats, and does without the engine
    from warehouse.sql_text import expressions

    given = option("where", where)
    expressions.read(con, given, where, _ONE, windows=True)
    if not format.names_columns:
        raise UsageError(
            f"{given}: reads columns by their names, which files of the format {format.name} do not "
            "have; take the rows out before loading"
        )


def read(
    con: Connection, table: Table, kind: Kind, mapping: ColumnNames, where: str | None = None
) -> Reading:
    """Fill `staged` from `staged_table`, from the rows for which the condition `where` is true.

    A row with a list of documents gives a row for each of them. A list of ids alone is a ranked list:
    its places are the ranks of a run; in qrels each document has the relevance 1. Raises InputError
    and UsageError. The tables that it made are gone afterwards, `staged_table` too.
    """
    source = table.source
    warnings: tuple[str, ...] = ()
    try:
        with tables.table_errors(source):
            _keep(con, table, where)
            relation, types = "staged_kept", staging.types_of(con, "staged_kept")
            has_places = has_lists(kind, types, mapping)
            if has_places:
                warnings = _unnest(con, table, kind, types, mapping)
                relation, types = "staged_unnested", staging.types_of(con, "staged_unnested")
            found, ranking = choose(source, kind, list(types), mapping, has_places=has_places)
            if has_places and "value" not in found and kind == "run":
                found["value"] = "place"
            tables.refuse_lost_digits(con, source, relation, types, found)
            tables.fill(con, kind, relation, tables.by_types(source, kind, found, types))

        def words(problems: Iterable[checks.Problem]) -> checks.Places:
            return table.in_words(problems, lambda row: _source_row(con, relation, row))

        checks.check_staged(con, kind, source, word=ranking, unread=None, words=words)
        return Reading(ranking, warnings=warnings)
    finally:
        staging.drop(con, "staged_table", "staged_kept", "staged_unnested")


def _keep(con: Connection, table: Table, where: str | None) -> None:
    """Make `staged_kept` of the rows of `staged_table` that a condition keeps."""
    if where is None:
        staging.run(con, "ingest/kept", expression=None)
        return
    from warehouse.sql_text import expressions

    given = option("where", where)
    typed = _typed(con, table, expressions.read(con, given, where, _ONE, windows=True))
    relation = f"(\n{typed}\n) as rows"
    expressions.bind(con, given, where, _ONE, table=relation, column="source_row")

    with expressions.errors_of(f"{table.source}: {given}", InputError), in_words():
        staging.run(con, "ingest/kept", expression=where, typed=typed)
    if not staging.row_count(con, "staged_kept"):
        rows = counted(staging.row_count(con, "staged_table"), "row")
        raise InputError(
            f"{table.source}: {given}: is true for none of {rows}; change the condition"
        )


def _typed(con: Connection, table: Table, condition: expressions.Expression) -> str:
    """Return the SQL of the rows as a condition reads them: numbers and times in text are such."""
    types: dict[str, str] = {}
    read = {path[-1].lower() for path in condition.columns}
    names = [name for name in table.columns if name.lower() in read]
    if names and not table.typed:
        found = staging.run(con, "ingest/column_types", names=names)
        types = {str(name): str(type) for name, type in found if type is not None}
    return staging.render("ingest/typed_rows", types=types)


def _unnest(
    con: Connection, table: Table, kind: Kind, types: Mapping[str, str], mapping: ColumnNames
) -> tuple[str, ...]:
    """Make `staged_unnested` of the lists in `staged_kept`; return warnings."""
    record = None if _named(kind, "doc_id", types, mapping) else _records(types)
    lists: list[str]
    if record is None:
        found, _ = choose(table.source, kind, list(types), mapping, has_places=True)
        lists = [name for name in found.values() if _LIST.fullmatch(types[name])]
        value = found.get("value", lists[0])
        if value not in lists:
            raise InputError(
                f"{table.source}: {value!r} holds one value for the list of documents in {lists[0]!r}: "
                "give a list of values, or leave it out"
            )
    else:
        lists = [record]
    query = _named(kind, "query_id", types, mapping)
    empty = 0
    if query is not None:
        found_wrong = staging.run(con, "checks/lists_differ", query=query, lists=lists)
        if found_wrong:
            problems = [checks.Problem(row, None, None, why, None) for row, why in found_wrong]
            raise table.refuse(problems[:LIMIT], len(problems))
        empty = _take_empty(con, query, lists[0], kind)
    staging.run(
        con, "ingest/unnested",
        lists=lists, record=record,
        single=[name for name, type in types.items() if not tables.is_nested(type)],
    )  # fmt: skip
    if not empty:
        return ()
    lists_are = "1 empty list" if empty == 1 else f"{empty:,} empty lists"
    if kind == "run":
        return (f"{lists_are}: the run answers these queries with nothing",)
    if kind == "training":
        return (f"{lists_are}: the size of the training set counts these queries",)
    return (f"{lists_are}: without a document, a query is not in the {kind}",)


def _take_empty(con: Connection, query: str, documents: str, kind: Kind) -> int:
    """Count the empty lists; the queries of those that count go into `staged_empty`."""
    con.execute("create temp table if not exists staged_empty (query_id varchar)")
    is_empty = f"coalesce(len({ident(documents)}), 0) = 0"
    chosen = f"select cast({ident(query)} as varchar) as query_id from staged_kept where {is_empty}"
    if kind in ("run", "training"):
        con.execute(f"insert into staged_empty {chosen}").fetchall()
    return int(con.execute(f"select count(*) from ({chosen})").fetchall()[0][0])


def _named(kind: Kind, ours: str, types: Mapping[str, str], mapping: ColumnNames) -> str | None:
    """Return the column that is ours, by the mapping or a name, or None; the first of several."""
    theirs = mapping.get(ours, ours)
    if theirs in types:
        return theirs
    return next(iter(candidates(kind, ours, list(types), mapping.values())), None)


def _records(types: Mapping[str, str]) -> str | None:
    """Return the column that holds lists of records, if there is one alone."""
    found = [name for name, type in types.items() if _RECORDS.fullmatch(type)]
    return found[0] if len(found) == 1 else None


def _source_row(con: Connection, relation: str, row: int) -> int:
    """Return the number in the source of a row of a table."""
    sql = f"select source_row from {relation} limit 1 offset {row - 1}"
    return int(con.execute(sql).fetchall()[0][0])
