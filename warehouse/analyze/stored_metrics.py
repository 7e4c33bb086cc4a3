"""The metrics that a dataset has values of: their names, provenance and better directions."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from duckdb import DuckDBPyConnection as Connection

from warehouse.config import project
from warehouse.config.settings import SHOWN_METRICS
from warehouse.errors import UsageError, check_several, command, counted, listing, nearest, none_yet
from warehouse.evaluate import candidates, requirements, scope, unstored_values
from warehouse.evaluate.plan import plan
from warehouse.metrics import notation, protocols
from warehouse.metrics.notation import Metric, MetricLike, Metrics, known_metric, parse, split
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store import datasets
from warehouse.store.database import ALIAS, STORE, is_collected

# Values that differ by less are equal: doubles of one number may differ in their last bits.
DIGITS = 12


@dataclass
class Provenance:
    """The provenance of a metric's values, and whether any is over fewer queries than judged."""

    aggregates: list[str] = field(default_factory=list)
    is_partial: bool = False


def check_slice(con: Connection, dataset: str, slice: str) -> None:
    """Refuse a slice that a dataset does not have, with the nearest one."""
    rows = con.execute(
        "select distinct slice.name from slice join dataset using (dataset_id) "
        "where dataset.name = $dataset order by 1",
        {"dataset": dataset},
    ).fetchall()
    known = [str(row[0]) for row in rows]
    if slice not in known:
        hint = nearest(slice, known) or f"; evaluated are {listing(known) or 'none yet'}"
        raise UsageError(
            f"{slice}: dataset {dataset} has no slice of that name{hint}; make one with: "
            f"{command('evaluate', dataset, slice=slice)}"
        )


def evaluated_metrics(
    con: Connection, dataset: str, protocol: Protocol, slice: str | None = None
) -> dict[str, Provenance]:
    """Return the metrics that a dataset has values of, oldest first; if none, say why.

    For a slice, they are the metrics that its parts have values of.
    """
    datasets.check(con, dataset)
    if slice is not None:
        check_slice(con, dataset, slice)
    found = _with_values(con, dataset, protocol, slice)
    if found:
        return found
    for table in ("qrels", "run"):
        count = con.execute(
            f"select count(*) from {table} join dataset using (dataset_id) "
            "where dataset.name = $dataset",
            {"dataset": dataset},
        ).fetchall()[0][0]
        if not count:
            raise UsageError(none_yet(table, dataset))
    wanted = ["METRIC"] if _preferences(con, dataset) else []
    raise UsageError(
        f"{dataset}: nothing is evaluated{_by(slice)} under protocol {protocol.name} yet: "
        f"{evaluate_command(con, dataset, wanted, protocol, slice)}"
    )


def _by(slice: str | None) -> str:
    return "" if slice is None else f" by {slice}"


def _with_values(
    con: Connection, dataset: str, protocol: Protocol, slice: str | None = None
) -> dict[str, Provenance]:
    rows = con.execute(
        render("analyses/evaluated_metrics", slice=slice),
        {"dataset": dataset, "protocol": protocol.name},
    ).fetchall()
    found: dict[str, Provenance] = {}
    for metric, aggregate, is_partial in rows:
        valued = found.setdefault(str(metric), Provenance())
        valued.aggregates.append(str(aggregate))
        valued.is_partial |= is_partial
    return found


def _preferences(con: Connection, dataset: str) -> str:
    """Return a note about metrics if the current qrels are preferences, else an empty text."""
    rows = con.execute(
        "select kind from qrels join qrels_version using (qrels_id) "
        "where dataset = $dataset and is_current",
        {"dataset": dataset},
    ).fetchall()
    if rows != [("preferences",)]:
        return ""
    return " (its qrels are preferences: only metrics of preferences can be computed)"


def stored_rules(con: Connection, name: str) -> Protocol:
    """Return a protocol; if it is gone but has values here, return the order used for them."""
    try:
        return protocols.of_values(name)
    except UsageError:
        rows = con.execute(
            "select ordering from evaluation join hit_set using (run_id, qrels_id) "
            "where protocol = $protocol group by ordering "
            "order by count(distinct (run_id, qrels_id)) desc, ordering limit 1",
            {"protocol": name},
        ).fetchall()
        if not rows:
            raise
    precision, _, ties = str(rows[0][0]).partition(protocols.WITHOUT)[0].partition("/")
    rules = protocols.get(protocols.DEFAULT)
    exclude = name.partition(protocols.WITHOUT)[2] or None
    return replace(rules, name=name, score_precision=precision, ties=ties, exclude=exclude)


def forgotten(metrics: Sequence[str], protocol: str) -> list[str]:
    """Return those names of stored values that no longer exist."""
    if protocols.is_imported(protocol):
        return []
    gone = [] if protocol in protocols.catalogue() else [f"protocol {protocol}"]
    return [*gone, *(name for name in metrics if known_metric(name) is None)]


