"""Evaluating stored runs by an engine: the same steps as in one process, on the tables of a part.

The driver writes the inputs of a task as Parquet files, in a folder that all of them see, and the task
writes its values there. Its folder appears whole or not at all, so a task that is lost is done again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from warehouse.errors import UsageError, listing, option
from warehouse.evaluate import engine, stored_hits
from warehouse.evaluate.candidates import Candidate, in_batches
from warehouse.evaluate.engines import Engine, by_query, driver, tasks
from warehouse.evaluate.plan import Plan
from warehouse.evaluate.precomputed import BATCH_COPIED, Precomputation
from warehouse.evaluate.requirements import ASSESSED
from warehouse.evaluate.scope import Scope, qrels_kind, stored_qrels
from warehouse.metrics.notation import Metric
from warehouse.readers.in_place import provide_predictions
from warehouse.sql_text.templates import render
from warehouse.store.file import Staging
from warehouse.store.scratch_folders import scratch_folder

# The most predictions of a part, unless one run has more.
_PREDICTIONS = 2_000_000
_TABLES = (
    "pending", "run", "ranking", "hit", "hit_set", "prediction_by_text", "prediction_by_number",
    "query_score", "score",
)  # fmt: skip


@dataclass(frozen=True)
class Division:
    """Who computes, how the work is divided, and the folder that the driver and the tasks see."""

    engine: Any
    master: str | None = None
    num_buckets: int = 0
    folder: Path | None = None

    def check(self, work: Plan, names: Collection[str]) -> None:
        """Refuse the metrics of these names that cannot be computed in parts."""
        metrics = [metric for metric in work.queries if str(metric) in names]
        tasks.check_metrics(metrics)
        assessed = [str(metric) for metric in metrics if work.needs_of(metric) & ASSESSED]
        if assessed:
            raise UsageError(
                f"{listing(assessed)}: reads what judges said of answers, which tasks elsewhere do not "
                f"have; leave out {option('engine', None)}, or the metric"
            )
        if self.num_buckets:
            by_query.check(metrics)


@dataclass(frozen=True, kw_only=True)
class StoredTask(tasks.Task):
    """The inputs of every task that evaluates stored runs."""

    qrels_id: int
    kind: str
    folder: str


@dataclass
class Done:
    """The folder in which a task has left its values, and which programs computed them."""

    folder: str
    versions: tasks.Versions = field(default_factory=tasks.versions)


class DistributedComputation(Precomputation):
    """Has an engine compute values; the driver stores them and combines the queries."""

    def __init__(self, staging: Staging, division: Division) -> None:
        super().__init__(staging)
        self._division = division
        self._stack = ExitStack()
        self._engine: Engine | None = None

    def __exit__(self, kind: object, *rest: object) -> None:
        try:
            super().__exit__(kind, *rest)
        finally:
            self._stack.close()

    def batches(
        self, group: Sequence[Candidate], most: int | None
    ) -> Iterable[Sequence[Candidate]]:
        """Divide runs so that a copy of their predictions does not take too much room."""
        yield from in_batches(group, BATCH_COPIED)

    def make_hits(
        self, work: Plan, qrels_id: int, batch: Sequence[Candidate]
    ) -> dict[Candidate, int]:
        """Have the engine make the missing hits, and the values with them."""
        con = self._staging.con
        missing = stored_hits.missing(con, work.protocol, qrels_id, batch)
        needing = Scope(con).pending_runs() if "predictions" in work.needs else []
        needing = sorted({*needing, *(run.run_id for run in missing)})
        with scratch_folder(self._division.folder or self._staging.file.path.parent) as folder:
            task = self._task(work, qrels_id, folder)
            count = self._export(task, batch, needing)
            self.close()
            if self._engine is None:
                opened = driver.opened(self._division.engine, self._division.master)
                self._engine = self._stack.enter_context(opened)
            driver.check_machines(self._engine, [task.folder])
            replies = list(self._engine.map(partial(compute, task), range(count)))
            tasks.check_versions(replies)
            con.execute(
                render(
                    "statements/part_values",
                    files=lambda table: [f"{done.folder}/{table}.parquet" for done in replies],
                    by_query=task.num_buckets > 0,
                )
            )
        self.open()
        return stored_hits.num_hits(con, work.protocol, qrels_id, missing)

    def compute(
        self, work: Plan, listed: Sequence[int], on_metric: Callable[[str], None] | None
    ) -> None:
        """Combine the queries, if each task had only some of them."""
        if self._division.num_buckets:
            ready = frozenset(range(len(work.queries)))
            with self.metrics_context(work):
                engine.compute(self._staging.con, work, ready=ready, on_metric=on_metric)
        elif on_metric is not None:
            for metric in self._pending(work):
                on_metric(str(metric))

    def _pending(self, work: Plan) -> list[Metric]:
        rows = self._staging.con.execute("select distinct metric_number from pending").fetchall()
        numbers = {number for (number,) in rows}
        return [metric for number, metric in enumerate(work.queries) if number in numbers]

    def _task(self, work: Plan, qrels_id: int, folder: Path) -> StoredTask:
        con = self._staging.con
        kind = qrels_kind(con, qrels_id)
        con.execute(
            f"create or replace temp table given_qrels as from {stored_qrels(qrels_id, kind)}"
        )
        return StoredTask(
            metrics=tuple(str(metric) for metric in self._pending(work)),
            protocol=work.protocol,
            rows="given_qrels",
            tables=tasks.ground_truth(con, "given_qrels"),
            resources=tasks.of_a_task(self._staging.file.resources),
            num_buckets=self._division.num_buckets,
            qrels_id=qrels_id,
            kind=kind,
            folder=str(folder.resolve()),
        )

    def _export(self, task: StoredTask, batch: Sequence[Candidate], listed: Sequence[int]) -> int:
        """Write the inputs of the tasks; return the number of tasks."""
        con = self._staging.con
        if task.num_buckets:
            rows = con.execute("select distinct query_id::varchar from scope_ranking").fetchall()
            asked = sorted({*task.judged, *(query for (query,) in rows)})
            by_query.make_buckets(con, asked, task.num_buckets)
            con.execute(
                "create or replace temp table divided as "
                "select query_id, bucket as part from query_bucket"
            )
            count = task.num_buckets
        else:
            pending = {*Scope(con).pending_runs()}
            runs = [run for run in batch if run.run_id in pending]
            parts = tasks.divided([run.num_predictions for run in runs], _PREDICTIONS)
            numbers = [n for n, (first, end) in enumerate(parts) for _ in range(first, end)]
            con.execute(
                "create or replace temp table divided as "
                "select unnest($ids::integer[]) as run_id, unnest($parts::integer[]) as part",
                {"ids": [run.run_id for run in runs], "parts": numbers},
            )
            count = len(parts)
        con.execute(
            "create or replace temp table listed as select unnest($ids::integer[]) as run_id",
            {"ids": listed},
        )
        in_place = provide_predictions(con, listed)
        con.execute(
            render(
                "statements/part_export",
                key="query_id" if task.num_buckets else "run_id",
                folder=task.folder,
                in_place=in_place,
                first=min(listed, default=0),
                last=max(listed, default=-1),
            )
        )
        return count


def compute(task: StoredTask, part: int) -> Done:
    """Make the missing hits of a part, and compute pending metrics."""
    plan = task.plan
    whole = Path(task.folder) / f"values-{part}"
    with task.connected() as con:
        con.execute(render("statements/part_tables", files=_files(task, part)))
        scope = Scope(con)
        scope.pending_runs()
        rows = by_query.judged_rows(con, task, part) if task.num_buckets else task.rows
        scope.given_truth(task.kind, rows)
        if task.num_buckets:
            scope.judged_documents(task.rows)
        runs = _runs(con)
        listed = [run.run_id for run in runs] if "predictions" in plan.needs else []
        if listed:
            scope.predictions(listed)
        scope.rankings(plan.protocol)
        scope.hits(plan.protocol, task.qrels_id)
        stored_hits.make(con, plan.protocol, task.qrels_id, runs)
        if listed:  # as before the hits were made
            scope.predictions(listed)
        engine.compute(con, plan, stored=True)
        with _appearing(whole) as folder:
            con.execute(render("statements/part_results", folder=str(folder)))
    return Done(str(whole))


def _files(task: StoredTask, part: int) -> dict[str, list[str]]:
    """Return the files of each table of a part, the first of which has no rows."""
    folder = Path(task.folder)
    return {
        table: [
            str(path)
            for path in (
                folder / f"{table}.parquet",
                *folder.glob(f"{table}.all.parquet"),
                *sorted((folder / table / f"part={part}").glob("*.parquet")),
            )
        ]
        for table in _TABLES
    }


def _runs(con: duckdb.DuckDBPyConnection) -> list[Candidate]:
    """Return the runs in scope, with the lengths of their lists here."""
    rows = con.execute(
        "select run_id, coalesce(sum(num_ret), 0) from scope_run left join ranking using (run_id) "
        "group by run_id order by run_id"
    ).fetchall()
    return [Candidate("", None, str(run_id), run_id, int(number)) for run_id, number in rows]


@contextmanager
def _appearing(whole: Path) -> Any:
    """Yield a new folder that gets this name when the block ends, unless there is one by then."""
    folder = whole.with_name(f"{whole.name}.{uuid.uuid4().hex}")
    folder.mkdir()
    yield folder
    try:
        folder.rename(whole)
    except OSError:
        if not whole.is_dir():  # else the same task was done twice, to the same bits
            raise
