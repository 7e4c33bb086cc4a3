"""Comparing runs over stored values, joined by query: differences and their certainty."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import duckdb

from warehouse.analyze import ranked_lists, resampling, significance, stored_metrics
from warehouse.analyze.resampling import Chance, Resampling
from warehouse.errors import UsageError, check_at_least, check_word, listing
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store import database

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warehouse.analyze.significance import Numbers

INTERVALS: Mapping[str, str] = {"t": "t", "bootstrap": "bootstrap"}


@dataclass(frozen=True)
class How:
    """How runs are compared: the test, its correction, the level, the interval, the resampling.

    `test` is one of `significance.TESTS`, `correction` one of `significance.CORRECTIONS` (None: Holm's,
    but none for Tukey's test, which is over all pairs already), `interval` "t" or "bootstrap".
    """

    test: str = "t"
    correction: str | None = None
    alpha: float = 0.05
    interval: str = "t"
    resamples: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        check_word("test", self.test, significance.TESTS)
        check_word("correction", self.corrected_by, significance.CORRECTIONS)
        check_word("interval", self.interval, INTERVALS)
        if not 0 < self.alpha < 1:
            raise UsageError(f"alpha lies between 0 and 1, not {self.alpha}")
        check_at_least(1, resamples=self.resamples)
        if not 100 <= self.resamples <= 1_000_000:
            raise UsageError(f"resamples are 100 to 1,000,000, not {self.resamples:,}")
        if self.test == "tukey" and self.corrected_by != "none":
            raise UsageError(
                f"Tukey's test is over all pairs of runs already; {self.correction} on top of it "
                "would correct twice: leave the correction out"
            )

    @property
    def corrected_by(self) -> str:
        """Return the correction, given or default."""
        return self.correction or ("none" if self.test == "tukey" else "holm")

    @property
    def is_resampled(self) -> bool:
        """Whether anything depends on random numbers."""
        return self.test in significance.RESAMPLED or self.interval == "bootstrap"

    def __str__(self) -> str:
        drawn = f"{self.resamples:,} {{}}, seed {self.seed}"
        permutations = ""
        if self.test in significance.RESAMPLED:
            permutations = f" ({drawn.format('permutations')})"
        correction = significance.CORRECTIONS[self.corrected_by]
        if self.test == "tukey":
            correction = "over all pairs of runs of a metric"
        level = significance.level(self.alpha)
        interval = f"t-interval of {level}"
        if self.interval == "bootstrap":
            interval = f"bootstrap interval of {level} ({drawn.format('resamples')})"
        return (
            f"two-sided {significance.TESTS[self.test]}{permutations}, {correction}, "
            f"alpha {self.alpha:g}; {interval}"
        )


# The columns of `Compared.pairs` and `Compared.values`, with their types.
PAIRS: Mapping[str, str] = {
    "metric": "varchar", "base": "varchar", "run": "varchar", "base_value": "double",
    "value": "double", "difference": "double", "low": "double", "high": "double",
    "effect_size": "double", "wins": "integer", "ties": "integer", "losses": "integer",
    "queries": "integer", "left_out": "integer", "statistic": "double", "p": "double",
    "p_adjusted": "double", "is_significant": "boolean",
}  # fmt: skip
VALUES: Mapping[str, str] = {
    "metric": "varchar", "run": "varchar", "letter": "varchar", "value": "double",
    "place": "integer", "better_than": "varchar[]", "judged": "double", "if_all_relevant": "double",
}  # fmt: skip


@dataclass(frozen=True)
class Compared:
    """Runs beside each other.

    `values` has a row for each metric and run: `metric, run, letter, value, place, better_than,
    judged, if_all_relevant`. `letter` names the run. `better_than` has the letters of the runs that
    it was tested against and is significantly better than: on the side that the test speaks for,
    which may not be that of the mean in the sign test and Wilcoxon's. `place` is 1 for the best.
    `judged` is the share of judged documents down to the metric's cutoff (`Judged@k`).
    `if_all_relevant` is the value if all unjudged documents that the run retrieved were relevant, or
    null if not requested. `labels` has the names that metrics were asked for by.

    `pairs` has a row for each hypothesis: `metric, base, run, base_value, value, difference, low,
    high, effect_size, wins, ties, losses, queries, left_out, statistic, p, p_adjusted,
    is_significant`. `difference` is the mean of run minus base over the queries for which both have
    a value, with its interval from low to high. The difference of a query is rounded to 2^-44 of
    the metric's greatest value, so that 0.7 - 0.6 and 0.3 - 0.2 are equal. `effect_size` is the
    mean divided by the standard deviation of the differences (Cohen's d for pairs). wins are
    queries for which the run is better. `left_out` counts the queries that are undefined or missing
    for one of the two.
    """

    values: duckdb.DuckDBPyRelation
    pairs: duckdb.DuckDBPyRelation
    dataset: str
    runs: tuple[str, ...]
    metrics: tuple[str, ...]
    directions: Mapping[str, str]
    protocol: str
    how: How
    run_ids: Mapping[str, int]
    qrels_id: int
    judged_only: bool = False
    notes: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Gathered:
    """The values to compare, as the tables `compared_score` and `compared` and as arrays.

    `queries` has, by the metric's number, an array of one row per run and one column per query;
    undefined and missing values are NaN. `listed` says in the same way which queries a run is
    listed with. Differences are whole numbers of a unit, of which `units` make 1. `silent` has, by
    run, for how many of how many judged queries it has no document, if these count.
    """

    runs: list[str]
    metrics: list[str]
    run_ids: dict[str, int] = field(default_factory=dict)
    qrels_id: int = 0
    scores: dict[tuple[int, int], float | None] = field(default_factory=dict)
    aggregates: dict[int, str] = field(default_factory=dict)
    directions: dict[int, str] = field(default_factory=dict)
    queries: dict[int, Numbers] = field(default_factory=dict)
    listed: dict[int, NDArray[np.bool_]] = field(default_factory=dict)
    units: dict[int, float] = field(default_factory=dict)
    silent: dict[str, tuple[int, int]] = field(default_factory=dict)

    def better(self, metric: int) -> int:
        """Return 1 if higher values of a metric are better, -1 if lower ones are, 0 for neither."""
        return {"higher": 1, "lower": -1}.get(self.directions[metric], 0)


@dataclass(frozen=True)
class Hypothesis:
    """One metric of a run against a base, by their numbers."""

    metric: int
    base: int
    run: int


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
    con: duckdb.DuckDBPyConnection,
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
            "select distinct run_id, run from run_scores where is_current and dataset = $dataset "
            "and protocol = $protocol and list_contains($metrics, metric) order by run_id",
            {"dataset": dataset, "metrics": list(metrics), "protocol": protocol.name},
        ).fetchall()
        chosen += [str(run) for _, run in rows if run not in chosen]
    if len(chosen) < 2:
        names = listing(run.name for run in there)
        raise UsageError(f"{dataset}: a comparison needs two runs with values; it has {names}")
    return chosen


def gather(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    runs: Sequence[str],
    metrics: Sequence[str],
    protocol: Protocol,
) -> Gathered:
    """Read the values of current runs. Raises UsageError if one is missing or of an older formula."""
    import numpy as np

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
    sql = render("analyses/compared_queries", scores="temp.main.compared_score")
    rows = database.keep(con, sql, name="compared").fetchnumpy()
    found.units |= resampling.put_units(con)
    for number, name in enumerate(found.metrics):
        mine = rows["metric_number"] == number
        if not mine.any():
            raise UsageError(f"{name}: has no values by query, so there is nothing to pair")
        places, place = np.unique(rows["query_number"][mine], return_inverse=True)
        values = np.full((len(found.runs), len(places)), np.nan)
        values[rows["run_number"][mine], place] = np.ma.filled(rows["value"][mine], np.nan)
        found.queries[number] = values
        found.listed[number] = np.zeros(values.shape, dtype=bool)
        found.listed[number][rows["run_number"][mine], place] = True
    return found


def compare(
    con: duckdb.DuckDBPyConnection,
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
    rows = _paired(found, hypotheses, how)
    resampled = Resampling(how.resamples, how.seed, on_step)
    if how.test in significance.RESAMPLED or how.interval == "bootstrap":
        _put_hypotheses(con, hypotheses)
    chances: dict[int, Chance] = {}
    if how.test == "randomisation":
        differing = {n: row["wins"] + row["losses"] for n, row in enumerate(rows) if row["queries"]}
        chances = resampling.randomisation(con, resampled, differing)
    elif how.test == "tukey":
        for metric in range(len(found.metrics)):
            chances |= resampling.tukey(con, resampled, metric, len(found.runs))
    for number, chance in chances.items():
        rows[number] |= {"p": chance.p, "chance": chance}
    if how.interval == "bootstrap":
        numbers = {n: row["queries"] for n, row in enumerate(rows)}
        for number, interval in resampling.bootstrap(con, resampled, numbers, how.alpha).items():
            rows[number]["low"], rows[number]["high"] = interval
    adjust(con, rows, how)
    return rows


def _paired(found: Gathered, hypotheses: Sequence[Hypothesis], how: How) -> list[dict[str, Any]]:
    """Return everything about each pair that needs no resampling."""
    import numpy as np

    rows: list[dict[str, Any]] = [{} for _ in hypotheses]
    groups: defaultdict[tuple[int, bytes], list[int]] = defaultdict(list)
    masks: dict[tuple[int, bytes], Any] = {}
    known = {metric: ~np.isnan(values) for metric, values in found.queries.items()}
    for number, one in enumerate(hypotheses):
        both = known[one.metric][one.base] & known[one.metric][one.run]
        key = one.metric, both.tobytes()
        groups[key].append(number)
        masks[key] = both
    for (metric, packed), members in groups.items():
        both = masks[metric, packed]
        other = ~both
        values = found.queries[metric][:, both]
        num_queries = int(both.sum())
        # in batches, so that memory stays small
        size = max(1, 2_000_000 // max(1, num_queries))
        for start in range(0, len(members), size):
            some = members[start : start + size]
            ones = [hypotheses[number] for number in some]
            differences = values[[one.run for one in ones]] - values[[one.base for one in ones]]
            differences *= found.units[metric]
            np.rint(differences, out=differences)
            differences /= found.units[metric]
            for number, row in zip(
                some, _described(differences, found.better(metric), how), strict=True
            ):
                one = hypotheses[number]
                listed = found.listed[metric][one.base] | found.listed[metric][one.run]
                rows[number] = row | {
                    "metric": found.metrics[metric],
                    "base": found.runs[one.base],
                    "run": found.runs[one.run],
                    "base_value": found.scores[metric, one.base],
                    "value": found.scores[metric, one.run],
                    "queries": num_queries,
                    "left_out": int(np.count_nonzero(listed & other)),
                }
    return rows


def _described(differences: Numbers, better: int, how: How) -> list[dict[str, Any]]:
    """Return means, intervals, counts and tests of some rows of differences."""
    import numpy as np

    number = differences.shape[1]
    if number == 0:
        return [dict.fromkeys(_NUMBERS) | {"wins": 0, "ties": 0, "losses": 0} for _ in differences]
    means, deviations = significance.moments(differences)
    above, below = (differences > 0).sum(axis=1), (differences < 0).sum(axis=1)
    statistics = ps = half = np.full(len(differences), np.nan)
    if number > 1:
        half = significance.half_width(deviations, np.full(len(differences), number), how.alpha)
    if number > 1 or how.test == "sign":
        formula = significance.FORMULAS.get(how.test)
        if formula is not None:
            statistics, ps = formula(differences)
    with np.errstate(divide="ignore", invalid="ignore"):
        effects = means / deviations
    columns = {
        "difference": means, "low": means - half, "high": means + half, "effect_size": effects,
        "statistic": statistics, "p": ps, "leaning": significance.leaning(how.test, differences),
    }  # fmt: skip
    rows = [
        {name: _finite(values[place]) for name, values in columns.items()}
        for place in range(len(differences))
    ]
    for place, row in enumerate(rows):
        wins, losses = int(above[place]), int(below[place])
        row["ties"] = number - wins - losses
        row["wins"], row["losses"] = (losses, wins) if better < 0 else (wins, losses)
    return rows


_NUMBERS = ("difference", "low", "high", "effect_size", "statistic", "p", "leaning")


def _finite(value: float) -> float | None:
    """Return a number, or None if it is undefined."""
    return None if math.isnan(value) else float(value)


def _put_hypotheses(con: duckdb.DuckDBPyConnection, hypotheses: Sequence[Hypothesis]) -> None:
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


def adjust(con: duckdb.DuckDBPyConnection, rows: list[dict[str, Any]], how: How) -> None:
    """Correct the p-values of all hypotheses as one family."""
    con.execute(
        "create or replace temp table tested as select unnest(range(len($p))) as hypothesis, "
        "unnest($p::double[]) as p",
        {"p": [row["p"] for row in rows]},
    )
    sql = render("analyses/adjusted", tested="temp.main.tested", correction=how.corrected_by)
    for number, p in con.execute(sql).fetchall():
        rows[number]["p_adjusted"] = p
        rows[number]["is_significant"] = None if p is None else bool(p < how.alpha)
