"""The first documents of all ranked lists, with what each adds to its query's value.

This is `explain` for all runs and queries of a dataset at once: the engine computes the values of
all lists, cut after each rank.
"""

from __future__ import annotations

import duckdb

from warehouse.analyze import datasets, stored_metrics
from warehouse.errors import UsageError, check_at_least
from warehouse.evaluate import engine
from warehouse.evaluate.plan import plan, ranked_sql
from warehouse.evaluate.scope import Scope
from warehouse.metrics import protocols
from warehouse.metrics.notation import known_metric
from warehouse.sql_text.templates import render
from warehouse.store import database


def explained_lists(
    con: duckdb.DuckDBPyConnection, dataset: str, metric: str, *, top: int, protocol: str
) -> duckdb.DuckDBPyRelation:
    """Return the first `top` documents of each list of the runs that have a value of a metric.

    Columns: `run, query_id, rank, doc_id, relevance, part`, as `explain` has them. `part` is null
    below the metric's cutoff, and everywhere if metric or protocol are gone. The connection is of
    no use for other reads afterwards, because temporary tables stand before the file's.
    """
    check_at_least(1, top=top)
    datasets.check(con, dataset)
    rules = stored_metrics.stored_rules(con, protocol)
    rows = con.execute(
        "select run_id, qrels_id from run_scores where is_current and dataset = $dataset "
        "and metric = $metric and protocol = $protocol order by run_id",
        {"dataset": dataset, "metric": metric, "protocol": rules.name},
    ).fetchall()
    if not rows:
        raise UsageError(f"{dataset}: no values of {metric} under protocol {rules.name} yet")
    run_ids = [int(run_id) for run_id, _ in rows]
    known = known_metric(metric) if rules.name in protocols.catalogue() else None
    deepest = 0 if known is None else min(top, known.depth or top)
    scope = Scope(con)
    scope.runs(run_ids)
    scope.stored_truth(rows[0][1])
    scope.predictions(run_ids)
    scope.cut_lists(
        ranked_sql(rules, top), top=top, deepest=deepest,
        aggregate="mean" if known is None else known.aggregate,
    )  # fmt: skip
    if known is not None:
        engine.compute(con, plan([known], rules))
    return database.keep(con, render("analyses/explained_lists"), name="explained_lists")
