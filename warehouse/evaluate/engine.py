"""Running a plan: the one place where metrics are computed, for stored runs and for files alike.

The engine works on relations that its caller has put in scope on a connection:

    scope_run         (run_id)                              the runs to evaluate
    scope_judgment    (query_id, doc_id, relevance)         the qrels, all of one version; this and
                      what else there is to evaluate against: see evaluate/grounds.py
    scope_ranking     (run_id, query_id, num_ret, whole_num_ret)   the length of each ranked list,
                      and that of the whole list where a part is in scope
    scope_hit         (run_id, query_id, doc_id, relevance, rank, whole_rank)   judged documents
                      retrieved; whole_rank is the rank in the whole list, rank that among the
                      documents of the part that is in scope, if it is one
    scope_prediction  (run_id, query_id, doc_id, score, position, lower_is_better)   the ranked lists,
                      for the metrics that need them whole
    pending           (evaluation_id, run_id, metric_number, aggregate)   what is to be computed

and writes to `query_score` and `score`. A metric that is pooled gives, beside the rows of its queries,
one row for each run with no query_id: the value over all queries.
"""

from __future__ import annotations

from collections.abc import Callable

import duckdb

from warehouse.evaluate import own
from warehouse.evaluate.plan import Plan
from warehouse.metrics import Metric
from warehouse.quoting import ident
from warehouse.templates import render

# Scratch tables: the rows of one pooled metric, and the values over all queries of all of them.
_VALUE = "metric_value"
_OWN = "own_metric"
_POOLED = "pooled_score"


def compute(
    con: duckdb.DuckDBPyConnection,
    work: Plan,
    *,
    part: str | None = None,
    ready: frozenset[int] = frozenset(),
    on_metric: Callable[[str], None] | None = None,
) -> None:
    """Compute the pending evaluations of a plan's metrics; `metric_number` counts them from 0.

    The values are those of a `part` of a slice where that alone has been put in scope. Of the metrics
    in `ready` the queries' values are there already.

    Only what is pending is run, and only the relations are made that it reads.
    """
    rows = con.execute("select distinct metric_number from pending").fetchall()
    numbers = {row[0] for row in rows}
    pending = [(n, m) for n, m in enumerate(work.queries) if n in numbers - ready]
    needed = {table for _, metric in pending for table in work.below(metric)}
    tables = [table for table in work.tables if table in needed]
    try:
        for table in tables:
            con.execute(f"create or replace temp table {ident(table)} as\n{work.tables[table]}")
        con.execute(f"create or replace temp table {_POOLED} (evaluation_id integer, value double)")
        for number, metric in pending:
            with own.blamed(metric):
                con.execute(
                    render(
                        "statements/query_scores",
                        metric=_rows(con, work, metric, number),
                        number=number,
                        part=part,
                        undefined=work.protocol.undefined_of(metric),
                    )
                )
            if on_metric is not None:
                on_metric(str(metric))
        con.execute(render("statements/scores", part=part))
    finally:
        for table in (_VALUE, _OWN, _POOLED, *reversed(tables)):
            _drop_quietly(con, table)


def _rows(con: duckdb.DuckDBPyConnection, work: Plan, metric: Metric, number: int) -> str:
    """Return the query for a metric's rows, one per query."""
    query = work.queries[metric]
    if metric.definition.is_own:
        query = own.checked(con, metric, query, rankings=work.rankings(metric), table=_OWN)
    return _pool(con, query, number) if metric.aggregate == "pooled" else query


def _pool(con: duckdb.DuckDBPyConnection, query: str, number: int) -> str:
    """Run a pooled metric, keep its values over all queries, return the query for the other rows."""
    con.execute(f"create or replace temp table {_VALUE} as\n{query}")
    con.execute(render("statements/pooled_scores", metric=_VALUE, number=number))
    return f"select * from {_VALUE} where query_id is not null"


def _drop_quietly(con: duckdb.DuckDBPyConnection, table: str) -> None:
    """Drop a scratch table; in an aborted transaction it goes with the rollback."""
    try:
        con.execute(f"drop table if exists temp.{ident(table)}")
    except duckdb.Error:
        return
