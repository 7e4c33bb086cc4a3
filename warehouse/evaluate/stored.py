"""Evaluating stored runs: computes what is missing or stale, in one transaction."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import duckdb

from warehouse.errors import UsageError, listing, nearest
from warehouse.evaluate import engine, grounds
from warehouse.evaluate.plan import Contents, Plan, matched_sql
from warehouse.protocols import Protocol
from warehouse.settings import VERSION
from warehouse.templates import render

# Predictions that are ranked in one statement; more runs go in batches, so that memory is bounded.
BATCH_PREDICTIONS = 20_000_000
# Predictions whose ranked lists are kept at one time, for the metrics that read them whole.
BATCH_LISTED = 5_000_000


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
    """What an evaluation did, or, dry, would do.

    `unfit` has, by dataset, the metrics that its qrels hold no grounds for: they are left out.
    """

    computed: int = 0
    stale: int = 0
    up_to_date: int = 0
    runs: int = 0
    new_hit_sets: int = 0
    details: list[tuple[str, str, str, str]] = field(default_factory=list)
    without_qrels: list[str] = field(default_factory=list)
    unfit: dict[str, list[str]] = field(default_factory=dict)


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
    for dataset, group, fitting in _groups(con, work, asked, outcome):
        qrels_id = group[0].qrels_id
        if qrels_id is None:
            continue
        contents = grounds.contents(con, fitting, dataset)
        listed = "predictions" in fitting.needs
        for part in _batches(group, BATCH_LISTED) if listed else [group]:
            _find_pending(con, fitting, part, qrels_id, contents)
            _count(con, outcome, part, len(fitting.queries))
            if dry_run or not _any_pending(con):
                continue
            con.execute(
                "create or replace temp table scope_run as select distinct run_id from pending"
            )
            grounds.put_stored(con, qrels_id, grounds.kind_of(con, qrels_id))
            if "attributes" in fitting.needs:
                grounds.put_attributes(con, dataset)
            _scope(con, fitting.protocol, qrels_id)
            outcome.new_hit_sets += _make_hits(con, fitting.protocol, qrels_id, part)
            if listed:
                pending = con.execute("select run_id from scope_run order by run_id").fetchall()
                _scope_predictions(con, [int(row[0]) for row in pending])
            con.execute(
                render("statements/evaluations"),
                {
                    "qrels_id": qrels_id,
                    "protocol": fitting.protocol.name,
                    "program_version": VERSION,
                    "engine_version": duckdb.__version__,
                    "evaluated_at": now,
                },
            )
            engine.compute(con, fitting, on_metric=on_metric)
    return outcome


def _groups(
    con: duckdb.DuckDBPyConnection, work: Plan, asked: Sequence[Candidate], outcome: Outcome
) -> list[tuple[str, list[Candidate], Plan]]:
    """Return the datasets that have qrels, each with its runs and the metrics that fit its qrels.

    Raises UsageError where a metric reads what a dataset does not have, before anything is computed.
    """
    groups: list[tuple[str, list[Candidate], Plan]] = []
    lacking: list[str] = []
    for dataset, members in groupby(asked, key=lambda c: c.dataset):
        group = list(members)
        qrels_id = group[0].qrels_id
        if qrels_id is None:
            outcome.without_qrels.append(dataset)
            continue
        fitting, others = grounds.fitting(work, grounds.kind_of(con, qrels_id))
        if others:
            outcome.unfit[dataset] = others
        lacking += grounds.lacking_stored(con, fitting, dataset)
        groups.append((dataset, group, fitting))
    if lacking:
        raise UsageError("\n".join(lacking))
    return groups


def _find_pending(
    con: duckdb.DuckDBPyConnection,
    work: Plan,
    group: Sequence[Candidate],
    qrels_id: int,
    contents: Contents,
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
                work.fingerprint(metric, contents),
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
    """Put the stored hits and rankings of the runs in `scope_run` in scope."""
    con.execute(
        "create or replace temp view scope_ranking as "
        "select run_id, query_id, num_ret, num_ret as whole_num_ret "
        "from ranking semi join scope_run using (run_id)"
    )
    con.execute(render("statements/scope_hit", qrels_id=qrels_id, ordering=protocol.ordering))


def _make_hits(
    con: duckdb.DuckDBPyConnection, protocol: Protocol, qrels_id: int, runs: Sequence[Candidate]
) -> int:
    """Make the hits that are missing for the runs in scope; return for how many runs."""
    key = {"qrels_id": qrels_id, "ordering": protocol.ordering}
    rows = con.execute(
        "select run_id from scope_run anti join "
        "(select run_id from hit_set where qrels_id = $qrels_id and ordering = $ordering) "
        "using (run_id)",
        key,
    ).fetchall()
    ids = {row[0] for row in rows}
    missing = [run for run in runs if run.run_id in ids]
    for batch in _batches(missing, BATCH_PREDICTIONS):
        _scope_predictions(con, [run.run_id for run in batch])
        con.execute(render("statements/hits", matched=matched_sql(protocol)), key)
        con.execute(render("statements/hit_sets"), key)
    return len(missing)


def _scope_predictions(con: duckdb.DuckDBPyConnection, run_ids: Sequence[int]) -> None:
    """Put the stored predictions of some runs in scope."""
    con.execute(
        "create or replace temp table batch as select unnest($ids::integer[]) as run_id",
        {"ids": list(run_ids)},
    )
    con.execute(render("statements/scope_prediction", first=min(run_ids), last=max(run_ids)))


def _batches(runs: Sequence[Candidate], size: int) -> Iterator[list[Candidate]]:
    """Cut a list of runs into pieces of at most so many predictions; one run is never cut."""
    batch: list[Candidate] = []
    filled = 0
    for run in runs:
        if batch and filled + run.num_predictions > size:
            yield batch
            batch, filled = [], 0
        batch.append(run)
        filled += run.num_predictions
    if batch:
        yield batch
