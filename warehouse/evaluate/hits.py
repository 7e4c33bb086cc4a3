"""The hits of the predictions in scope, found in the fastest way for them."""

from __future__ import annotations

import duckdb

from warehouse.evaluate.chain import matched_sql
from warehouse.metrics.protocols import Protocol
from warehouse.readers.checks import STEPS
from warehouse.sql_text.quoting import literal
from warehouse.sql_text.templates import render

# The warning about runs without hits.
NO_HITS = (
    "no document of the run is judged for its query: are the document ids written as in the qrels?"
)
# The number of predictions from which it pays to check how many are of judged documents, the number
# of first predictions to check, and the share up to which they are few.
_MANY_PREDICTIONS = 1_000_000
_SAMPLE = 20_000
_FEW_JUDGED = 0.2
# The most judgments per query, on average, for which counting is faster than sorting a list.
_FEW_JUDGMENTS = 10


def by_position(
    con: duckdb.DuckDBPyConnection, protocol: Protocol, rows: int, *, numbered: bool = False
) -> str:
    """Return the query that makes the hits of so many predictions from their positions in the source.

    No run among them may be out of order. `list_step` says whether any scores are equal. `numbered`
    says that the documents are numbers.
    """
    sparse = rows >= _MANY_PREDICTIONS and is_sparse(con)
    tied = _holds(con, "select count(*) > 0 from list_step")
    return matched_sql(protocol, "placed", sparse=sparse, numbered=numbered, tied=tied)


def in_any_order(con: duckdb.DuckDBPyConnection, protocol: Protocol) -> str:
    """Return the query that makes the hits of predictions in scope, in any order of their lists."""
    return matched_sql(protocol, "counted" if has_few_judgments(con) else "matched")


def has_few_judgments(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether the queries in scope have so few judgments that counting finds ranks fastest."""
    sql = "select count(*) <= $few * count(distinct query_id) from scope_judgment"
    return _holds(con, sql, few=_FEW_JUDGMENTS)


def is_sparse(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether few of the first predictions in scope are of a document judged for any query."""
    sql = (
        "select count(*) <= $sample * $few "
        "from (select doc_id::varchar as doc_id from scope_prediction limit $sample) "
        "semi join scope_judgment using (doc_id)"
    )
    return _holds(con, sql, sample=_SAMPLE, few=_FEW_JUDGED)


def out_of_order(con: duckdb.DuckDBPyConnection, protocol: Protocol) -> set[int]:
    """Return the runs in scope with a list that is in pieces or not in the protocol's order.

    `list_place` and `list_step` describe the lists. If scores are compared in 32 bits, a score that
    rises too little to differ does not count as a rise.
    """
    rises = ["score"] if protocol.score_precision == "single" else ["score", "near"]
    none_is = (
        f"select count(*) < {literal(STEPS)} and count(*) filter (where step in {literal(rises)}) = 0 "
        "and (select bool_and(is_together) from list_place) from list_step"
    )
    if _holds(con, none_is):
        return set()
    rows = con.execute(render("statements/out_of_order"), {"limit": STEPS, "rises": rises})
    return {int(row[0]) for row in rows.fetchall()}


def _holds(con: duckdb.DuckDBPyConnection, sql: str, **params: object) -> bool:
    ((holds,),) = con.execute(sql, params).fetchall()
    return bool(holds)
