"""The user models again in plain Python: they walk down the ranking, document by document.

A twin is as in `oracles.py`. The walk goes over `horizon`
documents; those past the end of the ranking have no gain. It takes a function for the probability
that the user continues from a rank, given the gain there and the gain up to it.
"""

# ruff: noqa: N803 (T is what ir_measures calls it)

from __future__ import annotations

from collections.abc import Callable
from math import exp, log2

from oracles import Docs, Grades

METRICS = [
    "ERR@1", "ERR@3", "ERR@20", "ERR(max_rel=2)@5", "SDCG(max_rel=3)@1", "SDCG(max_rel=3)@5",
    "SDCG(min_rel=1, max_rel=2)@20", "BPM(max_rel=3)@1", "BPM(max_rel=3)@5", "BPM(max_rel=1)@20",
    "BPM(T=2.5, max_rel=4)@10", "BPM(T=0.5, min_rel=1, max_rel=3)@10", "INST(max_rel=3)",
    "INST(T=0.25, max_rel=1)", "INST(T=3.0, min_rel=1, max_rel=4)",
    "INST(T=2.0, max_rel=2, horizon=4)", "INSQ(max_rel=3)", "INSQ(T=0.1, max_rel=1)",
    "INSQ(T=5.5, min_rel=1, max_rel=3, horizon=3)", "NERR8(max_rel=4)@1", "NERR8(max_rel=3)@5",
    "NERR8(min_rel=1, max_rel=2)@20", "NERR9(max_rel=4)@1", "NERR9(max_rel=3)@5",
    "NERR9(min_rel=1, max_rel=2)@20", "NERR10(max_rel=3)", "NERR10(p=0.0, max_rel=3)",
    "NERR10(p=1.0, max_rel=4, horizon=20)", "NERR10(p=0.5, min_rel=1, max_rel=2, horizon=2)",
    "NERR11(max_rel=3)", "NERR11(T=0.2, min_rel=1, max_rel=2)",
    "NERR11(T=3.0, max_rel=1, horizon=5)", "Compat", "Compat(p=0.5)", "Compat(p=1.0)",
    "Compat(p=0.0)", "Compat(normalize=False)", "Compat(p=1.0, normalize=False)", "Compat(rel=2)",
    "IFT(max_rel=3)", "IFT(stop=goal, T=0.5, max_rel=2, horizon=20)",
    "IFT(stop=rate, R2=2, min_rel=1, max_rel=3, horizon=7)",
]  # fmt: skip


def walk(
    docs: Docs,
    grades: Grades,
    length: int,
    min_rel: int,
    max_rel: int,
    goes_on: Callable[[int, float, float], float],
) -> float:
    """Return the gain per document read."""
    points = [
        min(max(grades.get(doc, min_rel), min_rel), max_rel) - min_rel for doc in docs[:length]
    ]
    points += [0] * (length - len(points))
    span = max_rel - min_rel
    looks, gained, so_far, here = 0.0, 0.0, 0, 1.0
    for rank, point in enumerate(points, 1):
        so_far += point
        looks += here
        gained += here * point / span
        here *= goes_on(rank, point / span, so_far / span)
    return gained / looks


def sdcg(docs: Docs, grades: Grades, *, cutoff: int, min_rel: int, max_rel: int) -> float:
    return walk(docs, grades, cutoff, min_rel, max_rel, lambda i, g, s: log2(i + 1) / log2(i + 2))


def bpm(docs: Docs, grades: Grades, *, cutoff: int, T: float, min_rel: int, max_rel: int) -> float:
    return walk(docs, grades, cutoff, min_rel, max_rel, lambda i, g, s: float(s < T))


def ift(
    docs: Docs,
    grades: Grades,
    *,
    stop: str,
    T: float,
    b1: float,
    R1: float,
    A: float,
    b2: float,
    R2: float,
    min_rel: int,
    max_rel: int,
    horizon: int,
) -> float:
    def goes_on(i: int, g: float, s: float) -> float:
        by_goal = 1 - 1 / (1 + b1 * exp((T - s) * R1))
        by_rate = 1 / (1 + b2 * exp((A - s / i) * R2))
        return by_goal * by_rate if stop == "both" else by_goal if stop == "goal" else by_rate

    return walk(docs, grades, horizon, min_rel, max_rel, goes_on)


def inst(
    docs: Docs, grades: Grades, *, T: float, min_rel: int, max_rel: int, horizon: int
) -> float:
    def goes_on(i: int, g: float, s: float) -> float:
        return ((i + 2 * T - s - 1) / (i + 2 * T - s)) ** 2

    return walk(docs, grades, horizon, min_rel, max_rel, goes_on)


def insq(
    docs: Docs, grades: Grades, *, T: float, min_rel: int, max_rel: int, horizon: int
) -> float:
    return walk(
        docs, grades, horizon, min_rel, max_rel,
        lambda i, g, s: ((i + 2 * T - 1) / (i + 2 * T)) ** 2,
    )  # fmt: skip


def nerr8(docs: Docs, grades: Grades, *, cutoff: int, min_rel: int, max_rel: int) -> float:
    return walk(docs, grades, cutoff, min_rel, max_rel, lambda i, g, s: 1 - g)


def nerr9(docs: Docs, grades: Grades, *, cutoff: int, min_rel: int, max_rel: int) -> float:
    return walk(docs, grades, cutoff, min_rel, max_rel, lambda i, g, s: (1 - g) * i / (i + 1))


def nerr10(
    docs: Docs, grades: Grades, *, p: float, min_rel: int, max_rel: int, horizon: int
) -> float:
    return walk(docs, grades, horizon, min_rel, max_rel, lambda i, g, s: (1 - g) * p)


def nerr11(
    docs: Docs, grades: Grades, *, T: float, min_rel: int, max_rel: int, horizon: int
) -> float:
    return walk(
        docs, grades, horizon, min_rel, max_rel,
        lambda i, g, s: (1 - g) * ((i + 2 * T - 1) / (i + 2 * T)) ** 2,
    )  # fmt: skip


def err(docs: Docs, grades: Grades, *, cutoff: int, max_rel: int) -> float:
    value, here = 0.0, 1.0
    for rank, doc in enumerate(docs[:cutoff], 1):
        stops = (2 ** min(max(grades.get(doc, 0), 0), max_rel) - 1) / 2**max_rel
        value += here * stops / rank
        here *= 1 - stops
    return value


def overlap(one: Docs, other: Docs, depth: int, p: float) -> float:
    return sum(p ** (i - 1) * len(set(one[:i]) & set(other[:i])) / i for i in range(1, depth + 1))


def compat(docs: Docs, grades: Grades, *, p: float, normalize: bool, rel: int) -> float:
    place = {doc: rank for rank, doc in enumerate(docs)}
    best = sorted(
        (doc for doc, grade in grades.items() if grade >= rel),
        key=lambda doc: (-grades[doc], place.get(doc, len(docs))),
    )
    depth = max(len(docs), len(best))
    divisor = sum(p ** (i - 1) for i in range(1, depth + 1))
    if normalize:
        divisor = overlap(best, best, depth, p)
    return overlap(docs, best, depth, p) / divisor if divisor else 0.0
