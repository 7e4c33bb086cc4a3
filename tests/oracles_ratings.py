"""Metrics of rating prediction again in plain Python.

A twin takes `docs` (the ids, best first), `grades` (by id), the parameters as keywords, and `scores` by
document; `pooled_` twins take the lists of all queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, fsum, log, sqrt

from oracles import Docs, Grades, ratio

Scores = Mapping[str, float]
Lists = Iterable[tuple[Docs, Grades, Scores]]

METRICS = [
    "RMSE", "MAE", "R2", "LogLoss", "LogLoss(rel=2)", "LogLoss(rel=0.5)",
    "Brier", "Brier(rel=2)", "ECE", "ECE(bins=3)", "ECE(rel=2, bins=1)",
]  # fmt: skip


def pairs(lists: Lists) -> list[tuple[float, float]]:
    """Return the predicted and the true rating of each document that has both."""
    return [(scores[d], grades[d]) for docs, grades, scores in lists for d in docs if d in grades]


def labelled(lists: Lists) -> list[tuple[float, float]]:
    """Return the pairs whose grade says whether the document is relevant; below 0 it says nothing."""
    return [(s, g) for s, g in pairs(lists) if g >= 0]


def mean(numbers: list[float]) -> float | None:
    return ratio(fsum(numbers), len(numbers))


def pooled_rmse(lists: Lists) -> float | None:
    squared = mean([(s - g) ** 2 for s, g in pairs(lists)])
    return None if squared is None else sqrt(squared)


def rmse(docs: Docs, grades: Grades, *, scores: Scores) -> float | None:
    return pooled_rmse([(docs, grades, scores)])


def pooled_mae(lists: Lists) -> float | None:
    return mean([abs(s - g) for s, g in pairs(lists)])


def mae(docs: Docs, grades: Grades, *, scores: Scores) -> float | None:
    return pooled_mae([(docs, grades, scores)])


def pooled_r2(lists: Lists) -> float | None:
    both = pairs(lists)
    if len({g for _, g in both}) < 2:
        return None
    centre = fsum(g for _, g in both) / len(both)
    return 1 - fsum((s - g) ** 2 for s, g in both) / fsum((g - centre) ** 2 for _, g in both)


def r2(docs: Docs, grades: Grades, *, scores: Scores) -> float | None:
    return pooled_r2([(docs, grades, scores)])


def pooled_log_loss(lists: Lists, *, rel: float) -> float | None:
    if any(not 0 <= s <= 1 for s, _ in labelled(lists)):
        return None
    kept = [(min(max(s, 2**-52), 1 - 2**-52), g) for s, g in labelled(lists)]
    return mean([-log(s if g >= rel else 1 - s) for s, g in kept])


def log_loss(docs: Docs, grades: Grades, *, rel: float, scores: Scores) -> float | None:
    return pooled_log_loss([(docs, grades, scores)], rel=rel)


def pooled_brier(lists: Lists, *, rel: float) -> float | None:
    if any(not 0 <= s <= 1 for s, _ in labelled(lists)):
        return None
    return mean([(s - (g >= rel)) ** 2 for s, g in labelled(lists)])


def brier(docs: Docs, grades: Grades, *, rel: float, scores: Scores) -> float | None:
    return pooled_brier([(docs, grades, scores)], rel=rel)


def pooled_ece(lists: Lists, *, rel: float, bins: int) -> float | None:
    lists = list(lists)
    if any(not 0 <= s <= 1 for s, _ in labelled(lists)):
        return None
    of_bin: dict[int, list[tuple[float, bool]]] = {}
    for s, g in labelled(lists):
        of_bin.setdefault(max(ceil(s * bins), 1), []).append((s, g >= rel))
    apart = [abs(fsum(s for s, _ in some) - sum(r for _, r in some)) for some in of_bin.values()]
    return ratio(fsum(apart), len(labelled(lists)))


def ece(docs: Docs, grades: Grades, *, rel: float, bins: int, scores: Scores) -> float | None:
    return pooled_ece([(docs, grades, scores)], rel=rel, bins=bins)
