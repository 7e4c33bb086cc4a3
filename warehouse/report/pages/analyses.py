"""The contents of the pages of gates, merged runs, slices, agreement, holes and curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from warehouse.analyze import (
    agreement,
    curves,
    gate_results,
    holes,
    leaderboard,
    listings,
    stored_metrics,
)
from warehouse.errors import UsageError
from warehouse.metrics.curves import known_curve
from warehouse.report import charts, presentation
from warehouse.sql_text.templates import render
from warehouse.store import database

Record = Mapping[str, Any]
# The most runs of which every two lists are compared, the best ones; the depth to which holes are
# looked for, and how many of them are shown.
MOST_AGREEING, HOLE_DEPTH, MOST_HOLES = 12, 10, 100
# The most runs whose curves are drawn, the best ones.
MOST_DRAWN = 12


@dataclass(frozen=True)
class Gate:
    """The newest verdict of a gate on a current run: red, accepted, unchecked or green."""

    state: str
    verdict: Record


@dataclass(frozen=True)
class Fused:
    """A merged run: its method, and its parents with their weights."""

    run: str
    method: str
    normalisation: str
    tuned_by: str | None
    parents: tuple[Record, ...]


@dataclass(frozen=True)
class Slice:
    """The values of runs in the parts of a slice: by part, in their order, by run and metric."""

    name: str
    about: Record
    parts: tuple[Record, ...]
    metrics: tuple[str, ...]
    values: Mapping[str, Mapping[str, Record]]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Matrix:
    """How much each two of some names agree, as rows of `Warehouse.agree`, by both names."""

    names: tuple[str, ...]
    pairs: Mapping[frozenset[str], Record]
    notes: tuple[str, ...]
    depth: int | None = None

    def pair(self, one: str, other: str) -> Record | None:
        """Return the agreement of two, or None."""
        return self.pairs.get(frozenset((one, other)))


@dataclass(frozen=True)
class Holes:
    """The documents to judge next, as `Warehouse.holes` lists them, and as CSV."""

    rows: tuple[Record, ...]
    filled: tuple[Record, ...]
    csv: str
    total: int
    depth: int


@dataclass(frozen=True)
class Curve:
    """A stored curve over all queries: the points of each run, `(x, y)`, and its axes."""

    name: str
    title: str
    x: str
    y: str
    points: Mapping[str, Sequence[tuple[float, float]]]
    areas: Mapping[str, float]
    area: str | None
    over: str
    notes: tuple[str, ...]
    chart: charts.Spec


def gates(con: duckdb.DuckDBPyConnection, runs: Sequence[Record]) -> tuple[Gate, ...]:
    """Return the newest verdict of each gate on the current versions of runs, red ones first."""
    current = {(row["dataset"], row["run"], row["version"]) for row in runs}
    newest: dict[tuple[Any, ...], Gate] = {}
    for row in database.records(gate_results.listed(con, None, red=False)):
        run = (row["dataset"], row["run"], row["version"])
        gate = tuple(row[key] for key in ("metric", "protocol", "grouped_by", "against", "limits"))
        if run in current:
            newest.setdefault((*run, *gate), Gate(_state(row), row))
    order = ["red", "accepted", "unchecked", "green"]
    return tuple(sorted(newest.values(), key=lambda gate: order.index(gate.state)))


def _state(verdict: Record) -> str:
    if verdict["is_red"]:
        return "red"
    states = {"worse": "accepted", "unchecked": "unchecked"}
    return states.get(verdict["verdict"], "green")


def fusions(con: duckdb.DuckDBPyConnection, dataset: str) -> Mapping[str, Fused]:
    """Return the merged runs of a dataset, by name."""
    sql = "from fused_run_versions where is_current and dataset = $dataset order by run, position"
    found: dict[str, list[dict[str, Any]]] = {}
    for row in database.records(database.keep(con, sql, {"dataset": dataset})):
        found.setdefault(row["run"], []).append(row)
    return {
        run: Fused(
            run, rows[0]["method"], rows[0]["normalisation"], rows[0]["tuned_by"], tuple(rows)
        )
        for run, rows in found.items()
    }


def slices(
    con: duckdb.DuckDBPyConnection, dataset: str, protocol: str, names: Sequence[str]
) -> tuple[Slice, ...]:
    """Return the slices that some of the metrics have values in."""
    found = []
    rows = con.execute(
        "select distinct slice, metric from slice_score_versions "
        "where is_current and dataset = $dataset and protocol = $protocol",
        {"dataset": dataset, "protocol": protocol},
    ).fetchall()
    for about in database.records(listings.listing(con, "slices", dataset)):
        name = about["slice"]
        metrics = [metric for metric in names if (name, metric) in rows]
        if not metrics:
            continue
        board = leaderboard.leaderboard(
            con, dataset, metrics=metrics, slice=name, protocol=protocol, compute=False
        )
        values: dict[str, dict[str, Record]] = {}
        for row in database.records(board.relation):
            values.setdefault(row["part"], {})[row["run"]] = row
        notes = presentation.leaderboard(board, protocol).notes  # before the board is replaced
        parts = database.records(listings.slices(con, dataset, name))
        found.append(
            Slice(
                name, about, tuple(row for row in parts if row["part"] in values),
                tuple(metrics), values, notes,
            )
        )  # fmt: skip
    return tuple(found)


def agreement_of_runs(
    con: duckdb.DuckDBPyConnection, dataset: str, runs: Sequence[str], protocol: str, depth: int
) -> Matrix | None:
    """Return how much the lists of the first runs agree; None for a single one."""
    chosen = tuple(runs[:MOST_AGREEING])
    return _matrix(
        con, dataset, chosen, of="documents", runs=chosen, metrics=(), protocol=protocol,
        keys=("run", "other"), depth=depth,
    )  # fmt: skip


def agreement_of_metrics(
    con: duckdb.DuckDBPyConnection, dataset: str, names: Sequence[str], protocol: str
) -> Matrix | None:
    """Return how much the orders of the runs by the metrics agree; None if nothing is compared."""
    rules = stored_metrics.stored_rules(con, protocol)
    ranking = [
        name for name in names if stored_metrics.direction(con, [dataset], name, rules) != "none"
    ]
    return _matrix(
        con, dataset, tuple(ranking), of="runs", runs=(), metrics=ranking, protocol=protocol,
        keys=("metric", "other"), depth=None,
    )  # fmt: skip


def _matrix(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    names: tuple[str, ...],
    *,
    of: str,
    runs: Sequence[str],
    metrics: Sequence[str],
    protocol: str,
    keys: tuple[str, str],
    depth: int | None,
) -> Matrix | None:
    if len(names) < 2:
        return None
    try:
        found = agreement.agree(
            con, dataset, runs, of=of, metrics=metrics, against=None, depth=depth, p=0.9,
            over="intersection", protocol=protocol,
        )  # fmt: skip
    except UsageError:
        return None
    one, other = keys
    pairs = {frozenset((row[one], row[other])): row for row in database.records(found.relation)}
    return Matrix(names, pairs, found.notes, depth)


def imported(con: duckdb.DuckDBPyConnection, dataset: str) -> Sequence[Record]:
    """Return the values that other programs computed, with their source and judge."""
    sql = render("analyses/imported")
    return tuple(database.records(database.keep(con, sql, {"dataset": dataset})))


def holes_of(con: duckdb.DuckDBPyConnection, dataset: str, protocol: str) -> Holes | None:
    """Return the documents to judge next; None where nothing is unjudged or nothing can be."""
    try:
        found = holes.holes(
            con, dataset, (), depth=HOLE_DEPTH, top=MOST_HOLES, per_query=False, protocol=protocol
        )
    except UsageError:
        return None
    result = presentation.holes(found)
    return Holes(
        tuple(database.records(found.relation)), tuple(database.records(found.filled)),
        result.to_csv(), found.total, found.depth,
    )  # fmt: skip


def curves_of(
    con: duckdb.DuckDBPyConnection, dataset: str, protocol: str, runs: Sequence[str]
) -> tuple[Curve, ...]:
    """Return the stored curves of a dataset, with the best runs that have points."""
    rules = stored_metrics.stored_rules(con, protocol)
    rows = con.execute(
        "select distinct curve, run from curve_point_versions where is_current and query_id is null "
        "and dataset = $dataset and protocol = $protocol order by curve",
        {"dataset": dataset, "protocol": protocol},
    ).fetchall()
    found = []
    for name in dict.fromkeys(name for name, _ in rows):
        metric = known_curve(name)
        chosen = [run for run in runs if (name, run) in rows][:MOST_DRAWN]
        if metric is None or not chosen:
            continue
        trace = curves.stored_curve(con, metric, dataset, chosen, rules)
        points: dict[str, list[tuple[float, float]]] = {}
        for run, _, x, y, *_ in trace.relation.fetchall():
            points.setdefault(run, []).append((x, y))
        about = trace.curve
        found.append(
            Curve(
                name, about.title, about.x.name, about.y.name, points, trace.areas, about.area,
                trace.over, trace.notes, charts.curve(trace),
            )
        )  # fmt: skip
    return tuple(found)


def kinds(con: duckdb.DuckDBPyConnection, dataset: str, protocol: str) -> Record:
    """Return the kinds of pages that have contents: `slices, curves, fusions, imported, judgments`."""
    (row,) = database.records(
        database.keep(
            con, render("analyses/page_kinds"), {"dataset": dataset, "protocol": protocol}
        )
    )
    return row
