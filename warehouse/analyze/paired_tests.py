"""Comparing runs over stored values, joined by query: differences and their certainty."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, groupby
from operator import itemgetter
from typing import Any

from duckdb import DuckDBPyConnection as Connection
from duckdb import DuckDBPyRelation as Relation

from warehouse.analyze import ranked_lists, resampling, significance, stored_metrics
from warehouse.analyze.resampling import Chance, Resampling
from warehouse.errors import UsageError, check_at_least, check_word, counted, listing
from warehouse.metrics.notation import known_metric
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store import database

INTERVALS: Mapping[str, str] = {"t": "t", "bootstrap": "bootstrap", "bca": "BCa bootstrap"}
# ways to standardise the values of a query over the compared runs
SCALES: Mapping[str, str] = {
    "z": "distances from the mean of the compared runs on each query, in standard deviations",
    "normal": "shares of the normal distribution below the z of the compared runs on each query",
    "uniform": "shares of the compared runs that are below on each query, equal ones counting half",
}
# the share of cases in which a detectable difference is found significant
POWER = 0.8
# which hypotheses are corrected together
FAMILIES = ("metric", "all")


@dataclass(frozen=True)
class How:
    """How runs are compared: the test, its correction, the level, the interval, the resampling.

    `test` is one of `significance.TESTS`, `correction` one of `significance.CORRECTIONS` (None: Holm's,
    but none for Tukey's test, which is over all pairs already), `interval` one of `INTERVALS`.
    `family` says which hypotheses are corrected together: the pairs of one "metric", or "all". With
    `power`, it is computed how large a difference has to be to be found. With `rope`, half the width of
    the region of practical equivalence, the posterior of the difference is computed. `scale`, one of
    `SCALES`, standardises the values of each query first. With `variance`, the analysis of variance is
    made for the notes, whatever the test.
    """

    test: str = "t"
    correction: str | None = None
    alpha: float = 0.05
    interval: str = "t"
    resamples: int = 10_000
    seed: int = 0
    family: str = "metric"
    power: bool = False
    rope: float | None = None
    scale: str | None = None
    variance: bool = False

    def __post_init__(self) -> None:
        check_word("test", self.test, significance.TESTS)
        check_word("family", self.family, FAMILIES)
        check_word("correction", self.corrected_by, significance.CORRECTIONS)
        check_word("interval", self.interval, INTERVALS)
        if self.test == "tukey-anova" and self.interval != "t":
            raise UsageError(
                f"the intervals of tukey-anova hold for all pairs together: leave {self.interval} out"
            )
        if self.rope is not None and not 0 <= self.rope < math.inf:
            raise UsageError(f"rope: a number of at least 0, not {self.rope}")
        if self.scale is not None:
            check_word("scale", self.scale, SCALES)
        if not 0 < self.alpha < 1:
            raise UsageError(f"alpha lies between 0 and 1, not {self.alpha}")
        check_at_least(1, resamples=self.resamples)
        if not 100 <= self.resamples <= 1_000_000:
            raise UsageError(f"resamples are 100 to 1,000,000, not {self.resamples:,}")
        if self.test in significance.OVER_ALL_PAIRS and self.corrected_by != "none":
            raise UsageError(
                f"Tukey's test is over all pairs of runs already; {self.correction} on top of it "
                "would correct twice: leave the correction out"
            )

    @property
    def corrected_by(self) -> str:
        """Return the correction, given or default."""
        if self.correction is None and self.test in significance.OVER_ALL_PAIRS:
            return "none"
        return self.correction or "holm"

    @property
    def interval_by(self) -> str:
        """Return the method of the intervals: after an analysis of variance, they hold together."""
        return "simultaneous" if self.test == "tukey-anova" else self.interval

    @property
    def is_resampled(self) -> bool:
        """Whether anything depends on random numbers."""
        return self.test in significance.RESAMPLED or self.interval != "t"

    def over(self, family: str) -> str:
        """Name the correction of p, as in "Holm over the 3 pairs"."""
        if self.test in significance.OVER_ALL_PAIRS:
            return "over all pairs of runs of a metric"
        correction = significance.CORRECTIONS[self.corrected_by]
        return correction if self.corrected_by == "none" else f"{correction} over the {family}"

    def __str__(self) -> str:
        drawn = f"{self.resamples:,} {{}}, seed {self.seed}"
        permutations = ""
        if self.test in significance.RESAMPLED:
            what = "resamples" if self.test == "bootstrap" else "permutations"
            permutations = f" ({drawn.format(what)})"
        return f"two-sided {significance.TESTS[self.test]}{permutations}"

    @property
    def power_in_words(self) -> str:
        """Name the detectable difference and the queries that are needed."""
        return (
            f"detectable: the smallest difference that these queries find significant in {POWER:.0%} "
            f"of cases; needed: how many queries find a difference of this size as often (paired "
            f"t-test, alpha {self.alpha:g} before any correction)"
        )

    @property
    def rope_in_words(self) -> str:
        """Name the events of the posterior probabilities."""
        less = f"by at most {self.rope:g} in the mean" if self.rope else "by nothing"
        return (
            f"P(worse), P(equal), P(better): posterior probabilities that the run differs from the base "
            f"for the worse, {less}, or for the better (t-distribution about the mean difference, flat "
            "prior; no correction)"
        )

    @property
    def interval_in_words(self) -> str:
        """Say which interval it is, as in "t-interval of 95%"."""
        level = significance.level(self.alpha)
        if self.interval_by == "simultaneous":
            return f"simultaneous intervals of {level}"
        if self.interval != "t":
            drawn = f"{self.resamples:,} resamples, seed {self.seed}"
            return f"{INTERVALS[self.interval]} interval of {level} ({drawn})"
        return f"t-interval of {level}"


# The columns of `Compared.pairs` and `Compared.values`, with their types.
PAIRS: Mapping[str, str] = {
    "metric": "varchar", "base": "varchar", "run": "varchar", "base_value": "double",
    "value": "double", "difference": "double", "low": "double", "high": "double",
    "effect_size": "double", "wins": "integer", "ties": "integer", "losses": "integer",
    "queries": "integer", "left_out": "integer", "statistic": "double", "p": "double",
    "p_adjusted": "double", "is_significant": "boolean",
}  # fmt: skip
# Columns of `Compared.pairs` that are there on request.
POSTERIORS: Mapping[str, str] = {"p_worse": "double", "p_equal": "double", "p_better": "double"}
POWERS: Mapping[str, str] = {"detectable": "double", "queries_needed": "bigint"}
VALUES: Mapping[str, str] = {
    "metric": "varchar", "run": "varchar", "letter": "varchar", "value": "double",
    "place": "integer", "better_than": "varchar[]", "judged": "double", "if_all_relevant": "double",
    "queries": "integer",
}  # fmt: skip


@dataclass(frozen=True)
class Compared:
    """Runs compared with each other.

    `values` has a row for each metric and run: `metric, run, letter, value, place, better_than,
    judged, if_all_relevant, queries`. `letter` names the run. `better_than` has the letters of the
    runs that it was tested against and is significantly better than: on the side that the test
    speaks for, which may differ from the mean's in the sign test and Wilcoxon's. `place` is 1 for
    the best. `judged` is the share of judged documents down to the metric's cutoff (`Judged@k`).
    `if_all_relevant` is the value if all unjudged documents that the run retrieved were relevant,
    or null if not requested. `queries` is the number of queries that the value is of. `labels` has
    the names that metrics were asked for by. `in_percent` says which values are shown times 100, if
    any are. `bases` has the runs that all tested pairs are with, and is empty if all pairs were
    tested. `without_relevant` says how many queries have no relevant document.

    `pairs` has a row for each hypothesis: `metric, base, run, base_value, value, difference, low,
    high, effect_size, wins, ties, losses, queries, left_out, statistic, p, p_adjusted,
    is_significant`. `difference` is the mean of run minus base over the queries for which both have
    a value, with its interval from low to high. Of a metric whose value of a run is no mean over
    the queries, it is the difference of the values: a sum is tested as a mean is, and queries
    without a value add 0; a geometric mean has no interval, and is tested by logarithms; others
    have neither. The difference of a query is rounded to 2^-44 of the metric's greatest value, so
    that 0.7 - 0.6 and 0.3 - 0.2 are equal. `effect_size` is the mean divided by the standard
    deviation of the differences (Cohen's d for pairs). wins are queries for which the run is
    better. `left_out` counts the queries that are undefined or missing for one of the two. On
    request there are also `detectable`, the smallest difference that a paired t-test over as many
    queries finds significant in 80 % of cases, and `queries_needed`, how many queries a difference
    as large as this one needs for that; and `p_worse, p_equal, p_better`, the posterior
    probabilities that the run is worse than the base, practically equal, or better.
    """

    values: Relation
    pairs: Relation
    dataset: str
    runs: tuple[str, ...]
    metrics: tuple[str, ...]
    directions: Mapping[str, str]
    protocol: str
    how: How
    run_ids: Mapping[str, int]
    qrels_id: int
    judged_only: bool = False
    in_percent: str = ""
    notes: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    bases: tuple[str, ...] = ()
    without_relevant: tuple[str, ...] = ()

    @property
    def tested_in_words(self) -> str:
        """Say which pairs were tested, as the letters are of no others."""
        if not self.bases:
            return "all pairs of runs were tested"
        return f"only pairs with {listing(self.bases, 4)} were tested"


@dataclass
class Gathered:
    """The values to compare, which are in the tables `compared_score` and `compared`.

    `trained` has the runs that were trained on queries which they leave out: nothing is compared on
    these `left_out` queries. `silent` has, by run, for how many of how many judged queries it has no
    document, if these count.
    `whole` has, by the metric's number, for how many of how many queries every run has a value.
    """

    runs: list[str]
    metrics: list[str]
    run_ids: dict[str, int] = field(default_factory=dict)
    qrels_id: int = 0
    scores: dict[tuple[int, int], float | None] = field(default_factory=dict)
    queries: dict[tuple[int, int], int] = field(default_factory=dict)
    aggregates: dict[int, str] = field(default_factory=dict)
    directions: dict[int, str] = field(default_factory=dict)
    silent: dict[str, tuple[int, int]] = field(default_factory=dict)
    whole: dict[int, tuple[int, int]] = field(default_factory=dict)
    trained: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def has_test(self, metric: int) -> bool:
        """Whether a test over the queries is one of the metric's value of a run."""
        return self.aggregates[metric] in ("mean", "sum", "geometric_mean")

    def has_interval(self, metric: int) -> bool:
        """Whether the mean over the queries is the metric's value of a run, or a multiple of it."""
        return self.aggregates[metric] in ("mean", "sum")

    def better(self, metric: int) -> int:
        """Return 1 if higher values of a metric are better, -1 if lower ones are, 0 for neither."""
        return {"higher": 1, "lower": -1}.get(self.directions[metric], 0)


@dataclass(frozen=True)
class Hypothesis:
    """One metric of a run against a base, by their numbers."""

    metric: int
    base: int
    run: int


def is_hypothesis(name: str) -> bool:
    """Whether a metric says how good a run is. Judged says how much is known about its documents.

    >>> is_hypothesis("AP"), is_hypothesis("Judged@10")
    (True, False)
    """
    metric = known_metric(name)
    return metric is None or metric.name != "Judged"


def pairs_of(
    runs: Sequence[str], bases: Sequence[str], *, all_pairs: bool
) -> list[tuple[int, int]]:
    """Return the pairs of runs to compare, by number: each base and the others, or all pairs.

    >>> pairs_of(["a", "b", "c"], ["a"], all_pairs=False)
    [(0, 1), (0, 2)]
    """
    if all_pairs:
        return list(combinations(range(len(runs)), 2))
    return [
        (runs.index(base), number)
        for base in bases
        for number, run in enumerate(runs)
        if run not in bases
    ] or list(combinations(range(len(runs)), 2))


def current_runs(
    con: Connection,
    dataset: str,
    asked: Sequence[str],
    metrics: Sequence[str],
    protocol: Protocol,
    *,
    with_others: bool = False,
) -> list[str]:
    """Return the runs to compare: the requested ones; for one or none, also all others with values."""
    there = ranked_lists.current_runs(con, dataset, asked)
    for run in asked:
        if asked.count(run) > 1:
            raise UsageError(f"{run}: named twice; a run cannot be compared with itself")
    chosen = list(asked)
    if with_others or len(chosen) < 2:
        rows = con.execute(
            "select distinct run_id, run from scores where dataset = $dataset "
            "and protocol = $protocol and list_contains($metrics, metric) order by run_id",
            {"dataset": dataset, "metrics": list(metrics), "protocol": protocol.name},
        ).fetchall()
        chosen += [str(run) for _, run in rows if run not in chosen]
    if len(chosen) < 2:
        names = listing(run.name for run in there)
        raise UsageError(f"{dataset}: a comparison needs two runs with values; it has {names}")
    return chosen


def gather(
    con: Connection, dataset: str, runs: Sequence[str], metrics: Sequence[str], protocol: Protocol
) -> Gathered:
    """Read the values of current runs. Raises UsageError if one is missing or of an older formula."""
    found = Gathered(list(runs), list(metrics))
    asked = {
        "dataset": dataset, "protocol": protocol.name, "runs": found.runs, "metrics": found.metrics,
    }  # fmt: skip
    scores = database.keep(con, render("analyses/compared_scores"), asked, name="compared_score")
    absent: dict[str, dict[str, None]] = {}
    for row in database.records(scores):
        metric, run = row["metric_number"], found.runs[row["run_number"]]
        if row["run_id"] is None or not row["has_newest_formula"]:
            absent.setdefault(found.metrics[metric], {})[run] = None
            continue
        found.run_ids[run], found.qrels_id = row["run_id"], row["qrels_id"]
        found.scores[metric, row["run_number"]] = row["value"]
        found.queries[metric, row["run_number"]] = row["num_queries"]
        found.aggregates[metric], found.directions[metric] = row["aggregate"], row["direction"]
        if row["num_silent"] and protocol.queries == "judged":
            found.silent[run] = row["num_silent"], row["num_judged"]
    if absent:
        missing = dict.fromkeys(run for runs in absent.values() for run in runs)
        command = stored_metrics.evaluate_command(con, dataset, list(absent), protocol)
        raise UsageError(
            f"{dataset}: no value of {listing(absent, 4)} for {listing(missing, 4)}, or none by the "
            f"same formula, under protocol {protocol.name} yet: {command}"
        )
    trained = con.execute(
        "select run_id, query_id from fusion_query join fusion using (run_id) "
        "where is_left_out and list_contains($ids::integer[], run_id) order by all",
        {"ids": list(found.run_ids.values())},
    ).fetchall()
    found.left_out = tuple(dict.fromkeys(query for _, query in trained))
    found.trained = tuple(run for run, number in found.run_ids.items() if number in dict(trained))
    sql = render("analyses/compared_queries", scores="temp.main.compared_score")
    database.keep(con, sql, {"left_out": list(found.left_out)}, name="compared")
    resampling.put_units(con)
    rows = con.execute(
        render("analyses/compared_counts", compared=resampling.COMPARED, num_runs=len(runs))
    ).fetchall()
    found.whole = dict.fromkeys(range(len(found.metrics)), (0, 0))
    found.whole |= {metric: (whole, listed) for metric, whole, listed in rows}
    if found.left_out:
        _hold_out(con, found)
    return found


def _hold_out(con: Connection, found: Gathered) -> None:
    """Replace the values of runs by those over the queries that no run was trained on.

    Raises UsageError for a metric that is not put together from the values of queries alone.
    """
    for number, name in enumerate(found.metrics):
        if not found.has_test(number):
            raise UsageError(
                f"{name}: has no value over the held-out queries alone, and {listing(found.trained)} "
                f"left out {counted(len(found.left_out), 'training query')}; compare another metric"
            )
    rows = con.execute(
        "select metric_number, run_number, mean_of(value, query_number), count(value) "
        f"from {resampling.COMPARED} group by all"
    ).fetchall()
    for metric, run, value, queries in rows:
        is_logged = value is not None and found.aggregates[metric] == "geometric_mean"
        found.scores[metric, run] = math.exp(value) if is_logged else value
        found.queries[metric, run] = queries
    for run in found.trained:
        found.silent.pop(run, None)


def compare(
    con: Connection,
    found: Gathered,
    pairs: Sequence[tuple[int, int]],
    how: How,
    on_step: Callable[[str], None] | None = None,
) -> list[dict[str, Any]]:
    """Return a row of `Compared.pairs` for each metric and pair of runs."""
    hypotheses = [
        Hypothesis(metric, base, run)
        for metric in range(len(found.metrics))
        for base, run in pairs
    ]  # fmt: skip
    put_hypotheses(con, hypotheses)
    rows = list(_paired(con, found, how))
    resampled = Resampling(how.resamples, how.seed, on_step)
    chances: dict[int, Chance] = {}
    if how.test == "randomisation":
        differing = {n: row["wins"] + row["losses"] for n, row in enumerate(rows) if row["queries"]}
        chances = resampling.randomisation(con, resampled, differing)
    elif how.test == "bootstrap":
        numbers = {n: row["queries"] for n, row in enumerate(rows)}
        chances = resampling.bootstrap_test(con, resampled, numbers)
    elif how.test == "tukey":
        for metric in range(len(found.metrics)):
            chances |= resampling.tukey(con, resampled, metric, len(found.runs))
    elif how.test == "tukey-anova":
        _test_by_variance(con, rows, how, len(found.runs))
    elif how.test == "wilcoxon":
        _test_by_ranks(con, rows)
    if how.variance and how.test != "tukey-anova":
        for of_metric in _variances(con, len(found.runs)):
            first = of_metric[0]
            rows[first["hypothesis"]]["variance"] = first | {"p_of_runs": _p_of_runs(first)}
    for number, chance in chances.items():
        rows[number] |= {"p": chance.p, "chance": chance}
    if how.interval != "t":
        numbers = {n: row["queries"] for n, row in enumerate(rows)}
        intervals = resampling.bootstrap(
            con, resampled, numbers, how.alpha, is_corrected=how.interval == "bca"
        )
        for number, interval in intervals.items():
            rows[number]["low"], rows[number]["high"] = interval
    for row in rows:
        _as_shown(row, found)
    _bound(rows, found, how)
    adjust(con, rows, how)
    if how.power or how.rope is not None:
        _put_tested(con, rows)
    if how.power:
        _put_power(con, rows, how)
    if how.rope is not None:
        _put_posterior(con, rows, how.rope, [found.better(row["metric_number"]) for row in rows])
    return rows


def _paired(con: Connection, found: Gathered, how: How) -> Iterator[dict[str, Any]]:
    """Return everything about each pair that needs no resampling."""
    sql = render(
        "analyses/paired",
        compared=resampling.COMPARED, units=resampling.UNITS, hypotheses=resampling.HYPOTHESES,
        test=how.test, alpha=how.alpha,
    )  # fmt: skip
    for row in database.records(con.sql(sql)):
        metric, base, run = row["metric_number"], row["base_number"], row["run_number"]
        is_worse = found.better(metric) < 0
        yield row | {
            "metric": found.metrics[metric],
            "base": found.runs[base],
            "run": found.runs[run],
            "base_value": found.scores[metric, base],
            "value": found.scores[metric, run],
            "wins": row["below" if is_worse else "above"],
            "losses": row["above" if is_worse else "below"],
        }


def _as_shown(row: dict[str, Any], found: Gathered) -> None:
    """Put the difference of the values themselves into a row, unless they are means or sums.

    Of the rest, only a geometric mean has a test: of the mean of the logarithms.
    """
    metric = row["metric_number"]
    if found.has_interval(metric):
        return
    shown = (row["value"], row["base_value"])
    row |= dict.fromkeys(("low", "high", "effect_size", "deviation"))
    row["difference"] = None if None in shown else row["value"] - row["base_value"]
    if not found.has_test(metric):
        row |= dict.fromkeys(("statistic", "p", "leaning"))
        row.pop("chance", None)


def _bound(rows: list[dict[str, Any]], found: Gathered, how: How) -> None:
    """Claim no more than the queries of each pair can give, which `least_p` says.

    It is the least p of all choices of signs (`least_p` in functions.sql), in Tukey's test of all
    exchanges of the runs' values on each query. Tests that suppose normal differences have no least p,
    but only where these have a spread. No bootstrap interval is given where no p could be below alpha.
    """
    for row in rows:
        if how.interval != "t" and (not row["deviation"] or row["least_p"] >= how.alpha):
            row["low"] = row["high"] = None
        if how.test in significance.OVER_ALL_PAIRS:
            queries, _ = found.whole[row["metric_number"]]
            row["least_p"] = float(math.factorial(len(found.runs))) ** min(0, 1 - queries)
        if how.test in significance.OF_NORMAL and row["p"]:
            row["least_p"] = 0.0 if row["statistic"] is not None else row["least_p"]
        if row["p"] is not None:
            row["p"] = max(row["p"], row["least_p"])


def standardise(con: Connection, found: Gathered, scale: str) -> None:
    """Replace the values of each query by standardised ones, and the values of runs by their means.

    Raises UsageError for a metric whose value of a run is no mean over the queries.
    """
    for number, aggregate in found.aggregates.items():
        if aggregate != "mean":
            raise UsageError(
                f"scale: needs means over the queries, but {found.metrics[number]} is their "
                f"{aggregate.replace('_', ' ')}"
            )
    words = {"compared": resampling.COMPARED, "units": resampling.UNITS, "scale": scale}
    database.keep(con, render("analyses/standardised", **words), name="standardised")
    database.keep(con, "from temp.main.standardised", name="compared")
    resampling.put_units(con)
    rows = con.execute(
        "select metric_number, run_number, mean_of(value, query_number) "
        f"from {resampling.COMPARED} group by all"
    ).fetchall()
    found.scores |= {(metric, run): value for metric, run, value in rows}


def _put_tested(con: Connection, rows: list[dict[str, Any]]) -> None:
    """Make the table `tested` of the differences and their deviations."""
    con.execute(
        "create or replace temp table tested as select unnest(range(len($n))) as hypothesis, "
        "unnest($n::bigint[]) as queries, unnest($difference::double[]) as difference, "
        "unnest($deviation::double[]) as deviation",
        {
            "n": [row["queries"] for row in rows],
            "difference": [row["difference"] for row in rows],
            "deviation": [row["deviation"] for row in rows],
        },
    )


def _put_posterior(
    con: Connection, rows: list[dict[str, Any]], rope: float, better: Sequence[int]
) -> None:
    """Put into the rows how probable it is that the run is worse than the base, equal or better."""
    sql = render("analyses/posterior", tested="temp.main.tested", rope=float(rope))
    for number, above, equal, below in con.execute(sql).fetchall():
        worse, best = (above, below) if better[number] < 0 else (below, above)
        rows[number] |= {"p_worse": worse, "p_equal": equal, "p_better": best}


def _put_power(con: Connection, rows: list[dict[str, Any]], how: How) -> None:
    """Put into the rows what their queries detect, and how many their differences need."""
    sql = render("analyses/power", tested="temp.main.tested", alpha=how.alpha, power=POWER)
    for number, detectable, needed in con.execute(sql).fetchall():
        rows[number] |= {"detectable": detectable, "queries_needed": needed}


def _variances(con: Connection, num_runs: int) -> Iterator[list[dict[str, Any]]]:
    """Yield a two-way analysis of variance of each metric, with a row for each of its hypotheses.

    The means, the differences and the error are over the queries for which every run has a value;
    hypotheses without degrees of freedom are left out.
    """
    sql = render(
        "analyses/anova",
        compared=resampling.COMPARED, units=resampling.UNITS, hypotheses=resampling.HYPOTHESES,
        num_runs=num_runs,
    )  # fmt: skip
    found = [one for one in database.records(con.sql(sql)) if one["degrees"] > 0]
    for _, of_metric in groupby(found, key=itemgetter("metric_number")):
        yield list(of_metric)


def _p_of_runs(one: Mapping[str, Any]) -> float | None:
    """Return the p of F, the test of whether any runs differ; None without SciPy, or without F."""
    if one["variance_ratio"] is None or not significance.has_scipy():
        return None
    return significance.variance_ratio(one["variance_ratio"], one["num_runs"], one["degrees"])


def _test_by_variance(con: Connection, rows: list[dict[str, Any]], how: How, num_runs: int) -> None:
    """Put the outcome of Tukey's test after a two-way analysis of variance into the rows."""
    for some in _variances(con, num_runs):
        first = some[0]
        known = [one["studentised_range"] or 0.0 for one in some]
        ps, bound = significance.studentised_range(known, num_runs, first["degrees"], how.alpha)
        p_of_runs = _p_of_runs(first)
        for one, p in zip(some, ps, strict=True):
            half = bound * one["standard_error"]
            difference, is_fixed = one["difference"], not half  # the error is 0
            rows[one["hypothesis"]] |= {
                "difference": difference, "low": None if is_fixed else difference - half,
                "high": None if is_fixed else difference + half,
                "effect_size": one["effect_size"], "statistic": one["studentised_range"],
                "leaning": difference, "p": 0.0 if is_fixed and difference else p,
                "variance": one | {"p_of_runs": p_of_runs},
            }  # fmt: skip


def _test_by_ranks(con: Connection, rows: list[dict[str, Any]]) -> None:
    """Put the outcome of Wilcoxon's test into the rows."""
    resampling.put_differences(con, list(range(len(rows))))
    lists = con.execute(
        "select hypothesis, list(quantity / units order by place) "
        f"from {resampling.DIFFERENCES} group by hypothesis"
    ).fetchall()
    for number, differences in lists:
        if len(differences) > 1:
            statistic, p, leaning = significance.wilcoxon(differences)
            rows[number] |= {"statistic": statistic, "p": p, "leaning": leaning}


def put_hypotheses(con: Connection, hypotheses: Sequence[Hypothesis]) -> None:
    """Make the table `hypothesis`; each is numbered by its place."""
    con.execute(
        "create or replace temp table hypothesis as select "
        "unnest(range(len($metric)))::integer as hypothesis, "
        "unnest($metric::integer[]) as metric_number, unnest($base::integer[]) as base_number, "
        "unnest($run::integer[]) as run_number",
        {
            "metric": [one.metric for one in hypotheses],
            "base": [one.base for one in hypotheses],
            "run": [one.run for one in hypotheses],
        },
    )


def adjust(con: Connection, rows: list[dict[str, Any]], how: How) -> None:
    """Correct the p-values of each family of hypotheses: one metric's, or all."""
    con.execute(
        "create or replace temp table tested as select unnest(range(len($p))) as hypothesis, "
        "unnest($family::varchar[]) as family, unnest($p::double[]) as p",
        {
            "p": [row["p"] for row in rows],
            "family": [row["metric"] if how.family == "metric" else "" for row in rows],
        },
    )
    sql = render("analyses/adjusted", tested="temp.main.tested", correction=how.corrected_by)
    for number, p in con.execute(sql).fetchall():
        rows[number]["p_adjusted"] = p
        rows[number]["is_significant"] = None if p is None else bool(p < how.alpha)
