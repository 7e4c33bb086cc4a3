"""Whether a run is worse than one before it, or passes a bound, over stored values."""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import duckdb

from warehouse.analyze import datasets, gate_results, stored_metrics
from warehouse.analyze.significance import probability
from warehouse.errors import (
    UsageError,
    check_several,
    command,
    counted,
    listing,
    nearest,
    no_such_run,
    none_yet,
    option,
)
from warehouse.evaluate import requirements
from warehouse.metrics import protocols
from warehouse.metrics.catalogue import catalogue
from warehouse.metrics.notation import Metrics, known_metric
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store import database

BEST, LAST = "best", "last"
# What runs are grouped by, if not by a tag.
SYSTEM = "system"
# How many of the queries that lost most are kept.
LOST = 5
Verdict = Literal["good", "regressed", "first"]
# t may be infinite, which JSON cannot hold, and keys are those of this file.
_NOT_IN_JSON = ("t", "run_id", "reference_id", "qrels_id", "fingerprint", "against", "their_value")


@dataclass(frozen=True)
class Limits:
    """What is still good.

    That is a drop of at most `max_drop`, or one that is not significant at `alpha`, and a value from
    `min` to `max`. Without any limit, no drop is good; without `max_drop`, its size does not matter.
    With `sequential`, the test at `alpha` may be repeated as more queries come in. With `spend` too,
    alpha is spent over all runs that a gate checks: see `at`.
    """

    max_drop: float | None = None
    alpha: float | None = None
    min: float | None = None
    max: float | None = None
    sequential: bool = False
    spend: bool = False

    def __post_init__(self) -> None:
        if self.max_drop is not None and not 0 <= self.max_drop < math.inf:
            raise UsageError(f"max-drop is 0 or more, not {self.max_drop}")
        if self.alpha is not None and not 0 < self.alpha < 1:
            raise UsageError(f"alpha lies between 0 and 1, not {self.alpha}")
        if self.sequential and self.alpha is None:
            raise UsageError(
                f"{option('sequential')} says how to test at alpha: give {option('alpha', 0.05)} too"
            )
        if self.spend and not self.sequential:
            raise UsageError("spend divides the alpha of a sequential test: give sequential too")
        for name, bound in (("min", self.min), ("max", self.max)):
            if bound is not None and not math.isfinite(bound):
                raise UsageError(f"{name} is a finite number, not {bound}")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise UsageError(f"min is at most max, and {self.min:g} is above {self.max:g}")

    @property
    def most(self) -> float:
        """Return the largest drop that is good regardless of significance."""
        if self.max_drop is not None:
            return self.max_drop
        return math.inf if self.are_bounds or self.alpha is not None else 0.0

    @property
    def bounds(self) -> Limits:
        """Return the limits of the value itself alone."""
        return Limits(min=self.min, max=self.max)

    def at(self, place: int) -> Limits:
        """Return the limits for the run that a gate checks at a place, counted from 1.

        If alpha is spent, it is alpha / (place * (place + 1)), which adds up to alpha over all places:
        by Bonferroni's inequality, the chance that any run that is not worse ever passes it is at most
        alpha, however many runs come, and however their values depend on each other.

        >>> [round(Limits(alpha=0.05, sequential=True, spend=True).at(n).alpha, 4) for n in (1, 2, 3)]
        [0.025, 0.0083, 0.0042]
        """
        if not self.spend or self.alpha is None:
            return self
        return replace(self, alpha=self.alpha / (place * (place + 1)), spend=False)

    @property
    def are_bounds(self) -> bool:
        """Whether there is a limit, and every limit is of the value itself."""
        return self == self.bounds != Limits()

    def __str__(self) -> str:
        drop = f"a drop of more than {self.most:.12g}" if self.most else "any drop"
        valid = "anytime-valid " if self.sequential else ""
        spent = " over all runs" if self.spend else ""
        said = {
            drop: None if self.most == math.inf else self.most,
            f"{valid}p < {{:.12g}}{spent}": self.alpha,
            "a value below {:.12g}": self.min,
            "a value above {:.12g}": self.max,
        }
        return " or ".join(text.format(limit) for text, limit in said.items() if limit is not None)

    def passed(self, value: float, drop: float | None, p: float | None) -> list[str]:
        """Return what passes a limit, in words; `p` is that of queries that got worse."""
        value = round(value, stored_metrics.DIGITS)
        found = []
        if drop is not None and drop > self.most:
            found.append(f"it fell by {drop:.4f}")
        if self.alpha is not None and p is not None and p < self.alpha:
            valid = "anytime-valid " if self.sequential else ""
            found.append(f"its queries got worse with {valid}p = {p:.3g}")
        if self.min is not None and value < self.min:
            found.append(f"{value:.4f} is below {self.min:g}")
        if self.max is not None and value > self.max:
            found.append(f"{value:.4f} is above {self.max:g}")
        return found


