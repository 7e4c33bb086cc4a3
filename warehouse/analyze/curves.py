"""Curves as they are shown: the points of some runs, with notes about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from duckdb import DuckDBPyConnection as Connection
from duckdb import DuckDBPyRelation as Relation

from warehouse.config.project import request
from warehouse.errors import UsageError, check_names, counted, listing, nearest, none_yet
from warehouse.evaluate import candidates, requirements, unstored_values
from warehouse.evaluate.evaluation import compute
from warehouse.evaluate.plan import plan
from warehouse.evaluate.stored_runs import Job, Outcome
from warehouse.metrics import curves, protocols
from warehouse.metrics.curves import Curve
from warehouse.metrics.notation import Metric
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store import datasets
from warehouse.store.database import RESULT, keep
from warehouse.store.file import WarehouseFile


@dataclass(frozen=True)
class Trace:
    """The points of a curve for some runs of a dataset.

    `relation` has the columns `run, position, x, y`, and `queries`, the number of queries with a
    point, if not every query has a point at every x. `areas` are the areas under the curves by run,
    if they have a meaning; `goodness` is what runs are compared by. `computed` counts newly
    computed curves, `stale` the curves that an older formula had given, and `is_stored` says
    whether they were stored. `notes` are sentences for people.
    """

    relation: Relation
    metric: Metric
    dataset: str
    protocol: Protocol
    runs: tuple[str, ...]
    query: str | None
    num_queries: int
    areas: dict[str, float]
    goodness: dict[str, float]
    computed: int = 0
    stale: int = 0
    is_stored: bool = False
    notes: tuple[str, ...] = field(default=())

    @property
    def curve(self) -> Curve:
        """Return the definition of the curve."""
        return curves.of(self.metric)

    @property
    def over(self) -> str:
        """Name the subject of the points: a query, or all queries, and how these are combined."""
        if self.query is not None:
            return f"query {self.query}"
        rules = self.protocol
        every = rules.queries == "judged" and not rules.relevant_only
        those = counted(self.num_queries, "judged query") if every else "the queries that count"
        if self.metric.aggregate == "pooled":
            return f"pooled by score over {those}"
        if self.curve.same_x:
            return f"mean over those of {those} that have a value"
        return f"mean over {those}"

    def best(self, number: int) -> list[str]:
        """Return the runs with the best curves overall, at most so many, best first."""
        return sorted(self.goodness, key=lambda run: (-self.goodness[run], run))[:number]


@request()
def curve(
    file: WarehouseFile,
    dataset: str | None,
    curve: str,
    *,
    runs: str | Iterable[str],
    query: str | None,
    store: bool,
    protocol: str,
    on_curve: Callable[[str], None] | None,
) -> Trace:
    """Return the points of a curve, computed if missing; see `Warehouse.curve`."""
    rules = protocols.get(protocol)
    metric = curves.parse(curve, defaults=rules.defaults())
    names = list(dict.fromkeys(check_names("runs", runs)))
    done: Outcome | None = None
    if store:
        with file.read() as con:
            dataset = datasets.chosen(con, dataset)
        done = compute(file, [Job(plan([metric], rules))], dataset, names, on_metric=on_curve)
    with file.read() as con:
        dataset = datasets.chosen(con, dataset)
        if done is None:
            asked = candidates.find(con, dataset, names)
            done = unstored_values.compute_curve(con, metric, rules, asked, on_curve)
        if dataset in done.without_qrels:
            raise UsageError(none_yet("qrels", dataset))
        if dataset in done.unfit:
            raise UsageError(requirements.unfit(dataset, done.unfit[dataset]))
        if not names:
            rows = con.execute(
                "select distinct run from curve_point_versions where is_current and dataset = $dataset "
                "and curve = $curve and protocol = $protocol order by run",
                {"dataset": dataset, "curve": str(metric), "protocol": rules.name},
            ).fetchall()
            names = [str(row[0]) for row in rows]
        found = stored_curve(con, metric, dataset, names, rules, query)
    return replace(found, computed=done.computed, stale=done.stale, is_stored=store)


def stored_curve(
    con: Connection,
    metric: Metric,
    dataset: str,
    runs: Sequence[str],
    protocol: Protocol,
    query: str | None = None,
) -> Trace:
    """Read the stored points of a curve."""
    found = curves.of(metric)
    judged = judged_queries(con, dataset)
    if query is not None and query not in judged:
        hint = nearest(query, judged) or f"; judged are {listing(judged, 5)}"
        raise UsageError(f"{query}: no judged query of {dataset}{hint}")
    given: dict[str, object] = {
        "dataset": dataset,
        "curve": str(metric),
        "protocol": protocol.name,
        "runs": list(runs),
        "query_id": query,
    }
    points = keep(con, render("analyses/curve", counted=found.same_x and query is None), given)
    rows = con.execute(
        render("analyses/curve_areas", points=RESULT, joined=found.joined, origin=found.x.range[0])
    ).fetchall()
    areas = {str(run): float(area) for run, area, _ in rows}
    drawn = {str(run) for (run,) in points.project("run").distinct().fetchall()}
    # a curve that ends early has a smaller area, which is good only if lower curves are better
    goodness = {
        str(run): -(height or 0.0) if found.direction == "lower" else float(area)
        for run, area, height in rows
    }
    means_something = found.area is not None and (query is not None or metric.aggregate == "pooled")
    return Trace(
        relation=points,
        metric=metric,
        dataset=dataset,
        protocol=protocol,
        runs=tuple(run for run in runs if run in drawn),
        query=query,
        num_queries=len(judged),
        areas={run: areas[run] for run in runs if run in areas} if means_something else {},
        goodness=goodness,
        notes=tuple(_notes(points, metric, [run for run in runs if run not in drawn])),
    )


def _notes(points: Relation, metric: Metric, without: Sequence[str]) -> list[str]:
    notes = []
    if without:
        notes.append(f"{metric} has no point for {listing(without)}: nothing to draw it from")
    if "queries" in points.columns:
        spans = points.aggregate("run, min(queries) as fewest, max(queries) as most").order("run")
        fewer = [
            f"{run} {fewest:,} to {most:,}"
            for run, fewest, most in spans.fetchall()
            if fewest < most
        ]
        if fewer:
            notes.append(
                f"{metric}: the means are over as many queries as have a value there "
                f"(column queries): {listing(fewer, 4)}"
            )
    return notes


def judged_queries(con: Connection, dataset: str) -> list[str]:
    """Return the queries that the current qrels of a dataset judge."""
    rows = con.execute(render("analyses/judged_queries"), {"dataset": dataset}).fetchall()
    return [str(row[0]) for row in rows]
