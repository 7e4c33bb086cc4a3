"""The board of a dataset and one run's queries, over stored values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import duckdb

from warehouse.errors import UsageError, listing, nearest
from warehouse.metrics import Metric, parse_one
from warehouse.protocols import Protocol
from warehouse.templates import render

RESULT = "result"


@dataclass(frozen=True)
class Board:
    """A leaderboard, with what there is to say about it.

    `metrics` names the metric of each column that holds values; `notes` are sentences for people.
    """

    relation: duckdb.DuckDBPyRelation
    metrics: Mapping[str, str]
    datasets: tuple[str, ...]
    notes: tuple[str, ...] = ()


def keep(
    con: duckdb.DuckDBPyConnection, sql: str, params: dict[str, object] | None = None
) -> duckdb.DuckDBPyRelation:
    """Run a query and return its rows as a relation that outlives the file it was read from."""
    con.execute(f"create or replace temp table {RESULT} as\n{sql}", params or {})
    return con.table(f"temp.main.{RESULT}")


def check_dataset(con: duckdb.DuckDBPyConnection, dataset: str) -> None:
    """Refuse an unknown dataset with the nearest known one."""
    known = [str(row[0]) for row in con.execute("select name from dataset").fetchall()]
    if dataset not in known:
        hint = nearest(dataset, known) or f"; known are {listing(known) or 'none yet'}"
        raise UsageError(f"{dataset}: no such dataset{hint}")


def evaluated_metrics(
    con: duckdb.DuckDBPyConnection, dataset: str, protocol: Protocol
) -> list[str]:
    """Return the metrics that a dataset has values of, oldest first, or say why there are none."""
    check_dataset(con, dataset)
    rows = con.execute(
        render("analyses/evaluated_metrics"), {"dataset": dataset, "protocol": protocol.name}
    ).fetchall()
    found = [str(row[0]) for row in rows]
    if found:
        return found
    option = "" if protocol.name == "default" else f" --protocol {protocol.name}"
    for table, advice in (
        ("qrels", f"it has no qrels yet: warehouse ingest qrels FILE -d {dataset}"),
        ("run", f"it has no runs yet: warehouse ingest run FILE -d {dataset}"),
    ):
        count = con.execute(
            f"select count(*) from {table} join dataset using (dataset_id) "
            "where dataset.name = $dataset",
            {"dataset": dataset},
        ).fetchall()[0][0]
        if not count:
            raise UsageError(f"{dataset}: nothing is evaluated; {advice}")
    wanted = " -m METRIC" if _preferences(con, dataset) else ""
    raise UsageError(
        f"{dataset}: nothing is evaluated under protocol {protocol.name} yet: "
        f"warehouse evaluate -d {dataset}{wanted}{option}{_preferences(con, dataset)}"
    )


def _preferences(con: duckdb.DuckDBPyConnection, dataset: str) -> str:
    """Return what to know of metrics where the current qrels are preferences, else an empty text."""
    rows = con.execute(
        "select kind from qrels join dataset using (dataset_id) where dataset.name = $dataset "
        "order by version desc limit 1",
        {"dataset": dataset},
    ).fetchall()
    if rows != [("preferences",)]:
        return ""
    return " (its qrels are preferences: only metrics of preferences can be computed)"


def choose(
    con: duckdb.DuckDBPyConnection, dataset: str, metrics: Sequence[Metric], protocol: Protocol
) -> list[str]:
    """Return the metrics to show: those asked for, which must have values, else all."""
    found = evaluated_metrics(con, dataset, protocol)
    if not metrics:
        return found
    wanted = list(dict.fromkeys(str(metric) for metric in metrics))
    absent = [name for name in wanted if name not in found]
    if absent:
        option = "" if protocol.name == "default" else f" --protocol {protocol.name}"
        options = " ".join(f"-m '{name}'" for name in absent)
        raise UsageError(
            f"{dataset}: no values of {', '.join(absent)} under protocol {protocol.name} yet: "
            f"warehouse evaluate -d {dataset} {options}{option}{_preferences(con, dataset)}"
        )
    return wanted


def leaderboard(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    metrics: Sequence[Metric],
    protocol: Protocol,
    *,
    sort: Metric | None = None,
    top: int | None = None,
) -> Board:
    """Return the board: `place, run, system, <one column per metric>, answered, judged`."""
    shown = choose(con, dataset, metrics, protocol)
    if sort is not None and str(sort) not in shown:
        shown += choose(con, dataset, [sort], protocol)
    by = parse_one(shown[0]).metric if sort is None else sort
    sql = render(
        "analyses/leaderboard",
        metrics=shown,
        sort=str(by),
        lower_is_better=by.definition.direction == "lower",
        top=top,
    )
    relation = keep(con, sql, {"dataset": dataset, "protocol": protocol.name})
    notes = undefined_notes(con, relation, [dataset], shown, protocol)
    return Board(relation, {name: name for name in shown}, (dataset,), notes)


def undefined_notes(
    con: duckdb.DuckDBPyConnection,
    relation: duckdb.DuckDBPyRelation,
    datasets: Sequence[str],
    metrics: Sequence[str],
    protocol: Protocol,
    *,
    by: str = "run",
) -> tuple[str, ...]:
    """Say of a board's values how many queries they are over, where that is not all that count."""
    on_board = {row[0] for row in relation.project(by).fetchall()}
    rows = con.execute(
        render("analyses/undefined_queries", by=by, metrics=list(metrics)),
        {"datasets": list(datasets), "protocol": protocol.name},
    ).fetchall()
    notes: list[str] = []
    for (dataset, metric, aggregate), group in groupby(rows, key=lambda row: row[:3]):
        over = {name: f"{some:,} of {all_:,}" for *_, name, some, all_ in group if name in on_board}
        if not over:
            continue
        what = f"{metric} in {dataset}" if len(datasets) > 1 else metric
        how = "mean over" if aggregate == "mean" else "over"
        if set(over) == on_board and len(set(over.values())) == 1:
            told = f"{next(iter(over.values()))} queries (undefined for the others)"
            notes.append(f"{what}: {how} {told}")
        else:
            told = listing([f"{name} {how} {queries}" for name, queries in over.items()], 4)
            notes.append(f"{what}: undefined for some queries: {told}")
    return tuple(notes)


def queries(
    con: duckdb.DuckDBPyConnection,
    run: str,
    dataset: str,
    metrics: Sequence[Metric],
    protocol: Protocol,
    *,
    worst: int | None = None,
) -> duckdb.DuckDBPyRelation:
    """Return a run's values query by query with its counts, the worst first when asked for."""
    shown = choose(con, dataset, metrics, protocol)
    rows = con.execute(
        "select distinct run from run_scores where is_current and dataset = $dataset "
        "and protocol = $protocol",
        {"dataset": dataset, "protocol": protocol.name},
    ).fetchall()
    known = [str(row[0]) for row in rows]
    if run not in known:
        hint = nearest(run, known) or f"; evaluated are {listing(known)}"
        raise UsageError(f"{run}: no evaluated run of that name in {dataset}{hint}")
    sql = render(
        "analyses/queries",
        metrics=shown,
        lower_is_better=parse_one(shown[0]).metric.definition.direction == "lower",
        worst=worst,
    )
    return keep(
        con,
        sql,
        {
            "dataset": dataset,
            "run": run,
            "protocol": protocol.name,
            "ordering": protocol.ordering,
        },
    )
