"""Each metric again in plain Python: a ranking and its judgments in, a number out.

A twin is a function named after its metric, case and underscores aside; that is how it is found. It
takes `docs` (the ids, best first), `grades` (by id) and the parameters as keywords. An undefined
value is None: the header or the protocol says what it counts as. `ranking` is the twin of a
protocol's order.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from math import ceil, exp, floor, log, log2
from typing import Any

Docs = Sequence[str]
Grades = Mapping[str, int]
Pairs = Sequence[tuple[int, float]]


def single(score: float) -> float:
    """Round a score to 32 bits."""
    return struct.unpack("f", struct.pack("f", score))[0]


def ranking(
    scores: Mapping[str, float],
    grades: Grades,
    *,
    ties: str = "doc_desc",
    depth: int | None = None,
    judged_only: bool = False,
    judged_only_first: bool = False,
) -> list[str]:
    """Order documents by score, ties by id as bytes or as given; cut, then remove unjudged ones.

    With `judged_only_first`, unjudged ones are removed before the cut.
    """
    docs = list(scores)
    if ties != "input":
        docs.sort(key=str.encode, reverse=ties == "doc_desc")
    docs.sort(key=lambda doc: -scores[doc])
    if not (judged_only and judged_only_first):
        docs = docs[:depth]
    if judged_only:
        docs = [doc for doc in docs if grades.get(doc, -1) >= 0]
    return docs[:depth]


def ratio(a: float, b: float) -> float | None:
    return a / b if b else None


def relevant(grades: Grades, rel: int) -> int:
    return sum(grade >= rel for grade in grades.values())


def hits(docs: Docs, grades: Grades, rel: int, cutoff: int | None = None) -> list[int]:
    """Return the ranks of the relevant documents, counted from 1."""
    return [r for r, doc in enumerate(docs[:cutoff], 1) if grades.get(doc, 0) >= rel]


def precisions(docs: Docs, grades: Grades, rel: int, cutoff: int | None = None) -> list[float]:
    return [n / rank for n, rank in enumerate(hits(docs, grades, rel, cutoff), 1)]


def ap(
    docs: Docs, grades: Grades, *, rel: int, cutoff: int | None, norm: str, **as_ranked: str
) -> float | None:
    found = precisions(docs, grades, rel, cutoff)
    total = relevant(grades, rel)
    divisor = {"R": total, "hits": len(found)}
    if cutoff is not None:
        divisor |= {"min": min(total, cutoff), "k": cutoff}
    return ratio(sum(found), divisor[norm])


gmap = ap


def rr(docs: Docs, grades: Grades, *, rel: int, cutoff: int | None, ties: str = "rank") -> float:
    return 1 / min(hits(docs, grades, rel, cutoff), default=float("inf"))


def p(
    docs: Docs,
    grades: Grades,
    *,
    rel: int,
    cutoff: int,
    norm: str,
    no_relevant: float | None = None,
    **as_ranked: str,
) -> float | None:
    if not relevant(grades, rel):
        return no_relevant or 0.0
    divisor = {"k": cutoff, "retrieved": len(docs[:cutoff])}[norm]
    return ratio(len(hits(docs, grades, rel, cutoff)), divisor)


def r(docs: Docs, grades: Grades, *, rel: int, cutoff: int, **as_ranked: str) -> float | None:
    return ratio(len(hits(docs, grades, rel, cutoff)), relevant(grades, rel))


def rprec(
    docs: Docs, grades: Grades, *, rel: int, multiple: float, aggregate: str = "mean"
) -> float | None:
    depth = int(multiple * relevant(grades, rel) + 0.9)
    return ratio(len(hits(docs, grades, rel, depth)), depth)


def rel_p(
    docs: Docs, grades: Grades, *, rel: int, cutoff: int, norm: str = "R", queries: int = 1
) -> float | None:
    most = {"R": relevant(grades, rel), "queries": queries}[norm]
    return ratio(len(hits(docs, grades, rel, cutoff)), min(cutoff, most))


def set_rel_p(docs: Docs, grades: Grades, *, rel: int) -> float | None:
    return ratio(len(hits(docs, grades, rel)), min(len(docs), relevant(grades, rel)))


def set_ap(docs: Docs, grades: Grades, *, rel: int) -> float | None:
    return ratio(len(hits(docs, grades, rel)) ** 2, len(docs) * relevant(grades, rel))


def yaap(docs: Docs, grades: Grades, *, rel: int) -> float:
    gained = sum(precisions(docs, grades, rel))
    return log((1 + gained) / (1 + relevant(grades, rel) - gained))


def inf_ap(docs: Docs, grades: Grades, *, rel: int) -> float | None:
    epsilon = 0.00001
    found = others = pooled_only = 0
    expected = 0.0
    for above, doc in enumerate(docs):
        if doc not in grades:
            continue
        if grades[doc] >= rel:
            share = ratio(found + others + pooled_only, above) or 0
            guess = (found + epsilon) / (found + others + 2 * epsilon)
            expected += 1 / (above + 1) + above / (above + 1) * share * guess
            found += 1
        elif grades[doc] >= 0:
            others += 1
        else:
            pooled_only += 1
    return ratio(expected, relevant(grades, rel))


def utility(
    docs: Docs, grades: Grades, *,
    rel: int, p1: float, p2: float, p3: float, p4: float, collection: int,
) -> float:  # fmt: skip
    n, s, r = len(docs), len(hits(docs, grades, rel)), relevant(grades, rel)
    return p1 * s + p2 * (n - s) + p3 * (r - s) + p4 * (collection - n - r + s)


def set_p(docs: Docs, grades: Grades, *, rel: int, aggregate: str = "mean") -> float | None:
    return ratio(len(hits(docs, grades, rel)), len(docs))


def set_r(docs: Docs, grades: Grades, *, rel: int, aggregate: str = "mean") -> float | None:
    return ratio(len(hits(docs, grades, rel)), relevant(grades, rel))


def set_f(
    docs: Docs,
    grades: Grades,
    *,
    rel: int,
    beta: float,
    x: float | None,
    squared: bool,
    aggregate: str = "mean",
) -> float | None:
    weight = x if x is not None else beta**2 if squared else beta
    precision, recall = set_p(docs, grades, rel=rel) or 0, set_r(docs, grades, rel=rel) or 0
    return ratio((1 + weight) * precision * recall, weight * precision + recall)


def success(docs: Docs, grades: Grades, *, rel: int, cutoff: int | None) -> float:
    return float(any(grades.get(doc, 0) >= rel for doc in docs[:cutoff]))


def bpref(docs: Docs, grades: Grades, *, rel: int, negatives: str) -> float | None:
    total = relevant(grades, rel)
    lowest = 0 if negatives == "unjudged" else min(grades.values(), default=0)
    non_relevant = sum(lowest <= grade < rel for grade in grades.values())
    above, gained = 0, 0.0
    for doc in docs:
        grade = grades.get(doc, float("-inf"))
        if grade >= rel:
            gained += 1 - (ratio(min(above, total), min(non_relevant, total)) or 0)
        elif grade >= lowest:
            above += 1
    return ratio(gained, total)


gmbpref = bpref


def interpolated(
    docs: Docs, grades: Grades, rel: int, recall: float, exact: Fraction, needed: str
) -> float:
    total = relevant(grades, rel)
    count = {
        "ceil": ceil(exact * total),
        "trec_eval_9": int(recall * total + 0.9),
        "trec_eval_10": floor(recall * total + 0.5),
    }[needed]
    return max(precisions(docs, grades, rel)[max(count - 1, 0) :], default=0.0)


def iprec(docs: Docs, grades: Grades, *, rel: int, recall: float, needed: str) -> float:
    # the level is a decimal number: 0.7 of ten is seven
    return interpolated(docs, grades, rel, recall, Fraction(str(recall)), needed)


def iap(docs: Docs, grades: Grades, *, rel: int, levels: Sequence[float], needed: str) -> float:
    at = [iprec(docs, grades, rel=rel, recall=level, needed=needed) for level in levels]
    return sum(at) / len(at)


def worth(
    grades: Grades, *, rel: float | None, gains: Pairs | None, dcg: str = "log2"
) -> dict[str, float]:
    """Return the gain of every judged document that has one."""
    if gains is not None:
        listed = dict(gains)
        found = {doc: listed.get(grade, max(grade, 0)) for doc, grade in grades.items()}
        return {doc: float(gain) for doc, gain in found.items() if gain}
    counting = {
        doc: grade for doc, grade in grades.items() if (grade > 0 if rel is None else grade >= rel)
    }
    return {
        doc: float({"log2": grade, "exp-log2": 2**grade - 1, "binary": 1}[dcg])
        for doc, grade in counting.items()
    }


def best_gains(gains: Mapping[str, float]) -> list[float]:
    return sorted((gain for gain in gains.values() if gain > 0), reverse=True)


def dcg_so_far(gains: Sequence[float]) -> list[float]:
    """Return the discounted cumulative gain at every rank, and 0 before the first."""
    return list(accumulate((g / log2(k + 1) for k, g in enumerate(gains, 1)), initial=0.0))


def dcg(
    docs: Docs, grades: Grades, *, cutoff: int | None, ties: str = "rank", **rules: Any
) -> float:
    gains = worth(grades, **rules)
    return dcg_so_far([gains.get(doc, 0.0) for doc in docs[:cutoff]])[-1]


def ideal_dcg(docs: Docs, grades: Grades, *, cutoff: int | None, **rules: Any) -> float:
    return dcg_so_far(best_gains(worth(grades, **rules))[:cutoff])[-1]


def ndcg(
    docs: Docs, grades: Grades, *, ties: str = "rank", best: str = "judged", **rules: Any
) -> float | None:
    assert best != "k"  # k is compared with the recommendation metrics
    whole = rules | ({"cutoff": None} if best == "all" else {})
    return ratio(dcg(docs, grades, **rules), ideal_dcg(docs, grades, **whole))


def ndcg_rel(docs: Docs, grades: Grades, **rules: Any) -> float | None:
    gains = worth(grades, **rules)
    best = best_gains(gains)
    ideal, actual = dcg_so_far(best), dcg_so_far([gains.get(doc, 0.0) for doc in docs])
    found = [k for k, doc in enumerate(docs, 1) if gains.get(doc, 0.0) > 0]
    at = [actual[k] / ideal[min(k, len(best))] for k in found]
    missing = len(best) - len(at)
    return ratio(max(sum(at) + missing * (ratio(actual[-1], ideal[-1]) or 0), 0), len(best))


def rndcg(docs: Docs, grades: Grades, *, level: int, **rules: Any) -> float | None:
    if not relevant(grades, level):
        return None
    gains = worth(grades, **rules)
    best = best_gains(gains)
    ideal, actual = dcg_so_far(best), dcg_so_far([gains.get(doc, 0.0) for doc in docs])
    steps = [k for k in range(1, len(best)) if best[k - 1] > best[k]]
    if best and len(docs) > len(best):
        steps.append(len(best))
    at = [actual[min(k, len(docs))] / ideal[k] for k in steps]
    if not best or len(docs) != len(best) + 1:
        at.append(ratio(actual[-1], ideal[-1]) or 0)
    return sum(at) / len(at)


def g(docs: Docs, grades: Grades, **rules: Any) -> float | None:
    gains = worth(grades, **rules)
    best = best_gains(gains)
    costs = accumulate([*(max(gain, 1) for gain in best), *[1] * len(docs)])
    so_far, total = 0.0, 0.0
    for doc, cost in zip(docs, costs, strict=False):
        so_far += gains.get(doc, 0.0)
        if doc in gains:
            total += gains[doc] / log2(2 + cost - so_far)
    return ratio(total, sum(best))


def q(docs: Docs, grades: Grades, *, cutoff: int | None, beta: float, **rules: Any) -> float | None:
    gains = worth(grades, **rules)
    best = list(accumulate(best_gains(gains)))
    number, gain, total = 0, 0.0, 0.0
    for rank, doc in enumerate(docs[:cutoff], 1):
        if doc in gains:
            number, gain = number + 1, gain + gains[doc]
            total += (number + beta * gain) / (rank + beta * best[min(rank, len(best)) - 1])
    return ratio(total, min(len(best), cutoff or len(best)))


def bin_g(docs: Docs, grades: Grades, *, rel: int) -> float | None:
    found = hits(docs, grades, rel)
    return ratio(sum(1 / log2(2 + k - n) for n, k in enumerate(found, 1)), relevant(grades, rel))


def rbp(
    docs: Docs, grades: Grades, *,
    rel: int, cutoff: int | None, p: float, gain: str, gains: Pairs | None,
) -> float:  # fmt: skip
    points = worth(grades, rel=rel, gains=gains)
    highest = max([*points.values(), 1])
    share = {"binary": lambda x: 1.0, "grade": float, "normalised": lambda x: x / highest}[gain]
    return (1 - p) * sum(
        share(points[doc]) * p**k for k, doc in enumerate(docs[:cutoff]) if doc in points
    )


def rbp_resid(docs: Docs, grades: Grades, *, p: float, tail: str) -> float:
    unjudged = [k for k, doc in enumerate(docs) if grades.get(doc, -1) < 0]
    below = 0.0 if tail == "trec_eval_10" and not unjudged else p ** len(docs)
    return below + (1 - p) * sum(p**k for k in unjudged)


def unjudged(docs: Docs, grades: Grades, *, cutoff: int) -> float:
    return sum(grades.get(doc, -1) < 0 for doc in docs[:cutoff]) / cutoff


def num_nonrel_ret(docs: Docs, grades: Grades, *, rel: int) -> float:
    return float(sum(0 <= grades.get(doc, -1) < rel for doc in docs))


def judged(docs: Docs, grades: Grades, *, cutoff: int | None) -> float | None:
    return ratio(sum(doc in grades for doc in docs[:cutoff]), len(docs[:cutoff]))


def num_q(docs: Docs, grades: Grades) -> float:
    return 1.0


def num_rel(docs: Docs, grades: Grades, *, rel: int) -> float:
    return float(relevant(grades, rel))


def num_rel_ret(docs: Docs, grades: Grades, *, rel: int, cutoff: int | None) -> float:
    return float(len(hits(docs, grades, rel, cutoff)))


def num_ret(docs: Docs, grades: Grades, *, cutoff: int | None) -> float:
    return float(len(docs[:cutoff]))


# The aggregates of the queries' values.
OVER_ALL: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": lambda values: sum(values) / len(values),
    "sum": sum,
    "geometric_mean": lambda values: exp(sum(log(max(v, 1e-5)) for v in values) / len(values)),
}