def names(
    con: Connection, datasets: Sequence[str], asked: Metrics, protocol: Protocol
) -> list[str]:
    """Return the canonical names of requested metrics, or else of those that the project's file names.

    They are empty if neither names any: then `with_missing` computes the usual metrics if nothing
    is stored, and `chosen` takes what there is. A name with values is kept as it is if no metric has
    it any more.
    """
    words = split(check_several("metrics", asked))
    if protocol.is_imported:
        # they are called what the other program called them
        return list(dict.fromkeys(map(str, words)))
    if not words:
        return _of_project(con, datasets, protocol)
    stored = {name for dataset in datasets for name in _with_values(con, dataset, protocol)}
    gone = {
        one for one in words if isinstance(one, str) and one in stored and not known_metric(one)
    }
    defaults = protocol.defaults()
    # all at once, so that all wrong names are reported
    parse(*(one for one in words if one not in gone), defaults=defaults)
    found: dict[str, None] = {}
    for one in words:
        found |= dict.fromkeys(
            [str(one)] if one in gone else map(str, parse(one, defaults=defaults))
        )
    return list(found)


def _of_project(con: Connection, datasets: Sequence[str], protocol: Protocol) -> list[str]:
    """Return the metrics that the project's file has for all of some datasets of this file."""
    if protocol.name not in protocols.catalogue():
        return []
    ((path,),) = con.execute(
        "select path from duckdb_databases() where database_name = $1", [ALIAS]
    ).fetchall()
    shared: list[str] = []
    for index, dataset in enumerate(datasets):
        words = project.current().metrics_of(dataset, str(path))
        metrics = parse(*words, defaults=protocol.defaults()) if words else []
        if metrics and _preferences(con, dataset):
            fitting, _ = requirements.fitting(plan(metrics, protocol), scope.PREFERENCES)
            metrics = list(fitting.queries)
        found = [str(metric) for metric in metrics]
        shared = found if index == 0 else [name for name in shared if name in found]
    return shared


def labels(asked: Metrics, protocol: Protocol) -> dict[str, str]:
    """Return the names by which metrics were asked for, where they are not their own.

    Those that nobody asked for have the project's own names, if there are any.
    """
    if protocol.is_imported:
        return {}
    words = check_several("metrics", asked) or [*project.current().aliases]
    return notation.labels(*words, defaults=protocol.defaults())


def with_values(
    con: Connection, datasets: Sequence[str], protocol: Protocol, slice: str | None = None
) -> list[str]:
    """Return the metrics that datasets have values of against the current qrels, oldest first."""
    return [name for dataset in datasets for name in _with_values(con, dataset, protocol, slice)]


def with_missing(
    con: Connection,
    datasets: Sequence[str],
    names: Sequence[str],
    protocol: Protocol,
    slice: str | None = None,
    runs: Sequence[str] = (),
    *,
    is_past: bool = False,
) -> Mapping[str, int]:
    """Compute the values of metrics that are not stored, for this connection; return runs by metric.

    They are values of the runs that are read, or of some `runs` alone, in the parts of a slice if
    there is one. Without names, they are the metrics that some run of each dataset has values of
    against the qrels that are read; else those that are stored against others, or the usual ones.
    What is gone, as the runs that were forgotten since, has no values. A board of the past without
    names has what was stored then.
    """
    if protocol.is_imported:
        return {}
    stored = [] if names or is_past else with_values(con, datasets, protocol, slice)
    shared = [name for name in stored if stored.count(name) == len(datasets)]
    wanted = list(dict.fromkeys(names or shared))
    if not (wanted or with_values(con, datasets, protocol)):
        rows = con.execute(
            "select distinct metric from score_versions "
            "where list_contains($datasets, dataset) and protocol = $protocol order by metric",
            {"datasets": list(datasets), "protocol": protocol.name},
        ).fetchall()
        usual = map(str, parse(*(protocol.metrics or SHOWN_METRICS), defaults=protocol.defaults()))
        wanted = [str(row[0]) for row in rows] or list(usual)
    metrics = [metric for metric in map(known_metric, wanted) if metric is not None]
    if not metrics or protocol.name not in protocols.catalogue():
        return {}
    if slice is None and not runs and not _any_missing(con, datasets, metrics, protocol):
        return {}  # as most often, and at once for tens of thousands of runs
    rows = con.execute(f"select run_id from {ALIAS}.{STORE}.run").fetchall()
    there = {run_id for (run_id,) in rows}
    found = [
        run
        for name in datasets
        for run in candidates.find(con, name, runs)
        if run.qrels_id is not None and run.run_id in there
    ]
    # a file of a lake has no predictions to compute from
    leave_out = not runs and is_collected(con)
    compute = unstored_values.compute_missing
    return compute(con, metrics, protocol, found, slice, leave_out=leave_out)


