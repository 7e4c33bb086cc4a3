"""Resampling in SQL: Fisher's randomisation test, Tukey's HSD test, the bootstrap, ranks of runs.

Random words are made from counters and a key (Philox), and sums are over whole numbers, so that a
result is the same to the bit on any number of threads, machine and version of the engine. The tables
`compared (metric_number, run_number, query_number, value)` and `hypothesis (hypothesis, metric_number,
base_number, run_number)` have to be there.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist

from duckdb import DuckDBPyConnection as Connection

from warehouse.sql_text.templates import render
from warehouse.store.database import keep

COMPARED, UNITS = "temp.main.compared", "temp.main.compared_unit"
HYPOTHESES = "temp.main.hypothesis"
DIFFERENCES, _SIGNS = "temp.main.paired_difference", "temp.main.random_sign"
_MEANS, _RESAMPLED = "temp.main.drawn_mean", "temp.main.resampled_mean"
# If at most so many queries differ, all choices of signs are tried: 2^20 is a million.
EXACT = 20
_MANY = 0
# The most random choices, of eight queries each, that one statement looks up.
_BATCH = 40_000_000
# The most runs whose means one statement takes.
_SIDE_BY_SIDE = 100


@dataclass(frozen=True)
class Chance:
    """A p-value, how many permutations it is based on, and whether these are all there are."""

    p: float
    permutations: int
    is_exact: bool

    @property
    def standard_error(self) -> float:
        """Return the standard error of p that comes from sampling permutations."""
        if self.is_exact:
            return 0.0
        return float((self.p * (1 - self.p) / self.permutations) ** 0.5)


@dataclass(frozen=True)
class Resampling:
    """How often to resample, the seed, and a callback for each step."""

    resamples: int
    seed: int
    on_step: Callable[[str], None] | None = None

    def key(self, purpose: str) -> int:
        """Return the generator's key of 32 bits; each purpose has its own random numbers."""
        digest = hashlib.sha256(f"{self.seed} {purpose}".encode()).digest()
        return int.from_bytes(digest[:4], "big")

    def step(self, label: str) -> None:
        """Report a finished step."""
        if self.on_step is not None:
            self.on_step(label)


def put_units(con: Connection) -> None:
    """Make the table of each metric's unit, which says how many units are 1, from the compared values.

    Differences become whole numbers of units. So they add up exactly, and are equal if they differ
    only in the last bits, as 0.7 - 0.6 and 0.3 - 0.2 do.
    """
    keep(con, render("analyses/compared_units", compared=COMPARED), name="compared_unit")


