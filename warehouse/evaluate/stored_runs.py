"""Evaluating stored runs: computes missing or stale values, in one transaction."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter

import duckdb

from warehouse.config import notebook
from warehouse.config.settings import VERSION
from warehouse.errors import UsageError, listing
from warehouse.evaluate import engine, requirements, slices
from warehouse.evaluate.candidates import Candidate, in_batches
from warehouse.evaluate.chain import fingerprint_of, ranked_sql
from warehouse.evaluate.computation import Computation
from warehouse.evaluate.hits import NO_HITS
from warehouse.evaluate.plan import Contents, Plan, plan
from warehouse.evaluate.scope import Scope, qrels_kind, stored_qrels
from warehouse.metrics import protocols
from warehouse.readers.in_place import provide_predictions
from warehouse.sql_text.templates import render
from warehouse.store.database import ALIAS

# The most predictions whose ranked lists are kept at one time, for metrics that read whole lists.
BATCH_LISTED = 5_000_000
# The id of a slice that is not stored yet.
_NEW = 0


@dataclass(frozen=True)
class Job:
    """A plan to compute for runs, or for the runs of one dataset: for the whole, and `by` slices.

    A job for parts alone, without the `whole`, is skipped if its slice has changed.
    """

    work: Plan
    dataset: str | None = None
    by: Sequence[str] = ()
    whole: bool = True


@dataclass
class Outcome:
    """The outcome of an evaluation or, as a dry run, its plan.

    The values of a window of runs have the same time `at`, the last one's here, so that a board
    as of some moment never has a run by half.
    `notes` say which queries have nothing relevant.
    `unfit` has, by dataset, the metrics left out because its qrels cannot give them. `slices` has a
    line about each slice, `left_out` one about each slice that has changed. `without_hits` are the
    runs whose hits were made and that have no judged document.
    """

    computed: int = 0
    stale: int = 0
    up_to_date: int = 0
    new_hit_sets: int = 0
    without_hits: list[Candidate] = field(default_factory=list)
    details: list[tuple[str, str, str, str]] = field(default_factory=list)
    without_qrels: list[str] = field(default_factory=list)
    unfit: dict[str, list[str]] = field(default_factory=dict)
    slices: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    at: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))
    protocol: str = protocols.DEFAULT
    notes: dict[str, None] = field(default_factory=dict)

    def add(self, other: Outcome) -> None:
        """Add the outcome for other runs, later."""
        self.computed += other.computed
        self.stale += other.stale
        self.up_to_date += other.up_to_date
        self.new_hit_sets += other.new_hit_sets
        self.without_hits += other.without_hits
        self.details += other.details
        self.without_qrels += [one for one in other.without_qrels if one not in self.without_qrels]
        self.unfit |= other.unfit
        self.slices += other.slices
        self.notes |= other.notes
        self.at = other.at

    def _repr_html_(self) -> str:
        notes = (*self.slices, *self.notes, *self.left_out, *self.warnings)
        counts = ("computed", "stale", "up_to_date", "runs")
        return notebook.html(counts, [[getattr(self, name) for name in counts]], notes)

    @property
    def runs(self) -> int:
        """The number of runs with computed values."""
        return len({(dataset, run) for dataset, run, *_ in self.details})

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the runs with computed values."""
        if not self.without_hits:
            return ()
        several = len({dataset for dataset, *_ in self.details}) > 1
        names = {f"{run.dataset}/{run.run}" if several else run.run for run in self.without_hits}
        return (f"{listing(sorted(names), 4)}: {NO_HITS}",)


def look(
    con: duckdb.DuckDBPyConnection, jobs: Iterable[Job], asked: Sequence[Candidate]
) -> tuple[list[Job], Outcome]:
    """Return the jobs that can be done, and their plans."""
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


def all_current(con: duckdb.DuckDBPyConnection, work: Plan, dataset: str) -> int | None:
    """Return the number of values if every current run of a dataset has all, by today's formulas.

    It is counted at once for tens of thousands of runs. None if only `evaluate` can tell.
    """
    rows = con.execute(
        "select qrels_id from qrels_version where dataset = $1 and is_current", [dataset]
    ).fetchall()
    if not rows or requirements.assessed(work) or requirements.lacking_stored(con, work, dataset):
        return None
    fitting, others = requirements.fitting(work, qrels_kind(con, rows[0][0]))
    if others:
        return None
    contents = requirements.contents(con, fitting, dataset)
    resolved = fitting.resolved(contents)
    asked = {
        "datasets": [dataset],
        "metrics": [str(metric) for metric in resolved.queries],
        "protocol": resolved.protocol.name,
        "fingerprints": [fingerprint_of(resolved, one, contents) for one in resolved.queries],
    }
    ((is_any_missing, number),) = con.execute(render("statements/any_missing"), asked).fetchall()
    return None if is_any_missing else int(number)


