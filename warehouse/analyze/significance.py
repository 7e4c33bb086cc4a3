"""Significance tests of differences between runs, over the queries for which both have values.

Student's t and the sign test are SQL (`analyses/paired`), as are resampling
(`warehouse.analyze.resampling`) and the analysis of variance (`analyses/anova`); Wilcoxon's test and the
studentised range are SciPy's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from warehouse.config import installation
from warehouse.errors import UsageError, listing

# test: its name for people
TESTS: Mapping[str, str] = {
    "t": "paired t-test",
    "wilcoxon": "Wilcoxon's signed rank test",
    "sign": "sign test",
    "randomisation": "Fisher's randomisation test",
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
RESAMPLED = ("randomisation", "tukey")
# Tests of all pairs of runs together: their p needs no correction.
OVER_ALL_PAIRS = ("tukey", "tukey-anova")
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


def check(test: str) -> None:
    """Refuse a test whose library is not installed."""
    if test in _OF_SCIPY:
        try:
            import scipy  # noqa: F401
        except ImportError:
            raise UsageError(
                f"{TESTS[test]} needs SciPy: {installation.adding('stats')}; the other tests need no "
                f"extra: {listing(one for one in TESTS if one not in _OF_SCIPY)}"
            ) from None


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
