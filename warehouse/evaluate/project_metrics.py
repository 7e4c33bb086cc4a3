"""A project's own metric at run time: checks of its SQL and of its rows.

The package's metrics are checked for the same by the tests.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from contextlib import contextmanager

import duckdb

from warehouse.errors import WarehouseError
from warehouse.metrics.notation import Metric
from warehouse.sql_text.expressions import nodes, parsed
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


def checked(
    con: duckdb.DuckDBPyConnection,
    metric: Metric,
    query: str,
    *,
    made: Container[str],
    rankings: str,
    table: str,
) -> str:
    """Compute a metric into a scratch table, refuse it if its rows are wrong, and return its query.

    It must have one row for each query in the table of the rankings, and read only tables that are
    `made` for it.
    """
    where = f"{metric}: the SQL of {metric.definition.where}"
    _check_tables(con, where, query, made)
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
    pooled = metric.has_pooled_row
    sql = render(
        "statements/metric_rows", rankings=ident(rankings), metric=ident(table), pooled=pooled
    )
    problem = con.execute(sql).fetchall()
    if problem:
        raise WarehouseError(
            f"{where} gives {problem[0][0]}; it must give one row for each query that counts, "
            "with a number or null"
        )
    # a text among the keys of other metrics would turn all of them into texts
    return f"select * replace (query_id::query_key as query_id) from {ident(table)}"


def _check_tables(
    con: duckdb.DuckDBPyConnection, where: str, query: str, made: Container[str]
) -> None:
    """Refuse tables of the database: they have all datasets and versions, and make no value stale."""
    tree = list(nodes(parsed(con, query)))
    steps = {
        step["key"].lower() for node in tree for step in (node.get("cte_map") or {}).get("map", ())
    }
    read = {str(node["table_name"]) for node in tree if node.get("type") == "BASE_TABLE"}
    rows = con.execute(
        "select table_name from duckdb_tables() where not temporary "
        "union all select view_name from duckdb_views() where not temporary and not internal"
    ).fetchall()
    stored = {str(row[0]) for row in rows}
    for name in sorted(read):
        if name.lower() in stored and name.lower() not in steps and name.lower() not in made:
            raise WarehouseError(
                f"{where} reads {name}, which holds all datasets and versions; "
                "it must read relations, as in from {{ hits }}"
            )
