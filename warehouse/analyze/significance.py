"""Significance tests of differences between runs, over the queries for which both have values.

The tests of SciPy are SciPy's; resampling is SQL (`warehouse.analyze.resampling`). An array of
differences has one row per pair of runs and one column per query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from warehouse.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

# test: its name for people
TESTS: Mapping[str, str] = {
    "t": "paired t-test",
    "wilcoxon": "Wilcoxon's signed rank test",
    "sign": "sign test",
    "randomisation": "Fisher's randomisation test",
    "tukey": "Tukey's HSD test, randomised",
}
CORRECTIONS: Mapping[str, str] = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "bh": "Benjamini-Hochberg",
    "none": "no correction",
}
# Tests that resample in SQL.
RESAMPLED = ("randomisation", "tukey")


def needs_scipy(what: str = "comparing runs") -> None:
    """Raise UsageError with the extra to install if SciPy is not installed."""
    try:
        import scipy  # noqa: F401
    except ImportError:
        raise UsageError(f"{what} needs SciPy: pip install 'ranking-warehouse[stats]'") from None


def moments(differences: Numbers) -> tuple[Numbers, Numbers]:
    """Return mean and standard deviation of each row; the latter is NaN for a single difference.

    In a row of equal differences, the deviation is exactly 0 and the mean exactly that difference.
    """
    import numpy as np

    means = differences.mean(axis=1)
    if differences.shape[1] == 1:
        return means, np.full(len(means), np.nan)
    deviations = differences.std(axis=1, ddof=1)
    for row in np.flatnonzero(deviations <= 1e-9 * np.abs(means)):
        if np.ptp(differences[row]) == 0:
            means[row], deviations[row] = differences[row, 0], 0.0
    return means, deviations


def paired_t(differences: Numbers) -> tuple[Numbers, Numbers]:
    """Return t and the two-sided p of each row; both are undefined (NaN) if nothing differs.

    >>> import numpy as np
    >>> t, p = paired_t(np.array([[0.1, 0.3, 0.2]]))
    >>> print(f"{t[0]:.4f} {p[0]:.4f}")
    3.4641 0.0742
    """
    import numpy as np

    number = differences.shape[1]
    means, deviations = moments(differences)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = means / (deviations / np.sqrt(number))
    return t, _tails(t, number - 1)


def two_sided(t: float | None, degrees: int) -> float | None:
    """Return the two-sided p of a value of Student's t; None if it is undefined."""
    needs_scipy("a test of significance")
    return None if t is None else float(_tails(t, degrees))


def _tails(t: Any, degrees: int) -> Any:
    from scipy.special import stdtr

    return 2 * stdtr(degrees, -abs(t))


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


def level(alpha: float) -> str:
    """Return the level of an interval in percent.

    >>> level(0.05), level(0.005)
    ('95%', '99.5%')
    """
    return f"{100 * (1 - alpha):.6g}%"


def half_width(deviations: Numbers, numbers: Numbers, alpha: float) -> Numbers:
    """Return the half-width of the t-interval of means at the level 1 - alpha."""
    import numpy as np
    from scipy.special import stdtrit

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(stdtrit(numbers - 1, 1 - alpha / 2) * deviations / np.sqrt(numbers))


def wilcoxon(differences: Numbers) -> tuple[Numbers, Numbers]:
    """Return SciPy's statistic and p of each row; queries without a difference are left out.

    SciPy counts exactly if that is feasible, and otherwise uses the normal approximation.
    """
    from scipy import stats

    def one(row: Numbers) -> tuple[float, float]:
        if not row.any():
            return float("nan"), float("nan")
        found = stats.wilcoxon(row)
        return float(found.statistic), float(found.pvalue)

    return _rows(one, differences)


def sign(differences: Numbers) -> tuple[Numbers, Numbers]:
    """Return the number of queries above 0 and the exact two-sided p (SciPy's binomtest) of rows."""
    from scipy import stats

    def one(row: Numbers) -> tuple[float, float]:
        above, below = int((row > 0).sum()), int((row < 0).sum())
        if above + below == 0:
            return 0.0, 1.0
        return float(above), float(stats.binomtest(above, above + below).pvalue)

    return _rows(one, differences)


def leaning(test: str, differences: Numbers) -> Numbers:
    """Return a number for each row whose sign says which side a test's outcome speaks for.

    The sign test counts queries and Wilcoxon's test adds up ranks; the other tests are of the mean,
    which may have the opposite sign.

    >>> import numpy as np
    >>> row = np.array([[-0.1, -0.1, -0.1, 0.9]])
    >>> [float(np.sign(leaning(test, row))[0]) for test in ("t", "sign", "wilcoxon")]
    [1.0, -1.0, -1.0]
    """
    import numpy as np
    from scipy import stats

    signs = np.sign(differences)
    if test == "sign":
        return np.asarray(signs.sum(axis=1))
    if test == "wilcoxon":
        # zeros have the lowest ranks and no sign: they move all other ranks by the same number
        zeros = (signs == 0).sum(axis=1, keepdims=True)
        ranks = stats.rankdata(np.abs(differences), axis=1) - zeros
        return np.asarray((signs * ranks).sum(axis=1))
    return np.asarray(differences.mean(axis=1))


def _rows(
    one: Callable[[Numbers], tuple[float, float]], differences: Numbers
) -> tuple[Numbers, Numbers]:
    import numpy as np

    found: Any = np.array([one(row) for row in differences]).reshape(-1, 2)
    return found[:, 0], found[:, 1]


FORMULAS: Mapping[str, Callable[[Numbers], tuple[Numbers, Numbers]]] = {
    "t": paired_t,
    "wilcoxon": wilcoxon,
    "sign": sign,
}
