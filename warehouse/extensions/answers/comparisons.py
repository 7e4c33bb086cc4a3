"""Judges: how far they agree, what another does to the board, and boards that few judgments correct."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import duckdb

from warehouse.analyze import past_state, run_choice, stored_metrics
from warehouse.analyze.run_choice import Choice
from warehouse.config.settings import SHOWN_METRICS
from warehouse.errors import UsageError, check_at_least, command, counted, listing
from warehouse.evaluate import candidates, unstored_values
from warehouse.extensions.answers import judgments as stored
from warehouse.extensions.answers.judgments import JudgeVersion
from warehouse.metrics.metric import Metric
from warehouse.metrics.notation import Metrics, parse
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store import database, datasets

_VALUES = "judge_value"
# Below this, the normal approximation of the intervals is not to be trusted.
_FEW = 30


@dataclass(frozen=True)
class Found:
    """A table with notes; `confusion` has the numbers of documents by the grades of two judges."""

    relation: duckdb.DuckDBPyRelation
    notes: tuple[str, ...] = ()
    confusion: duckdb.DuckDBPyRelation | None = None


def listed(
    con: duckdb.DuckDBPyConnection, dataset: str | None, level: float
) -> duckdb.DuckDBPyRelation:
    """Return the judges of one dataset, or of all, with their newest judgments."""
    datasets.check(con, dataset)
    return database.keep(con, render("judges/judges"), {"dataset": dataset, "level": level})


def agreement(
    con: duckdb.DuckDBPyConnection,
    dataset: str | None,
    judges: str | Iterable[str],
    *,
    level: float,
) -> Found:
    """Compare the judgments of every two judges; the arguments are as in `judges_agree`."""
    dataset = datasets.chosen(con, dataset)
    named = stored.chosen(con, dataset, judges, least=2)
    asked = _asked(named)
    relation = database.keep(con, render("judges/judge_agreement"), {**asked, "level": level})
    confusion = database.keep(con, render("judges/judge_confusion"), asked, name="confusion")
    nothing = [
        f"{row['judge']} and {row['other']}"
        for row in database.records(relation)
        if row["other"] is not None and not row["common"]
    ]
    notes = [f"no document in common, so no value: {listing(nothing, 4)}"] if nothing else []
    return Found(relation, tuple(notes), confusion)


def swap(
    con: duckdb.DuckDBPyConnection,
    dataset: str | None,
    judges: str | Iterable[str],
    *,
    metrics: Metrics,
    top: int,
    alpha: float,
    protocol: str,
    choice: Choice = run_choice.ALL,
) -> Found:
    """Compare the boards of every two judges; the arguments are as in `judges_swap`."""
    check_at_least(2, top=top)
    _check_alpha(alpha)
    with past_state.read_one(con, dataset, past_state.NOW, choice) as (name, _):
        named = stored.chosen(con, name, judges, least=2)
        _put_values(con, name, named, metrics, stored_metrics.stored_rules(con, protocol))
        sql = render("judges/judge_swap", values=_VALUES, top=top, alpha=float(alpha))
        relation = database.keep(con, sql)
    rows = database.records(relation)
    if not rows:
        raise UsageError(f"{name}: no query is judged by two of these judges")
    few = {
        f"{row['judge']} and {row['other']}": counted(row["queries"], "query")
        for row in rows
        if row["queries"] < _FEW
    }
    notes = [f"{pair}: over {queries}" for pair, queries in few.items()]
    return Found(relation, tuple(notes))


def corrected(
    con: duckdb.DuckDBPyConnection,
    dataset: str | None,
    judge: str,
    by: str,
    *,
    metrics: Metrics,
    alpha: float,
    tuned: bool,
    protocol: str,
    choice: Choice = run_choice.ALL,
) -> Found:
    """Correct a judge's board by another; the arguments are as in `judges_correct`."""
    _check_alpha(alpha)
    if judge == by:
        raise UsageError(f"{judge}: a judge is corrected by another one")
    with past_state.read_one(con, dataset, past_state.NOW, choice) as (name, _):
        named = stored.chosen(con, name, [judge, by])
        _put_values(con, name, named, metrics, stored_metrics.stored_rules(con, protocol))
        relation = database.keep(
            con,
            render("judges/prediction_powered", values=_VALUES, tuned=tuned),
            {"z": NormalDist().inv_cdf(1 - alpha / 2)},
        )
    rows = database.records(relation)
    if not rows or not rows[0]["queries_both"]:
        raise UsageError(f"{name}: no query is judged by both {judge} and {by}")
    if not rows[0]["queries_alone"]:
        raise UsageError(
            f"{name}: {by} judged every query that {judge} judged, so there is nothing to add; "
            f"make qrels of them: {command(shlex.join(['judges', 'combine', '--judge', by]), name)}"
        )
    notes = [
        f"{judge}, corrected by {by}: {counted(rows[0]['queries_both'], 'query')} of both, "
        f"{rows[0]['queries_alone']:,} of {judge} alone; intervals at {1 - alpha:g}"
    ]
    if rows[0]["queries_both"] < _FEW:
        notes.append(
            f"fewer than {_FEW} queries of {by}: the intervals, of a normal approximation, are too "
            "narrow"
        )
    without = [row["run"] for row in rows if row["low"] is None or row["correcting_low"] is None]
    if without:
        notes.append(
            f"intervals that cannot be resolved with these queries, as values do not vary: "
            f"{listing(dict.fromkeys(without), 4)}"
        )
    lacking, other_queries = _lacking(con, named)
    if other_queries:
        notes.append(
            f"left out: {counted(other_queries, 'query')} of {by} that {judge} has not judged"
        )
    if lacking:
        notes.append(
            f"in their common queries, {by} has not judged {counted(lacking, 'document')} that {judge} "
            "has; these count as unjudged"
        )
    return Found(relation, tuple(notes))


