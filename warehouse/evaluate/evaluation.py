"""Bringing the stored values of a file up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from warehouse.config.project import request
from warehouse.config.settings import DEFAULT_METRICS
from warehouse.errors import UsageError, check_at_least, check_names, check_several
from warehouse.evaluate import candidates, requirements, stored_runs
from warehouse.evaluate.plan import plan
from warehouse.evaluate.status import due
from warehouse.evaluate.stored_runs import Job, Outcome
from warehouse.metrics import notation, protocols
from warehouse.metrics.notation import Metrics
from warehouse.store.clock import Clock
from warehouse.store.file import WarehouseFile


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
    """Compute what is missing or stale for some jobs; open the file for writing only if needed."""
    with file.read() as con:
        asked = candidates.find(con, dataset, runs, qrels)
        possible, found = stored_runs.look(con, jobs, asked)
    if dataset in found.unfit:
        raise UsageError(requirements.unfit(dataset, found.unfit[dataset]))
    if not dry_run and found.computed:
        with file.transaction() as con:
            found = Outcome(left_out=found.left_out, at=Clock(con).now())
            asked = candidates.find(con, dataset, runs, qrels)
            for job in possible:
                stored_runs.evaluate(con, job, asked, on_metric=on_metric, outcome=found)
    return found
