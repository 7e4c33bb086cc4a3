"""Tables that are filtered by a condition, or that have lists instead of single documents."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from warehouse.errors import InputError, listing, option
from warehouse.readers import checks, row_rules, staging, tables
from warehouse.readers.columns import candidates, choose
from warehouse.readers.formats import Reading, Table
from warehouse.readers.kinds import ColumnNames, Kind
from warehouse.readers.lines import LIMIT
from warehouse.readers.meanings import advice, is_value, meanings
from warehouse.sql_text.quoting import ident

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

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
    *,
    as_view: bool = False,
) -> Reading:
    """Fill `staged` from the SQL of a relation, as `tables.read`, whether or not it has lists."""
    with tables.table_errors(source):
        wider, types = staging.with_fields(con, relation)
    if has_lists(kind, types, mapping):
        types = tables.fill_table(con, source, relation)
        return read(con, Table(source, "", None, types), kind, mapping)
    as_view = as_view and wider == relation
    return tables.read(con, source, kind, wider, mapping, names, as_view=as_view)


def read(
    con: Connection, table: Table, kind: Kind, mapping: ColumnNames, where: str | None = None
) -> Reading:
    """Fill `staged` from `staged_table`, from the rows for which the condition `where` is true.

    A row with a list of documents gives a row for each of them. A list of ids alone is a ranked list:
    its places are the ranks of a run; in qrels each document has the relevance 1, unless numbers stand
    next to it that nothing reads. Raises InputError and UsageError. The tables that it made are gone
    afterwards, `staged_table` too.
    """
    source = table.source
    warnings: tuple[str, ...] = ()
    try:
        with tables.table_errors(source):
            row_rules.keep(con, source, where, table.columns, typed=table.typed)
            relation, types = staging.with_fields(con, "staged_kept")
            lists, kept, made = relation, types, {"source_row"}
            has_places = has_lists(kind, types, mapping)
            if has_places:
                warnings = _unnest(con, table, kind, lists, types, mapping)
                relation, types = staging.with_fields(con, "staged_unnested")
                made |= {"place"} - kept.keys() - {*mapping.values()}
            found, ranking = choose(
                source, kind, [name for name in types if name not in made], mapping,
                has_places=has_places,
                sample=lambda name: staging.first_values(con, relation, ident(name)),
            )  # fmt: skip
            value = found.get("value", found["doc_id"] if has_places else None)
            is_open = kind != "training" and not row_rules.all_alike()
            if has_places and "value" not in found and is_open:
                _refuse_unread(con, source, kind, found, (lists, kept), (relation, types))
            if has_places and "value" not in found and kind == "run":
                found["value"] = "place"
            if where and "tag" in found and row_rules.chooses(con, where, found["tag"]):
                del found["tag"]
            tables.refuse_lost_digits(con, source, relation, types, found)
            columns = tables.by_types(source, kind, found, types)
            if not table.typed:
                columns = tables.trimmed_numbers(columns)
            tables.fill(con, kind, relation, columns)
            if not table.typed:
                warnings += tables.tidy_ids(con, source, kind, found)

        def words(problems: Iterable[checks.Problem]) -> checks.LineProblems:
            return table.in_words(problems, lambda row: _source_row(con, relation, row))

        checks.check_staged(
            con, kind, source, word=ranking, unread=None, words=words, columns=found
        )
        return Reading(ranking, warnings=warnings, value=value)
    finally:
        staging.drop(con, "staged_table", "staged_kept", "staged_unnested")


def _unnest(
    con: Connection,
    table: Table,
    kind: Kind,
    relation: str,
    types: Mapping[str, str],
    mapping: ColumnNames,
) -> tuple[str, ...]:
    """Make `staged_unnested` of the lists in a relation; return warnings."""
    record = _named(kind, "doc_id", types, mapping)
    if record is None or not _RECORDS.fullmatch(types[record]):
        record = None if record else _records(types)
    lists: list[str]
    if record is None:
        found, _ = choose(
            table.source, kind, [name for name in types if name != "source_row"], mapping,
            has_places=True,
            sample=lambda name: staging.first_values(con, relation, ident(name)),
        )  # fmt: skip
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
        found_wrong = staging.run(
            con, "checks/lists_differ", relation=relation, query=query, lists=lists
        )
        if found_wrong:
            problems = [checks.Problem(row, None, None, why, None) for row, why in found_wrong]
            raise table.refuse(problems[:LIMIT], len(problems))
        empty = _take_empty(con, relation, query, lists[0], kind)
    staging.run(
        con, "ingest/unnested",
        relation=relation, lists=lists, record=record,
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


def _refuse_unread(
    con: Connection,
    source: str,
    kind: Kind,
    found: Mapping[str, str],
    before: tuple[str, Mapping[str, str]],
    after: tuple[str, Mapping[str, str]],
) -> None:
    """Refuse values of the documents in a list that nothing reads: they may order or grade these.

    They are another list in the relation `before`, or a field of records, a column of that `after` the
    lists became rows; each is SQL with its types.
    """
    (lists, kept), (relation, types) = before, after
    documents, ours = found["doc_id"], "score" if kind == "run" else "relevance"
    samples = {
        name: staging.first_values(con, relation, ident(name))
        for name in types
        if name not in kept and name != "place"
    }
    for name, type in kept.items():
        if _LIST.fullmatch(type) and name not in types and documents in kept:
            lengths = f"coalesce(len({ident(name)}), 0) = coalesce(len({ident(documents)}), 0)"
            if staging.first_values(con, lists, f"bool_and({lengths})") == [True]:
                samples[name] = staging.first_values(con, lists, f"unnest({ident(name)})")
    is_run = kind == "run"
    only = option("column", ("rank", "place")) if is_run else option("relevance", "1")
    only = f"if only the list counts: {only}"
    unread = [name for name in samples if is_value("relevance", name, samples[name])]
    if unread:
        numbers = [name for name in unread if is_value(ours, name, samples[name])]
        how = advice(kind, ["rank" if is_run else ours], numbers, found, lambda name: samples[name])
        raise InputError(
            f"{source}: the documents of a list have values that nothing reads ({listing(unread)}): "
            f"{f'{how}; ' if numbers else ''}{only}"
        )
    for name, values in samples.items():
        within = next((path for value in values if (path := _number_in(value, ours, name))), None)
        if within is not None:
            raise InputError(
                f"{source}: the documents of a list have numbers that nothing reads ({within}): "
                f"write one number for each document beside the ids; {only}"
            )


def _number_in(value: object, ours: str, name: str) -> str | None:
    """Return the path of a number in a value, or in text that is JSON, that may be ours by its name.

    >>> _number_in({"page": 3, "scores": [0.5]}, "score", "meta"), _number_in([7], "score", "vector")
    ('meta.scores', None)
    """
    if isinstance(value, str) and value[:1] in ("{", "["):
        with suppress(ValueError):
            value = json.loads(value)
    if isinstance(value, dict):
        paths = (_number_in(one, ours, key) for key, one in value.items())
        return next((f"{name}.{path}" for path in paths if path), None)
    if isinstance(value, list):
        return next((path for one in value if (path := _number_in(one, ours, name))), None)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return name if is_number and ours in meanings(name) else None


def _take_empty(con: Connection, relation: str, query: str, documents: str, kind: Kind) -> int:
    """Count the empty lists; the queries of those that count go into `staged_empty`."""
    con.execute("create temp table if not exists staged_empty (query_id varchar)")
    is_empty = f"coalesce(len({ident(documents)}), 0) = 0"
    chosen = f"select cast({ident(query)} as varchar) as query_id from {relation} where {is_empty}"
    if kind in ("run", "training"):
        con.execute(f"insert into staged_empty {chosen}").fetchall()
    return int(con.execute(f"select count(*) from ({chosen})").fetchall()[0][0])


def _named(kind: Kind, ours: str, types: Mapping[str, str], mapping: ColumnNames) -> str | None:
    """Return the column that is ours, by the mapping or a name, or None; the first of several."""
    theirs = mapping.get(ours, ours)
    if theirs in types or ours in mapping:
        return theirs if theirs in types else None
    return next(iter(candidates(kind, ours, list(types), mapping.values())), None)


def _records(types: Mapping[str, str]) -> str | None:
    """Return the column that holds lists of records, if there is one alone."""
    found = [name for name, type in types.items() if _RECORDS.fullmatch(type)]
    return found[0] if len(found) == 1 else None


def _source_row(con: Connection, relation: str, row: int) -> int:
    """Return the number in the source of a row of a table."""
    sql = f"select source_row from {relation} limit 1 offset {row - 1}"
    return int(con.execute(sql).fetchall()[0][0])