@dataclass(frozen=True)
class Comparison:
    """One metric of a run beside that of its reference; None where no run was before it.

    `run_id`, `reference_id`, `qrels_id` and `fingerprint` are the keys of the two runs, and of what
    the value is of. `against` is the name of the reference; of an earlier version of a run it is
    "NAME (version 1)". `num_versions_left_out` of the run's own have no value by the same formula
    against the current qrels. `t` and `p` are those of a two-sided paired t-test over the
    `num_pairs` queries that both have a value of, or p of the sequential test; `p` is None where no
    test was asked for or nothing differs. `lost_most` has the queries that lost most, with both
    values. `why` says which limits were passed.
    """

    metric: str
    run: str
    run_id: int
    reference_id: int | None
    qrels_id: int
    fingerprint: str
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
    why: str | None

    def __str__(self) -> str:
        if self.verdict == "first":
            but = f" but {self.versions_left_out}" if self.num_versions_left_out else ""
            return f"{self.run} is good: no run was before it{but}"
        p = "" if self.p is None else f", p {probability(self.p)}"
        how = "good beside"
        if self.verdict == "regressed":
            is_worse = self.difference and (self.difference > 0) == (self.direction == "lower")
            how = "worse than" if is_worse else "out of bounds beside"
        if self.against is None:
            return f"{self.run} {self.value:.4f} is out of bounds"
        return f"{self.run} {self.value:.4f} is {how} {self.against} {self.their_value:.4f}{p}"

    def as_dict(self, dataset: str, protocol: str, limits: Limits) -> dict[str, Any]:
        """Return it as a dict for JSON; `text` is a sentence for people."""
        kept = {key: value for key, value in asdict(self).items() if key not in _NOT_IN_JSON}
        by = "" if protocol == protocols.DEFAULT else f" by protocol {protocol}"
        why = f" (not good: {limits})" if self.verdict == "regressed" else ""
        return {
            "dataset": dataset,
            "protocol": protocol,
            "reference": self.against,
            "reference_value": self.their_value,
            "limits": str(limits),
            "text": f"{dataset}: gate {self.metric}{by}: {self}{why}",
        } | kept

    @property
    def versions_left_out(self) -> str:
        """Name the earlier versions that it is not compared with, and why."""
        versions = counted(self.num_versions_left_out, "earlier version")
        return f"{versions} of it without a value by the same formula against the current qrels"


@dataclass(frozen=True)
class Check:
    """The outcome of comparing a run with another.

    `relation` has the columns `metric, run, against, value, their_value, difference, p, wins, ties,
    losses, verdict`, and `verdicts` the same as dicts, with more about each.
    """

    relation: duckdb.DuckDBPyRelation
    comparisons: tuple[Comparison, ...]
    dataset: str
    run: str
    limits: Limits
    protocol: str

    @property
    def verdicts(self) -> list[dict[str, Any]]:
        """Return the verdict of each metric as a dict for JSON."""
        return [one.as_dict(self.dataset, self.protocol, self.limits) for one in self.comparisons]

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
    limits: Limits,
    group: str | None,
    protocol: str,
) -> Check:
    """Compare a run with an earlier one; the arguments are those of `Warehouse.check`."""
    asked = check_several("metrics", metrics)
    if not asked:
        raise UsageError("name a metric to compare the runs by")
    dataset = datasets.chosen(con, dataset)
    rules = stored_metrics.stored_rules(con, protocol)
    names = stored_metrics.names(con, [dataset], asked, rules)
    return check_metrics(con, dataset, names, rules, limits, against, run, group)


