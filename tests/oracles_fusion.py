"""Merging lists in plain Python, written from the formulas alone: twins of the SQL in `sql/fusion`.

A run is {query: {document: score}}, the higher the better. Methods that are trained learn from {query:
{document: relevance}}, all of whose queries count. Queries that a run lacks have an empty list.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cmp_to_key

Scores = dict[str, float]
Lists = dict[str, Scores]
# The documents of a list, best first, each with its normalised score.
Ranked = list[tuple[str, float]]
Judged = Mapping[str, Mapping[str, int]]

DEPTHS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
SEGMENT_ENDS = tuple(10 * 2 ** (k - 1) - 5 for k in range(1, 11))
SEGMENTS, WINDOW = 4, 2


def best_first(scores: Scores) -> list[str]:
    return sorted(sorted(scores, reverse=True), key=lambda doc: -scores[doc])


def normalised(name: str, lists: Sequence[Scores]) -> list[Ranked]:
    """Normalise the lists that some runs have for a query."""
    candidates = sorted({doc for scores in lists for doc in scores}, reverse=True)
    return [_normalised(name, scores, candidates) for scores in lists]


def _normalised(name: str, scores: Scores, candidates: Sequence[str]) -> Ranked:
    order, values, n, c = best_first(scores), list(scores.values()), len(scores), len(candidates)
    if name == "borda":
        lacking = [doc for doc in candidates if doc not in scores]
        points = {doc: 1 - place / c for place, doc in enumerate(order)}
        points |= dict.fromkeys(lacking, 0.5 - (n - 1) / (2 * c))
        return [(doc, points[doc]) for doc in [*order, *lacking]]
    if not scores:
        return []
    if name == "rank":
        return [(doc, 1 - place / n) for place, doc in enumerate(order)]
    low, high = min(values), max(values)
    change: dict[str, Callable[[float], float]] = {
        "none": lambda s: s,
        "min-max": lambda s: (s - low) / max(high - low, 1e-9),
        "min-max-inverted": lambda s: (high - s) / max(high - low, 1e-9),
        "max": lambda s: s / max(high, 1e-9),
        "sum": lambda s: (s - low) / max(math.fsum(v - low for v in values), 1e-9),
        "zmuv": lambda s: (s - statistics.fmean(values)) / max(statistics.pstdev(values), 1e-9),
    }
    if name == "min-max-inverted":
        order = best_first({doc: -score for doc, score in scores.items()})
    return [(doc, change[name](scores[doc])) for doc in order]


class Learned:
    """What a run's lists for the training queries, best first, are used to learn."""

    def __init__(self, lists: Mapping[str, Ranked], qrels: Judged, rel: int = 1) -> None:
        self.queries = list(qrels)
        self.hits = {
            q: [qrels[q].get(doc, 0) >= rel for doc, _ in lists.get(q, [])] for q in self.queries
        }
        self.relevant = {q: sum(grade >= rel for grade in qrels[q].values()) for q in self.queries}

    def mean_precision(self) -> float:
        total = 0.0
        for q, hits in self.hits.items():
            precisions = [sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit]
            total += sum(precisions) / self.relevant[q] if self.relevant[q] else 0
        return total / len(self.queries)

    def at(self, rank: int) -> float:
        there = [hits[rank - 1] for hits in self.hits.values() if len(hits) >= rank]
        return sum(there) / len(there) if there else 0

    def between(self, first: int, last: int) -> float:
        """The mean share of relevant documents; a shorter list counts as padded."""
        found = sum(sum(hits[first - 1 : last]) for hits in self.hits.values())
        return float(Fraction(found, (last - first + 1) * len(self.queries)))

    def at_depth(self, rank: int, ends: Sequence[int]) -> float | None:
        before = 0
        for end in ends:
            if rank <= end:
                return self.between(before + 1, end)
            before = end
        return None

    def segment(self, number: int, segments: int) -> float:
        total = 0.0
        for hits in self.hits.values():
            size = math.ceil(len(hits) / segments)
            part = hits[(number - 1) * size : number * size]
            total += sum(part) / len(part) if part else 0
        return total / len(self.queries)


def log_odds(p: float) -> float:
    p = p or 0.001
    return math.log(p / ((1 - p) or 0.001))