def evaluate(
    con: duckdb.DuckDBPyConnection,
    job: Job,
    asked: Sequence[Candidate],
    *,
    dry_run: bool = False,
    on_metric: Callable[[str], None] | None = None,
    outcome: Outcome | None = None,
    computation: Computation | None = None,
) -> Outcome:
    """Compute a job's metrics for its runs among some, if they are missing or stale.

    Everything happens in the caller's transaction and becomes visible together or not at all, or
    by another `computation`, for the whole alone. The result is added to an `outcome` from before.
    """
    outcome = outcome or Outcome()
    computation = computation or Computation(con)
    members = [c for c in asked if job.dataset in (None, c.dataset)]
    evaluation = _Evaluation(con, outcome, dry_run, on_metric, computation)
    computation.open()
    for dataset, group, fitting in _groups(con, job.work, members, outcome):
        qrels_id = group[0].qrels_id
        if qrels_id is None:
            continue
        computation.open()
        contents = requirements.contents(con, fitting, dataset)
        resolved = fitting.resolved(contents)
        if job.whole:
            evaluation.whole(resolved, group, qrels_id, contents)
        for given in job.by:
            evaluation.parts(given, resolved, group, dataset, qrels_id, contents)
    return outcome


@dataclass(frozen=True)
class _Evaluation:
    """One call of `evaluate`, with the values that its steps share."""

    con: duckdb.DuckDBPyConnection
    outcome: Outcome
    dry_run: bool
    on_metric: Callable[[str], None] | None
    computation: Computation

    @property
    def scope(self) -> Scope:
        """The tables that the metrics read."""
        return Scope(self.con)

    def whole(
        self, work: Plan, group: Sequence[Candidate], qrels_id: int, contents: Contents
    ) -> None:
        """Compute pending metrics for the whole of a dataset."""
        listed = "predictions" in work.needs
        computation = self.computation
        for batch in computation.batches(group, BATCH_LISTED if listed else None):
            computation.open()
            if not self._pending(work, batch, qrels_id, contents):
                continue
            runs = self.scope.pending_runs()
            computation.copy_inputs(work, qrels_id)
            self._put_in_scope(work, qrels_id)
            made = computation.make_hits(work, qrels_id, batch)
            computation.keep_hits(made)
            self.outcome.new_hit_sets += len(made)
            self.outcome.without_hits += [run for run, num_hits in made.items() if not num_hits]
            self._record(work, qrels_id)
            computation.compute(work, runs if listed else (), self.on_metric)
            dataset = group[0].dataset
            self.outcome.notes |= dict.fromkeys(f"{dataset}: {note}" for note in computation.notes)
            computation.notes.clear()

    def parts(
        self,
        given: str,
        work: Plan,
        group: Sequence[Candidate],
        dataset: str,
        qrels_id: int,
        contents: Contents,
    ) -> None:
        """Compute pending metrics for the parts of a slice, after the whole."""
        con, scope, protocol = self.con, self.scope, work.protocol
        kind = qrels_kind(con, qrels_id)
        scope.stored_truth(qrels_id)
        # the names of metrics by a slice end in the slice
        due = {metric for one, _, metric, _ in self.outcome.details if one == dataset}
        try:
            found = slices.resolve(
                con, dataset, given, qrels_id, protocol, due if self.dry_run else ()
            )
        except slices.NotYetError as error:  # there are none of the slice either
            self._pending(work, group, qrels_id, contents, _NEW, f" by {error.name}")
            return
        if found.of_documents:
            work = plan(work.queries, protocol, sliced=True)
        if found.slice_id is None:
            self.outcome.slices.append(slices.sentence(found))
        # the members stay as they are now, although batches of runs add documents of their own
        scope.members(found.id)
        batches = in_batches(group, BATCH_LISTED) if found.of_documents else [group]
        number = found.slice_id or _NEW
        for batch in batches:
            if not self._pending(work, batch, qrels_id, contents, number, f" by {found.name}"):
                continue
            if number == _NEW:
                number = slices.keep(con, found)
            runs = scope.pending_runs()
            self._put_in_scope(work, qrels_id)
            if found.of_documents or "predictions" in work.needs:
                scope.predictions(runs)
            slices.add_others(con, found, protocol)
            if found.of_documents:
                scope.part_predictions(ranked_sql(protocol), rest=slices.REST, depth=protocol.depth)
            parts = slices.parts(con, found, protocol)
            self._record(work, qrels_id, slice_id=number)
            ready: frozenset[int] = frozenset()
            if not found.of_documents:
                ready = slices.take_over(con, qrels_id, protocol)
            slices.cut_qrels(con, found, stored_qrels(qrels_id, kind))
            for part in parts:
                scope.part(found.id, "scope_member where part = $part", part=part)
                scope.qrels(kind, slices.judged_in(part))
                if found.of_documents:
                    scope.document_part(part, protocol)
                else:
                    if "predictions" in work.needs:
                        scope.predictions(runs, of_part=True)
                    scope.rankings(protocol, of_part=True)
                    scope.answers(of_part=True)
                    scope.hits(protocol, qrels_id, of_part=True)
                engine.compute(
                    con, work, part=part, ready=ready, stored=True, on_metric=self.on_metric
                )

    def _pending(
        self,
        work: Plan,
        group: Sequence[Candidate],
        qrels_id: int,
        contents: Contents,
        slice_id: int | None = None,
        by: str = "",
    ) -> bool:
        """Make and count the table of pending metrics; return whether there is anything to compute."""
        # what is current is kept when a transaction ends: while it writes, only what it reads is right
        is_current = self.dry_run and slice_id is None and _is_current(self.con, qrels_id)
        _find_pending(self.con, work, group, qrels_id, contents, slice_id, is_current=is_current)
        _count(self.con, self.outcome, group, len(work.queries), by)
        return not self.dry_run and _any_pending(self.con)

    def _put_in_scope(self, work: Plan, qrels_id: int) -> None:
        """Put the ground truth, the lengths of lists and the hits of the runs in scope in scope."""
        self.scope.stored_truth(qrels_id)
        if work.protocol.exclude is not None:
            self.scope.predictions(self.scope.pending_runs())
        self.scope.rankings(work.protocol)
        self.scope.hits(work.protocol, qrels_id)

    def _record(self, work: Plan, qrels_id: int, *, slice_id: int | None = None) -> None:
        """Write pending evaluations to the catalogue of evaluations."""
        following = [str(m) for m in work.queries if work.follows_source(m)]
        follows = work.protocol.ties == "input"
        if following and not follows:  # the positions in the source are in the hash
            provide_predictions(self.con, self.scope.pending_runs())
        self.con.execute(
            render(
                "statements/evaluations",
                protocol_follows=follows,
                following=following,
                ordering=work.protocol.ordering,
                assessed=requirements.assessed(work),
            ),
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
    """Return the datasets with qrels, each with its runs and the metrics that its qrels can give.

    Raises UsageError before anything is computed if a dataset lacks the inputs of a metric.
    """
    groups: list[tuple[str, list[Candidate], Plan]] = []
    lacking: list[str] = []
    for dataset, members in groupby(asked, key=attrgetter("dataset")):
        group = list(members)
        qrels_id = group[0].qrels_id
        if qrels_id is None:
            if dataset not in outcome.without_qrels:
                outcome.without_qrels.append(dataset)
            continue
        fitting, others = requirements.fitting(work, qrels_kind(con, qrels_id))
        if others:
            outcome.unfit.setdefault(dataset, others)
        lacking += requirements.lacking_stored(con, fitting, dataset)
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
    *,
    is_current: bool,
) -> None:
    Scope(con).runs([c.run_id for c in group])
    con.execute(
        render("statements/wanted"),
        {
            "kind": [metric.definition.kind for metric in work.queries],
            "metric": [str(metric) for metric in work.queries],
            "aggregate": [metric.aggregate for metric in work.queries],
            "direction": [metric.direction for metric in work.queries],
            "fingerprint": [fingerprint_of(work, metric, contents) for metric in work.queries],
        },
    )
    con.execute(
        render(
            "statements/pending",
            file=ALIAS, assessed=requirements.assessed(work), is_current=is_current,
        ),
        {"qrels_id": qrels_id, "slice_id": slice_id, "protocol": work.protocol.name},
    )  # fmt: skip


def _is_current(con: duckdb.DuckDBPyConnection, qrels_id: int) -> bool:
    rows = con.execute("select is_current from qrels_version where qrels_id = $1", [qrels_id])
    return rows.fetchall() == [(True,)]


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
