"""A project's own metric at run time: checks of its SQL and of its rows.

The package's metrics are checked for the same by the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import duckdb

from warehouse.errors import WarehouseError
from warehouse.evaluate.chain import chain, table_query
from warehouse.evaluate.plan import Plan
from warehouse.metrics.notation import Metric
from warehouse.sql_text import selects
from warehouse.sql_text.quoting import ident
from warehouse.sql_text.templates import render
from warehouse.store.engine_errors import worded

COLUMNS = ("run_id", "query_id", "value")
_EXCERPT = re.compile(r"\n+LINE \d+: *(.*)\n *\^.*\Z", re.DOTALL)
_NUMBER = re.compile(r'U?\w*INT(EGER)?$|DECIMAL|FLOAT$|DOUBLE$|BOOLEAN$|"NULL"$')
# Errors that the SQL is to blame for; memory, files and interrupts are not.
_OF_THE_SQL = (duckdb.ProgrammingError, duckdb.DataError, duckdb.NotSupportedError)


@contextmanager
def blamed(metric: Metric) -> Iterator[None]:
    """Turn DuckDB's refusal of a metric's SQL into an error that names the metric and its file.

    An error that the SQL raises itself is passed on: then the input is to blame.
    """
    try:
        yield
    except _OF_THE_SQL as error:
        if isinstance(worded(error), WarehouseError):
            raise
        text = _EXCERPT.sub(r"\n  in: \1", str(error).strip())
        raise WarehouseError(
            f"{metric}: the SQL of {metric.definition.where} fails: {text}\n"
            f"  all of it: warehouse metrics show '{metric}'"
        ) from error


def checked(con: duckdb.DuckDBPyConnection, work: Plan, metric: Metric, table: str) -> str:
    """Compute a metric into a scratch table, refuse it if its rows are wrong, and return its query.

    It must be one SELECT, or one expression, that reads only relations or what is in scope, and have one
    row for each query that counts.
    """
    where = f"{metric}: the SQL of {metric.definition.where}"
    steps, own = chain(work, [metric]), work.add(metric)
    sql = own if isinstance(own, str) else steps.without(work.tables).rows(metric)
    _check_sql(con, where, sql, work.tables)
    query = steps.rows(metric)
    described = con.execute(f"describe from (\n{query}\n)").fetchall()
    types = {str(row[0]): str(row[1]) for row in described}
    if sorted(types) != sorted(COLUMNS):
        raise WarehouseError(
            f"{where} gives the columns {', '.join(types)}; "
            f"it must give exactly {', '.join(COLUMNS)}"
        )
    if not _NUMBER.match(types["value"]):
        raise WarehouseError(f"{where} gives a value of type {types['value']}; make it a number")
    con.execute(f"create or replace temp table {ident(table)} as\n{query}")
    sql = render(
        "statements/metric_rows", rankings=f"({table_query(work, work.rankings(metric))})",
        metric=ident(table), pooled=metric.has_pooled_row,
    )  # fmt: skip
    problem = con.execute(sql).fetchall()
    if problem:
        raise WarehouseError(
            f"{where} gives {problem[0][0]}; it must give one row for each query that counts, "
            "with a number or null"
        )
    # a text among the keys of other metrics would turn all of them into texts
    return f"select * replace (query_id::query_key as query_id) from {ident(table)}"


def _check_sql(con: duckdb.DuckDBPyConnection, where: str, query: str, made: Iterable[str]) -> None:
    """Refuse all but one SELECT that reads relations, closed to files, network and settings.

    Tables of the database hold all datasets and versions, and make no value stale.
    """
    rows = con.execute(
        "select table_name from duckdb_tables() where temporary and starts_with(table_name, 'scope_') "
        "union all select view_name from duckdb_views() where temporary"
    ).fetchall()
    problem = selects.problem(con, query, {*made, *(str(name) for (name,) in rows)})
    if problem is not None:
        raise WarehouseError(f"{where} {problem}")