def _check_alpha(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise UsageError(f"alpha lies between 0 and 1, not {alpha}")


def _asked(named: Sequence[JudgeVersion]) -> dict[str, object]:
    return {"names": [one.judge for one in named], "qrels": [one.qrels_id for one in named]}


def _put_values(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    named: Sequence[JudgeVersion],
    metrics: Metrics,
    protocol: Protocol,
) -> None:
    """Put the values of the runs by each judge's judgments into a temporary table."""
    chosen = _metrics(con, dataset, metrics, protocol)
    ids: set[int] = set()
    for one in named:
        found = candidates.find(con, dataset, (), one.version)
        if not found:
            raise UsageError(f"{dataset}: has no run: {command('ingest run FILE', dataset)}")
        unstored_values.compute_missing(con, chosen, protocol, found)
        ids.update(run.run_id for run in found)
    con.execute(
        f"create or replace temp table {_VALUES} as\n" + render("judges/judge_values"),
        {
            "names": [one.judge for one in named],
            "versions": [one.version for one in named],
            "dataset": dataset,
            "protocol": protocol.name,
            "metrics": [str(metric) for metric in chosen],
            "runs": sorted(ids),
        },
    )


def _metrics(
    con: duckdb.DuckDBPyConnection, dataset: str, asked: Metrics, protocol: Protocol
) -> list[Metric]:
    """Return the metrics to order runs by: the named ones, or those that boards show without names."""
    names = stored_metrics.names(con, [dataset], asked, protocol)
    usual = () if names else SHOWN_METRICS
    found = parse(*(names or usual), defaults=protocol.defaults())
    for metric in found if names else ():
        if metric.aggregate != "mean":
            raise UsageError(f"{metric}: is no mean over the queries, which judges are compared by")
        if metric.direction == "none":
            raise UsageError(
                f"{metric}: neither higher nor lower is better, so it cannot rank runs"
            )
    return [one for one in found if one.aggregate == "mean" and one.direction != "none"]


def _lacking(con: duckdb.DuckDBPyConnection, named: Sequence[JudgeVersion]) -> tuple[int, int]:
    """Return how many documents of common queries the second judge lacks, and its own queries."""
    judge, by = named
    rows = con.execute(
        render("judges/judge_lacks"), {"judge": judge.qrels_id, "by": by.qrels_id}
    ).fetchall()
    return int(rows[0][0]), int(rows[0][1])
