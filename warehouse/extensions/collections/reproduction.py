"""How well runs reproduce others, or replicate them on other queries, as repro_eval measures it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from warehouse.analyze import ranked_lists, stored_metrics
from warehouse.errors import UsageError, check_names, counted, listing
from warehouse.metrics.notation import Metrics
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store import database, datasets

_COLUMNS = (
    "metric, pair, original, reproduced, original_arp, reproduced_arp, difference, rmse, nrmse, p, er, "
    "dri, ktu, rbo, queries, reproduced_queries"
)


@dataclass(frozen=True)
class Reproduction:
    """How well runs reproduce others.

    `relation` has a row per metric and pair of runs, "advanced" and "base", with the columns `metric,
    pair, original, reproduced, original_arp, reproduced_arp, difference, rmse, nrmse, p, er, dri, ktu,
    rbo, queries, reproduced_queries`. `queries` has `pair, query_id, ktu, rbo, original_length,
    reproduced_length`; of a replication, whose queries are others, it is None.
    """

    relation: duckdb.DuckDBPyRelation
    queries: duckdb.DuckDBPyRelation | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Sides:
    """The original runs and dataset, and those that reproduce them."""

    dataset: str
    other: str
    original: str
    reproduced: str
    base: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.base is not None and len(self.base) != 2:
            raise UsageError(
                "base must be two runs: that of the original and that of the reproduction"
            )

    @property
    def is_replication(self) -> bool:
        """Whether the queries belong to another dataset."""
        return self.dataset != self.other

    @property
    def pairs(self) -> dict[str, tuple[str, str]]:
        """Return the pairs of runs by their name."""
        pairs = {"advanced": (self.original, self.reproduced)}
        return pairs if self.base is None else pairs | {"base": (self.base[0], self.base[1])}


def reproduce(
    con: duckdb.DuckDBPyConnection,
    dataset: str | None,
    original: str,
    reproduced: str,
    *,
    base: tuple[str, str] | None,
    replicated_in: str | None,
    metrics: Metrics,
    depth: int,
    p: float,
    protocol: str,
) -> Reproduction:
    """Measure a reproduction from stored values and lists; the arguments are as in `reproduce`."""
    rules = stored_metrics.stored_rules(con, protocol)
    dataset = datasets.chosen(con, dataset)
    other = dataset if replicated_in is None else datasets.chosen(con, replicated_in)
    pair = None if base is None else tuple(check_names("base", base))
    sides = Sides(dataset, other, original, reproduced, pair)
    names = stored_metrics.names(con, [dataset, other], metrics, rules)
    return _reproduce(con, sides, names, rules, depth=depth, p=p)


def _reproduce(
    con: duckdb.DuckDBPyConnection,
    sides: Sides,
    metrics: Sequence[str],
    protocol: Protocol,
    *,
    depth: int,
    p: float,
) -> Reproduction:
    runs = [
        {run.name: run for run in ranked_lists.current_runs(con, dataset, names)}
        for dataset, names in zip(
            (sides.dataset, sides.other), zip(*sides.pairs.values(), strict=True), strict=True
        )
    ]
    chosen = _metrics(con, sides, metrics, protocol)
    given = [
        (pair, side, dataset, run)
        for pair, both in sides.pairs.items()
        for side, dataset, run in zip(
            ("original", "reproduced"), (sides.dataset, sides.other), both, strict=True
        )
    ]
    keys = ("pairs", "sides", "datasets", "runs")
    columns = dict(zip(keys, map(list, zip(*given, strict=True)), strict=True))
    values = database.keep(
        con,
        render("reproduction/values"),
        {**columns, "metrics": chosen, "protocol": protocol.name},
        name="reproduce_value",
    )
    _check_values(con, values, protocol)
    rows = database.keep(con, render("reproduction/measures", replicated=sides.is_replication))
    found = database.records(rows)
    queries = None if sides.is_replication else _documents(con, sides, runs, protocol, depth, p)
    relation = _with_lists(con, queries is not None)
    return Reproduction(relation, queries, _notes(found, queries))


def _metrics(
    con: duckdb.DuckDBPyConnection, sides: Sides, metrics: Sequence[str], protocol: Protocol
) -> list[str]:
    """Return the metrics to measure; by default, those with values and a better direction."""
    datasets = dict.fromkeys((sides.dataset, sides.other))
    shared = [stored_metrics.choose(con, dataset, metrics, protocol) for dataset in datasets]
    if metrics:
        return list(metrics)
    found = [
        name
        for name in shared[0]
        if name in shared[-1]
        and stored_metrics.direction(con, [sides.dataset], name, protocol) != "none"
    ]
    if not found:
        raise UsageError(f"{listing(datasets)}: no metric has values in both under {protocol.name}")
    return found


def _check_values(
    con: duckdb.DuckDBPyConnection, values: duckdb.DuckDBPyRelation, protocol: Protocol
) -> None:
    """Refuse values that are missing, or of two formulas within a dataset."""
    rows = database.records(values)
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        here = [row for row in rows if row["dataset"] == dataset]
        prints: dict[str, set[str]] = {}
        for row in here:
            prints.setdefault(row["metric"], set()).add(row["fingerprint"])
        absent = [name for name, found in prints.items() if len(found) > 1 or None in found]
        if absent:
            runs = dict.fromkeys(
                row["run"] for row in here if row["metric"] in absent and not row["fingerprint"]
            )
            missing = f" for {listing(runs, 4)}" if runs else ""
            raise UsageError(
                f"{dataset}: no value of {', '.join(absent)}{missing}, or none by the same formula, "
                f"under protocol {protocol.name} yet: "
                f"{stored_metrics.evaluate_command(con, dataset, absent, protocol)}"
            )


def _documents(
    con: duckdb.DuckDBPyConnection,
    sides: Sides,
    runs: Sequence[dict[str, ranked_lists.Run]],
    protocol: Protocol,
    depth: int,
    p: float,
) -> duckdb.DuckDBPyRelation:
    """Keep the agreement of the lists of the pairs, query by query."""
    originals, reproduced = runs
    every = {run.run_id: run for run in (*originals.values(), *reproduced.values())}
    ranked_lists.make_tables(con, list(every.values()), protocol, depth)
    ranked_lists.make_masses(con, p, depth)
    asked = {
        "pairs": list(sides.pairs),
        "ones": [originals[one].run_id for one, _ in sides.pairs.values()],
        "others": [reproduced[other].run_id for _, other in sides.pairs.values()],
    }
    sql = render("reproduction/documents", p=float(p), depth=depth)
    return database.keep(con, sql, asked, name="queries")


def _with_lists(con: duckdb.DuckDBPyConnection, has_lists: bool) -> duckdb.DuckDBPyRelation:
    """Keep the rows with the means over the lists."""
    mean = "sum({0} order by query_id) / nullif(count({0}), 0) as {0}"
    lists = (
        f"select pair, {mean.format('ktu')}, {mean.format('rbo')} from queries group by pair"
        if has_lists
        else "select null::varchar as pair, null::double as ktu, null::double as rbo"
    )
    return database.keep(
        con,
        f"select {_COLUMNS} from {database.RESULT} left join ({lists}) using (pair) "
        "order by place, pair",
    )


def _notes(
    found: Sequence[dict[str, Any]], queries: duckdb.DuckDBPyRelation | None
) -> tuple[str, ...]:
    """Say which values are left out, and which are undefined and why."""
    notes = []
    for row in found:
        pair = f"{row['metric']}: {row['original']} and {row['reproduced']}"
        if row["p"] is None and row["difference"]:
            notes.append(
                f"{pair}: p cannot be resolved with these queries: too few have values, or all "
                "have the same"
            )
        if row["paired"] is not None or queries is not None:
            out = row["queries"] + row["reproduced_queries"] - 2 * (row["paired"] or 0)
            if out:
                notes.append(
                    f"{pair}: {counted(out, 'query')} left out of error and test, undefined or "
                    "missing for one of the runs"
                )
            if row["rmse"] is not None and row["nrmse"] is None:
                notes.append(f"{pair}: no nrmse, because not all values lie between 0 and 1")
    notes += _improvement_notes(found)
    if queries is not None:
        of_pairs = queries.aggregate(
            "pair, count(*) as n, count(*) filter (where original_length <> reproduced_length) as out, "
            "count(*) filter (where ktu is null) as undefined",
            "pair",
        ).fetchall()
        for pair, number, uneven, undefined in of_pairs:
            if uneven:
                notes.append(
                    f"{pair}: ktu is over the ranks that both lists have; their lengths differ in "
                    f"{uneven:,} of {counted(number, 'query')}"
                )
            if undefined:
                notes.append(
                    f"{pair}: ktu is undefined for queries whose lists share fewer than two ranks: "
                    f"{undefined:,} of {counted(number, 'query')}"
                )
        with_lists = {row[0] for row in of_pairs}
        for pair in dict.fromkeys(row["pair"] for row in found):
            if pair not in with_lists:
                notes.append(f"{pair}: no query that both runs answer, so no ktu and rbo")
    return tuple(notes)


def _improvement_notes(found: Sequence[dict[str, Any]]) -> list[str]:
    """Say where er and dri are over fewer queries: the common queries of both runs of a side."""
    notes = []
    rows = {(row["metric"], row["pair"]): row for row in found}
    for (metric, pair), row in rows.items():
        base = rows.get((metric, "base"))
        if pair == "base" or base is None:
            continue
        for side, prefix in (("original", ""), ("reproduced", "reproduced_")):
            shared = row[f"{prefix}improved_queries"] or 0
            most = max(row[f"{prefix}queries"], base[f"{prefix}queries"])
            if shared < most:
                notes.append(
                    f"{metric}: er and dri are over the queries that {row[side]} and {base[side]} both "
                    f"have a value of: {shared:,} of {counted(most, 'query')}"
                )
    return notes
