"""The source of one query's value, and what each document of the list adds to it.

The part of a document is the change of the value at its rank: the value of the list cut after it,
minus the value of the list cut before it, or minus 0 if that is undefined. The engine computes these
values with the metric's own template, for all cuts at once. So the parts add up to the value for
every metric; if the metric is a sum over the documents found, as AP and nDCG are, they are its
terms.
"""

from __future__ import annotations

import datetime as dt
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from duckdb import DuckDBPyConnection as Connection
from duckdb import DuckDBPyRelation as Relation

from warehouse.analyze import past_state, stored_metrics, texts
from warehouse.errors import UsageError, check_at_least, command, listing, nearest
from warehouse.evaluate import engine, requirements, unstored_values
from warehouse.evaluate.chain import fingerprint_of, ranked_sql
from warehouse.evaluate.plan import Plan, plan
from warehouse.evaluate.scope import Scope, qrels_kind, stored_qrels
from warehouse.evaluate.tie_ranges import TieRange, of_scope
from warehouse.metrics import protocols
from warehouse.metrics.notation import Metric, MetricLike, known_metric
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.quoting import literal
from warehouse.sql_text.templates import render
from warehouse.store import database

TOP = 20


@dataclass(frozen=True)
class Explanation:
    """A value of a query, its provenance, and the list behind it.

    `relation` has the columns `rank, doc_id, score, relevance, value_so_far, part`, and `text` if
    the dataset has texts of documents. `recomputed` is the value that today's formula gives for the
    stored list, or None if metric or protocol are gone. `query_text` is the query's text. `counted` is
    the number of queries that the run's value is of, and `left_out` has, for each reason why others are
    left out of it, their number and the first of them. `tie_range` has the lowest and the highest
    value over all orders of documents with equal scores, if they differ. `notes` say whether the
    value was computed for this and is not stored.
    """

    relation: Relation
    run: str
    dataset: str
    metric: str
    query: str
    value: float | None
    protocol: str
    run_version: int
    run_source: str
    run_sha256: str | None
    run_ingested_at: dt.datetime
    qrels_version: int
    qrels_source: str
    fingerprint: str
    is_stale: bool
    program_version: str
    engine_version: str
    evaluated_at: dt.datetime
    num_retrieved: int
    relevant_missed: tuple[str, ...]
    recomputed: float | None = None
    query_text: str | None = None
    counted: int = 0
    left_out: Mapping[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    tie_range: TieRange | None = None
    notes: tuple[str, ...] = ()


def explain(
    con: Connection,
    dataset: str | None,
    run: str,
    query: str,
    metric: MetricLike | None,
    *,
    top: int | None,
    protocol: str,
    qrels: int | None,
) -> Explanation:
    """Explain a current run's value for a query; the arguments are as in `Warehouse.explain`."""
    check_at_least(0, top=top)
    database.refuse_collected(con, "the documents behind a value")
    with past_state.read_one(con, dataset, past_state.state(None, qrels)) as (found, _):
        rules = stored_metrics.stored_rules(con, protocol)
        query, metric = _in_order(con, found, run, query, metric)
        asked = stored_metrics.first_name(con, found, metric, rules)
        made = stored_metrics.with_missing(con, [found], asked, rules, runs=[run])
        name = stored_metrics.choose(con, found, asked, rules)[0]
        explained = _explain(con, found, run, query, name, rules, top)
        notes = stored_metrics.computed_notes([found], made, rules, qrels=qrels)
        ties = _tie_range(con, explained.num_retrieved, name, rules)
        return replace(explained, tie_range=ties, notes=notes)


def _in_order(
    con: Connection, dataset: str, run: str, query: str, metric: MetricLike | None
) -> tuple[str, MetricLike | None]:
    """Return the query and the metric, in whichever order they came; refuse a run that is not first."""
    words = [run, query, *([metric] if isinstance(metric, str) else [])]
    kinds = _kinds(con, dataset, words)
    wanted = ["run", "query", *(["metric"] if isinstance(metric, str) else [])]
    fitting = {kind: next((word for word in words if kind in kinds[word]), None) for kind in wanted}
    in_place = all(kind in kinds[word] for kind, word in zip(wanted, words, strict=True))
    if in_place or None in fitting.values() or len(set(fitting.values())) < len(words):
        return query, metric
    if fitting["run"] == run and isinstance(metric, str):
        return str(fitting["query"]), fitting["metric"]
    right = [str(fitting[kind]) for kind in ("run", "metric", "query") if kind in fitting]
    fits = ", ".join(f"{word} is a {kind}" for kind, word in fitting.items())
    raise UsageError(
        f"{fits}: first comes the run, then the metric, then the query: "
        f"{command(f'explain {shlex.join(right)}', dataset)}"
    )


def _kinds(con: Connection, dataset: str, words: Sequence[str]) -> dict[str, set[str]]:
    """Return the possible kinds of each word: a run, a metric or a query of the dataset."""
    rows = con.execute(
        "select run, 'run' from runs where dataset = $dataset and list_contains($words, run) "
        "union select query_id, 'query' from qrels_versions "
        "where dataset = $dataset and list_contains($words, query_id)",
        {"dataset": dataset, "words": list(words)},
    ).fetchall()
    found: dict[str, set[str]] = {word: set() for word in words}
    for word, kind in rows:
        found[word].add(kind)
    for word in words:
        if not found[word] and known_metric(word) is not None:
            found[word].add("metric")
    return found


def _explain(
    con: Connection,
    dataset: str,
    run: str,
    query: str,
    name: str,
    protocol: Protocol,
    top: int | None,
) -> Explanation:
    found = _provenance(con, run, name, dataset, protocol)
    value = _value(con, found["evaluation_id"], query, name)
    rows = con.execute(
        render("analyses/left_out_queries", of_one=True), {"evaluation": found["evaluation_id"]}
    ).fetchall()
    left_out = {why: (number, tuple(first)) for *_, why, number, first in rows}
    known = known_metric(name)
    if known is not None and top is None:
        top = TOP if known.depth is None else min(known.depth, 100)
    top = TOP if top is None else top
    is_known = known is not None and protocol.name in protocols.catalogue()
    unstored_values.drop_views(con)
    scope = Scope(con)
    scope.runs([found["run_id"]])
    scope.stored_truth(found["qrels_id"])
    stale = True
    work = plan([known] if is_known and known is not None else [], protocol)
    if is_known and known is not None:
        stale = _is_stale(con, work, known, dataset, found["fingerprint"])
    _prefixes(con, found, query, protocol, top, known)
    if is_known:
        engine.compute(con, work)
    with_text = texts.any_texts(con, dataset, "document")
    asked = {"query_id": query, "top": top} | ({"dataset": dataset} if with_text else {})
    relation = database.keep(con, render("analyses/explain", with_text=with_text), asked)
    of_query = texts.texts(con, dataset, "query", [query]).get(query)
    return Explanation(
        relation=relation,
        run=run,
        dataset=dataset,
        metric=name,
        query=query,
        value=value,
        protocol=protocol.name,
        is_stale=stale,
        query_text=None if of_query is None else of_query.whole,
        left_out=left_out,
        relevant_missed=_missed(con, 1 if known is None else known.params.get("rel", 1)),
        **_computed(con),
        **{key: found[key] for key in found if not key.endswith("_id")},
    )


def _tie_range(con: Connection, length: int, metric: str, protocol: Protocol) -> TieRange | None:
    """Return the range of the whole list's value over all orders of equal scores; it is in scope."""
    known = known_metric(metric)
    if known is None or protocol.name not in protocols.catalogue():
        return None
    Scope(con).runs([length])
    return next(of_scope(con, plan([known], protocol), walked=False), None)


def _provenance(
    con: Connection, run: str, metric: str, dataset: str, protocol: Protocol
) -> dict[str, Any]:
    """Return the catalogue row behind a value; refuse a query without a value."""
    stored_metrics.choose(con, dataset, [metric], protocol)
    asked = {"dataset": dataset, "metric": metric, "protocol": protocol.name}
    relation = con.execute(render("analyses/provenance"), asked | {"run": run})
    columns = [column[0] for column in relation.description]
    rows = relation.fetchall()
    if rows:
        (row,) = rows
        return dict(zip(columns, row, strict=True))
    valued = con.execute(
        "select distinct run from scores where dataset = $dataset "
        "and metric = $metric and protocol = $protocol order by run",
        asked,
    ).fetchall()
    known = [str(row[0]) for row in valued]
    hint = nearest(run, known) or f"; there are {listing(known)}"
    raise UsageError(f"{run}: no run of that name has a value of {metric} in {dataset}{hint}")


def _value(con: Connection, evaluation_id: int, query: str, metric: str) -> float | None:
    rows = con.execute(
        "select query_id, value from query_score where evaluation_id = $id and part is null "
        "order by query_id",
        {"id": evaluation_id},
    ).fetchall()
    values: dict[str, float | None] = {str(name): value for name, value in rows}
    if query not in values:
        hint = nearest(query, values) or f"; there are {listing(values, 5)}"
        raise UsageError(f"{query}: no query of that name has a value of {metric}{hint}")
    return values[query]


def _is_stale(con: Connection, work: Plan, metric: Metric, dataset: str, fingerprint: str) -> bool:
    contents = requirements.contents(con, work, dataset)
    return fingerprint_of(work, metric, contents) != fingerprint


def _prefixes(
    con: Connection,
    found: dict[str, Any],
    query: str,
    protocol: Protocol,
    top: int,
    metric: Metric | None,
) -> None:
    """Put the list in scope, cut after each rank, with the judgments of the query."""
    kind = qrels_kind(con, found["qrels_id"])
    rows = stored_qrels(found["qrels_id"], kind)
    scope = Scope(con)
    scope.qrels(kind, f"(select * from {rows} where query_id = {literal(query)})")
    scope.prefixes(
        found["run_id"], query, ranked_sql(protocol),
        top=top, aggregate="mean" if metric is None else metric.aggregate,
    )  # fmt: skip


def _missed(con: Connection, rel: object) -> tuple[str, ...]:
    """Return what is relevant to the metric and not in the list, the highest grades first."""
    rows = con.execute(
        "select doc_id from scope_judgment anti join listed using (doc_id) "
        "where scope_judgment.relevance > 0 and scope_judgment.relevance >= coalesce($rel, 0) "
        "order by scope_judgment.relevance desc, doc_id",
        {"rel": rel},
    ).fetchall()
    return tuple(str(row[0]) for row in rows)


def _computed(con: Connection) -> dict[str, Any]:
    """Return the length of the list and the value that the engine gives the whole of it."""
    ((length,),) = con.execute("select count(*) from listed").fetchall()
    rows = con.execute(
        "select value from temp.query_score where evaluation_id = $length and query_id is not null",
        {"length": length},
    ).fetchall()
    return {"num_retrieved": length, "recomputed": rows[0][0] if rows else None}
