"""The measures of judgments by iteration again in plain Python, walking down the ranking.

A twin takes `docs` (the ids, best first), the judgments as `{iteration: {document: grade}}`, and
the parameters as keywords. An undefined value is None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log2

import oracles
from oracles import Docs, Grades, ratio

Iterations = Mapping[str, Grades]
METRICS = [
    "ERR_IA@1", "ERR_IA@3", "ERR_IA@20", "ERR_IA(alpha=0.25)@5", "ERR_IA(rel=2, alpha=1.0)@5",
    "nERR_IA", "nERR_IA@1", "nERR_IA@4", "nERR_IA(rel=2, alpha=0.0)@5", "alpha_DCG@1",
    "alpha_DCG@4", "alpha_DCG(alpha=0.25)@20", "alpha_DCG(rel=2)@4", "alpha_nDCG", "alpha_nDCG@1",
    "alpha_nDCG@4", "alpha_nDCG(alpha=1.0)@5", "alpha_nDCG(alpha=0.0)", "alpha_nDCG(rel=2)@4",
    "NRBP", "NRBP@3", "NRBP(alpha=0.25, beta=0.9)", "NRBP(rel=2, beta=1.0)", "nNRBP", "nNRBP@3",
    "nNRBP(alpha=0.25, beta=0.9)", "nNRBP(rel=2, beta=0.0)", "StRecall", "StRecall@1",
    "StRecall(rel=2)@4", "AP_IA", "AP_IA@3", "AP_IA(groups=all)", "AP_IA(groups=all, rel=2)@4",
    "P_IA@1", "P_IA@4", "P_IA(rel=2)@20", "P_IA(groups=all)@4", "Rprec_IA",
    "Rprec_IA(groups=all, multiple=0.35)", "Rprec_IA(rel=2, multiple=2.0)",
]  # fmt: skip


def relevant_to(judged: Iterations, rel: int) -> dict[str, set[str]]:
    """Return the subtopics of every document that has any."""
    found: dict[str, set[str]] = {}
    for iteration, grades in judged.items():
        for doc, grade in grades.items():
            if grade >= rel:
                found.setdefault(doc, set()).add(iteration)
    return found


def gains(docs: Sequence[set[str]], alpha: float) -> list[float]:
    """Return the gain of each document, given its subtopics."""
    worth: dict[str, float] = {}
    found = []
    for subtopics in docs:
        found.append(sum(worth.get(one, 1.0) for one in sorted(subtopics)))
        worth |= {one: worth.get(one, 1.0) * (1 - alpha) for one in subtopics}
    return found


def best_gains(judged: Iterations, rel: int, alpha: float) -> list[float]:
    """Return the gain of each document in the ideal order, each next one searched among all."""
    left = relevant_to(judged, rel)
    chosen: list[set[str]] = []
    while left:
        doc = max(left, key=lambda d: (gains([*chosen, left[d]], alpha)[-1], d.encode()))
        chosen.append(left.pop(doc))
    return gains(chosen, alpha)


def summed(found: Sequence[float], weight: Callable[[int], float], cutoff: int | None) -> float:
    return sum(gain * weight(rank) for rank, gain in enumerate(found[:cutoff], 1))


def novelty(docs: Docs, judged: Iterations, rel: int, alpha: float) -> tuple[list[float], int]:
    """Return the gain of each document of the ranking, and the number of subtopics."""
    subtopics = relevant_to(judged, rel)
    found = gains([subtopics.get(doc, set()) for doc in docs], alpha)
    return found, len(set().union(*subtopics.values()))


def against_all(weight: Callable[[int], float]) -> Callable[..., float | None]:
    def twin(
        docs: Docs, judged: Iterations, *, cutoff: int, alpha: float, rel: int
    ) -> float | None:
        found, size = novelty(docs, judged, rel, alpha)
        most = summed([(1 - alpha) ** n for n in range(cutoff)], weight, None)
        return ratio(summed(found, weight, cutoff), size * most)

    return twin


def against_best(weight: Callable[[int], float]) -> Callable[..., float | None]:
    def twin(
        docs: Docs, judged: Iterations, *, cutoff: int | None, alpha: float, rel: int
    ) -> float | None:
        found, _ = novelty(docs, judged, rel, alpha)
        best = best_gains(judged, rel, alpha)
        return ratio(summed(found, weight, cutoff), summed(best, weight, cutoff))

    return twin


def nrbp(
    docs: Docs, judged: Iterations, *, cutoff: int | None, alpha: float, beta: float, rel: int
) -> float | None:
    found, size = novelty(docs, judged, rel, alpha)
    return ratio(
        (1 - (1 - alpha) * beta) * summed(found, lambda rank: beta ** (rank - 1), cutoff), size
    )


def nnrbp(
    docs: Docs, judged: Iterations, *, cutoff: int | None, alpha: float, beta: float, rel: int
) -> float | None:
    return against_best(lambda rank: beta ** (rank - 1))(
        docs, judged, cutoff=cutoff, alpha=alpha, rel=rel
    )


def strecall(docs: Docs, judged: Iterations, *, cutoff: int | None, rel: int) -> float | None:
    subtopics = relevant_to(judged, rel)
    seen: set[str] = set().union(*(subtopics.get(doc, set()) for doc in docs[:cutoff]))
    return ratio(len(seen), len(set().union(*subtopics.values())))


def by_iteration(of: Callable[..., float | None], **fixed: object) -> Callable[..., float | None]:
    """Return the mean over the iterations of a metric's twin."""

    def twin(docs: Docs, judged: Iterations, *, groups: str, **params: object) -> float | None:
        counted = [
            grades
            for grades in judged.values()
            if groups == "all" or oracles.relevant(grades, params["rel"])
        ]
        found = [of(docs, grades, **fixed, **params) or 0 for grades in counted]
        return ratio(sum(found), len(found))

    return twin


def first(rank: int) -> float:
    return 1 / rank


def logarithm(rank: int) -> float:
    return 1 / log2(rank + 1)


err_ia, nerr_ia = against_all(first), against_best(first)
alpha_dcg, alpha_ndcg = against_all(logarithm), against_best(logarithm)
ap_ia = by_iteration(oracles.ap, norm="R")
p_ia = by_iteration(oracles.p, norm="k", no_relevant=0.0)
rprec_ia = by_iteration(oracles.rprec)