def check_metrics(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    metrics: Sequence[str],
    protocol: Protocol,
    limits: Limits,
    against: str = BEST,
    run: str | None = None,
    group: str | None = None,
    fired: Collection[int] | None = None,
) -> Check:
    """Compare a run, or the newest of the dataset, with the best or last before it, or a named one.

    Runs before it are those that were loaded earlier and its own earlier versions; with `group`, only
    those of the same system, or with the same value of a tag. Runs of which a gate `fired` are left
    out; by default those that were not accepted, and else those of these keys. The metrics are
    canonical names. Raises UsageError for wrong names and missing values.
    """
    run = _check_runs(con, dataset, run, against, limits)
    _check_group(con, dataset, group)
    fired = gate_results.fired(con) if fired is None else fired
    if against != run:
        _check_reference(con, dataset, against, fired)
    rows = database.keep(
        con,
        render(
            "analyses/regressions",
            against=against,
            grouped_by=group,
            lost=LOST,
            assessed=requirements.assessed_metrics(metrics),
            widths=_widths(metrics, protocol) if limits.sequential else None,
        ),
        {"dataset": dataset, "run": run, "metrics": list(metrics), "protocol": protocol.name}
        | ({"fired": sorted(fired)} if against in (BEST, LAST) else {}),
    )
    found = database.records(rows)
    _check_values(con, dataset, protocol, found, limits)
    made = tuple(_judged(row, limits) for row in found)
    relation = database.keep(
        con,
        "select metric, run, against, value, their_value, difference, judged.p, wins, ties, losses, "
        f"verdict from {database.RESULT} join (select unnest($metrics::varchar[]) as metric, "
        "unnest($ps::double[]) as p, unnest($verdicts::varchar[]) as verdict) as judged using (metric) "
        "order by list_position($metrics::varchar[], metric)",
        {
            "metrics": [one.metric for one in made],
            "ps": [one.p for one in made],
            "verdicts": [one.verdict for one in made],
        },
        name="checked",
    )
    return Check(relation, made, dataset, run, limits, protocol.name)


def _widths(metrics: Sequence[str], protocol: Protocol) -> list[float]:
    """Return how far apart two values of each metric can be. Raises UsageError if that is not known."""
    widths = []
    for name in metrics:
        metric = None if protocol.is_imported else known_metric(name)
        low, high = (-math.inf, math.inf) if metric is None else catalogue()[metric.name].range
        if not math.isfinite(high - low):
            raise UsageError(
                f"{name}: has no greatest and lowest value, and the sequential test is of metrics that "
                "have both, as nDCG@10: leave sequential out"
            )
        widths.append(high - low)
    return widths


def _check_runs(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    run: str | None,
    against: str,
    limits: Limits,
) -> str:
    """Return the run to check; refuse names that no current run has."""
    rows = con.execute(
        "select run.name from run join run_version using (run_id) where dataset = $1 and is_current "
        "order by recency(run.ingested_at, content_hash) desc",
        [dataset],
    ).fetchall()
    known = [str(row[0]) for row in rows]
    if not known:
        raise UsageError(none_yet("run", dataset))
    checked = known[0] if run is None else run
    for name, words in ((checked, known), (against, [BEST, LAST, *known])):
        if name not in words:
            proposed = words if nearest(name, words) else known
            raise UsageError(no_such_run(name, dataset, proposed))
    if checked == against and not limits.are_bounds:
        newest = "" if run else ", the newest run"
        raise UsageError(f"{checked}{newest}: cannot be compared with itself; name another run")
    return checked


def _check_group(con: duckdb.DuckDBPyConnection, dataset: str, group: str | None) -> None:
    """Refuse to group by a tag that no run of the dataset has."""
    if group in (None, SYSTEM):
        return
    rows = con.execute(
        "select distinct key from run_tag join run_version using (run_id) where dataset = $1",
        [dataset],
    ).fetchall()
    known = sorted(str(key) for (key,) in rows)
    if group not in known:
        hint = nearest(str(group), [SYSTEM, *known])
        hint = hint or f"; there are {listing([SYSTEM, *known])}"
        raise UsageError(f"group: {group}: no run of {dataset} has a tag of that name{hint}")


