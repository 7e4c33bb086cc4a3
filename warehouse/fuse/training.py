"""The queries that a method is trained on, and the values learned from their judgments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import duckdb

from warehouse.errors import UsageError, command, counted, listing, option
from warehouse.evaluate import engine, requirements
from warehouse.evaluate.chain import matched_sql
from warehouse.evaluate.plan import Plan, plan
from warehouse.evaluate.scope import Scope, qrels_kind, stored_qrels
from warehouse.fuse import lists
from warehouse.fuse.recipe import Recipe
from warehouse.metrics import fusion, notation, protocols
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render


@dataclass(frozen=True)
class Training:
    """Judged training queries, in byte order, and the version of the qrels that judges them.

    `num_unjudged` counts requested queries that are not judged and were left out.
    """

    dataset: str
    qrels_id: int
    qrels_version: int
    queries: tuple[str, ...]
    num_unjudged: int = 0

    def note(self, *, left_out: bool) -> list[str]:
        """Say which queries are used for training, and what that means for the values."""
        notes = []
        if self.num_unjudged:
            are = "is" if self.num_unjudged == 1 else "are"
            notes.append(
                f"{counted(self.num_unjudged, 'training query')} {are} not judged: ignored"
            )
        what = (
            "they are left out of the run: comparisons are over the other queries, but on boards it has "
            "0 for them where every judged query counts, as under the protocol default"
            if left_out
            else f"values over these flatter the run ({option('leave-out-training')} leaves them out)"
        )
        notes.append(
            f"trained on {counted(len(self.queries), 'query')} with version {self.qrels_version} of the "
            f"qrels ({listing(self.queries, 5)}); {what}"
        )
        return notes


def choose(
    con: duckdb.DuckDBPyConnection, dataset: str, queries: Iterable[str] | None, share: float | None
) -> Training:
    """Return the judged ones of some queries, or a share of all judged queries.

    A share always selects the same queries: it takes them in the order of the MD5 of their ids.
    Raises UsageError if none is left to train on.
    """
    if queries is not None and share is not None:
        raise UsageError("training queries are given, and a share of the queries; give one of them")
    rows = con.execute(
        "select qrels_id, qrels_version from qrels_version where dataset = $1 and is_current",
        [dataset],
    ).fetchall()
    if not rows:
        raise UsageError(
            f"{dataset}: has no qrels to train on: {command('ingest qrels FILE', dataset)}"
        )
    qrels_id, version = rows[0]
    stored = stored_qrels(qrels_id, qrels_kind(con, qrels_id))
    judged = [
        str(row[0])
        for row in con.execute(
            f"select query_id from (select distinct query_id from {stored}) "
            "order by md5(query_id), query_id"
        ).fetchall()
    ]
    if share is not None:
        if not 0 < share <= 1:
            raise UsageError(
                f"the share of the queries to train on is above 0 and up to 1, not {share}"
            )
        asked = judged[: math.floor(share * len(judged) + 0.5)]
    else:
        asked = list(dict.fromkeys(queries or ()))
    chosen = sorted(set(asked) & set(judged), key=lambda query: query.encode())
    if not chosen:
        number = counted(len(judged), "query")
        if share is not None:
            raise UsageError(
                f"a share of {share:g} of {number} that {dataset} judges is none: nothing to train on"
            )
        given = counted(len(asked), "training query") if asked else "no training query"
        raise UsageError(
            f"{given}, of which {dataset} judges none (it judges {number}, as "
            f"{listing(sorted(judged), 3)}): nothing to train on"
        )
    return Training(dataset, qrels_id, version, tuple(chosen), len(asked) - len(chosen))


def fill_scope(con: duckdb.DuckDBPyConnection, recipe: Recipe, training: Training) -> None:
    """Put the training queries in scope, with their judgments and the lists of the runs."""
    scope = Scope(con)
    scope.runs(recipe.run_ids)
    scope.stored_truth(training.qrels_id)
    con.execute(
        "create or replace temp table trained_query as select unnest($ids::varchar[]) as query_id",
        {"ids": list(training.queries)},
    )
    kind = qrels_kind(con, training.qrels_id)
    stored = stored_qrels(training.qrels_id, kind)
    judged = f"(select * from {stored} as judged semi join trained_query using (query_id))"
    scope.qrels(kind, judged)
    scope.whole_qrels(judged)
    lists.put_runs(con, recipe)
    con.execute("create or replace temp table fused_query as from trained_query")
    lists.put_entries(con, recipe)
    if not con.execute("select exists (select 1 from entry)").fetchall()[0][0]:
        raise UsageError(
            f"{listing(training.queries, 3)}: no run that is merged has any of the training queries"
        )
    level = recipe.method.params.get("rel", 1)
    con.execute(render("statements/trained_entry", rel=level))


def precisions(con: duckdb.DuckDBPyConnection, recipe: Recipe) -> list[float]:
    """Return the mean average precision of each run over the training queries, by its number."""
    metric = notation.parse(f"AP(rel={recipe.method.params['rel']})")
    con.execute(
        "create or replace temp table trial_entry as "
        "select run_number as run_id, query_id, doc_id, -rank::double as score from entry"
    )
    work = plan(metric, protocols.get(protocols.DEFAULT))
    return [value or 0.0 for value in values(con, work, len(recipe.sources))]


def store_precisions(con: duckdb.DuckDBPyConnection, found: Sequence[float]) -> None:
    """Put the mean average precision of each run in scope."""
    con.execute(
        "create or replace temp table trained_precision as "
        "select unnest(range(1, len($found) + 1))::integer as run_number, "
        "unnest($found::double[]) as average_precision",
        {"found": list(found)},
    )


def values(con: duckdb.DuckDBPyConnection, work: Plan, num_runs: int) -> list[float | None]:
    """Return the value over the training queries of each of the runs in `trial_entry`, by number."""
    (metric,) = work.queries
    matched = matched_sql(work.protocol)
    Scope(con).trial_runs(matched, num_runs=num_runs, aggregate=metric.aggregate)
    engine.compute(con, work)
    rows = con.execute("select evaluation_id, value from temp.score where part is null").fetchall()
    found = dict(rows)
    return [found.get(number) for number in range(1, num_runs + 1)]


def metric_plan(
    con: duckdb.DuckDBPyConnection, training: Training, name: str, rules: Protocol
) -> Plan:
    """Return the plan of the metric to tune by. Raises UsageError for unsuitable metrics."""
    found = notation.parse(name, defaults=rules.defaults())
    if len(found) != 1:
        raise UsageError(f"{name}: stands for several metrics; name one")
    if found[0].direction == "none":
        raise UsageError(f"{found[0]}: neither higher nor lower is better, so nothing is best")
    work, others = requirements.fitting(plan(found, rules), qrels_kind(con, training.qrels_id))
    if others:
        raise UsageError(requirements.unfit(training.dataset, others))
    lacking = requirements.lacking_stored(con, work, training.dataset)
    if lacking:
        raise UsageError("\n".join(lacking))
    return work


def is_needed(recipe: Recipe, tune: str | None) -> bool:
    """Whether the method is trained or tuned; refuse to tune one that has nothing to tune."""
    definition = recipe.definition
    if tune is not None and not definition.grid and fusion.WEIGHTS not in definition.needs:
        tunable = [m.name for m in fusion.methods().values() if m.grid or fusion.WEIGHTS in m.needs]
        raise UsageError(f"{definition.name}: has nothing to tune; {', '.join(tunable)} have")
    usual = {p.name: p.default for p in definition.parameters}
    given = [
        f"{name}={value}"
        for name, value in recipe.method.values
        if name in definition.grid and value != usual[name]
    ]
    if tune is not None and given:
        raise UsageError(
            f"{', '.join(given)} is given, but {option('tune', None)} would choose it; leave "
            f"out one of the two"
        )
    return tune is not None or fusion.TRAINING in definition.needs