def _any_missing(
    con: Connection, datasets: Sequence[str], metrics: Sequence[Metric], protocol: Protocol
) -> bool:
    asked = {
        "datasets": list(datasets),
        "metrics": list({str(metric) for metric in metrics}),
        "protocol": protocol.name,
        "fingerprints": None,
    }
    ((found, _),) = con.execute(render("statements/any_missing"), asked).fetchall()
    return bool(found)


def computed_notes(
    datasets: Sequence[str],
    made: Mapping[str, int],
    protocol: Protocol,
    *,
    slice: str | None = None,
    qrels: int | None = None,
    is_past: bool = False,
) -> tuple[str, ...]:
    """Say which metrics were computed for how many runs, and how to store them.

    What is computed for a day in the past cannot be stored as if it had been there.
    """
    if not made:
        return ()
    runs = set(made.values())
    if len(runs) == 1:
        note = f"computed for {counted(runs.pop(), 'run')} and not stored: {listing(made)}"
    else:
        each = (f"{metric} for {counted(number, 'run')}" for metric, number in made.items())
        note = f"computed and not stored: {listing(each)}"
    if is_past:
        return (f"{note}; by today's formulas, from what there was then",)
    store = listing(
        [
            command(
                "evaluate", name, metrics=made, slice=slice, qrels=qrels, protocol=protocol.name
            )
            for name in datasets
        ],
        3,
    )
    return (f"{note}; to store: {store}",)


def one_name(con: Connection, datasets: Sequence[str], one: MetricLike, protocol: Protocol) -> str:
    """Return the canonical name for a text that must name one metric."""
    found = names(con, datasets, [one], protocol)
    if len(found) != 1:
        raise UsageError(f"{one}: stands for several metrics; name one")
    return found[0]


def first_name(
    con: Connection, dataset: str, asked: MetricLike | None, protocol: Protocol
) -> list[str]:
    """Return the canonical name of one metric, or of the first of `names` if none is asked for."""
    if asked is None:
        return names(con, [dataset], [], protocol)[:1]
    return [one_name(con, [dataset], asked, protocol)]


def chosen(
    con: Connection,
    dataset: str,
    metrics: Sequence[str],
    protocol: Protocol,
    slice: str | None = None,
) -> dict[str, Provenance]:
    """Return the metrics to show: the requested ones, which must have values, or all."""
    found = evaluated_metrics(con, dataset, protocol, slice)
    absent = [name for name in metrics if name not in found]
    if absent:
        if protocol.is_imported and (near := nearest(absent[0], found)):
            raise UsageError(f"{dataset}: {absent[0]}: nothing of that name is imported{near}")
        raise UsageError(
            f"{dataset}: no values of {', '.join(absent)}{_by(slice)} under protocol "
            f"{protocol.name} yet: {evaluate_command(con, dataset, absent, protocol, slice)}"
        )
    return {name: found[name] for name in metrics or found}


def choose(
    con: Connection,
    dataset: str,
    metrics: Sequence[str],
    protocol: Protocol,
    slice: str | None = None,
) -> list[str]:
    """Return the names of the metrics to show; see `chosen`."""
    return list(chosen(con, dataset, metrics, protocol, slice))


def shown(
    con: Connection, dataset: str, metrics: Metrics, protocol: str
) -> tuple[Protocol, list[str]]:
    """Return a protocol, and the names of the requested metrics, or of all with values."""
    rules = stored_rules(con, protocol)
    return rules, choose(con, dataset, names(con, [dataset], metrics, rules), rules)


def evaluate_command(
    con: Connection,
    dataset: str,
    metrics: Sequence[str],
    protocol: Protocol,
    slice: str | None = None,
) -> str:
    """Return the command that computes some metrics of a dataset, or imports them."""
    if protocol.is_imported:
        _, _, judge = protocol.name.partition(":")
        words = ["ingest", "scores", "FILE", *(["--judge", judge] if judge else [])]
        return command(shlex.join(words), dataset)
    how = command("evaluate", dataset, metrics=metrics, slice=slice, protocol=protocol.name)
    return how + _preferences(con, dataset)


def directions(
    con: Connection, datasets: Sequence[str], metrics: Sequence[str], protocol: Protocol
) -> dict[str, str]:
    """Return the better direction of each metric, as of when it was last computed."""
    rows = con.execute(
        "select metric, arg_max(direction, evaluated_at) from current_score semi join "
        "(from qrels_version where list_contains($datasets, dataset)) using (qrels_id) "
        "where protocol = $protocol and list_contains($metrics, metric) group by metric",
        {"datasets": list(datasets), "protocol": protocol.name, "metrics": list(metrics)},
    ).fetchall()
    return {str(metric): str(direction) for metric, direction in rows}


def direction(con: Connection, datasets: Sequence[str], metric: str, protocol: Protocol) -> str:
    """Return the better direction of one metric; see `directions`."""
    return directions(con, datasets, [metric], protocol)[metric]
