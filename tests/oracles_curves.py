"""Each curve again in plain Python and in fractions: rankings and judgments in, points out.

A twin takes the lists of a run, by query, and returns the points of each query and, under None,
those of all queries. A query without points is absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import ceil, floor
from typing import Any

from oracles import Grades, ranking, single

Points = list[tuple[Fraction, Fraction]]
Curves = dict[str | None, Points]


@dataclass(frozen=True)
class Listed:
    """A query's list, best first: the scores, whether each is relevant, and R."""

    scores: tuple[float, ...]
    is_rel: tuple[bool, ...]
    num_rel: int

    def cut(self, cutoff: int | None) -> Listed:
        return Listed(self.scores[:cutoff], self.is_rel[:cutoff], self.num_rel)

    def found(self, rank: int) -> int:
        return sum(self.is_rel[:rank])

    @property
    def hits(self) -> list[int]:
        return [rank for rank, good in enumerate(self.is_rel, 1) if good]


def lists(
    qrels: Mapping[str, Grades],
    run: Mapping[str, Mapping[str, float]],
    rel: int,
    *,
    as_single: bool = False,
    **rules: Any,
) -> dict[str, Listed]:
    """Return the list of every judged query under a protocol."""
    made = {}
    for query, grades in qrels.items():
        scores = run.get(query, {})
        if as_single:
            scores = {doc: single(score) for doc, score in scores.items()}
        docs = ranking(scores, grades, **rules)
        made[query] = Listed(
            tuple(scores[doc] for doc in docs),
            tuple(grades.get(doc, 0) >= rel for doc in docs),
            sum(grade >= rel for grade in grades.values()),
        )
    return made


def mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def ratio(a: int, b: int) -> Fraction:
    return Fraction(a, b) if b else Fraction(0)


def precision_by_rank(of: Mapping[str, Listed], *, cutoff: int) -> Curves:
    cut = {query: one.cut(cutoff) for query, one in of.items()}
    made: Curves = {
        query: [(Fraction(k), ratio(one.found(k), k)) for k in range(1, len(one.is_rel) + 1)]
        for query, one in cut.items()
    }
    longest = max(len(one.is_rel) for one in cut.values())
    made[None] = [
        (Fraction(k), mean([ratio(one.found(k), k) for one in cut.values()]))
        for k in range(1, longest + 1)
    ]
    return made


def recall_by_rank(of: Mapping[str, Listed], *, cutoff: int) -> Curves:
    cut = {query: one.cut(cutoff) for query, one in of.items()}
    made: Curves = {}
    for query, one in cut.items():
        if one.num_rel:
            at = sorted({0, len(one.is_rel), *one.hits})
            made[query] = [(Fraction(k), ratio(one.found(k), one.num_rel)) for k in at]
    longest = max(len(one.is_rel) for one in cut.values())
    at = sorted({0, longest, *(rank for one in cut.values() for rank in one.hits)})
    made[None] = [
        (Fraction(k), mean([ratio(one.found(k), one.num_rel) for one in cut.values()])) for k in at
    ]
    return made


def needed(rule: str, level: float, num_rel: int) -> int:
    """Return how many relevant documents a level requires; levels are exact decimals."""
    if rule == "ceil":
        return ceil(Fraction(str(level)) * num_rel)
    return floor(level * num_rel + (0.9 if rule == "trec_eval_9" else 0.5))


def rank_by_recall(of: Mapping[str, Listed], *, levels: Sequence[float]) -> Curves:
    made: Curves = {}
    for query, one in of.items():
        if one.num_rel:
            counts = [(level, needed("ceil", level, one.num_rel)) for level in levels]
            made[query] = [
                (Fraction(level), Fraction(one.hits[count - 1] if count else 0))
                for level, count in counts
                if count <= len(one.hits)
            ]
    reached: dict[Fraction, list[Fraction]] = {}
    for points in made.values():
        for x, y in points:
            reached.setdefault(x, []).append(y)
    made[None] = [(x, mean(reached[x])) for x in sorted(reached)]
    return {query: points for query, points in made.items() if points}


