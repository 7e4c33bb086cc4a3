"""The metrics of the four source projects again in plain Python; see `oracles` for the others.

A twin takes `docs` (the ids, best first), `grades` (by id) and the parameters as keywords. What
pools the documents of all queries has a second one, named `pooled_` and the metric, which takes the
lists of all queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import count
from math import ceil

from oracles import Docs, Grades, hits, p, ratio, relevant

# by document: its score and its place in the whole source
Scores = Mapping[str, tuple[float, int]]

METRICS = [
    "Cover", "Cover@1", "Cover@3", "Cover(rel=2)", "oocover", "MaxRank", "MaxRank(rel=2)", "AvgRank",
    "AvgRank(rel=3)", "AUC", "AUC@3", "AUC(rel=2)", "AUC(empty=zero)", "AUC(empty=half)",
    "AUC(empty=roerei)", "AUC(empty=replay)@3", "AUC(empty=half)@2", "AUC(ties=half)",
    "AUC(ties=half)@3",
    "AUC(ties=input,rel=2)", "AUC(ties=input)@2", "AUC(aggregate=pooled)",
    "AUC(aggregate=pooled,ties=half)@3", "AUC(aggregate=pooled,ties=input,empty=roerei)@2",
    "Volume", "Volume(share=True)", "Volume(share=True, catalogue=3)", "KAtRecall@0",
    "KAtRecall@0.1", "KAtRecall@0.5", "KAtRecall@0.7", "KAtRecall@1", "KAtRecall(rel=2)@0.5",
    "KAtRecall(never=retrieved)@0.3", "KAtRecall(never=retrieved)@1", "KAtRecall(never=half)@0.6",
    "KAtRecall(never=half,labels=7)@1", "KAtRecall(never=half,empty=null)@0.9",
    "KAtRecall(empty=null)@0", "mean_k_for_recall(rel=2)@0.5", "PAtRecall@0", "PAtRecall@0.1",
    "PAtRecall@0.5", "PAtRecall@0.7", "PAtRecall@1", "PAtRecall(rel=2)@1", "PAtRecall(never=zero)@0.6",
    "E", "E(beta=2.0)", "E(beta=0.0)", "E@3", "E(rel=2)@2", "E(norm=k)@20",
    "E(norm=k,beta=2.0)@3", "F@3", "F@20", "F(beta=0.5)@2",
    "F(norm=retrieved)@20", "F(rel=2)@4", "LAG", "LAG@3", "LAG(rel=2)", "LAG(aggregate=pooled)",
    "LAG(rel=2,aggregate=pooled)@5", "P@4", "P(norm=retrieved)@4", "P(norm=retrieved)@20", "ooprecision",
    "P(no_relevant=0.5)@3", "P(norm=retrieved,no_relevant=1,rel=2)@5",
]  # fmt: skip


def cover(docs: Docs, grades: Grades, *, rel: int, cutoff: int | None) -> float | None:
    return ratio(len(hits(docs, grades, rel, cutoff)), relevant(grades, rel))


def max_rank(docs: Docs, grades: Grades, *, rel: int) -> float:
    """Try every length of the list from 0: the first that includes everything required."""
    required = {doc for doc, grade in grades.items() if grade >= rel}
    return next((k for k in range(len(docs) + 1) if required <= set(docs[:k])), len(docs) + 1)


def avg_rank(docs: Docs, grades: Grades, *, rel: int) -> float:
    positions = [docs.index(doc) for doc in docs if grades.get(doc, 0) >= rel]
    if not relevant(grades, rel):
        return 0
    return sum(positions) / len(positions) if positions else len(docs) + 1


def placed(run: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, tuple[float, int]]]:
    """Return each document's score and its place in the whole source."""
    places = count()
    return {q: {doc: (s, next(places)) for doc, s in found.items()} for q, found in run.items()}


def auc(
    docs: Docs,
    grades: Grades,
    *,
    rel: int,
    cutoff: int | None,
    empty: str,
    ties: str,
    aggregate: str,
    scores: Scores,
) -> float | None:
    lists = [(docs, grades, scores)]
    return pooled_auc(lists, rel=rel, cutoff=cutoff, empty=empty, ties=ties, aggregate=aggregate)


