"""The leaderboard of a dataset and the queries of a run, over stored values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby

import duckdb

from warehouse.analyze import column_names, datasets
from warehouse.errors import UsageError, command, listing, nearest, none_yet
from warehouse.metrics import aggregates, protocols
from warehouse.metrics.notation import Asked, known_metric, parse, split
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store.database import keep

# Values that differ by less are equal: doubles of one number may differ in their last bits.
DIGITS = 12


@dataclass
class Valued:
    """The provenance of a metric's values, and whether any is over fewer queries than judged."""

    aggregates: list[str] = field(default_factory=list)
    is_partial: bool = False


@dataclass(frozen=True)
class Board:
    """A leaderboard, with notes about it.

    `metrics` names the metric of each column of values. `directions` has, by metric, the better
    direction when it was last computed. `over_queries` says how the values of the queries were
    combined, and `notes` are other sentences for people.
    """

    relation: duckdb.DuckDBPyRelation
    metrics: Mapping[str, str]
    directions: Mapping[str, str]
    datasets: tuple[str, ...]
    over_queries: str
    notes: tuple[str, ...] = ()


@contextmanager
def narrowed(con: duckdb.DuckDBPyConnection, dataset: str, protocol: Protocol) -> Iterator[None]:
    """Look up the current values of a dataset once, for all reads of the view `run_scores`.

    On this connection the view then has nothing else and, after the block, nothing at all.
    """
    con.execute(render("statements/narrowed", dataset=dataset, protocol=protocol.name))
    yield
    con.execute("drop view temp.run_scores; drop table temp.current_score")


def check_slice(con: duckdb.DuckDBPyConnection, dataset: str, slice: str) -> None:
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
    con: duckdb.DuckDBPyConnection, dataset: str, protocol: Protocol, slice: str | None = None
) -> dict[str, Valued]:
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
    con: duckdb.DuckDBPyConnection, dataset: str, protocol: Protocol, slice: str | None = None
) -> dict[str, Valued]:
    rows = con.execute(
        render("analyses/evaluated_metrics", slice=slice),
        {"dataset": dataset, "protocol": protocol.name},
    ).fetchall()
    found: dict[str, Valued] = {}
    for metric, aggregate, is_partial in rows:
        valued = found.setdefault(str(metric), Valued())
        valued.aggregates.append(str(aggregate))
        valued.is_partial |= is_partial
    return found


def _preferences(con: duckdb.DuckDBPyConnection, dataset: str) -> str:
    """Return a note about metrics if the current qrels are preferences, else an empty text."""
    rows = con.execute(
        "select kind from qrels join qrels_version using (qrels_id) "
        "where dataset = $dataset and is_current",
        {"dataset": dataset},
    ).fetchall()
    if rows != [("preferences",)]:
        return ""
    return " (its qrels are preferences: only metrics of preferences can be computed)"


def stored_rules(con: duckdb.DuckDBPyConnection, name: str) -> Protocol:
    """Return a protocol; if it is gone but has values here, return the order used for them."""
    try:
        return protocols.get(name)
    except UsageError:
        rows = con.execute(
            "select ordering from evaluation join hit_set using (run_id, qrels_id) "
            "where protocol = $protocol group by ordering "
            "order by count(distinct (run_id, qrels_id)) desc, ordering limit 1",
            {"protocol": name},
        ).fetchall()
        if not rows:
            raise
    precision, ties = str(rows[0][0]).split("/")
    rules = protocols.get(protocols.DEFAULT)
    return replace(rules, name=name, score_precision=precision, ties=ties)


def forgotten(metrics: Sequence[str], protocol: str) -> list[str]:
    """Return those names of stored values that no longer exist."""
    gone = [] if protocol in protocols.catalogue() else [f"protocol {protocol}"]
    return [*gone, *(name for name in metrics if known_metric(name) is None)]


def names(
    con: duckdb.DuckDBPyConnection,
    datasets: Sequence[str],
    asked: Sequence[Asked],
    protocol: Protocol,
) -> list[str]:
    """Return the canonical names of requested metrics.

    A name with values is kept as it is if no metric has it any more.
    """
    words = split(asked)
    if not words:
        return []
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


def one_name(
    con: duckdb.DuckDBPyConnection, datasets: Sequence[str], asked: Asked, protocol: Protocol
) -> str:
    """Return the canonical name for a text that must name one metric."""
    found = names(con, datasets, [asked], protocol)
    if len(found) != 1:
        raise UsageError(f"{asked}: stands for several metrics; name one")
    return found[0]


def chosen(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    metrics: Sequence[str],
    protocol: Protocol,
    slice: str | None = None,
) -> dict[str, Valued]:
    """Return the metrics to show: the requested ones, which must have values, or all."""
    found = evaluated_metrics(con, dataset, protocol, slice)
    absent = [name for name in metrics if name not in found]
    if absent:
        raise UsageError(
            f"{dataset}: no values of {', '.join(absent)}{_by(slice)} under protocol "
            f"{protocol.name} yet: {evaluate_command(con, dataset, absent, protocol, slice)}"
        )
    return {name: found[name] for name in metrics or found}


def choose(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    metrics: Sequence[str],
    protocol: Protocol,
    slice: str | None = None,
) -> list[str]:
    """Return the names of the metrics to show; see `chosen`."""
    return list(chosen(con, dataset, metrics, protocol, slice))


def evaluate_command(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    metrics: Sequence[str],
    protocol: Protocol,
    slice: str | None = None,
) -> str:
    """Return the command that computes some metrics of a dataset."""
    how = command("evaluate", dataset, metrics=metrics, slice=slice, protocol=protocol.name)
    return how + _preferences(con, dataset)


