"""The board of a dataset and one run's queries, over stored values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import duckdb

from warehouse import protocols
from warehouse.errors import UsageError, listing, nearest
from warehouse.metrics import Metric, parse, parse_one
from warehouse.protocols import Protocol
from warehouse.templates import render

RESULT = "result"


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
    raise UsageError(
        f"{dataset}: nothing is evaluated under protocol {protocol.name} yet: "
        f"warehouse evaluate -d {dataset}{option}"
    )


def known_metric(name: str) -> Metric | None:
    """Return the metric of a stored name, or None where no metric has that name any more."""
    try:
        return parse_one(name).metric
    except UsageError:
        return None


def stored_rules(con: duckdb.DuckDBPyConnection, name: str) -> Protocol:
    """Return a protocol; one that is gone, and has values here, in the order that they were made in."""
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
    """Return the names among those of stored values that nothing has any more."""
    gone = [] if protocol in protocols.catalogue() else [f"protocol {protocol}"]
    return [*gone, *(name for name in metrics if known_metric(name) is None)]


def _choose(
    con: duckdb.DuckDBPyConnection, dataset: str, asked: Sequence[str], protocol: Protocol
) -> list[str]:
    """Return the metrics to show: those asked for, which must have values, else all.

    A name with values is taken as it stands where no metric has it any more.
    """
    found = evaluated_metrics(con, dataset, protocol)
    if not asked:
        return found
    gone = [text for text in asked if text in found and known_metric(text) is None]
    defaults = protocol.defaults()
    # once for all of them, so that all wrong names are reported
    parse(*(text for text in asked if text not in gone), defaults=defaults)
    wanted = list(
        dict.fromkeys(
            name
            for text in asked
            for name in ([text] if text in gone else map(str, parse(text, defaults=defaults)))
        )
    )
    absent = [name for name in wanted if name not in found]
    if absent:
        option = "" if protocol.name == "default" else f" --protocol {protocol.name}"
        options = " ".join(f"-m '{name}'" for name in absent)
        raise UsageError(
            f"{dataset}: no values of {', '.join(absent)} under protocol {protocol.name} yet: "
            f"warehouse evaluate -d {dataset} {options}{option}"
        )
    return wanted


def leaderboard(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    metrics: Sequence[str],
    protocol: Protocol,
    *,
    sort: str | None = None,
    top: int | None = None,
) -> duckdb.DuckDBPyRelation:
    """Return the board: `place, run, system, <one column per metric>, answered, judged`."""
    shown = _choose(con, dataset, metrics, protocol)
    by = shown[0] if sort is None else _choose(con, dataset, [sort], protocol)[0]
    shown = list(dict.fromkeys([*shown, by]))
    sql = render(
        "analyses/leaderboard",
        metrics=shown,
        sort=by,
        lower_is_better=_direction(con, dataset, by, protocol) == "lower",
        top=top,
    )
    return keep(con, sql, {"dataset": dataset, "protocol": protocol.name})


def _direction(
    con: duckdb.DuckDBPyConnection, dataset: str, metric: str, protocol: Protocol
) -> str:
    """Return which direction of a metric is better: as it is defined, else as it was stored."""
    known = known_metric(metric)
    if known is not None:
        return known.definition.direction
    rows = con.execute(
        "select direction from run_scores where is_current and dataset = $dataset "
        "and protocol = $protocol and metric = $metric order by evaluation_id desc limit 1",
        {"dataset": dataset, "protocol": protocol.name, "metric": metric},
    ).fetchall()
    return str(rows[0][0])


def queries(
    con: duckdb.DuckDBPyConnection,
    run: str,
    dataset: str,
    metrics: Sequence[str],
    protocol: Protocol,
    *,
    worst: int | None = None,
) -> duckdb.DuckDBPyRelation:
    """Return a run's values query by query with its counts, the worst first when asked for."""
    shown = _choose(con, dataset, metrics, protocol)
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
        lower_is_better=_direction(con, dataset, shown[0], protocol) == "lower",
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