def pooled_auc(
    lists: Iterable[tuple[Docs, Grades, Scores]],
    *,
    rel: int,
    cutoff: int | None,
    empty: str,
    ties: str,
    aggregate: str,
) -> float | None:
    """Check every pair."""
    good, bad, needed = [], [], 0
    for number, (docs, grades, scores) in enumerate(lists):
        needed += relevant(grades, rel)
        listed = docs
        if ties == "input":
            listed = sorted(docs, key=lambda doc: (-scores[doc][0], scores[doc][1]))
        for rank, doc in enumerate(listed[:cutoff]):
            score, place = scores[doc]
            tie = {"rank": (rank, number), "half": (), "input": (place,)}[ties]
            (good if grades.get(doc, 0) >= rel else bad).append((-score, tie))
    if good and bad:
        won = sum(g < b for g in good for b in bad) + sum(g == b for g in good for b in bad) / 2
        return won / (len(good) * len(bad))
    if empty == "replay":
        return 1.0 if good else 0.0
    if empty == "roerei":
        return 1.0 if not needed or not bad else 0.0
    return {"null": None, "zero": 0.0, "half": 0.5}[empty]


def volume(docs: Docs, grades: Grades, *, share: bool, catalogue: int | None, named: int) -> float:
    return min(len(docs) / (catalogue or named), 1) if share else len(docs)


def first_with_recall(docs: Docs, grades: Grades, rel: int, recall: float) -> int | None:
    """Return the smallest k whose recall reaches a level, an exact decimal."""
    total = relevant(grades, rel)
    needed = ceil(Fraction(str(recall)) * total)
    if not total:
        return None
    counts = (sum(grades.get(doc, 0) >= rel for doc in docs[:k]) for k in range(len(docs) + 1))
    return next((k for k, count in enumerate(counts) if count >= needed), None)


def k_at_recall(
    docs: Docs,
    grades: Grades,
    *,
    rel: int,
    recall: float,
    never: str,
    labels: int | None,
    empty: str,
    known: int,
) -> float | None:
    k = first_with_recall(docs, grades, rel, recall)
    if not relevant(grades, rel) or (empty == "null" and not docs):
        return None
    if k is None and never != "null":
        return len(docs) + 1 if never == "retrieved" else (labels or known) // 2
    return k


def p_at_recall(docs: Docs, grades: Grades, *, rel: int, recall: float, never: str) -> float | None:
    k = first_with_recall(docs, grades, rel, recall)
    if not k:
        return {"null": None, "zero": 0.0}[never]
    return len(hits(docs, grades, rel, k)) / k


def e(
    docs: Docs,
    grades: Grades,
    *,
    rel: int,
    beta: float,
    cutoff: int | None,
    norm: str,
    aggregate: str = "mean",
) -> float | None:
    """Count the members of the two sets and of their symmetric difference."""
    seen: set[object] = set(docs[:cutoff])
    if norm == "k" and cutoff is not None:
        seen |= set(range(cutoff - len(seen)))  # there is no document
    right = {doc for doc, grade in grades.items() if grade >= rel}
    differ = len(seen - right) + beta**2 * len(right - seen)
    return ratio(differ, len(seen) + beta**2 * len(right))


def f(
    docs: Docs,
    grades: Grades,
    *,
    rel: int,
    cutoff: int,
    beta: float,
    norm: str,
    aggregate: str = "mean",
) -> float | None:
    """Compute the weighted harmonic mean of precision and recall."""
    precision = p(docs, grades, rel=rel, cutoff=cutoff, norm=norm, no_relevant=0.0)
    recall = cover(docs, grades, rel=rel, cutoff=cutoff)
    if not precision or not recall:
        return 0.0
    return (1 + beta**2) / (1 / precision + beta**2 / recall)


def lags(docs: Docs, grades: Grades, rel: int, cutoff: int | None) -> list[int]:
    """Return, for each relevant document, the number of non-relevant ones above it."""
    return [
        sum(grades.get(other, 0) < rel for other in docs[: rank - 1])
        for rank in hits(docs, grades, rel, cutoff)
    ]


def lag(
    docs: Docs, grades: Grades, *, rel: int, cutoff: int | None, aggregate: str
) -> float | None:
    found = lags(docs, grades, rel, cutoff)
    return ratio(sum(found), len(found))


def pooled_lag(
    lists: Iterable[tuple[Docs, Grades, Scores]], *, rel: int, cutoff: int | None, aggregate: str
) -> float | None:
    found = [one for docs, grades, _ in lists for one in lags(docs, grades, rel, cutoff)]
    return ratio(sum(found), len(found))
