"""The measures of sampled pools again in plain Python, walking down the ranking.

A twin takes `docs` (the ids, best first), the judgments as `{stratum: {document: grade}}`, where a
grade below 0 is a document of the pool that was not sampled, and the parameters as keywords.
"""

from __future__ import annotations

from collections import Counter
from math import floor, log2

from oracles import Docs, ratio
from oracles_diversity import Iterations

METRICS = [
    "xinfAP", "xinfAP@4", "xinfAP(rel=2)@20", "infNDCG", "infNDCG@4", "infNDCG(rel=2)@20",
    "infNDCG(ideal=rounded)@5", "statAP",
    "statAP@4", "statAP(rel=2)",
]  # fmt: skip
TINY = 0.00001


def weights(judged: Iterations) -> dict[str, float]:
    """Return how many documents a sampled one stands for, of each stratum with any."""
    sampled = {s: sum(grade >= 0 for grade in grades.values()) for s, grades in judged.items()}
    return {s: len(judged[s]) / number for s, number in sampled.items() if number}


def placed(judged: Iterations) -> dict[str, tuple[str, float]]:
    """Return the stratum and the grade of each document of the pool."""
    return {doc: (s, grade) for s, grades in judged.items() for doc, grade in grades.items()}


def estimated(judged: Iterations, rel: float) -> float:
    weight = weights(judged)
    return sum(weight[s] for s, grade in placed(judged).values() if grade >= rel)


def xinfAP(docs: Docs, judged: Iterations, *, cutoff: int | None, rel: float) -> float | None:  # noqa: N802
    pool, weight, total = placed(judged), weights(judged), 0.0
    above, sampled, relevant = Counter[str](), Counter[str](), Counter[str]()
    for rank, doc in enumerate(docs[:cutoff], 1):
        if doc not in pool:
            continue
        stratum, grade = pool[doc]
        if grade >= rel:
            expected = sum(
                above[s] * (relevant[s] + TINY) / (sampled[s] + 3 * TINY) for s in sorted(above)
            )
            total += weight[stratum] * (1 + expected) / rank
        above[stratum] += 1
        sampled[stratum] += grade >= 0
        relevant[stratum] += grade >= rel
    number = estimated(judged, rel)
    return ratio(total, number if cutoff is None else min(number, cutoff))


def infNDCG(  # noqa: N802
    docs: Docs, judged: Iterations, *, cutoff: int | None, rel: float, ideal: str
) -> float | None:
    pool, weight = placed(judged), weights(judged)
    pooled, sampled, gain = Counter[str](), Counter[str](), Counter[str]()
    for rank, doc in enumerate(docs[:cutoff], 1):
        if doc in pool:
            stratum, grade = pool[doc]
            pooled[stratum] += 1
            sampled[stratum] += grade >= 0
            gain[stratum] += grade / log2(rank + 1) if grade >= rel else 0  # type: ignore[assignment]
    found = sum(pooled[s] * gain[s] / sampled[s] for s in sorted(sampled) if sampled[s])
    numbers: dict[float, float] = {}
    for s, grade in sorted(pool.values()):
        if grade >= rel:
            numbers[grade] = numbers.get(grade, 0) + weight[s]
    best = start = 0.0
    for grade in sorted(numbers, reverse=True):
        number = floor(numbers[grade] + 0.5) if ideal == "rounded" else numbers[grade]
        for place in range(1, floor(number + 1e-9) + 1):
            if cutoff is None or start + place <= cutoff:
                best += grade / log2(start + place + 1)
        start += number
    return ratio(found, best)


def statAP(  # noqa: N802
    docs: Docs, judged: Iterations, *, cutoff: int | None, rel: float, inclusion: str
) -> float | None:
    assert inclusion == "stratum"
    pool, weight = placed(judged), weights(judged)
    total = above = 0.0
    for rank, doc in enumerate(docs[:cutoff], 1):
        stratum, grade = pool.get(doc, ("", -1))
        if grade >= rel:
            total += weight[stratum] * (1 + above) / rank
            above += weight[stratum]
    return ratio(total, estimated(judged, rel))
