"""The hits of the predictions in scope: which way to find their ranks is the fastest for them."""

from __future__ import annotations

import duckdb

from warehouse import relations
from warehouse.evaluate.plan import Plan, matched_sql
from warehouse.protocols import Protocol
from warehouse.readers.checks import STEPS
from warehouse.templates import render

# So many judgments a query at most, on average: beyond that a list is sooner put in order than counted.
_FEW_JUDGMENTS = 10


def of_stored(con: duckdb.DuckDBPyConnection, protocol: Protocol) -> str:
    """Return the query that makes the hits of stored predictions in scope, in a protocol's order."""
    return matched_sql(protocol, "counted" if has_few_judgments(con) else "matched")


def of_staged(con: duckdb.DuckDBPyConnection, protocol: Protocol, *, stepped: bool) -> str:
    """Return the same for predictions in memory, down which it costs little to walk.

    It may read `list_step`, which is made here unless it is there: `stepped`.
    """
    if not stepped:
        if has_few_judgments(con):
            return matched_sql(protocol, "counted")
        walk(con, protocol)
    if _in_order(con):
        return matched_sql(protocol, "placed")
    return of_stored(con, protocol)


def has_few_judgments(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether so little is judged of each query in scope that ranks are best found by counting."""
    ((few,),) = con.execute(
        "select count(*) <= $few * count(distinct query_id) from scope_judgment",
        {"few": _FEW_JUDGMENTS},
    ).fetchall()
    return bool(few)


def walk(con: duckdb.DuckDBPyConnection, protocol: Protocol) -> None:
    """Keep the steps of the lists in scope, and give them as the view `list_step`."""
    oriented, _ = Plan(protocol).relation_sql(relations.get("oriented"), {})
    key = ("run_id", "query_id")
    con.execute(
        render(
            "statements/list_steps",
            table="walked_step",
            lists=oriented,
            list_key=key,
            is_staged=False,
            limit=STEPS,
        )
    )
    con.execute("create or replace temp view list_step as from walked_step")


def _in_order(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether each list in scope stands together in the source, its scores not rising."""
    ((fits,),) = con.execute(
        "select count(*) < $limit and bool_and(step in ('list', 'tie')) "
        "and count(*) filter (where step = 'list') "
        "= count(distinct (run_id, query_id)) filter (where step = 'list') from list_step",
        {"limit": STEPS},
    ).fetchall()
    return bool(fits)
