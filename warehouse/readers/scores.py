"""Values by query that other programs computed: lines of trec_eval, tables, logs of benchmarks."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from duckdb import DuckDBPyConnection as Connection

from warehouse import extending
from warehouse.config import limits
from warehouse.errors import InputError, UsageError, listing, nearest, option
from warehouse.readers import checks, registry, staging
from warehouse.readers.attributes import open_table, table_of
from warehouse.readers.files import LocalFile, check_file, open_file
from warehouse.readers.formats import Table
from warehouse.readers.lines import insert_lines, is_number
from warehouse.readers.tables import is_nested
from warehouse.sql_text.quoting import ident

# The formats of lines without a header; the others are formats of tables.
LINES = ("trec_eval", "ir_measures")
# Our columns, each with the names that it is known by.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "run": ("run", "run_name", "name", "system"),
    "query_id": ("query_id", "query", "qid", "topic", "topic_id"),
    "metric": ("metric", "measure"),
    "value": ("value", "score"),
}
# The query of the lines with values over all queries.
ALL = "all"
_NO_NUMBER = ("runid", "relstring")
_REAL = re.compile("FLOAT|DOUBLE|DEC")


@dataclass(frozen=True)
class StagedScores:
    """The rows that `stage_scores` read into `staged (place, run, query_id, metric, value_text, value)`.

    `has_run` says whether the source names the run of each value. Lines of all queries together have
    the query `all`. `texts` are what has no numbers, as trec_eval's runid, and is left out.
    """

    source: str
    format: str
    source_sha256: str | None
    has_run: bool
    texts: tuple[str, ...] = ()


def stage_scores(
    con: Connection,
    source: Any,
    queries: str,
    *,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,
) -> StagedScores:
    """Read values by run, query and metric into the temporary table `staged`.

    `queries` is a relation with the column `query_id`: of the two first columns of lines, the queries
    are the one that holds these. `columns` maps our columns to a table's. A value that is empty,
    null or NaN is undefined. Raises InputError and UsageError.

    >>> from warehouse.store import database
    >>> con = database.memory()
    >>> rows = [{"run": "a", "query": "q1", "metric": "map", "value": 0.5}]
    >>> stage_scores(con, rows, "(select 'q1' as query_id)").has_run
    True
    >>> con.execute("select run, query_id, metric, value from staged").fetchall()
    [('a', 'q1', 'map', 0.5)]
    """
    given = None if format is None else format.lower()
    logs = {name: log for _, log in extending.objects("logs") for name in log.FORMATS}
    known = [*LINES, *logs, *registry.names("attributes")]
    if given is not None and given not in known:
        raise UsageError(
            f"unknown format {format!r}{nearest(given, known)} (known: {listing(known)})"
        )
    mapping = _mapping(columns)
    staging.drop(con, "staged", "staged_line", "staged_table")
    try:
        with staging.file_order(con):
            if isinstance(source, list | tuple):
                return _from_table(con, _records(con, source), mapping)
            if not isinstance(source, str | os.PathLike):
                with open_table(con, source, "query_id", None, ()) as table:
                    return _from_table(con, table, mapping)
            with open_file(source) as file:
                if given is None and not mapping:
                    guesses = (log.guess(file) for log in dict.fromkeys(logs.values()))
                    guessed = next(filter(None, guesses), None)
                else:
                    guessed = given
                if guessed in logs:
                    table, texts = logs[guessed].read_table(con, file, guessed)
                    return replace(_from_table(con, table, {}), texts=texts)
                check_file(file)
                if given in LINES or (given is None and not mapping and _has_lines(file)):
                    return _from_lines(con, file, queries, given)
                hints = [*mapping.values(), *(name for names in COLUMNS.values() for name in names)]
                table = table_of(con, file, "query_id", given, hints)
                return _from_table(con, table, mapping)
    except BaseException:
        staging.drop(con, "staged")
        raise
    finally:
        staging.drop(con, "staged_line", "staged_table")


def _records(con: Connection, rows: Sequence[Any]) -> Table:
    """Read dicts of one value by run, query and metric into `staged_table`."""
    names: dict[str, str] = {}
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise InputError(
                f"<list>: row {number:,} is no dict of run, query_id, metric and value"
            )
        names |= dict.fromkeys(map(str, row), "VARCHAR")
    if not names:
        raise InputError("<list>: is empty: there is no row of data")
    columns = ", ".join(
        f"unnest(${number}::varchar[]) as {ident(name)}" for number, name in enumerate(names, 1)
    )
    values = [
        [None if (value := row.get(name)) is None else str(value) for row in rows] for name in names
    ]
    con.execute(f"create temp table staged_table as select {columns}", values)
    return Table("<list>", "records", None, names, typed=False)


def _mapping(columns: Mapping[str, str] | None) -> dict[str, str]:
    for ours in columns or ():
        if ours not in COLUMNS:
            raise UsageError(
                f"values have no column {ours!r}{nearest(ours, COLUMNS)} (known: {listing(COLUMNS)})"
            )
    return dict(columns or {})


def _has_lines(file: LocalFile) -> bool:
    """Whether the first line is one of trec_eval or ir_measures: three columns and a number at last."""
    first = next((line for line in file.text.splitlines() if line.strip()), "")
    fields = [part.strip() for part in first.split("\t")] if "\t" in first else first.split()
    return len(fields) == 3 and (is_number(fields[2]) or fields[0] in _NO_NUMBER)


def _from_lines(con: Connection, file: LocalFile, queries: str, format: str | None) -> StagedScores:
    con.execute(
        "create temp table staged_line (line bigint, num_columns integer, first_column varchar, "
        "second_column varchar, value_text varchar)"
    )
    insert_lines(con, file, "ingest/score_lines", single_blanks=False).refuse(file.source)
    limits.current().check_rows(file.source, staging.row_count(con, "staged_line"))
    format = format or _order(con, file.source, queries)
    is_trec = format == LINES[0]
    rows = con.execute("select distinct first_column from staged_line order by all").fetchall()
    texts = [str(name) for (name,) in rows if is_trec and name in _NO_NUMBER]
    staging.run(con, "ingest/score_rows", columns=None, metric_first=is_trec, texts=texts)
    _refuse_problems(con, Table(file.source, format, file.sha256, {}, False, int), has_run=False)
    return StagedScores(file.source, format, file.sha256, False, tuple(texts))


def _order(con: Connection, source: str, queries: str) -> str:
    """Return the format of lines by the column that has the queries. Raises InputError."""
    ((first, second),) = staging.run(con, "ingest/score_order", queries=queries, all=ALL)
    if bool(first) == bool(second):
        raise InputError(
            f"{source}: the queries are "
            + (
                "in both of the first two columns"
                if first
                else "in neither of the first two columns"
            )
            + f": say how the lines are made, with {option('format', LINES[0])} (metric, query, value) "
            f"or {option('format', LINES[1])} (query, metric, value)"
        )
    return LINES[1] if first else LINES[0]


def _from_table(con: Connection, table: Table, mapping: Mapping[str, str]) -> StagedScores:
    limits.current().check_rows(table.source, staging.row_count(con, "staged_table"))
    found: dict[str, str] = {}
    for ours, names in COLUMNS.items():
        name = _column(table, ours, mapping.get(ours), names, found.values())
        if name is not None:
            found[ours] = name
    families = {ours: _family(table.columns[name]) for ours, name in found.items()}
    position = checks.POSITION.replace("staged", "staged_table")
    staging.run(
        con,
        "ingest/score_rows",
        columns=found,
        families=families,
        place=position,
        metric_first=False,
        texts=[],
    )
    _refuse_problems(con, table, has_run="run" in found)
    return StagedScores(table.source, table.format, table.sha256, "run" in found)


def _column(
    table: Table, ours: str, given: str | None, names: Sequence[str], taken: Collection[str]
) -> str | None:
    """Return the column for one of ours, or None if there is none of a run."""
    has = f"the source has: {listing(table.columns)}"
    found = given or next((one for one in names if one in table.columns and one not in taken), None)
    if found is None:
        if ours == "run":
            return None
        raise InputError(
            f"{table.source}: there is no column {ours}; {has}. Say which one it is: "
            f"{option('column', (ours, 'NAME'))}"
        )
    if found not in table.columns:
        hint = nearest(found, table.columns)
        raise InputError(f"{table.source}: there is no column {found!r}{hint} ({has})")
    if is_nested(table.columns[found]):
        raise InputError(
            f"{table.source}: the column {found!r} holds lists or records, not one {ours} a row"
        )
    return found


def _family(kind: str) -> str:
    if kind == "JSON":
        return "json"
    return "real" if _REAL.match(kind) else "text"


def _refuse_problems(con: Connection, table: Table, *, has_run: bool) -> None:
    if not staging.row_count(con):
        raise InputError(f"{table.source}: is empty: there is no row of data")
    table.check(con, "checks/score_rows", has_run=has_run)
