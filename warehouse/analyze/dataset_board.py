"""The board of one dataset, over stored values, and the notes of every board."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import groupby

import duckdb
from duckdb import DuckDBPyConnection as Connection
from duckdb import DuckDBPyRelation as Relation

from warehouse.analyze import column_names, stored_metrics
from warehouse.errors import listing
from warehouse.evaluate import unanswerable
from warehouse.metrics import aggregates
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store.database import keep


@dataclass(frozen=True)
class Board:
    """A leaderboard, with notes about it.

    `metrics` names the metric of each column of values. `directions` has, by metric, the better
    direction when it was last computed. `over_queries` says how the values of the queries were
    combined, `notes` are other sentences for people, `computed` names the metrics that are not
    stored, or not for every run, `computed_notes` names computed and missing values. `labels` has
    the names that metrics were asked for by. `wins` has, with ranks over several datasets, a row for
    each ordered pair of runs: in how many of them the first is better, equal and worse; `critical` is
    then the difference of mean ranks from which Nemenyi's test tells two apart, at `alpha`.
    """

    relation: Relation
    metrics: Mapping[str, str]
    directions: Mapping[str, str]
    datasets: tuple[str, ...]
    over_queries: str
    notes: tuple[str, ...] = ()
    computed_notes: tuple[str, ...] = ()
    computed: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)
    wins: Relation | None = None
    critical: float | None = None
    alpha: float = 0.05


@contextmanager
def narrowed(con: Connection, dataset: str, protocol: Protocol) -> Iterator[None]:
    """Look up the current values of a dataset once, for all reads of `current_score`.

    What the file has stored as current needs no look-up. Where the connection reads another state, this
    then has nothing else and, after the block, nothing at all.
    """
    if not con.execute(
        "select 1 from duckdb_views() where database_name = 'temp' and view_name = 'current_score'"
    ).fetchall():
        yield
        return
    con.execute(render("statements/narrowed", dataset=dataset, protocol=protocol.name))
    try:
        yield
    finally:
        with suppress(duckdb.Error):  # in an aborted transaction, the rollback removes them
            con.execute("drop view temp.current_score; drop table temp.narrowed_score")


def of_dataset(
    con: Connection,
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
    found = stored_metrics.chosen(con, dataset, metrics, protocol, slice)
    if sort is not None and sort not in found:
        found |= stored_metrics.chosen(con, dataset, [sort], protocol, slice)
    shown = list(found)
    column_names.check(shown)
    by = shown[0] if sort is None else sort
    better = stored_metrics.directions(con, [dataset], shown, protocol)
    sql = render(
        "analyses/leaderboard",
        metrics=shown,
        slice=slice,
        sort=by,
        lower_is_better=better[by] == "lower",
        top=top,
    )
    relation = keep(con, sql, {"dataset": dataset, "protocol": protocol.name})
    relation, notes = of_first(relation, top, slice)
    notes += undefined_notes(con, relation, {dataset: found}, shown, protocol, slice=slice)
    if slice is None:
        notes += unanswerable.of_stored(con, dataset, shown, protocol)
    over_queries = put_together([found], shown)
    named = {name: name for name in shown}
    return Board(relation, named, better, (dataset,), over_queries, notes)


def of_first(
    board: Relation, top: int | None, slice: str | None = None
) -> tuple[Relation, tuple[str, ...]]:
    """Return a board as it is shown, and notes about equal runs that `top` cuts off."""
    shown = board.project('* exclude ("runs at place")')
    if top is None:
        return shown, ()
    part = "null" if slice is None else "part"
    cut = board.aggregate(
        f'{part} as part, place, max("runs at place") - count(*) as others', f"{part}, place"
    )
    rows = cut.filter("others > 0").order("all").fetchall()
    return shown, tuple(
        f"not shown: {others:,} more {'without a value' if place is None else f'at place {place}'}"
        f"{'' if name is None else f' of {name}'}"
        for name, place, others in rows
    )


def put_together(
    found: Iterable[Mapping[str, stored_metrics.Provenance]], metrics: Sequence[str]
) -> str:
    """Say how the values of some metrics in some datasets were combined over the queries."""
    hows = {
        metric: {how for there in found for how in there[metric].aggregates} for metric in metrics
    }
    return aggregates.in_words((metric, how) for metric in metrics for how in sorted(hows[metric]))


def undefined_notes(
    con: Connection,
    relation: Relation,
    found: Mapping[str, Mapping[str, stored_metrics.Provenance]],
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
            counts = f"{next(iter(over.values()))} queries (undefined for the others)"
            notes.append(f"{what}: {how} {counts}")
        else:
            counts = listing([f"{name} {how} {queries}" for name, queries in over.items()], 4)
            notes.append(f"{what}: undefined for some queries: {counts}")
    return tuple(notes)