def _check_reference(
    con: duckdb.DuckDBPyConnection, dataset: str, against: str, fired: Collection[int]
) -> None:
    """Refuse a named reference of which a gate fired itself."""
    if against in (BEST, LAST):
        return
    rows = con.execute(
        "select run_id from run_version where dataset = $1 and run = $2 and is_current",
        [dataset, against],
    ).fetchall()
    if any(run_id in fired for (run_id,) in rows):
        accept = command(shlex.join(["gates", "accept", against, "--why", "…"]), dataset)
        raise UsageError(
            f"{against}: a gate fired when it was checked, so nothing is compared with it until it is "
            f"accepted: {accept}"
        )


def _check_values(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    protocol: Protocol,
    rows: Sequence[dict[str, Any]],
    limits: Limits,
) -> None:
    """Refuse values that are missing, of two formulas, undefined, or without a better direction."""
    runs = dict.fromkeys(
        name
        for row in rows
        for name in [*([row["run"]] if row["is_missing"] else []), *row["without_value"]]
    )
    if runs:
        absent = [row["metric"] for row in rows if row["is_missing"] or row["without_value"]]
        evaluate = stored_metrics.evaluate_command(con, dataset, absent, protocol)
        raise UsageError(
            f"{dataset}: no value of {', '.join(absent)} for {listing(runs, 4)}, or none by the same "
            f"formula, under protocol {protocol.name} yet: {evaluate}"
        )
    for row in rows:
        metric = known_metric(row["metric"])
        if limits.alpha is not None and metric is not None and metric.name == "Judged":
            raise UsageError(
                f"{row['metric']}: says how much is judged, not how good a run is, so it is not "
                "tested: leave alpha out"
            )
        if row["direction"] == "none" and not limits.are_bounds:
            raise UsageError(
                f"{row['metric']}: neither higher nor lower is better, so no run is worse"
            )
        sides = [(row["run"], row["value"])]
        sides += (
            []
            if row["against"] is None or limits.are_bounds
            else [(row["against"], row["their_value"])]
        )
        for run, value in sides:
            if value is None:
                raise UsageError(f"{row['metric']}: undefined for {run}, so nothing to compare")


def _judged(row: dict[str, Any], limits: Limits) -> Comparison:
    kept = {key: value for key, value in row.items() if key in Comparison.__dataclass_fields__}
    lost = tuple((q["query_id"], q["value"], q["their_value"]) for q in row["lost_most"])
    drop = p = worse_p = None
    is_resolved = True
    if row["against"] is not None and not limits.are_bounds:
        sign = -1 if row["direction"] == "lower" else 1
        drop = round(-sign * row["difference"], stored_metrics.DIGITS)
        if limits.alpha is not None:
            if row["num_pairs"] < 2:
                raise UsageError(
                    f"{row['metric']}: a test needs two queries that both runs have a value of; "
                    f"{row['run']} and {row['against']} have {row['num_pairs']}"
                )
            p = row["anytime_p"] if limits.sequential else row["p"]
            is_worse = limits.sequential or sign * row["mean_difference"] < 0
            worse_p = p if is_worse else None
            is_resolved = limits.sequential or not is_worse or row["least_p"] < limits.alpha
    passed = limits.passed(row["value"], drop, worse_p if is_resolved else None)
    if not passed and not is_resolved:
        raise UsageError(
            f"{row['metric']}: whether {row['run']} is worse than {row['against']} cannot be resolved "
            f"with these queries: of the {counted(row['num_pairs'], 'query')} that both have values of, "
            f"{row['wins'] + row['losses']:,} differ, so no p can be below "
            f"{probability(row['least_p'])}, and alpha is {limits.alpha:g}; leave alpha out, or give a "
            "larger one"
        )
    verdict: Verdict = "first" if row["against"] is None else "good"
    return Comparison(
        **kept
        | {
            "lost_most": lost,
            "p": p,
            "verdict": "regressed" if passed else verdict,
            "why": " and ".join(passed) or None,
        }
    )