def condorcet(lists: Sequence[Ranked], votes: Sequence[float]) -> Scores:
    """By wins minus losses; equal documents share the place of the last of them."""
    docs = {doc for ranked in lists for doc, _ in ranked}
    place = [{doc: i for i, (doc, _) in enumerate(ranked)} for ranked in lists]

    def margin(one: str, other: str) -> int:
        won = Fraction(0)
        for ranks, vote in zip(place, votes, strict=True):
            a, b = ranks.get(one, math.inf), ranks.get(other, math.inf)
            won += Fraction(str(vote)) * ((a < b) - (a > b))
        return (won > 0) - (won < 0)

    balance = {one: sum(margin(one, other) for other in docs) for one in docs}
    order = sorted(docs, key=cmp_to_key(lambda a, b: balance[b] - balance[a]))
    return {
        doc: len(order) - sum(balance[other] > balance[doc] for other in order) for doc in order
    }


def fused(
    method: str, lists: Sequence[Ranked], weights: Sequence[float], learned: Sequence[Learned]
) -> Scores:
    """Merge the lists of some runs for a query, with default parameters."""
    if method in ("condorcet", "w_condorcet"):
        return condorcet(lists, weights if method == "w_condorcet" else [1] * len(lists))
    candidates = {doc for ranked in lists for doc, _ in ranked}
    return {
        doc: _score(method, doc, lists, len(candidates), weights, learned) for doc in candidates
    }


def _score(
    method: str, doc: str, lists: Sequence[Ranked], c: int, weights: Sequence[float],
    learned: Sequence[Learned],
) -> float:  # fmt: skip
    # for each run with the document: its number, the rank, the score, the length of the list
    has = [
        (r, i, s, len(ranked))
        for r, ranked in enumerate(lists)
        for i, (name, s) in enumerate(ranked, 1)
        if name == doc
    ]
    h, scores = len(has), [s for _, _, s, _ in has]
    squares = sum(1 / i**2 for _, i, _, _ in has)
    rank = {r: i for r, i, _, _ in has}
    weighted = sum(weights[r] * s for r, _, s, _ in has)

    def borda(r: int) -> float:
        return c - rank[r] + 1 if r in rank else (c - len(lists[r]) + 1) / 2

    def odds(r: int) -> float:
        p = learned[r].at_depth(rank[r], DEPTHS) if r in rank else None
        return log_odds(0 if p is None else p)

    def window(r: int, i: int, n: int) -> float:
        ranks = range(max(i - WINDOW, 1), min(i + WINDOW, n) + 1)
        return sum(learned[r].at(j) for j in ranks) / len(ranks)

    def segment(r: int, i: int, n: int) -> float:
        number = (i - 1) // math.ceil(n / SEGMENTS) + 1
        return learned[r].segment(number, SEGMENTS) / number

    runs = range(len(lists))
    values: dict[str, Callable[[], float]] = {
        "sum": lambda: sum(scores),
        "anz": lambda: sum(scores) / h,
        "mnz": lambda: h * sum(scores),
        "gmnz": lambda: h**0.5 * sum(scores),
        "min": lambda: min(scores),
        "max": lambda: max(scores),
        "med": lambda: statistics.median(scores),
        "isr": lambda: h * squares,
        "log_isr": lambda: math.log(h) * squares,
        "logn_isr": lambda: math.log(h + 0.01) * squares,
        "rrf": lambda: sum(1 / (60 + i) for _, i, _, _ in has),
        "rbc": lambda: sum(0.2 * 0.8 ** (i - 1) for _, i, _, _ in has),
        "bordafuse": lambda: sum(borda(r) for r in runs),
        "w_bordafuse": lambda: sum(weights[r] * borda(r) for r in runs),
        "wsum": lambda: weighted,
        "wmnz": lambda: sum(scores) * sum(weights[r] for r in rank),
        "mixed": lambda: math.sqrt(h) * weighted,
        "mapfuse": lambda: sum(learned[r].mean_precision() / i for r, i, _, _ in has),
        "posfuse": lambda: sum(learned[r].at(i) for r, i, _, _ in has),
        "segfuse": lambda: sum(
            (learned[r].at_depth(i, SEGMENT_ENDS) or 0) * (s + 1) for r, i, s, _ in has
        ),
        "bayesfuse": lambda: sum(odds(r) for r in runs),
        "probfuse": lambda: sum(segment(r, i, n) for r, i, _, n in has),
        "slidefuse": lambda: sum(window(r, i, n) for r, i, _, n in has),
    }
    return values[method]()


def merged(
    method: str, norm: str, runs: Sequence[Lists], weights: Sequence[float], qrels: Judged
) -> Lists:
    """Merge whole runs; trained methods are trained on all queries of the qrels."""
    queries = {q for run in runs for q in run} | set(qrels)
    lists = {q: normalised(norm, [run.get(q, {}) for run in runs]) for q in queries}
    learned = [Learned({q: lists[q][r] for q in queries}, qrels) for r in range(len(runs))]
    made = {q: fused(method, lists[q], weights, learned) for q in queries}
    return {q: docs for q, docs in made.items() if docs}
