"""Significance tests of differences between runs, over the queries for which both have values.

Student's t and the sign test are SQL (`analyses/paired`), as are resampling
(`warehouse.analyze.resampling`) and the analysis of variance (`analyses/anova`); Wilcoxon's test and the
studentised range are SciPy's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from warehouse.config import installation
from warehouse.errors import UsageError, listing

# test: its name for people
TESTS: Mapping[str, str] = {
    "t": "paired t-test",
    "wilcoxon": "Wilcoxon's signed rank test",
    "sign": "sign test",
    "randomisation": "Fisher's randomisation test",
    "bootstrap": "paired bootstrap test",
    "tukey": "Tukey's HSD test, randomised",
    "tukey-anova": "Tukey's HSD test after two-way ANOVA",
}
CORRECTIONS: Mapping[str, str] = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "bh": "Benjamini-Hochberg",
    "none": "no correction",
}
# Tests that resample in SQL.
RESAMPLED = ("randomisation", "bootstrap", "tukey")
# Tests of all pairs of runs together: their p needs no correction.
OVER_ALL_PAIRS = ("tukey", "tukey-anova")
# Tests that suppose that differences are normal.
OF_NORMAL = ("t", "tukey-anova")
# Tests that SciPy has a part in.
_OF_SCIPY = ("wilcoxon", "tukey-anova")


def probability(p: float | None) -> str:
    """Return a p as it is printed everywhere: two digits that count, down to 0.0001.

    >>> probability(0.7045), probability(0.01234), probability(0.00123), probability(1e-9)
    ('0.705', '0.012', '0.0012', '<0.0001')
    """
    if p is None:
        return ""
    if p < 0.0001:
        return "<0.0001"
    return f"{p:.3f}" if p >= 0.01 else f"{p:.4f}"


def equal_or_below(p: float | None) -> str:
    """Return a p after its sign, as in a sentence.

    >>> equal_or_below(0.012), equal_or_below(1e-9)
    ('= 0.012', '< 0.0001')
    """
    text = probability(p)
    return f"< {text[1:]}" if text.startswith("<") else f"= {text}"


def level(alpha: float) -> str:
    """Return the level of an interval in percent.

    >>> level(0.05), level(0.005)
    ('95%', '99.5%')
    """
    return f"{100 * (1 - alpha):.6g}%"


def has_scipy() -> bool:
    """Whether the extra "stats" is installed."""
    try:
        import scipy  # noqa: F401
    except ImportError:
        return False
    return True


def check(test: str) -> None:
    """Refuse a test whose library is not installed."""
    if test in _OF_SCIPY and not has_scipy():
        raise UsageError(
            f"{TESTS[test]} needs SciPy: {installation.adding('stats')}; the other tests need no "
            f"extra: {listing(one for one in TESTS if one not in _OF_SCIPY)}"
        )


def wilcoxon(differences: Sequence[float]) -> tuple[float | None, float | None, float]:
    """Return SciPy's statistic and p of Wilcoxon's test, and the sum of the signed ranks.

    Queries without a difference are left out; if none differs, statistic and p are None. SciPy counts
    exactly if that is feasible, and otherwise uses the normal approximation. Needs the extra "stats".

    >>> wilcoxon([-0.1, -0.2, -0.3, 0.9])
    (4.0, 0.875, -2.0)
    """
    from scipy import stats

    some = [one for one in differences if one]
    if not some:
        return None, None, 0.0
    # with queries that do not differ, as SciPy counts exactly only where there are none
    found = stats.wilcoxon(differences)
    ranks = stats.rankdata([abs(one) for one in some])
    signed = sum(rank if one > 0 else -rank for one, rank in zip(some, ranks, strict=True))
    return float(found.statistic), float(found.pvalue), float(signed)


def studentised_range(
    ranges: Sequence[float], num_runs: int, degrees: int, alpha: float
) -> tuple[list[float], float]:
    """Return the p of some studentised ranges, and the range whose p is alpha. Needs the extra "stats".

    The upper 5 % point for 3 groups and 10 degrees of freedom is 3.88 in tables.

    >>> (p,), bound = studentised_range([3.877], 3, 10, 0.05)
    >>> round(p, 3), round(bound, 2)
    (0.05, 3.88)
    """
    from scipy import stats

    found = stats.studentized_range.sf(list(ranges), num_runs, degrees)
    bound = stats.studentized_range.isf(alpha, num_runs, degrees)
    return [min(1.0, max(0.0, float(p))) for p in found], float(bound)


def variance_ratio(ratio: float, groups: int, degrees: int) -> float:
    """Return the p of an F with the degrees of freedom of groups and of the error. Needs "stats".

    The upper 5 % point for 3 groups and 10 degrees of freedom is 4.10 in tables.

    >>> round(variance_ratio(4.1028, 3, 10), 3)
    0.05
    """
    from scipy import stats

    return float(stats.f.sf(ratio, groups - 1, degrees))


def anova_queries(
    num_runs: int, difference: float, variance: float, alpha: float, power: float
) -> int | None:
    """Return how many queries a one-way analysis of variance needs (Sakai 2016, Topic set size design).

    It is to find at alpha, with this power, that so many runs differ, if the best and the worst are at
    least a difference apart; `variance` is the error's. None above ten million. Needs "stats".

    >>> anova_queries(3, 0.5, 1.0, 0.05, 0.8)
    79
    """
    from scipy import stats

    def is_enough(queries: int) -> bool:
        degrees = num_runs * (queries - 1)
        bound = stats.f.isf(alpha, num_runs - 1, degrees)
        noncentrality = queries * difference**2 / (2 * variance)
        return bool(stats.ncf.sf(bound, num_runs - 1, degrees, noncentrality) >= power)

    low, high = 1, 2
    while not is_enough(high):
        low, high = high, 2 * high
        if high > 10_000_000:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def chi_squared(value: float, degrees: int) -> float:
    """Return the mass of the chi-squared distribution above a value, for a whole number of degrees.

    The upper 5 % points for 2 and 3 degrees of freedom are 5.991 and 7.815 in tables.

    >>> round(chi_squared(5.991, 2), 4), round(chi_squared(7.815, 3), 4)
    (0.05, 0.05)
    """
    half = value / 2
    if half <= 0:
        return 1.0
    # Abramowitz and Stegun 26.4.4 and 26.4.5: each term is the one before, times half over the divisor
    divisor = 1.0 if degrees % 2 == 0 else 1.5
    if degrees % 2 == 0:
        total, term = math.exp(-half), math.exp(-half)
    else:
        total, term = math.erfc(math.sqrt(half)), 2 * math.sqrt(half / math.pi) * math.exp(-half)
        if degrees >= 3:
            total += term
    for _ in range((degrees - 2) // 2 if degrees % 2 == 0 else (degrees - 3) // 2):
        term *= half / divisor
        total += term
        divisor += 1
    return min(1.0, total)


def nemenyi(num_runs: int, num_datasets: int, alpha: float) -> float:
    """Return the critical difference of mean ranks: Nemenyi's test of all pairs (Demšar 2006).

    With four classifiers on 14 data sets it is 1.25 in Demšar's paper.

    >>> round(nemenyi(4, 14, 0.05), 2)
    1.25
    """
    low, high = 0.0, 100.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if _range_of_normals(middle, num_runs) > alpha else (low, middle)
    return low / math.sqrt(2) * math.sqrt(num_runs * (num_runs + 1) / (6 * num_datasets))


def within(ranks: Sequence[float], distance: float) -> list[tuple[int, int]]:
    """Return the groups of rising mean ranks closer than a distance, by their first and last index.

    A group has two members at least, and is no part of another. So Demšar 2006 finds, at alpha 0.1,
    that one of four classifiers may belong to either of two groups:

    >>> within([1.964, 2.0, 2.893, 3.143], 1.12)
    [(0, 2), (2, 3)]
    """
    found: list[tuple[int, int]] = []
    for first, low in enumerate(ranks):
        last = max(n for n, high in enumerate(ranks) if n == first or high - low < distance)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def _range_of_normals(width: float, number: int) -> float:
    """Return the chance that so many normal numbers lie farther apart than a width.

    It is an integral over the lowest number, by the trapezoid rule, which is exact to many digits for
    such a function.
    """
    steps, end = 400, 10.0
    within = 0.0
    for step in range(steps + 1):
        z = -end + 2 * end * step / steps
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        share = (math.erf((z + width) / math.sqrt(2)) - math.erf(z / math.sqrt(2))) / 2
        within += density * share ** (number - 1)
    return 1 - number * within * 2 * end / steps
