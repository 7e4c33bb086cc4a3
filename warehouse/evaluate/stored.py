"""Evaluating stored runs: computes what is missing or stale, in one transaction."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import duckdb

from warehouse.errors import UsageError, check_word, command, listing, nearest
from warehouse.evaluate import engine, grounds, hits, slices
from warehouse.evaluate.plan import Contents, Plan, plan
from warehouse.protocols import Protocol
from warehouse.readers.checks import make_steps, walk
from warehouse.settings import VERSION
from warehouse.templates import render

# Predictions that are ranked in one statement; more runs go in batches, so that memory is bounded.
BATCH_PREDICTIONS = 4_000_000
# Predictions whose ranked lists are kept at one time, for the metrics that read them whole.
BATCH_LISTED = 5_000_000
# The number of a slice that is not stored yet.
_NEW = 0


@dataclass(frozen=True)
class Candidate:
    """A current run and the qrels of its dataset: the current ones, or those that are asked for."""

    dataset: str
    qrels_id: int | None
    run: str
    run_id: int
    num_predictions: int


@dataclass(frozen=True)
class Job:
    """A plan to compute for runs, or for those of one dataset: for the whole, and `by` slices.

    One of parts alone, without the `whole`, is left out where its slice is no more what it was.
    """

    work: Plan
    dataset: str | None = None
    by: Sequence[str] = ()
    whole: bool = True


@dataclass
class Outcome:
    """What an evaluation did, or, dry, would do.

    All of it counts as done `at` one time, so that no board as of a moment has a part of it. `unfit`
    has, by dataset, the metrics that its qrels hold no grounds for: they are left out. `slices` has a
    line about each slice, `left_out` one about each slice that is no more what it was.
    """

    computed: int = 0
    stale: int = 0
    up_to_date: int = 0
    new_hit_sets: int = 0
    details: list[tuple[str, str, str, str]] = field(default_factory=list)
    without_qrels: list[str] = field(default_factory=list)
    unfit: dict[str, list[str]] = field(default_factory=dict)
    slices: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    at: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))

    @property
    def runs(self) -> int:
        """How many runs something was computed for."""
        return len({(dataset, run) for dataset, run, *_ in self.details})


def candidates(
    con: duckdb.DuckDBPyConnection,
    dataset: str | None,
    runs: Sequence[str],
    qrels: int | None = None,
) -> list[Candidate]:
    """Return the runs that are asked for; wrong names are refused with the nearest right one.

    They go with the current qrels of their datasets, or with a version of those of one.
    """
    known = [
        str(row[0]) for row in con.execute("select name from dataset order by name").fetchall()
    ]
    if qrels is not None and dataset is None:
        hint = f"; known are {listing(known) or 'none yet'}"
        if len(known) == 1:
            hint = f": {command('evaluate', known[0], qrels=qrels)}"
        raise UsageError(f"a version of the qrels is one dataset's; name the dataset{hint}")
    if dataset is not None:
        check_word("dataset", dataset, known)
    asked = {"dataset": dataset, "qrels_version": qrels}
    found = [
        Candidate(*row) for row in con.execute(render("statements/candidates"), asked).fetchall()
    ]
    if qrels is not None and any(candidate.qrels_id is None for candidate in found):
        name = found[0].dataset
        raise UsageError(
            f"{name}: has no version {qrels} of its qrels; see: {command('qrels', name)}"
        )
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


def look(
    con: duckdb.DuckDBPyConnection, jobs: Iterable[Job], asked: Sequence[Candidate]
) -> tuple[list[Job], Outcome]:
    """Return the jobs that can be done, and what they would do."""
    outcome = Outcome()
    possible: list[Job] = []
    for job in jobs:
        try:
            evaluate(con, job, asked, dry_run=True, outcome=outcome)
        except UsageError as error:
            if job.whole:
                raise
            outcome.left_out.append(f"{job.dataset}: left out {listing(job.by)}: {error}")
        else:
            possible.append(job)
    return possible, outcome


def evaluate(
    con: duckdb.DuckDBPyConnection,
    job: Job,
    asked: Sequence[Candidate],
    *,
    dry_run: bool = False,
    on_metric: Callable[[str], None] | None = None,
    outcome: Outcome | None = None,
) -> Outcome:
    """Compute a job's metrics for its runs among some, where they are missing or stale.

    Everything happens in the caller's transaction, so that it becomes visible together or not at all.
    What it did is added to an `outcome` of before.
    """
    outcome = outcome or Outcome()
    members = [c for c in asked if job.dataset in (None, c.dataset)]
    evaluation = _Evaluation(con, outcome, dry_run, on_metric)
    for dataset, group, fitting in _groups(con, job.work, members, outcome):
        qrels_id = group[0].qrels_id
        if qrels_id is None:
            continue
        contents = grounds.contents(con, fitting, dataset)
        if job.whole:
            evaluation.whole(fitting, group, qrels_id, contents)
        for given in job.by:
            evaluation.parts(given, fitting, group, dataset, qrels_id, contents)
    return outcome


@dataclass(frozen=True)
class _Evaluation:
    """One call of `evaluate`: what all of its steps have in common."""

    con: duckdb.DuckDBPyConnection
    outcome: Outcome
    dry_run: bool
    on_metric: Callable[[str], None] | None

    def whole(
        self,
        work: Plan,
        group: Sequence[Candidate],
        qrels_id: int,
        contents: Contents,
    ) -> None:
        """Compute what is pending for the whole of a dataset."""
        listed = "predictions" in work.needs
        for batch in _batches(group, BATCH_LISTED) if listed else [group]:
            if not self._pending(work, batch, qrels_id, contents):
                continue
            self._scope(work, qrels_id)
            made = _make_hits(self.con, work.protocol, qrels_id, batch)
            self.outcome.new_hit_sets += made
            if listed:
                scope_predictions(self.con, _pending_runs(self.con))
            self._record(work, qrels_id)
            engine.compute(self.con, work, on_metric=self.on_metric)

    def parts(
        self,
        given: str,
        work: Plan,
        group: Sequence[Candidate],
        dataset: str,
        qrels_id: int,
        contents: Contents,
    ) -> None:
        """Compute what is pending for the parts of a slice; the whole has been evaluated before."""
        con, protocol = self.con, work.protocol
        kind = grounds.kind_of(con, qrels_id)
        grounds.put_stored(con, qrels_id, kind)
        found = slices.resolve(con, dataset, given, protocol)
        if found.of_documents:
            work = plan(work.queries, protocol, sliced=True)
        if found.slice_id is None:
            self.outcome.slices.append(slices.told(found))
        # the members stay what they are now, although batches of runs add documents of their own
        slices.put_members(con, found)
        batches = _batches(group, BATCH_LISTED) if found.of_documents else [group]
        number = found.slice_id or _NEW
        for batch in batches:
            if not self._pending(work, batch, qrels_id, contents, number, f" by {found.name}"):
                continue
            if number == _NEW:
                number = slices.keep(con, found)
            self._scope(work, qrels_id)
            runs = _pending_runs(con)
            if found.of_documents or "predictions" in work.needs:
                scope_predictions(con, runs)
            slices.add_others(con, found, protocol)
            if found.of_documents:
                slices.put_document_hits(con, protocol)
            parts = slices.parts(con, found, protocol)
            self._record(work, qrels_id, slice_id=number)
            ready: frozenset[int] = frozenset()
            if not found.of_documents:
                ready = slices.take_over(con, qrels_id, protocol)
            slices.cut_qrels(con, found, grounds.stored_qrels(qrels_id, kind))
            for part in parts:
                slices.put_part(con, found, part)
                grounds.put_qrels(con, kind, slices.judged_in(part))
                if found.of_documents:
                    slices.put_document_part(con, part)
                else:
                    _put_rankings(con, protocol, qrels_id, of_part=True)
                    if "predictions" in work.needs:
                        scope_predictions(con, runs, of_part=True)
                engine.compute(con, work, part=part, ready=ready, on_metric=self.on_metric)

    def _pending(
        self,
        work: Plan,
        group: Sequence[Candidate],
        qrels_id: int,
        contents: Contents,
        slice_id: int | None = None,
        by: str = "",
    ) -> bool:
        """Make the table of what is pending, count it; tell whether there is something to compute."""
        _find_pending(self.con, work, group, qrels_id, contents, slice_id)
        _count(self.con, self.outcome, group, len(work.queries), by)
        return not self.dry_run and _any_pending(self.con)

    def _scope(self, work: Plan, qrels_id: int) -> None:
        """Put the runs of what is pending in scope, with what they are evaluated against."""
        con = self.con
        con.execute("create or replace temp table scope_run as select distinct run_id from pending")
        grounds.put_stored(con, qrels_id, grounds.kind_of(con, qrels_id))
        _put_rankings(con, work.protocol, qrels_id)

    def _record(self, work: Plan, qrels_id: int, *, slice_id: int | None = None) -> None:
        """Write what is pending into the catalogue of evaluations."""
        self.con.execute(
            render("statements/evaluations"),
            {
                "qrels_id": qrels_id,
                "slice_id": slice_id,
                "protocol": work.protocol.name,
                "program_version": VERSION,
                "engine_version": duckdb.__version__,
                "evaluated_at": self.outcome.at,
            },
        )


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
            if dataset not in outcome.without_qrels:
                outcome.without_qrels.append(dataset)
            continue
        fitting, others = grounds.fitting(work, grounds.kind_of(con, qrels_id))
        if others:
            outcome.unfit.setdefault(dataset, others)
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
    slice_id: int | None,
) -> None:
    con.execute(
        "create or replace temp table scope_run as select unnest($ids::integer[]) as run_id",
        {"ids": [c.run_id for c in group]},
    )
    con.execute(
        render("statements/wanted"),
        {
            "kind": [metric.definition.kind for metric in work.queries],
            "metric": [str(metric) for metric in work.queries],
            "aggregate": [metric.aggregate for metric in work.queries],
            "direction": [metric.direction for metric in work.queries],
            "fingerprint": [work.fingerprint(metric, contents) for metric in work.queries],
        },
    )
    con.execute(
        render("statements/pending"),
        {"qrels_id": qrels_id, "slice_id": slice_id, "protocol": work.protocol.name},
    )


def _any_pending(con: duckdb.DuckDBPyConnection) -> bool:
    return bool(con.execute("select exists (select 1 from pending)").fetchall()[0][0])


def _count(
    con: duckdb.DuckDBPyConnection,
    outcome: Outcome,
    group: Sequence[Candidate],
    metrics: int,
    by: str,
) -> None:
    names = {c.run_id: c for c in group}
    rows = con.execute(
        "select run_id, metric, is_stale from pending order by run_id, metric_number"
    ).fetchall()
    for run_id, metric, is_stale in rows:
        found = names[run_id]
        outcome.details.append(
            (found.dataset, found.run, metric + by, "stale" if is_stale else "missing")
        )
        outcome.stale += bool(is_stale)
    outcome.computed += len(rows)
    outcome.up_to_date += len(group) * metrics - len(rows)


def _put_rankings(
    con: duckdb.DuckDBPyConnection, protocol: Protocol, qrels_id: int, *, of_part: bool = False
) -> None:
    """Put the stored hits and rankings of the runs in `scope_run` in scope, or those of a part."""
    con.execute(render("statements/scope_ranking", of_part=of_part))
    con.execute(
        render(
            "statements/scope_hit", qrels_id=qrels_id, ordering=protocol.ordering, of_part=of_part
        )
    )


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
    for table, lower_is_better, some in _stored_alike(con, missing):
        for batch in _batches(some, BATCH_PREDICTIONS):
            for matched in _matched(con, protocol, batch, table, lower_is_better):
                con.execute(render("statements/hits", matched=matched), key)
                con.execute(render("statements/hit_sets"), key)
    return len(missing)


def _stored_alike(
    con: duckdb.DuckDBPyConnection, runs: Sequence[Candidate]
) -> Iterator[tuple[str, bool, list[Candidate]]]:
    """Give runs by the table that they are in, and by whether their lowest scores are the best."""
    if not runs:
        return
    bounds = _put_batch(con, [run.run_id for run in runs])
    rows = con.execute(render("statements/stored_in", **bounds)).fetchall()
    stored = {run_id: (table, lower_is_better) for run_id, table, lower_is_better in rows}
    for table, lower_is_better in sorted(set(stored.values())):
        alike = [run for run in runs if stored[run.run_id] == (table, lower_is_better)]
        yield table, lower_is_better, alike


def _matched(
    con: duckdb.DuckDBPyConnection,
    protocol: Protocol,
    batch: Sequence[Candidate],
    table: str,
    lower_is_better: bool,
) -> Iterator[str]:
    """Put predictions of one table in scope; give the query that makes their hits the soonest.

    Where some runs are in order and others are not, these are two, each of its own runs.
    """
    bounds = _put_batch(con, [run.run_id for run in batch])
    words = {"table": table, "lower_is_better": lower_is_better, **bounds}
    con.execute(render("statements/stored_lists", **words))
    make_steps(con)
    for stretch in con.execute(render("statements/stored_stretches")).fetchall():
        walk(con, table, "list_place", lowest_first=lower_is_better, stretch=stretch)
    others = hits.out_of_order(con, protocol)
    ordered = [run for run in batch if run.run_id not in others]
    if ordered:
        _put_batch(con, [run.run_id for run in ordered])
        rows = sum(run.num_predictions for run in ordered)
        numbered = table == "prediction_by_number"
        yield hits.by_place(con, protocol, rows, numbered=numbered)
    if others:
        scope_predictions(con, sorted(others))
        yield hits.in_any_order(con, protocol)


def _pending_runs(con: duckdb.DuckDBPyConnection) -> list[int]:
    rows = con.execute("select run_id from scope_run order by run_id").fetchall()
    return [int(row[0]) for row in rows]


def scope_predictions(
    con: duckdb.DuckDBPyConnection, run_ids: Sequence[int], *, of_part: bool = False
) -> None:
    """Put the stored predictions of some runs in scope, or those for a part of the queries."""
    bounds = _put_batch(con, run_ids)
    con.execute(render("statements/scope_prediction", of_part=of_part, **bounds))


def _put_batch(con: duckdb.DuckDBPyConnection, run_ids: Sequence[int]) -> dict[str, int]:
    """Make the table of the runs of a batch; return the first and the last of them."""
    con.execute(
        "create or replace temp table batch as select unnest($ids::integer[]) as run_id",
        {"ids": list(run_ids)},
    )
    return {"first": min(run_ids), "last": max(run_ids)}


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
