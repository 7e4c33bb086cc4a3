"""Verifying a file: stored values are recomputed from the stored predictions, to the last bit.

This is the usual evaluation, run on empty tables in place of the file's own, so that everything is
missing, hits included, and nothing is stored. All other rows are compared with a hash of what was
loaded, or with the checksum that they were stored with.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb

from warehouse.errors import InputError, UsageError, check_at_least
from warehouse.evaluate import requirements, stored_runs
from warehouse.evaluate.candidates import Candidate
from warehouse.evaluate.chain import fingerprint_of
from warehouse.evaluate.plan import plan
from warehouse.evaluate.scope import qrels_kind
from warehouse.metrics import protocols
from warehouse.metrics.curves import known_curve
from warehouse.metrics.notation import Metric, known_metric
from warehouse.metrics.protocols import Protocol
from warehouse.readers import in_place
from warehouse.readers.files import open_file
from warehouse.sql_text import templates
from warehouse.sql_text.templates import render
from warehouse.store import database
from warehouse.store.database import keep
from warehouse.store.file import WarehouseFile

GONE = "of a metric or protocol that is gone"
STALE = "stale or superseded"
ELSEWHERE = "of runs that are elsewhere: this file was made from a lake"
IMPORTED = "computed by another program"
FILE_GONE = "of runs whose file is gone, or has changed"
OTHERWISE = "of a slice that has other members now, or that can no longer be made"
# The long tables, each with the id by which its rows are ordered, and how many rows are checked at
# a time: memory is bounded.
LONG = {"prediction": "run_id", "hit": "run_id", "query_score": "evaluation_id"}
_STRETCH = 4_000_000


@dataclass(frozen=True)
class Verified:
    """The recomputed values, and the differences.

    `differences` has a row for each number that differs: `dataset, run, metric, protocol, part,
    query_id, position, what, stored, computed, evaluation_id`. `problems` are impossible rows of
    the file: `relation, problem, num_rows`. `skipped` counts, by reason, values that can no longer
    be computed.
    """

    differences: duckdb.DuckDBPyRelation
    problems: duckdb.DuckDBPyRelation
    num_verified: int
    num_stored: int
    skipped: Mapping[str, int]

    @property
    def is_good(self) -> bool:
        """Whether there are no differences and no problems."""
        return not (self.differences.limit(1).fetchall() or self.problems.limit(1).fetchall())


@dataclass(frozen=True)
class _Stored:
    """An evaluation as stored in the catalogue."""

    evaluation_id: int
    dataset: str
    run: str
    run_id: int
    num_predictions: int
    qrels_id: int
    kind: str
    metric: str
    protocol: str
    slice: str | None
    subject: str | None
    fingerprint: str
    evaluated_at: dt.datetime

    @property
    def group(self) -> tuple[str, int, str, str | None, str | None]:
        """The key of evaluations that can be computed together."""
        return self.dataset, self.qrels_id, self.protocol, self.slice, self.subject

    @property
    def candidate(self) -> Candidate:
        """The run, in the form that an evaluation takes."""
        return Candidate(self.dataset, self.qrels_id, self.run, self.run_id, self.num_predictions)


def verify(
    con: duckdb.DuckDBPyConnection,
    dataset: str | None = None,
    *,
    sample: int | None = None,
    seed: int = 0,
    on_group: Callable[[str], None] | None = None,
) -> Verified:
    """Recompute all stored evaluations, or a sample, and look for impossible rows."""
    rows = con.execute(render("analyses/evaluations"), {"dataset": dataset}).fetchall()
    every = [_Stored(*row) for row in rows]
    is_collected = database.is_collected(con)
    wrong = problems(con, is_collected=is_collected, on_step=on_group)
    if sample is None:
        for path in _changed_files(con):
            told = f"{path}: has other content than was loaded, with the same size and time"
            con.execute(f"insert into {wrong} values ('source_file', $told, 1)", {"told": told})
    skipped: dict[str, int] = defaultdict(int)
    fitting: list[_Stored] = []
    if is_collected and every:
        skipped[ELSEWHERE] = len(every)
    for group in () if is_collected else _by(every, lambda one: one.group).values():
        known, others = _computable(con, group)
        fitting += known
        for reason, number in others.items():
            skipped[reason] += number
    fitting.sort(key=lambda one: one.evaluation_id)
    check_at_least(1, sample=sample)
    if sample is not None and sample < len(fitting):
        fitting = random.Random(seed).sample(fitting, sample)
    read = None if sample is None else {one.run_id for one in fitting}
    lost = set(_lost_files(con, wrong, read))
    if lost:
        skipped[FILE_GONE] = sum(one.run_id in lost for one in fitting)
        fitting = [one for one in fitting if one.run_id not in lost]
    con.execute(render("statements/shadow", file=database.ALIAS))
    for group in _by(fitting, lambda one: one.group).values():
        _compute(con, group, on_group)
    con.execute(
        "create or replace temp table chosen as select unnest($ids::integer[]) as evaluation_id",
        {"ids": [one.evaluation_id for one in fitting]},
    )
    sql = render("analyses/verified", file=database.ALIAS)
    con.execute(f"create or replace temp table pair as\n{sql}")
    ((moved,),) = con.execute(
        "select count(*) filter (where computed_id is null) from pair"
    ).fetchall()
    con.execute("delete from pair where computed_id is null")
    if moved:
        skipped[OTHERWISE] += moved
    con.execute(f"insert into {wrong} {render('analyses/hit_differences', file=database.ALIAS)}")
    differences = keep(con, render("analyses/differences", file=database.ALIAS), name="differences")
    return Verified(differences, con.table(wrong), len(fitting) - moved, len(every), dict(skipped))


def _by(items: Iterable[_Stored], key: Callable[[_Stored], object]) -> dict[object, list[_Stored]]:
    groups: dict[object, list[_Stored]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups


def renew(file: WarehouseFile) -> None:
    """Derive the stored current values again, if they do not belong to the newest versions."""
    with file.read() as con:
        is_right = not con.execute(render("checks/stored_current")).fetchall()
    if not is_right:
        with file.transaction() as con:
            con.execute(render("statements/current_scores", runs=())).fetchall()


def problems(
    con: duckdb.DuckDBPyConnection,
    *,
    is_collected: bool = False,
    on_step: Callable[[str], None] | None = None,
) -> str:
    """Keep the findings of the checks of stored rows; return the table's name.

    A file that was collected from a lake has nothing of what was loaded.
    """
    checks = [name for name in templates.names_in("checks") if name.startswith("stored_")]
    if is_collected:
        checks = [name for name in checks if name not in ("stored_contents", "stored_predictions")]
    sql = "\nunion all\n".join(f"(\n{render(f'checks/{name}')}\n)" for name in checks)
    keep(con, sql, name="problems")
    found = "temp.main.problems"
    for relation, number in LONG.items():
        words = {"relation": relation, "number": number}
        stretches = con.execute(render("statements/stretches", size=_STRETCH, **words)).fetchall()
        for first, last in stretches:
            check = render("checks/long_twice", first=first, last=last, **words)
            con.execute(f"insert into {found}\n{check}")
            if on_step is not None:
                on_step(f"what is there twice: {relation}")
    sums = f"select relation, problem, sum(num_rows)::bigint as num_rows from {found} group by all"
    keep(con, f"{sums} order by relation, problem", name="summed")
    return "temp.main.summed"


def _lost_files(
    con: duckdb.DuckDBPyConnection, wrong: str, run_ids: Collection[int] | None
) -> Iterator[int]:
    """Check the files in which predictions stay, of some runs or of all; yield the runs without theirs.

    Adds what is wrong to the table `wrong`.
    """
    for file in in_place.files_of(con, None if run_ids is None else sorted(run_ids)):
        try:
            in_place.provide_predictions(con, [file.run_id])
        except InputError as error:
            told = {"told": str(error)}
            con.execute(f"insert into {wrong} values ('prediction_file', $told, 1)", told)
            yield file.run_id
        else:
            found = render("checks/stored_predictions", run_ids=[file.run_id])
            con.execute(f"insert into {wrong}\n{found}")


def _changed_files(con: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Yield the files that a sync takes for unchanged although their content is another."""
    rows = con.execute(
        "select path, size, mtime_ns, source_sha256 from source_file "
        "where source_sha256 is not null order by path"
    ).fetchall()
    for path, size, mtime_ns, sha256 in rows:
        with suppress(OSError, InputError):
            now = Path(path).stat()
            if (now.st_size, now.st_mtime_ns) == (size, mtime_ns):
                with open_file(path) as file:
                    if file.sha256 != sha256:
                        yield path


