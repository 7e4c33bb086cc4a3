"""The hits of the predictions in scope: which way to find their ranks is the fastest for them."""

from __future__ import annotations

import duckdb

from warehouse.evaluate.plan import matched_sql
from warehouse.protocols import Protocol
from warehouse.readers.checks import STEPS

# So many judgments a query at most, on average: beyond that a list is sooner put in order than counted.
_FEW_JUDGMENTS = 10


def of_stored(con: duckdb.DuckDBPyConnection, protocol: Protocol) -> str:
    """Return the query that makes the hits of predictions in scope, in a protocol's order."""
    return matched_sql(protocol, "counted" if has_few_judgments(con) else "matched")


def of_staged(con: duckdb.DuckDBPyConnection, protocol: Protocol) -> str:
    """Return the same for predictions of which `list_place` and `list_step` say how they stand."""
    return matched_sql(protocol, "placed") if in_order(con, protocol) else of_stored(con, protocol)


def has_few_judgments(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether so little is judged of each query in scope that ranks are best found by counting."""
    ((few,),) = con.execute(
        "select count(*) <= $few * count(distinct query_id) from scope_judgment",
        {"few": _FEW_JUDGMENTS},
    ).fetchall()
    return bool(few)


def in_order(con: duckdb.DuckDBPyConnection, protocol: Protocol) -> bool:
    """Whether each list in scope stands together in the source, its scores not rising.

    Where scores are compared in 32 bits, one that is only near the one before does not rise.
    """
    rises = ["score"] if protocol.score_precision == "single" else ["score", "near"]
    ((fits,),) = con.execute(
        "select count(*) < $limit and count(*) filter (where step in $rises) = 0 "
        "and (select bool_and(is_together) from list_place) from list_step",
        {"limit": STEPS, "rises": rises},
    ).fetchall()
    return bool(fits)
