"""The state of a file: missing, stale, red or orphaned values, and the cost of computing it."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from warehouse.config.settings import DEFAULT_METRICS
from warehouse.errors import UsageError, command, listing
from warehouse.evaluate import candidates, stored_runs
from warehouse.evaluate.candidates import Candidate
from warehouse.evaluate.plan import Plan, plan
from warehouse.evaluate.stored_runs import Job
from warehouse.metrics import protocols
from warehouse.metrics.curves import known_curve
from warehouse.metrics.notation import Metric, known_metric, parse
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store.database import is_collected, keep

# The evaluations under a protocol: kind, metric or curve, slice, its subject, number of values.
_Evaluated = tuple[str, str, str | None, str | None, int]
# A row about something not up to date: dataset, state, what, protocol, values, predictions, detail.
_Row = tuple[str | None, str, str, str | None, int, int | None, str]


@dataclass(frozen=True)
class Status:
    """The missing, stale, red or orphaned values, row by row, and the cost of computing them.

    `relation` has the columns `dataset, state, what, protocol, number, predictions, detail`: of a
    metric (or of one by a slice) how many values, and how many predictions are read to compute them,
    because a run's hits are not made yet or the metric reads whole lists. `num_predictions` counts a
    run's predictions once for each protocol, as `evaluate` reads them. `commands` compute it all.
    `num_runs` counts the runs that were looked at, `num_red` those that a gate has made red. `unfit`
    has, by dataset, the metrics that its qrels cannot give, because they are preferences.
    """

    relation: duckdb.DuckDBPyRelation
    num_missing: int
    num_stale: int
    num_up_to_date: int
    num_predictions: int
    num_orphaned: int
    num_runs: int
    num_red: int
    commands: tuple[str, ...]
    unfit: Mapping[str, list[str]]

    @property
    def num_to_compute(self) -> int:
        """How many values evaluate would compute."""
        return self.num_missing + self.num_stale


def status(con: duckdb.DuckDBPyConnection, dataset: str | None) -> Status:
    """Look at every metric that a dataset has values of, for all of its current runs.

    A dataset without values gets the default metrics under the default protocol.
    """
    usual = parse(*DEFAULT_METRICS, defaults=protocols.get(protocols.DEFAULT).defaults())
    rows: list[_Row] = []
    commands: dict[str, None] = {}
    unfit: dict[str, list[str]] = {}
    up_to_date = num_predictions = 0
    groups = _evaluated(con, dataset)
    asked = candidates.find(con, dataset, ())
    none_yet: list[_Evaluated] = [("metric", str(metric), None, None, 0) for metric in usual]
    begun = {
        name
        for (name, _), evaluated in groups.items()
        for kind, *_ in evaluated
        if kind == "metric"
    }
    for name in _datasets(con, dataset) - begun:
        groups[name, protocols.DEFAULT] += none_yet
    for name, protocol in sorted(groups):
        evaluated = groups[name, protocol]
        if protocol not in protocols.catalogue():
            values = sum(number for *_, number in evaluated)
            rows.append(
                (name, "orphaned", "values", protocol, values, None, "no protocol of that name")
            )
            continue
        rules = protocols.get(protocol)
        runs_of = {one.run: one for one in asked if one.dataset == name}
        found, current, read = _of_protocol(con, name, runs_of, rules, evaluated, commands, unfit)
        rows += found
        up_to_date += current
        num_predictions += read
    if is_collected(con):  # nothing can be computed in it
        commands.clear()
    rows += _without_qrels(asked)
    rows += _without_file(con, dataset)
    red = _red(con, dataset)
    for (name, metric, protocol), runs in red.items():
        rows.append((name, "red", metric, protocol, len(runs), None, listing(runs, 4)))
    if dataset is None:
        rows += _orphans(con)
    counted = {
        state: sum(row[4] for row in rows if row[1] == state) for state in ("missing", "stale")
    }
    return Status(
        relation=_kept(con, rows),
        num_missing=counted["missing"],
        num_stale=counted["stale"],
        num_up_to_date=up_to_date,
        num_predictions=num_predictions,
        num_orphaned=sum(row[1] == "orphaned" for row in rows),
        num_runs=len(asked),
        num_red=len({(name, run) for (name, *_), runs in red.items() for run in runs}),
        commands=tuple(commands),
        unfit=unfit,
    )


def due(
    con: duckdb.DuckDBPyConnection,
    dataset: str | None,
    rules: Protocol,
    usual: Iterable[Metric],
    by: Sequence[str] = (),
) -> list[Job]:
    """Return the jobs that bring a dataset, or all datasets, up to date under a protocol.

    These are every metric that it has values of, and every slice with its metrics; with `by`, the
    metrics for these slices; the `usual` metrics if there are no values yet.
    """
    known: dict[str, dict[str | None, dict[str, Metric]]] = defaultdict(lambda: defaultdict(dict))
    for (name, protocol), evaluated in _evaluated(con, dataset).items():
        for kind, metric_name, slice, *_ in evaluated if protocol == rules.name else ():
            metric = known_metric(metric_name)
            if kind == "metric" and metric is not None:
                known[name][slice][metric_name] = metric
    jobs: list[Job] = []
    for name, of_slice in known.items():
        metrics = {key: one for found in of_slice.values() for key, one in found.items()}
        jobs.append(Job(plan(metrics.values(), rules), name, by))
        slices = [slice for slice in of_slice if slice is not None and not by]
        jobs += [_job(plan(of_slice[slice].values(), rules), name, slice) for slice in slices]
    work = plan(usual, rules)
    return jobs + [Job(work, name, by) for name in sorted(_datasets(con, dataset) - {*known})]


def _datasets(con: duckdb.DuckDBPyConnection, dataset: str | None) -> set[str]:
    rows = con.execute("select name from dataset where $1 is null or name = $1", [dataset])
    return {str(name) for (name,) in rows.fetchall()}


def _job(work: Plan, dataset: str, slice: str | None) -> Job:
    """Return the job for the whole, or for a slice's parts alone."""
    return Job(work, dataset) if slice is None else Job(work, dataset, [slice], whole=False)


