"""The hits of the predictions in scope: which way to find their ranks is the fastest for them."""

from __future__ import annotations

import duckdb

from warehouse.evaluate.plan import matched_sql
from warehouse.protocols import Protocol
from warehouse.readers.checks import STEPS
from warehouse.templates import render

# What is said of a run without hits.
NO_HITS = (
    "no document of the run is judged for its query: are the document ids written as in the qrels?"
)
# Predictions from which on it is worth a look at how many of them are of documents that are judged,
# the first ones that are looked at, and the share up to which they are few.
_MANY_PREDICTIONS = 1_000_000
_SAMPLE = 20_000
_FEW_JUDGED = 0.2
# So many judgments a query at most, on average: beyond that a list is sooner put in order than counted.
_FEW_JUDGMENTS = 10


def by_place(
    con: duckdb.DuckDBPyConnection, protocol: Protocol, rows: int, *, numbered: bool = False
) -> str:
    """Return the query that makes the hits of so many predictions in scope by their documents' places.

    No run of them may be out of order; `list_step` says whether scores are equal anywhere. `numbered`
    says that the documents are numbers.
    """
    sparse = rows >= _MANY_PREDICTIONS and is_sparse(con)
    tied = _holds(con, "select count(*) > 0 from list_step")
    return matched_sql(protocol, "placed", sparse=sparse, numbered=numbered, tied=tied)


def in_any_order(con: duckdb.DuckDBPyConnection, protocol: Protocol) -> str:
    """Return the query that makes the hits of predictions in scope however their lists stand."""
    return matched_sql(protocol, "counted" if has_few_judgments(con) else "matched")


def has_few_judgments(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether so little is judged of each query in scope that ranks are best found by counting."""
    sql = "select count(*) <= $few * count(distinct query_id) from scope_judgment"
    return _holds(con, sql, few=_FEW_JUDGMENTS)


def is_sparse(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether few of the first predictions in scope are of a document that is judged for any query."""
    sql = (
        "select count(*) <= $sample * $few "
        "from (select doc_id::varchar as doc_id from scope_prediction limit $sample) "
        "semi join scope_judgment using (doc_id)"
    )
    return _holds(con, sql, sample=_SAMPLE, few=_FEW_JUDGED)


def out_of_order(con: duckdb.DuckDBPyConnection, protocol: Protocol) -> set[int]:
    """Return the runs in scope of which a list is in pieces or not in a protocol's order.

    `list_place` and `list_step` say how the lists stand. Where scores are compared in 32 bits, one that
    is only near the one before does not rise.
    """
    rises = ["score"] if protocol.score_precision == "single" else ["score", "near"]
    none_is = (
        "select count(*) < $limit and count(*) filter (where step in $rises) = 0 "
        "and (select bool_and(is_together) from list_place) from list_step"
    )
    if _holds(con, none_is, limit=STEPS, rises=rises):
        return set()
    rows = con.execute(render("statements/out_of_order"), {"limit": STEPS, "rises": rises})
    return {int(row[0]) for row in rows.fetchall()}


def _holds(con: duckdb.DuckDBPyConnection, sql: str, **params: object) -> bool:
    ((holds,),) = con.execute(sql, params).fetchall()
    return bool(holds)
