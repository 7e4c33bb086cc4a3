"""Bringing the stored values of a file up to date."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from warehouse.config.project import request
from warehouse.config.settings import DEFAULT_METRICS
from warehouse.errors import UsageError, check_at_least, check_names, check_several
from warehouse.evaluate import candidates, requirements, stored_runs
from warehouse.evaluate.candidates import Candidate, in_batches
from warehouse.evaluate.computation import Computation
from warehouse.evaluate.plan import plan
from warehouse.evaluate.precomputed import BATCH_COPIED, ChangedError, Precomputation
from warehouse.evaluate.status import due
from warehouse.evaluate.stored_runs import Job, Outcome
from warehouse.metrics import notation, protocols
from warehouse.metrics.notation import Metrics
from warehouse.store.clock import Clock
from warehouse.store.file import Staging, WarehouseFile

if TYPE_CHECKING:
    from warehouse.evaluate.engines.stored_evaluation import Division

# How often values are precomputed before they are computed while nobody else can write.
_TRIES = 2
# The most runs whose values are computed and stored together: memory does not grow with their number.
WINDOW = 1_000


@request()
def evaluate(
    file: WarehouseFile,
    dataset: str | None,
    *,
    runs: str | Iterable[str],
    metrics: Metrics,
    slices: str | Iterable[str],
    protocol: str,
    qrels: int | None,
    dry_run: bool,
    on_metric: Callable[[str], None] | None,
    engine: object = "local",
    master: str | None = None,
    by: str = "run",
    buckets: int | None = None,
    exchange: str | os.PathLike[str] | None = None,
) -> Outcome:
    """Compute missing or stale values; the arguments are as in `Warehouse.evaluate`."""
    check_at_least(1, qrels=qrels)
    division = _division(engine, master, by, buckets, exchange)
    rules, sliced = protocols.get(protocol), check_names("slices", slices)
    asked = check_several("metrics", metrics)
    wanted = notation.parse(*(asked or rules.metrics or DEFAULT_METRICS), defaults=rules.defaults())
    if asked:
        jobs = [Job(plan(wanted, rules), by=sliced)]
        if dry_run and dataset is not None and not (runs or sliced or qrels):
            with file.read() as con:
                number = stored_runs.all_current(con, jobs[0].work, dataset)
            if number is not None:
                return Outcome(up_to_date=number)
    else:
        with file.read() as con:
            jobs = due(con, dataset, rules, wanted, sliced)
    return compute(
        file, jobs, dataset, check_names("runs", runs), qrels=qrels, dry_run=dry_run,
        on_metric=on_metric, division=division,
    )  # fmt: skip


def _division(
    engine: object,
    master: str | None,
    by: str,
    buckets: int | None,
    exchange: str | os.PathLike[str] | None,
) -> Division | None:
    """Return how an engine divides the work; None if it is done in this process."""
    if engine == "local":
        return None
    from warehouse.evaluate.engines import driver, stored_evaluation
    from warehouse.evaluate.engines.tasks import check_arrow

    driver.check(engine)
    check_arrow()
    folder = None if exchange is None else Path(exchange)
    return stored_evaluation.Division(engine, master, driver.num_buckets((), by, buckets), folder)


def compute(
    file: WarehouseFile,
    jobs: Sequence[Job],
    dataset: str | None,
    runs: Sequence[str] = (),
    *,
    qrels: int | None = None,
    dry_run: bool = False,
    on_metric: Callable[[str], None] | None = None,
    division: Division | None = None,
) -> Outcome:
    """Compute missing or stale values for some jobs.

    The values of a window of runs are precomputed, and the file is opened for writing to store
    them: memory does not grow with the number of runs, and nobody else who writes waits long. If what
    they depend on has changed by then, they are recomputed, at last while the file is open. Values
    of the parts of a slice always are, because its members may depend on the whole's. With a
    `division`, an engine precomputes the values.
    """
    work = _Work(jobs, dataset, runs, qrels, dry_run, on_metric, division)
    with file.staging() as staging:
        for _ in range(_TRIES):
            with suppress(ChangedError):
                return _precompute(staging, work)
        with staging.transaction() as con:
            asked = work.candidates(con)
            possible, looked = stored_runs.look(con, jobs, asked)
            found, before = work.found, work.stored_of(asked)
            found.left_out, found.at = looked.left_out, Clock(con).now()
            for job in possible:
                work.evaluate(con, job, asked, found)
            found.up_to_date -= before
    return found


@dataclass
class _Work:
    """One call of `compute`: its arguments, and the computed and stored values."""

    jobs: Sequence[Job]
    dataset: str | None
    runs: Sequence[str]
    qrels: int | None
    dry_run: bool
    on_metric: Callable[[str], None] | None
    division: Division | None
    found: Outcome = field(default_factory=Outcome)

    def candidates(self, con: duckdb.DuckDBPyConnection) -> list[Candidate]:
        """Return the runs to evaluate."""
        return candidates.find(con, self.dataset, self.runs, self.qrels)

    def stored_of(self, asked: Sequence[Candidate]) -> int:
        """Return how many values of these runs have been computed and stored so far."""
        if not self.found.details:
            return 0
        names = {(run.dataset, run.run) for run in asked}
        return sum((dataset, run) in names for dataset, run, *_ in self.found.details)

    def evaluate(
        self,
        con: duckdb.DuckDBPyConnection,
        job: Job,
        asked: Sequence[Candidate],
        outcome: Outcome,
        computation: Computation | None = None,
    ) -> None:
        """Do a job for some runs."""
        stored_runs.evaluate(
            con, job, asked, on_metric=self.on_metric, outcome=outcome, computation=computation
        )


def _precompute(staging: Staging, work: _Work) -> Outcome:
    """Precompute values and store them, then the values of parts. Raises ChangedError."""
    con, found = staging.con, work.found
    with _precomputation(staging, work.division) as precomputation:
        asked = work.candidates(con)
        possible, looked = stored_runs.look(con, work.jobs, asked)
        if work.dataset in looked.unfit:
            raise UsageError(requirements.unfit(work.dataset, looked.unfit[work.dataset]))
        if work.dry_run or not (looked.computed or found.computed):
            return looked
        if work.division is not None:
            lacking = {metric for _, _, metric, _ in looked.details}
            for job in possible:
                if job.whole:
                    work.division.check(job.work, lacking)
        found.left_out = looked.left_out
        up_to_date = looked.up_to_date - work.stored_of(asked)
        windows, done = _windows(asked, looked), Outcome()
        for number, window in enumerate(windows):
            if number:
                with staging.transaction():
                    _store(precomputation, done, found)
                precomputation.open()
                if work.candidates(con) != asked:
                    raise ChangedError
            done = Outcome()
            precomputation.begin(window)
            for job in possible:
                if job.whole:
                    work.evaluate(con, replace(job, by=()), window, done, precomputation)
            precomputation.end()
    with staging.transaction():
        if windows:
            _store(precomputation, done, found)
        for job in possible:
            work.evaluate(con, replace(job, whole=False), asked, found)
    found.up_to_date = up_to_date
    return found


def _precomputation(staging: Staging, division: Division | None) -> Precomputation:
    """Return the computation that precomputes values: here, or by an engine."""
    if division is None:
        return Precomputation(staging)
    from warehouse.evaluate.engines.stored_evaluation import DistributedComputation

    return DistributedComputation(staging, division)


def _windows(asked: Sequence[Candidate], looked: Outcome) -> list[list[Candidate]]:
    """Divide the runs that lack values into those whose values are computed and stored together."""
    lacking = {(dataset, run) for dataset, run, *_ in looked.details}
    due = [run for run in asked if (run.dataset, run.run) in lacking]
    return [
        batch[first : first + WINDOW]
        for batch in in_batches(due, BATCH_COPIED)
        for first in range(0, len(batch), WINDOW)
    ]


def _store(precomputation: Precomputation, done: Outcome, found: Outcome) -> None:
    """Store precomputed values in the caller's transaction. Raises ChangedError."""
    precomputation.check()
    done.at = precomputation.store()
    found.add(done)