def _evaluated(
    con: duckdb.DuckDBPyConnection, dataset: str | None
) -> dict[tuple[str, str], list[_Evaluated]]:
    """Return the metrics and curves with values, by dataset and protocol."""
    groups: dict[tuple[str, str], list[_Evaluated]] = defaultdict(list)
    sql = render("analyses/evaluated_under_protocols")
    for name, protocol, *rest in con.execute(sql, {"dataset": dataset}).fetchall():
        groups[name, protocol].append(tuple(rest))
    return groups


def _of_protocol(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    asked: Mapping[str, Candidate],
    rules: Protocol,
    evaluated: Sequence[_Evaluated],
    commands: dict[str, None],
    unfit: dict[str, list[str]],
) -> tuple[list[_Row], int, int]:
    """Return the rows of a dataset and protocol, the number of current values, and what is read.

    The commands that compute what is missing or stale are added to `commands`, metrics that the
    dataset's qrels cannot give to `unfit`.
    """
    rows: list[_Row] = []
    known: dict[str | None, dict[str, Metric]] = defaultdict(dict)
    subjects: dict[str | None, str | None] = {}
    for kind, name, slice, subject, number in evaluated:
        metric = known_metric(name) if kind == "metric" else known_curve(name)
        if metric is None:
            detail = f"no {kind} of that name"
            rows.append((dataset, "orphaned", name + _by(slice), rules.name, number, None, detail))
        else:
            known[slice][str(metric)] = metric
            subjects[slice] = subject
    up_to_date = 0
    if all(c.qrels_id is None for c in asked.values()):
        return rows, 0, 0
    read: set[str] = set()
    # missing values of the whole come first, as in `evaluate`: slices may be made from its values
    whole: list[tuple[str, str, str, str]] = []
    for slice, metrics in known.items():
        work = plan(metrics.values(), rules)
        try:
            found = stored_runs.evaluate(
                con,
                _job(work, dataset, slice),
                list(asked.values()),
                dry_run=True,
                outcome=stored_runs.Outcome(details=[*whole]),
            )
        except UsageError as error:
            what = listing(metrics) + _by(slice)
            rows.append((dataset, "orphaned", what, rules.name, 0, None, str(error)))
            continue
        pending: dict[tuple[str, str], list[str]] = defaultdict(list)
        for _, run, metric_name, state in found.details[len(whole) :]:
            pending[metric_name, state].append(run)
        whole = found.details if slice is None else whole
        up_to_date += found.up_to_date
        for name, others in found.unfit.items():
            unfit[name] = list(dict.fromkeys([*unfit.get(name, ()), *others]))
        with_hits = _with_hits(con, rules) if pending else set()
        order = {name + _by(slice): index for index, name in enumerate(metrics)}
        for (name, state), runs in sorted(pending.items(), key=lambda item: order[item[0][0]]):
            metric = metrics[name.removesuffix(_by(slice))]
            needed = _to_read(
                work, metric, subjects[slice], [asked[run] for run in runs], with_hits
            )
            read |= needed
            predictions = sum(asked[run].num_predictions for run in needed)
            row = (dataset, state, name, rules.name, len(runs), predictions, listing(runs, 4))
            rows.append(row)
            is_curve = metric.definition.kind == "curve"
            verb = shlex.join(["curve", name, "--store"]) if is_curve else "evaluate"
            commands[command(verb, dataset, protocol=rules.name)] = None
    return rows, up_to_date, sum(asked[run].num_predictions for run in read)