def _metric(one: _Stored) -> Metric | None:
    """Return the metric or curve of a stored name, or None if that name no longer exists."""
    return known_metric(one.metric) if one.kind == "metric" else known_curve(one.metric)


def _rules(name: str) -> Protocol | None:
    return protocols.get(name) if name in protocols.catalogue() else None


def _computable(
    con: duckdb.DuckDBPyConnection, group: list[_Stored]
) -> tuple[list[_Stored], dict[str, int]]:
    """Return a group's evaluations that are still computed in the same way, and count the others."""
    first, others = group[0], {GONE: 0, STALE: 0}
    if first.fingerprint == protocols.IMPORTED:
        return [], {IMPORTED: len(group)}
    rules = _rules(first.protocol)
    if rules is None:
        return [], {GONE: len(group)}
    found: list[_Stored] = []
    metrics = {one.metric: _metric(one) for one in group}
    work = plan([m for m in metrics.values() if m is not None], rules)
    work, _ = requirements.fitting(work, qrels_kind(con, first.qrels_id))
    contents = requirements.contents(con, work, first.dataset)
    if first.subject == "document":
        work = plan(work.queries, rules, sliced=True)
    prints = {str(metric): fingerprint_of(work, metric, contents) for metric in work.queries}
    assessed = requirements.assessed_at(con, work)
    for one in group:
        if metrics[one.metric] is None:
            others[GONE] += 1
        elif (
            prints.get(one.metric) != one.fingerprint
            or assessed.get((one.run_id, one.metric), one.evaluated_at) > one.evaluated_at
        ):
            others[STALE] += 1
        else:
            found.append(one)
    return found, {reason: number for reason, number in others.items() if number}


def _compute(
    con: duckdb.DuckDBPyConnection, group: list[_Stored], on_group: Callable[[str], None] | None
) -> None:
    """Evaluate a group on empty tables, runs with the same metrics together."""
    of_run = {
        key: frozenset(one.metric for one in members)
        for key, members in _by(group, lambda one: one.run_id).items()
    }
    for metrics in dict.fromkeys(of_run.values()):
        members = [one for one in group if of_run[one.run_id] == metrics]
        first = members[0]
        wanted = [_metric(one) for one in {one.metric: one for one in members}.values()]
        work = plan([m for m in wanted if m is not None], protocols.get(first.protocol))
        runs = list({one.run_id: one.candidate for one in members}.values())
        by = [] if first.slice is None else [first.slice]
        try:
            stored_runs.evaluate(con, stored_runs.Job(work, by=by), runs)
        except UsageError:
            # of a slice: its attributes may be others now, and then nothing has its parts
            if first.slice is None:
                raise
        if on_group is not None:
            on_group(f"{first.dataset} {first.protocol}")
