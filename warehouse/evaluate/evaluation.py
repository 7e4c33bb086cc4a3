"""Bringing the stored values of a file up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from warehouse.config.project import request
from warehouse.config.settings import DEFAULT_METRICS
from warehouse.errors import UsageError, check_at_least, check_names, check_several
from warehouse.evaluate import candidates, requirements, stored_runs
from warehouse.evaluate.ahead import Ahead, ChangedError
from warehouse.evaluate.plan import plan
from warehouse.evaluate.status import due
from warehouse.evaluate.stored_runs import Job, Outcome
from warehouse.metrics import notation, protocols
from warehouse.metrics.notation import Metrics
from warehouse.store.clock import Clock
from warehouse.store.file import Staging, WarehouseFile

# How often values are computed ahead before they are computed while nobody else can write.
_TRIES = 2


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
) -> Outcome:
    """Compute what is missing or stale; the arguments are those of `Warehouse.evaluate`."""
    check_at_least(1, qrels=qrels)
    rules, by = protocols.get(protocol), check_names("slices", slices)
    asked = check_several("metrics", metrics)
    wanted = notation.parse(*(asked or DEFAULT_METRICS), defaults=rules.defaults())
    if asked:
        jobs = [Job(plan(wanted, rules), by=by)]
    else:
        with file.read() as con:
            jobs = due(con, dataset, rules, wanted, by)
    return compute(
        file, jobs, dataset, check_names("runs", runs), qrels=qrels, dry_run=dry_run,
        on_metric=on_metric,
    )  # fmt: skip


def compute(
    file: WarehouseFile,
    jobs: Sequence[Job],
    dataset: str | None,
    runs: Sequence[str] = (),
    *,
    qrels: int | None = None,
    dry_run: bool = False,
    on_metric: Callable[[str], None] | None = None,
) -> Outcome:
    """Compute what is missing or stale for some jobs.

    The values are computed ahead, and the file is opened for writing to store them. If what they
    depend on has changed by then, they are computed anew, at last while it is open. Values of the
    parts of a slice always are, because its members may depend on those of the whole.
    """
    with file.staging() as staging:
        for _ in range(_TRIES):
            with suppress(ChangedError):
                return _ahead(staging, jobs, dataset, runs, qrels, dry_run, on_metric)
        with staging.transaction() as con:
            asked = candidates.find(con, dataset, runs, qrels)
            possible, looked = stored_runs.look(con, jobs, asked)
            found = Outcome(left_out=looked.left_out, at=Clock(con).now())
            for job in possible:
                stored_runs.evaluate(con, job, asked, on_metric=on_metric, outcome=found)
    return found


def _ahead(
    staging: Staging,
    jobs: Sequence[Job],
    dataset: str | None,
    runs: Sequence[str],
    qrels: int | None,
    dry_run: bool,
    on_metric: Callable[[str], None] | None,
) -> Outcome:
    """Compute values ahead, then store them, and those of parts. Raises ChangedError."""
    with Ahead(staging) as ahead:
        con = staging.con
        asked = candidates.find(con, dataset, runs, qrels)
        possible, found = stored_runs.look(con, jobs, asked)
        if dataset in found.unfit:
            raise UsageError(requirements.unfit(dataset, found.unfit[dataset]))
        if dry_run or not found.computed:
            return found
        found = Outcome(left_out=found.left_out)
        ahead.begin(asked)
        for job in possible:
            if job.whole:
                stored_runs.evaluate(
                    con, replace(job, by=()), asked,
                    on_metric=on_metric, outcome=found, place=ahead,
                )  # fmt: skip
        ahead.end()
    with staging.transaction() as con:
        ahead.check()
        found.at = Clock(con).now()
        ahead.store(found.at)
        for job in possible:
            stored_runs.evaluate(
                con, replace(job, whole=False), asked, on_metric=on_metric, outcome=found
            )
    return found