def _by(slice: str | None) -> str:
    return "" if slice is None else f" by {slice}"


def _with_hits(con: duckdb.DuckDBPyConnection, rules: Protocol) -> set[tuple[int, int]]:
    rows = con.execute(
        "select run_id, qrels_id from hit_set where ordering = $ordering",
        {"ordering": rules.ordering},
    ).fetchall()
    return {(int(run_id), int(qrels_id)) for run_id, qrels_id in rows}


def _to_read(
    work: Plan,
    metric: Metric,
    subject: str | None,
    runs: Sequence[Candidate],
    with_hits: Collection[tuple[int, int | None]],
) -> set[str]:
    """Return the runs whose predictions must be read, for their hits or for the metric itself."""
    whole = "predictions" in work.needs_of(metric) or subject == "document"
    return {c.run for c in runs if whole or (c.run_id, c.qrels_id) not in with_hits}


def _without_qrels(asked: Iterable[Candidate]) -> list[_Row]:
    without = Counter(candidate.dataset for candidate in asked if candidate.qrels_id is None)
    return [
        (name, "orphaned", "runs", None, number, None, "the dataset has no qrels")
        for name, number in without.items()
    ]


def _without_file(con: duckdb.DuckDBPyConnection, dataset: str | None) -> list[_Row]:
    """Return the runs whose files a sync has missed."""
    rows = con.execute(
        "select dataset.name, run.name, path, missing_since from source_file "
        "join dataset using (dataset_id) join run using (run_id) "
        "where missing_since is not null and ($1 is null or dataset.name = $1) order by all",
        [dataset],
    ).fetchall()
    return [
        (name, "orphaned", f"run {run}", None, 1, None, f"{path} is gone since {since:%Y-%m-%d}")
        for name, run, path, since in rows
    ]


def _red(
    con: duckdb.DuckDBPyConnection, dataset: str | None
) -> dict[tuple[str, str, str], list[str]]:
    """Return the runs that a gate has made red, by dataset, metric and protocol."""
    rows = con.execute(
        "select distinct dataset, metric, protocol, run from gate_versions "
        "where is_red and is_current and ($1 is null or dataset = $1) order by all",
        [dataset],
    ).fetchall()
    found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for *of, run in rows:
        found[of[0], of[1], of[2]].append(run)
    return found


def _orphans(con: duckdb.DuckDBPyConnection) -> list[_Row]:
    rows = con.execute(render("checks/stored_orphans")).fetchall()
    return [(None, "orphaned", f"rows of {table}", None, n, None, text) for table, text, n in rows]


def _kept(con: duckdb.DuckDBPyConnection, rows: Sequence[_Row]) -> duckdb.DuckDBPyRelation:
    columns = ("dataset", "state", "what", "protocol", "number", "predictions", "detail")
    return keep(
        con,
        render("analyses/status"),
        {"rows": [dict(zip(columns, row, strict=True)) for row in rows]},
    )