def leaderboard(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    metrics: Sequence[str],
    protocol: Protocol,
    *,
    slice: str | None = None,
    sort: str | None = None,
    top: int | None = None,
) -> Board:
    """Return the board: `place, run, system, <one column per metric>, answered, judged`.

    For a slice, it has the runs in each part, and the part is the first column.
    """
    found = chosen(con, dataset, metrics, protocol, slice)
    if sort is not None and sort not in found:
        found |= chosen(con, dataset, [sort], protocol, slice)
    shown = list(found)
    column_names.check(shown)
    by = shown[0] if sort is None else sort
    better = directions(con, [dataset], shown, protocol)
    sql = render(
        "analyses/leaderboard",
        metrics=shown,
        slice=slice,
        sort=by,
        lower_is_better=better[by] == "lower",
        top=top,
    )
    relation = keep(con, sql, {"dataset": dataset, "protocol": protocol.name})
    notes = undefined_notes(con, relation, {dataset: found}, shown, protocol, slice=slice)
    over_queries = put_together([found], shown)
    named = {name: name for name in shown}
    return Board(relation, named, better, (dataset,), over_queries, notes)


def put_together(found: Iterable[Mapping[str, Valued]], metrics: Sequence[str]) -> str:
    """Say how the values of some metrics in some datasets were combined over the queries."""
    hows = {
        metric: {how for there in found for how in there[metric].aggregates} for metric in metrics
    }
    return aggregates.in_words((metric, how) for metric in metrics for how in sorted(hows[metric]))


def undefined_notes(
    con: duckdb.DuckDBPyConnection,
    relation: duckdb.DuckDBPyRelation,
    found: Mapping[str, Mapping[str, Valued]],
    metrics: Sequence[str],
    protocol: Protocol,
    *,
    by: str = "run",
    slice: str | None = None,
) -> tuple[str, ...]:
    """Say which values of a board are over fewer queries than count, and over how many.

    `found` is what each of its datasets has values of.
    """
    only_judged = protocol.queries != "run"
    if only_judged:
        metrics = [m for m in metrics if any(there[m].is_partial for there in found.values())]
    if not metrics:
        return ()
    named = by if slice is None else f"{by} || ' in ' || part"
    on_board = {row[0] for row in relation.project(named).fetchall()}
    rows = con.execute(
        render(
            "analyses/undefined_queries",
            by=by,
            slice=slice,
            metrics=list(metrics),
            only_judged=only_judged,
        ),
        {"datasets": list(found), "protocol": protocol.name},
    ).fetchall()
    notes: list[str] = []
    for (dataset, metric, aggregate), group in groupby(rows, key=lambda row: row[:3]):
        over = {name: f"{some:,} of {all_:,}" for *_, name, some, all_ in group if name in on_board}
        if not over:
            continue
        what = f"{metric} in {dataset}" if len(found) > 1 else metric
        how = "mean over" if aggregate == "mean" else "over"
        if set(over) == on_board and len(set(over.values())) == 1:
            told = f"{next(iter(over.values()))} queries (undefined for the others)"
            notes.append(f"{what}: {how} {told}")
        else:
            told = listing([f"{name} {how} {queries}" for name, queries in over.items()], 4)
            notes.append(f"{what}: undefined for some queries: {told}")
    return tuple(notes)


def directions(
    con: duckdb.DuckDBPyConnection,
    datasets: Sequence[str],
    metrics: Sequence[str],
    protocol: Protocol,
) -> dict[str, str]:
    """Return the better direction of each metric, as of when it was last computed."""
    rows = con.execute(
        "select metric, arg_max(direction, evaluated_at) from run_scores "
        "where is_current and list_contains($datasets, dataset) "
        "and protocol = $protocol and list_contains($metrics, metric) group by metric",
        {"datasets": list(datasets), "protocol": protocol.name, "metrics": list(metrics)},
    ).fetchall()
    return {str(metric): str(direction) for metric, direction in rows}


def direction(
    con: duckdb.DuckDBPyConnection, datasets: Sequence[str], metric: str, protocol: Protocol
) -> str:
    """Return the better direction of one metric; see `directions`."""
    return directions(con, datasets, [metric], protocol)[metric]


def queries(
    con: duckdb.DuckDBPyConnection,
    run: str,
    dataset: str,
    metrics: Sequence[str],
    protocol: Protocol,
    *,
    slice: str | None = None,
    worst: int | None = None,
) -> duckdb.DuckDBPyRelation:
    """Return a run's values query by query with its counts; on request, the worst first.

    For a slice, they are the values in each part, without counts.
    """
    shown = choose(con, dataset, metrics, protocol, slice)
    column_names.check(shown)
    rows = con.execute(
        "select distinct run from run_scores where is_current and dataset = $dataset "
        "and protocol = $protocol",
        {"dataset": dataset, "protocol": protocol.name},
    ).fetchall()
    known = [str(row[0]) for row in rows]
    if run not in known:
        hint = nearest(run, known) or f"; evaluated are {listing(known)}"
        raise UsageError(f"{run}: no evaluated run of that name in {dataset}{hint}")
    lower_is_better = direction(con, [dataset], shown[0], protocol) == "lower"
    order = {"metrics": shown, "lower_is_better": lower_is_better, "worst": worst}
    if slice is not None:
        sql = render("analyses/slice_queries", **order)
        asked = {"dataset": dataset, "run": run, "protocol": protocol.name, "slice": slice}
        return keep(con, sql, asked)
    return keep(
        con,
        render("analyses/queries", **order),
        {
            "dataset": dataset,
            "run": run,
            "protocol": protocol.name,
            "ordering": protocol.ordering,
        },
    )
