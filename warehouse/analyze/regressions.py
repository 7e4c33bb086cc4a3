"""Whether a run is worse than one before it, over stored values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import duckdb

from warehouse.analyze import datasets, stored_metrics
from warehouse.analyze.significance import probability, two_sided
from warehouse.errors import (
    UsageError,
    check_several,
    counted,
    listing,
    nearest,
    no_such_run,
    none_yet,
)
from warehouse.metrics.notation import Metrics
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store import database

BEST, LAST = "best", "last"
# How many of the queries that lost most are kept.
LOST = 5
Verdict = Literal["good", "regressed", "first"]


class AgainstItselfError(UsageError):
    """The run to check is also the run to compare it with."""


@dataclass(frozen=True)
class Limits:
    """What is still good: a drop of at most `max_drop`, or one that is not significant at `alpha`.

    Without either, no drop is good; with `alpha` alone, its size does not matter.
    """

    max_drop: float | None = None
    alpha: float | None = None

    def __post_init__(self) -> None:
        if self.max_drop is not None and not 0 <= self.max_drop < math.inf:
            raise UsageError(f"max-drop is 0 or more, not {self.max_drop}")
        if self.alpha is not None and not 0 < self.alpha < 1:
            raise UsageError(f"alpha lies between 0 and 1, not {self.alpha}")

    @property
    def most(self) -> float:
        """Return the largest drop that is good regardless of significance."""
        if self.max_drop is not None:
            return self.max_drop
        return 0.0 if self.alpha is None else math.inf

    def __str__(self) -> str:
        drop = f"a drop of more than {self.most:g}" if self.most else "any drop"
        said = [] if self.most == math.inf else [drop]
        return " or ".join(said + ([] if self.alpha is None else [f"p < {self.alpha:g}"]))


@dataclass(frozen=True)
class Comparison:
    """One metric of a run beside that of another; both None where no run was before it.

    `against` is the name of the other run; of an earlier version of this one "NAME (version 1)".
    `num_versions_left_out` of these have no value by the same formula against the current qrels. `t`
    and `p` are those of a two-sided paired t-test over the `num_pairs` queries that both have a value
    of; `p` is None where no test was asked for or nothing differs. `lost_most` has the queries that
    lost most, with both values.
    """

    metric: str
    run: str
    against: str | None
    value: float | None
    their_value: float | None
    difference: float | None
    direction: str
    t: float | None
    p: float | None
    num_pairs: int
    wins: int
    ties: int
    losses: int
    num_left_out: int
    num_versions_left_out: int
    lost_most: tuple[tuple[str, float, float], ...]
    verdict: Verdict

    def __str__(self) -> str:
        if self.against is None:
            but = f" but {self.versions_left_out}" if self.num_versions_left_out else ""
            return f"{self.run} is good: no run was before it{but}"
        verdict = "is worse than" if self.verdict == "regressed" else "is good beside"
        p = "" if self.p is None else f", p {probability(self.p)}"
        return f"{self.run} {self.value:.4f} {verdict} {self.against} {self.their_value:.4f}{p}"

    @property
    def versions_left_out(self) -> str:
        """Name the earlier versions that it is not compared with, and why."""
        versions = counted(self.num_versions_left_out, "earlier version")
        return f"{versions} of it without a value by the same formula against the current qrels"


@dataclass(frozen=True)
class Check:
    """The outcome of comparing a run with another.

    `relation` has the columns `metric, run, against, value, their_value, difference, p, wins, ties,
    losses, verdict`.
    """

    relation: duckdb.DuckDBPyRelation
    comparisons: tuple[Comparison, ...]
    dataset: str
    run: str
    limits: Limits

    @property
    def is_good(self) -> bool:
        """Whether the run is not worse in any metric."""
        return all(one.verdict != "regressed" for one in self.comparisons)


def check(
    con: duckdb.DuckDBPyConnection,
    dataset: str | None,
    metrics: Metrics,
    *,
    against: str,
    run: str | None,
    max_drop: float | None,
    alpha: float | None,
    protocol: str,
) -> Check:
    """Compare a run with an earlier one; the arguments are those of `Warehouse.check`."""
    asked = check_several("metrics", metrics)
    if not asked:
        raise UsageError("name a metric to compare the runs by")
    limits = Limits(max_drop, alpha)
    dataset = datasets.chosen(con, dataset)
    rules = stored_metrics.stored_rules(con, protocol)
    names = stored_metrics.names(con, [dataset], asked, rules)
    return check_metrics(con, dataset, names, rules, limits, against=against, run=run)


def check_metrics(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    metrics: Sequence[str],
    protocol: Protocol,
    limits: Limits,
    *,
    against: str = BEST,
    run: str | None = None,
) -> Check:
    """Compare a run, or the newest of the dataset, with the best or last before it, or a named one.

    Runs before it are the current runs of an earlier time and its own earlier versions. The metrics
    are canonical names. Raises UsageError for wrong names and missing values.
    """
    run = _check_runs(con, dataset, run, against)
    rows = database.keep(
        con,
        render("analyses/regressions", against=against, lost=LOST),
        {"dataset": dataset, "run": run, "metrics": list(metrics), "protocol": protocol.name},
    )
    found = database.records(rows)
    _check_values(con, dataset, protocol, found)
    made = tuple(_judged(row, limits) for row in found)
    relation = database.keep(
        con,
        "select metric, run, against, value, their_value, difference, p, wins, ties, losses, verdict "
        f"from {database.RESULT} join (select unnest($metrics::varchar[]) as metric, "
        "unnest($ps::double[]) as p, unnest($verdicts::varchar[]) as verdict) using (metric) "
        "order by list_position($metrics::varchar[], metric)",
        {
            "metrics": [one.metric for one in made],
            "ps": [one.p for one in made],
            "verdicts": [one.verdict for one in made],
        },
        name="checked",
    )
    return Check(relation, made, dataset, run, limits)


def _check_runs(con: duckdb.DuckDBPyConnection, dataset: str, run: str | None, against: str) -> str:
    """Return the run to check; refuse names that no current run has."""
    rows = con.execute(
        "select run from runs where dataset = $1 order by run_at desc, ingested_at desc", [dataset]
    ).fetchall()
    known = [str(row[0]) for row in rows]
    if not known:
        raise UsageError(none_yet("run", dataset))
    checked = known[0] if run is None else run
    for name, words in ((checked, known), (against, [BEST, LAST, *known])):
        if name not in words:
            proposed = words if nearest(name, words) else known
            raise UsageError(no_such_run(name, dataset, proposed))
    if checked == against:
        newest = "" if run else ", the newest run"
        raise AgainstItselfError(
            f"{checked}{newest}: cannot be compared with itself; name another run"
        )
    return checked


def _check_values(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    protocol: Protocol,
    rows: Sequence[dict[str, Any]],
) -> None:
    """Refuse values that are missing, of two formulas, undefined, or without a better direction."""
    runs = dict.fromkeys(
        name
        for row in rows
        for name in [*([row["run"]] if row["is_missing"] else []), *row["without_value"]]
    )
    if runs:
        absent = [row["metric"] for row in rows if row["is_missing"] or row["without_value"]]
        command = stored_metrics.evaluate_command(con, dataset, absent, protocol)
        raise UsageError(
            f"{dataset}: no value of {', '.join(absent)} for {listing(runs, 4)}, or none by the same "
            f"formula, under protocol {protocol.name} yet: {command}"
        )
    for row in rows:
        if row["direction"] == "none":
            raise UsageError(
                f"{row['metric']}: neither higher nor lower is better, so no run is worse"
            )
        sides = [(row["run"], row["value"])]
        sides += [] if row["against"] is None else [(row["against"], row["their_value"])]
        for run, value in sides:
            if value is None:
                raise UsageError(f"{row['metric']}: undefined for {run}, so nothing to compare")


def _judged(row: dict[str, Any], limits: Limits) -> Comparison:
    kept = {key: value for key, value in row.items() if key in Comparison.__dataclass_fields__}
    lost = tuple((q["query_id"], q["value"], q["their_value"]) for q in row["lost_most"])
    p = None
    verdict: Verdict = "first"
    if row["against"] is not None:
        sign = -1 if row["direction"] == "lower" else 1
        drop = round(-sign * row["difference"], stored_metrics.DIGITS)
        regressed = drop > limits.most
        if limits.alpha is not None:
            if row["num_pairs"] < 2:
                raise UsageError(
                    f"{row['metric']}: a test needs two queries that both runs have a value of; "
                    f"{row['run']} and {row['against']} have {row['num_pairs']}"
                )
            p = two_sided(row["t"], row["num_pairs"] - 1)
            is_worse = sign * row["mean_difference"] < 0
            regressed = regressed or (is_worse and p is not None and p < limits.alpha)
        verdict = "regressed" if regressed else "good"
    return Comparison(**kept | {"lost_most": lost, "p": p, "verdict": verdict})