def randomisation(
    con: Connection, how: Resampling, differing: Mapping[int, int]
) -> dict[int, Chance]:
    """Return each hypothesis' p in Fisher's randomisation test; `differing` counts queries that differ.

    With at most EXACT of them every choice of signs is tried. Else p is (1 + b) / (1 + B) where b of B
    random choices are at least as extreme, as in SciPy's permutation_test.
    """
    found = {one: Chance(1.0, 1, is_exact=True) for one, number in differing.items() if not number}
    batches: defaultdict[int, list[int]] = defaultdict(list)
    for hypothesis, number in differing.items():
        if number:
            batches[number if number <= EXACT else _MANY].append(hypothesis)
    for number, members in sorted(batches.items()):
        is_exact = number != _MANY
        permutations = 2**number if is_exact else how.resamples
        blocks = max(-(-differing[one] // 64) for one in members)
        signs = render(
            "analyses/signs",
            exact=is_exact, permutations=permutations, blocks=blocks, key=how.key("signs"),
        )  # fmt: skip
        con.execute(f"create or replace temp table random_sign as\n{signs}")
        size = max(1, _BATCH // (permutations * blocks * 8))
        for piece in _pieces(members, size):
            put_differences(con, piece, without_ties=True)
            sql = render("analyses/randomised", differences=DIFFERENCES, signs=_SIGNS)
            for hypothesis, tried, extreme in con.execute(sql).fetchall():
                p = extreme / tried if is_exact else (1 + extreme) / (1 + tried)
                found[hypothesis] = Chance(p, tried, is_exact)
            how.step("randomisation")
    return found


def tukey(con: Connection, how: Resampling, metric_number: int, num_runs: int) -> dict[int, Chance]:
    """Return each hypothesis' p of a metric in the randomised test of Tukey's honest differences."""
    # a random word for each run, made in pairs
    pairs = [(f"one_{n}", f"other_{n}") for n in range((num_runs + 1) // 2)]
    sql = render(
        "analyses/tukey",
        pairs=pairs,
        compared=COMPARED, units=UNITS, hypotheses=HYPOTHESES, num_runs=num_runs,
        permutations=how.resamples, key=how.key("shuffles"),
    )  # fmt: skip
    rows = con.execute(sql, {"metric_number": metric_number}).fetchall()
    how.step("Tukey")
    return {
        hypothesis: Chance((1 + extreme) / (1 + tried), tried, is_exact=False)
        for hypothesis, tried, extreme in rows
    }


def bootstrap(
    con: Connection,
    how: Resampling,
    paired: Mapping[int, int],
    alpha: float,
    *,
    is_corrected: bool = False,
) -> dict[int, tuple[float, float]]:
    """Return the bootstrap interval of each mean difference; `paired` counts the queries of each.

    Its ends are the percentiles at alpha / 2 and 1 - alpha / 2 or, if it is corrected for bias and
    acceleration (BCa; Efron 1987), those that `bca_shares` gives.
    """
    found: dict[int, tuple[float, float]] = {}
    for number, piece in _resampled(con, how, paired):
        sql = render(
            "analyses/bootstrapped",
            differences=DIFFERENCES, key=how.key("resamples"), resamples=how.resamples,
            num_queries=number,
        )  # fmt: skip
        con.execute(f"create or replace temp table resampled_mean as\n{sql}")
        shares = dict.fromkeys(piece, (alpha / 2, 1 - alpha / 2))
        if is_corrected:
            rows = con.execute(f"select hypothesis, share_below, acceleration from {_RESAMPLED}")
            shares |= {
                one: bca_shares(below, acceleration, alpha)
                for one, below, acceleration in rows.fetchall()
            }
        given = {
            "hypotheses": list(shares),
            "low": [low for low, _ in shares.values()],
            "high": [high for _, high in shares.values()],
        }
        sql = render("analyses/bootstrap_ends", means=_RESAMPLED)
        for hypothesis, low, high in con.execute(sql, given).fetchall():
            found[hypothesis] = (low, high)
        how.step("bootstrap")
    return found


def bca_shares(below: float, acceleration: float | None, alpha: float) -> tuple[float, float]:
    """Return the shares at which the ends of a BCa interval lie (Efron 1987).

    `below` is the share of the resampled means that are below the mean. Without an acceleration, or
    if all of them are on one side, nothing can be corrected.

    >>> bca_shares(0.5, 0.0, 0.05)
    (0.025, 0.975)
    """
    if acceleration is None or not 0 < below < 1:
        return alpha / 2, 1 - alpha / 2
    normal = NormalDist()
    bias = normal.inv_cdf(below)

    def share(level: float) -> float:
        moved = bias + normal.inv_cdf(level)
        return normal.cdf(bias + moved / (1 - acceleration * moved))

    if not bias and not acceleration:
        return alpha / 2, 1 - alpha / 2
    return share(alpha / 2), share(1 - alpha / 2)


def bootstrap_test(
    con: Connection, how: Resampling, paired: Mapping[int, int]
) -> dict[int, Chance]:
    """Return each hypothesis' p in the paired bootstrap test; `paired` counts the queries of each.

    It is the achieved significance level of Sakai 2006, (1 + b) / (1 + B) in place of b / B: b of B
    resamples of the differences, shifted to the mean 0, have a t at least as far from 0 as theirs.
    """
    found: dict[int, Chance] = {}
    for number, _ in _resampled(con, how, paired):
        sql = render(
            "analyses/studentised_bootstrap",
            differences=DIFFERENCES, key=how.key("resamples"), resamples=how.resamples,
            num_queries=number,
        )  # fmt: skip
        for hypothesis, drawn, extreme in con.execute(sql).fetchall():
            found[hypothesis] = Chance((1 + extreme) / (1 + drawn), drawn, is_exact=False)
        how.step("bootstrap")
    return found


def _resampled(
    con: Connection, how: Resampling, paired: Mapping[int, int]
) -> Iterator[tuple[int, list[int]]]:
    """Put the differences of hypotheses with as many queries in turn; yield their number and these."""
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for hypothesis, number in paired.items():
        groups[number].append(hypothesis)
    for number, members in sorted(groups.items()):
        if number == 0:
            continue
        size = max(1, _BATCH // (how.resamples * number))
        for piece in _pieces(members, size):
            put_differences(con, piece)
            yield number, piece


@dataclass(frozen=True)
class Ranks:
    """The ranks of a run over resamples: from `low` to `high`, and the share in which it is first.

    All are None where the queries cannot resolve them.
    """

    low: int | None
    high: int | None
    p_first: float | None


def rank_intervals(
    con: Connection, how: Resampling, metric_number: int, alpha: float, *, lower_is_better: bool
) -> dict[int, Ranks]:
    """Return the ranks of each run by its mean over resampled queries, the same draws for all runs.

    The queries are drawn as in `bootstrap`. Equal means share the best rank, so that several runs may
    be first in one resample. Of the ranks, alpha / 2 are cut off at either end. They are not resolved
    if no p of the queries on which the runs differ could be below alpha.
    """
    ((num_queries, runs),) = con.execute(
        "select count(distinct query_number), list(distinct run_number) "
        f"from {COMPARED} where metric_number = $metric_number",
        {"metric_number": metric_number},
    ).fetchall()
    ((_, least_p),) = con.execute(
        render("analyses/deciding_queries", compared=COMPARED, units=UNITS, num_runs=len(runs)),
        {"metric_number": metric_number},
    ).fetchall()
    if least_p >= alpha:
        return dict.fromkeys(runs, Ranks(None, None, None))
    con.execute(
        "create or replace temp table drawn_mean (resample bigint, run_number integer, mean double)"
    )
    for piece in _pieces(sorted(runs), _SIDE_BY_SIDE):
        sql = render(
            "analyses/drawn_means",
            compared=COMPARED, units=UNITS, key=how.key("resamples"), resamples=how.resamples,
            num_queries=num_queries, runs=piece,
        )  # fmt: skip
        con.execute(f"insert into {_MEANS}\n{sql}", {"metric_number": metric_number})
        how.step("ranks")
    sql = render(
        "analyses/rank_intervals", means=_MEANS, alpha=alpha, lower_is_better=lower_is_better
    )
    rows = con.execute(sql).fetchall()
    return {run: Ranks(low, high, p_first) for run, low, high, p_first in rows}


def _pieces(members: list[int], size: int) -> Iterator[list[int]]:
    """Divide a list into pieces of at most so many."""
    for start in range(0, len(members), size):
        yield members[start : start + size]


def put_differences(con: Connection, members: list[int], *, without_ties: bool = False) -> None:
    """Make the table of differences of some hypotheses."""
    sql = render(
        "analyses/paired_differences",
        compared=COMPARED, units=UNITS, hypotheses=HYPOTHESES, without_ties=without_ties,
    )  # fmt: skip
    con.execute(
        f"create or replace temp table paired_difference as\n{sql}", {"hypotheses": members}
    )
