"""The first documents of all ranked lists, with what each adds to its query's value.

This is `explain` for all runs and queries of a dataset at once: the engine computes the values of
all lists, cut after each rank.
"""

from __future__ import annotations

from collections.abc import Sequence

from duckdb import DuckDBPyConnection as Connection
from duckdb import DuckDBPyRelation as Relation

from warehouse.analyze import stored_metrics
from warehouse.errors import UsageError, check_at_least, none_yet
from warehouse.evaluate import candidates, engine
from warehouse.evaluate.chain import ranked_sql
from warehouse.evaluate.plan import plan
from warehouse.evaluate.scope import Scope, qrels_kind, stored_qrels
from warehouse.metrics import protocols
from warehouse.metrics.notation import known_metric
from warehouse.sql_text.templates import render
from warehouse.store import database, datasets


def explained_lists(
    con: Connection,
    dataset: str,
    metric: str,
    queries: Sequence[str],
    *,
    top: int,
    protocol: str,
    runs: Sequence[str] = (),
) -> Relation:
    """Return the first `top` documents of the lists of all current runs, or of some, for some queries.

    Columns: `run, query_id, rank, doc_id, relevance, part`, as `explain` has them. `part` is null
    below the metric's cutoff, and everywhere if metric or protocol are gone. The connection is of
    no use for other reads afterwards, because temporary tables stand before the file's.
    """
    check_at_least(1, top=top)
    datasets.check(con, dataset)
    rules = stored_metrics.stored_rules(con, protocol)
    found = [run for run in candidates.find(con, dataset, runs) if run.qrels_id is not None]
    if not found:
        raise UsageError(none_yet("run", dataset))
    run_ids = [run.run_id for run in found]
    known = known_metric(metric) if rules.name in protocols.catalogue() else None
    deepest = 0 if known is None else min(top, known.depth or top)
    scope = Scope(con)
    scope.runs(run_ids)
    qrels_id = int(found[0].qrels_id or 0)
    scope.stored_truth(qrels_id)
    con.execute(
        "create or replace temp table scope_part as select unnest($queries::varchar[]) as query_id",
        {"queries": list(queries)},
    )
    kind = qrels_kind(con, qrels_id)
    judged = f"{stored_qrels(qrels_id, kind)} as judged"
    scope.qrels(kind, f"(select * from {judged} semi join scope_part using (query_id))")
    scope.predictions(run_ids, of_part=True)
    scope.cut_lists(
        ranked_sql(rules, top), top=top, deepest=deepest,
        aggregate="mean" if known is None else known.aggregate,
    )  # fmt: skip
    if known is not None:
        engine.compute(con, plan([known], rules))
    return database.keep(con, render("analyses/explained_lists"), name="explained_lists")