def interpolated_precision(
    of: Mapping[str, Listed], *, levels: Sequence[float], rule: str
) -> Curves:
    made: Curves = {}
    for query, one in of.items():
        made[query] = []
        for level in levels:
            least = needed(rule, level, one.num_rel)
            reached = [ratio(n, rank) for n, rank in enumerate(one.hits, 1) if n >= least]
            made[query].append((Fraction(level), max(reached, default=Fraction(0))))
    made[None] = [
        (Fraction(level), mean([made[query][number][1] for query in of]))
        for number, level in enumerate(levels)
    ]
    return made


def pooled(of: Mapping[str, Listed], *, ties: str) -> Listed:
    """Return one list of the documents of all queries by score; ties by rank, then by query."""
    rows = [
        (-score, (rank, query), good)
        for query, one in of.items()
        for rank, (score, good) in enumerate(zip(one.scores, one.is_rel, strict=True), 1)
    ]
    rows.sort(key=lambda row: row[:2])
    return Listed(
        tuple(-score for score, _, _ in rows),
        tuple(good for *_, good in rows),
        sum(one.num_rel for one in of.values()),
    )


def places(one: Listed, ties: str) -> list[int]:
    """Return the number of documents read at each point."""
    if ties == "rank":
        return list(range(1, len(one.scores) + 1))
    lengths = [len(list(group)) for _, group in groupby(one.scores)]
    return [sum(lengths[: number + 1]) for number in range(len(lengths))]


def precision_recall(
    of: Mapping[str, Listed], *, ties: str, aggregate: str, points: str, cutoff: int | None
) -> Curves:
    cut = {query: one.cut(cutoff) for query, one in of.items()}
    named: dict[str | None, Listed] = {**cut}
    if aggregate == "pooled":
        named[None] = pooled(cut, ties=ties)
    made: Curves = {}
    for query, one in named.items():
        if one.num_rel:
            made[query] = [
                (ratio(one.found(k), one.num_rel), ratio(one.found(k), k))
                for k in places(one, ties)
            ]
    if aggregate == "mean":
        made[None] = []
        for rank in range(1, max(len(one.is_rel) for one in cut.values()) + 1):
            xs, ys = [], []
            for one in cut.values():
                k = min((p for p in places(one, ties) if p >= rank), default=rank)
                xs.append(ratio(one.found(k), one.num_rel))
                ys.append(ratio(one.found(k), k))
            made[None].append((mean(xs), mean(ys)))
    if points == "corners":
        made = {
            query: [
                point
                for number, point in enumerate(of_query)
                if number in (0, len(of_query) - 1)
                or point[0] != of_query[number - 1][0]
                or point[0] != of_query[number + 1][0]
            ]
            for query, of_query in made.items()
        }
    return {query: of_query for query, of_query in made.items() if of_query}


def roc(of: Mapping[str, Listed], *, ties: str, points: str, cutoff: int | None) -> Curves:
    cut = {query: one.cut(cutoff) for query, one in of.items()}
    named: dict[str | None, Listed] = {**cut, None: pooled(cut, ties=ties)}
    made: Curves = {}
    for query, one in named.items():
        good = one.found(len(one.is_rel))
        bad = len(one.is_rel) - good
        if good and bad:
            at = [0, *places(one, ties)]
            made[query] = [(ratio(k - one.found(k), bad), ratio(one.found(k), good)) for k in at]
            if points == "corners":
                made[query] = bends(made[query])
    return made


def bends(points: Points) -> Points:
    """Return the points that are not on the straight line between their neighbours."""
    kept = []
    for number, (x, y) in enumerate(points):
        if number not in (0, len(points) - 1):
            (a, b), (c, d) = points[number - 1], points[number + 1]
            if (x - a) * (d - y) == (y - b) * (c - x):
                continue
        kept.append((x, y))
    return kept
