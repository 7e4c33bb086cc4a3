"""Evaluating stored runs: computes what is missing or stale, in one transaction."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import duckdb

from warehouse.errors import UsageError, listing, nearest
from warehouse.evaluate import engine
from warehouse.evaluate.plan import Plan, matched_sql
from warehouse.protocols import Protocol
from warehouse.settings import VERSION
from warehouse.templates import render

# Predictions that are ranked in one statement; more runs go in batches, so that memory is bounded.
BATCH_PREDICTIONS = 20_000_000


@dataclass(frozen=True)
class Candidate:
    """A current run and the current qrels of its dataset."""

    dataset: str
    qrels_id: int | None
    run: str
    run_id: int
    num_predictions: int


@dataclass
class Outcome:
    """What an evaluation did, or, dry, would do."""

    computed: int = 0
    stale: int = 0
    up_to_date: int = 0
    runs: int = 0
    new_hit_sets: int = 0
    details: list[tuple[str, str, str, str]] = field(default_factory=list)
    without_qrels: list[str] = field(default_factory=list)
    unknown: tuple[str, ...] = ()


def candidates(
    con: duckdb.DuckDBPyConnection, dataset: str | None, runs: Sequence[str]
) -> list[Candidate]:
    """Return the runs that are asked for; wrong names are refused with the nearest right one."""
    if dataset is not None:
        known = [str(row[0]) for row in con.execute("select name from dataset").fetchall()]
        if dataset not in known:
            hint = nearest(dataset, known) or f"; known are {listing(known) or 'none'}"
            raise UsageError(f"{dataset}: no such dataset{hint}")
    rows = con.execute(render("statements/candidates"), {"dataset": dataset}).fetchall()
    found = [Candidate(*row) for row in rows]
    if runs:
        names = {c.run for c in found}
        wrong = [
            f"{run}: no such run{nearest(run, names) or '; see: warehouse runs'}"
            for run in runs
            if run not in names
        ]
        if wrong:
            raise UsageError("\n".join(wrong))
        found = [c for c in found if c.run in set(runs)]
    return found


def evaluate(
    con: duckdb.DuckDBPyConnection,
    work: Plan,
    asked: Sequence[Candidate],
    *,
    dry_run: bool = False,
    on_metric: Callable[[str], None] | None = None,
) -> Outcome:
    """Compute a plan's metrics for some runs, where missing or stale.

    Everything happens in the caller's transaction, so that it becomes visible together or not at all.
    """
    outcome = Outcome()
    now = dt.datetime.now(dt.UTC)
    for dataset, members in groupby(asked, key=lambda c: c.dataset):
        group = list(members)
        qrels_id = group[0].qrels_id
        if qrels_id is None:
            outcome.without_qrels.append(dataset)
            continue
        _find_pending(con, work, group, qrels_id)
        _count(con, outcome, group, len(work.queries))
        if not dry_run and _any_pending(con):
            con.execute(
                "create or replace temp table scope_run as select distinct run_id from pending"
            )
            _scope(con, work.protocol, qrels_id)
            outcome.new_hit_sets += _make_hits(con, work.protocol, qrels_id)
            con.execute(
                render("statements/evaluations"),
                {
                    "qrels_id": qrels_id,
                    "protocol": work.protocol.name,
                    "program_version": VERSION,
                    "engine_version": duckdb.__version__,
                    "evaluated_at": now,
                },
            )
            engine.compute(con, work, on_metric=on_metric)
    return outcome


def _find_pending(
    con: duckdb.DuckDBPyConnection, work: Plan, group: Sequence[Candidate], qrels_id: int
) -> None:
    con.execute(
        "create or replace temp table scope_run as select unnest($ids::integer[]) as run_id",
        {"ids": [c.run_id for c in group]},
    )
    con.execute(
        "create or replace temp table wanted "
        "(metric_number integer, metric varchar, aggregate varchar, direction varchar, "
        "fingerprint varchar)"
    )
    for number, metric in enumerate(work.queries):
        con.execute(
            "insert into wanted values ($1, $2, $3, $4, $5)",
            [
                number,
                str(metric),
                metric.aggregate,
                metric.definition.direction,
                work.fingerprint(metric),
            ],
        )
    con.execute(
        render("statements/pending"), {"qrels_id": qrels_id, "protocol": work.protocol.name}
    )


def _any_pending(con: duckdb.DuckDBPyConnection) -> bool:
    return bool(con.execute("select exists (select 1 from pending)").fetchall()[0][0])


def _count(
    con: duckdb.DuckDBPyConnection, outcome: Outcome, group: Sequence[Candidate], metrics: int
) -> None:
    names = {c.run_id: c for c in group}
    rows = con.execute(
        "select run_id, metric, is_stale from pending order by run_id, metric_number"
    ).fetchall()
    for run_id, metric, is_stale in rows:
        found = names[run_id]
        outcome.details.append(
            (found.dataset, found.run, metric, "stale" if is_stale else "missing")
        )
        outcome.stale += bool(is_stale)
    outcome.computed += len(rows)
    outcome.up_to_date += len(group) * metrics - len(rows)
    outcome.runs += len({row[0] for row in rows})


def _scope(con: duckdb.DuckDBPyConnection, protocol: Protocol, qrels_id: int) -> None:
    """Put the qrels and the stored hits and rankings of the runs in `scope_run` in scope."""
    con.execute(
        "create or replace temp table scope_judgment as "
        "select query_id, doc_id, relevance from judgment where qrels_id = $qrels_id",
        {"qrels_id": qrels_id},
    )
    con.execute(
        "create or replace temp view scope_ranking as "
        "select run_id, query_id, num_ret from ranking semi join scope_run using (run_id)"
    )
    con.execute(render("statements/scope_hit", qrels_id=qrels_id, ordering=protocol.ordering))


def scope_attributes(con: duckdb.DuckDBPyConnection, dataset: str) -> None:
    """Put the current attributes of a dataset's documents in scope: the view `scope_attribute`.

    Its columns are `doc_id, attribute, position, text, number`.
    """
    con.execute(render("statements/scope_attribute", dataset=dataset))


def _make_hits(con: duckdb.DuckDBPyConnection, protocol: Protocol, qrels_id: int) -> int:
    """Make the hits that are missing for the runs in scope; return for how many runs."""
    key = {"qrels_id": qrels_id, "ordering": protocol.ordering}
    missing = con.execute(
        "select run_id, num_predictions from run semi join scope_run using (run_id) "
        "anti join (select run_id from hit_set where qrels_id = $qrels_id and ordering = $ordering) "
        "using (run_id) order by run_id",
        key,
    ).fetchall()
    for batch in _batches(missing):
        con.execute(
            "create or replace temp table batch as select unnest($ids::integer[]) as run_id",
            {"ids": batch},
        )
        con.execute(render("statements/scope_prediction", first=min(batch), last=max(batch)))
        con.execute(render("statements/hits", matched=matched_sql(protocol)), key)
        con.execute(render("statements/hit_sets"), key)
    return len(missing)


def _batches(runs: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    batch: list[int] = []
    size = 0
    for run_id, num_predictions in runs:
        if batch and size + num_predictions > BATCH_PREDICTIONS:
            yield batch
            batch, size = [], 0
        batch.append(run_id)
        size += num_predictions
    if batch:
        yield batch
