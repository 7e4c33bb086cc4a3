"""Metrics that depend on equal scores again in plain Python: scikit-learn's, and means over all orders.

A twin takes `docs` (the ids, best first), `grades` (by id), the parameters as keywords, `scores` by
document, and `queries`: how many of them count; `pooled_` twins the lists of all queries. Documents at a
threshold are searched among all documents, one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, groupby
from math import log2
from statistics import fmean
from typing import Any

import oracles
from oracles import Docs, Grades, ratio, relevant, worth

Scores = Mapping[str, float]

METRICS = [
    "AP(ties=threshold)", "AP(ties=threshold)@3", "AP(ties=threshold, rel=2)",
    "AP(ties=threshold, norm=hits)@5", "AP(ties=threshold, norm=min)@4", "AP(ties=threshold, norm=k)@4",
    "AP(aggregate=pooled)", "AP(aggregate=pooled)@3", "AP(aggregate=pooled, ties=threshold)",
    "AP(aggregate=pooled, ties=threshold, rel=2, norm=hits)", "AP(aggregate=pooled, norm=min)@3",
    "AP(aggregate=pooled, ties=threshold, norm=k)@2", "GMAP(ties=threshold)", "LRAP", "LRAP(rel=2)",
    "RankingLoss", "RankingLoss(rel=2)", "RankingLoss(ties=half)", "CoverageError",
    "CoverageError(rel=2)", "CoverageError(never=retrieved)", "CoverageError(never=retrieved, rel=3)",
    "DCG(ties=average)", "DCG(ties=average)@3", "DCG(ties=average, rel=2, dcg=exp-log2)@4",
    "DCG(ties=average, gains={1:0.25,2:3.5,3:3})@2", "nDCG(ties=average)", "nDCG(ties=average)@1",
    "nDCG(ties=average)@3", "nDCG(ties=average)@20", "nDCG(ties=average, rel=2)@2",
    "nDCG(ties=average, dcg=exp-log2)", "nDCG(ties=average, dcg=binary)@4",
    "nDCG(ties=average, gains={0:0.5,1:0})@3", "RelP(norm=queries)@3", "RelP(norm=queries)@50",
    "nR_as_coded@10", "RelP(norm=queries, rel=2)@2", "P(ties=average)@3", "P(ties=average, rel=2)@1",
    "P(ties=average, norm=retrieved)@4", "P(ties=average, norm=retrieved, aggregate=pooled)@3",
    "R(ties=average)@2", "R(ties=average, aggregate=pooled)@3", "RR(ties=average)",
    "RR(ties=average)@3", "RR(ties=average, rel=2)@2", "AP(ties=average)", "AP(ties=average)@3",
    "AP(ties=average, rel=2)", "AP(ties=average, norm=min)@4", "AP(ties=average, norm=k)@2",
    "GMAP(ties=average)@5",
]  # fmt: skip


def at_or_above(docs: Docs, scores: Scores, score: float) -> list[str]:
    return [doc for doc in docs if scores[doc] >= score]


def over_orders(
    docs: Docs, grades: Grades, rel: int, scores: Scores, value: Callable[[list[int]], float]
) -> float:
    """Return the mean of a sum over the relevant documents, by all places that they may have.

    The relevant documents of equal scores have all places of their group, the others the rest. What
    each group adds does not depend on the order of the groups above: they come in any one. `value` takes
    the ranks of relevant documents; it is asked with and without those of a group.
    """
    above: list[int] = []
    whole, first = 0.0, 1
    for _, group in groupby(docs, key=lambda doc: scores[doc]):
        tied = [grades.get(doc, 0) >= rel for doc in group]
        places = list(combinations(range(first, first + len(tied)), sum(tied)))
        whole += fmean(value([*above, *ranks]) - value(above) for ranks in places)
        above.extend(places[0])
        first += len(tied)
    return whole


def ap(
    docs: Docs, grades: Grades, *, scores: Scores, aggregate: str = "mean", **rules: Any
) -> float | None:
    if rules["ties"] == "average":
        rel, k = rules["rel"], rules["cutoff"]
        divisor = {"R": relevant(grades, rel), "k": k, "min": min(relevant(grades, rel), k or 0)}

        def precisions(ranks: list[int]) -> float:
            return sum(n / rank for n, rank in enumerate(ranks, 1) if k is None or rank <= k)

        return ratio(over_orders(docs, grades, rel, scores, precisions), divisor[rules["norm"]])
    return pooled_ap([(docs, grades, scores)], aggregate=aggregate, **rules)


gmap = ap


def pooled_ap(
    lists: Iterable[tuple[Docs, Grades, Scores]],
    *,
    rel: int,
    cutoff: int | None,
    norm: str,
    ties: str,
    aggregate: str,
) -> float | None:
    """Check for every document whether a relevant one comes before it, or together with it."""
    passed: list[tuple[tuple[float, ...], bool]] = []
    divisor = {"R": 0, "min": 0, "k": 0}
    for number, (docs, grades, scores) in enumerate(lists):
        divisor["R"] += relevant(grades, rel)
        if cutoff is not None:
            divisor["min"] += min(relevant(grades, rel), cutoff)
            divisor["k"] += cutoff
        for rank, doc in enumerate(docs[:cutoff]):
            when = (-scores[doc], rank, number) if ties == "rank" else (-scores[doc],)
            passed.append((when, grades.get(doc, 0) >= rel))
    divisor["hits"] = sum(good for _, good in passed)
    total = 0.0
    for moment in (when for when, good in passed if good):
        met = [good for when, good in passed if when <= moment]
        total += sum(met) / len(met)
    return ratio(total, divisor[norm])


def expected_found(
    docs: Docs, grades: Grades, scores: Scores, *, rel: int, cutoff: int, **_: str
) -> float:
    return over_orders(
        docs, grades, rel, scores, lambda ranks: sum(rank <= cutoff for rank in ranks)
    )


def p(
    docs: Docs, grades: Grades, *, scores: Scores, norm: str, cutoff: int, **rules: Any
) -> float | None:
    seen = cutoff if norm == "k" else len(docs[:cutoff])
    return ratio(expected_found(docs, grades, scores, cutoff=cutoff, **rules), seen)


def pooled_p(
    lists: Sequence[tuple[Docs, Grades, Scores]], *, norm: str, cutoff: int, **rules: Any
) -> float | None:
    seen = sum(cutoff if norm == "k" else len(docs[:cutoff]) for docs, *_ in lists)
    return ratio(sum(expected_found(*one, cutoff=cutoff, **rules) for one in lists), seen)


def r(docs: Docs, grades: Grades, *, scores: Scores, **rules: Any) -> float | None:
    return ratio(expected_found(docs, grades, scores, **rules), relevant(grades, rules["rel"]))


def pooled_r(lists: Sequence[tuple[Docs, Grades, Scores]], **rules: Any) -> float | None:
    wanted = sum(relevant(grades, rules["rel"]) for _, grades, _ in lists)
    return ratio(sum(expected_found(*one, **rules) for one in lists), wanted)


def rr(
    docs: Docs, grades: Grades, *, scores: Scores, rel: int, cutoff: int | None, ties: str
) -> float:
    def reciprocal(ranks: list[int]) -> float:
        return 1 / ranks[0] if ranks and ranks[0] <= (cutoff or ranks[0]) else 0.0

    return over_orders(docs, grades, rel, scores, reciprocal)


def lrap(docs: Docs, grades: Grades, *, rel: int, scores: Scores) -> float | None:
    """For every relevant document, take the precision of the list down to its score."""
    wanted = [doc for doc, grade in grades.items() if grade >= rel]
    purity = 0.0
    for doc in set(wanted) & set(docs):
        seen = at_or_above(docs, scores, scores[doc])
        purity += len(set(seen) & set(wanted)) / len(seen)
    return ratio(purity, len(wanted))


def ranking_loss(
    docs: Docs, grades: Grades, *, rel: int, ties: str, scores: Scores
) -> float | None:
    """Check every pair; a document that is not retrieved has the lowest score of all."""
    there = {doc: scores[doc] for doc in docs}
    good = [there.get(doc, float("-inf")) for doc, grade in grades.items() if grade >= rel]
    bad = [there[doc] for doc in docs if grades.get(doc, 0) < rel]
    weight = {"threshold": 1, "half": 0.5}[ties]
    lost = sum((g < b) + weight * (g == b) for g in good for b in bad)
    return ratio(lost, len(good) * len(bad))


def coverage_error(
    docs: Docs, grades: Grades, *, rel: int, never: str, scores: Scores
) -> float | None:
    wanted = {doc for doc, grade in grades.items() if grade >= rel}
    if not wanted:
        return 0
    if wanted - set(docs):
        return {"null": None, "retrieved": len(docs) + 1}[never]
    return len(at_or_above(docs, scores, min(scores[doc] for doc in wanted)))


def dcg(
    docs: Docs, grades: Grades, *, cutoff: int | None, ties: str, scores: Scores, **rules: Any
) -> float:
    """Give every document the mean discount of the ranks that its score takes."""
    gains = worth(grades, **rules)
    total = 0.0
    for doc in docs:
        ranks = [r for r, other in enumerate(docs, 1) if scores[other] == scores[doc]]
        counted = [r for r in ranks if cutoff is None or r <= cutoff]
        total += gains.get(doc, 0.0) * sum(1 / log2(r + 1) for r in counted) / len(ranks)
    return total


def ndcg(
    docs: Docs, grades: Grades, *, ties: str, scores: Scores, best: str = "judged", **rules: Any
) -> float | None:
    assert best == "judged"
    ideal = oracles.ideal_dcg(docs, grades, **rules)
    return ratio(dcg(docs, grades, ties=ties, scores=scores, **rules), ideal)
