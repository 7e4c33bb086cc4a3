"""The agreement of rankings again in plain Python, written from the papers.

Kendall's tau-b from its definition over all pairs; tau-AP from Yilmaz, Aslam and Robertson (2008),
with the ties of Urbano and Marrero (2017); rank-biased overlap from Webber, Moffat and Zobel
(2010), with sets and sums to each depth. An undefined value is None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import fsum, log, sqrt

Places = Mapping[str, float]


def places(docs: Sequence[str]) -> dict[str, float]:
    """Return the ranks of a list's documents."""
    return {doc: float(rank) for rank, doc in enumerate(docs, 1)}


def compared(one: Sequence[str], other: Sequence[str], over: str) -> tuple[Places, Places]:
    """Return the places compared by tau; documents that a list lacks are tied below its end."""
    first, second = places(one), places(other)
    if over == "intersection":
        both = set(first) & set(second)
        return {d: first[d] for d in both}, {d: second[d] for d in both}
    every = set(first) | set(second)
    return (
        {d: first.get(d, len(one) + 1.0) for d in every},
        {d: second.get(d, len(other) + 1.0) for d in every},
    )


def sign(x: float) -> int:
    return (x > 0) - (x < 0)


def tau_b(one: Places, other: Places) -> float | None:
    pairs = [
        (sign(one[a] - one[b]), sign(other[a] - other[b])) for a, b in combinations(sorted(one), 2)
    ]
    ordered = sum(x != 0 for x, _ in pairs) * sum(y != 0 for _, y in pairs)
    return sum(x * y for x, y in pairs) / sqrt(ordered) if ordered else None


def tau_ap(one: Places, other: Places) -> float | None:
    """For each item of `one` with others above it, count which of these `other` also has above it."""
    shares = []
    for item in one:
        above = [x for x in one if one[x] < one[item]]
        if above:
            shares.append(sum(other[x] < other[item] for x in above) / len(above))
    return 2 * fsum(shares) / len(shares) - 1 if shares else None


def tau_ap_b(one: Places, other: Places) -> float | None:
    either = tau_ap(one, other), tau_ap(other, one)
    return None if None in either else sum(either) / 2


def overlap(one: Sequence[str], other: Sequence[str], depth: int) -> int:
    return len(set(one[:depth]) & set(other[:depth]))


def rbo_min(one: Sequence[str], other: Sequence[str], p: float) -> float:
    """Equation 11: the overlap seen, with the overlap at the end of the longer list continued."""
    last = max(len(one), len(other))
    end = overlap(one, other, last)
    seen = fsum((overlap(one, other, d) - end) * p**d / d for d in range(1, last + 1))
    return (1 - p) / p * (seen - end * log(1 - p))


def rbo_max(one: Sequence[str], other: Sequence[str], p: float) -> float:
    """The value if the lists continue as similarly as possible, summed far beyond their ends."""
    shorter, longer = sorted((one, other), key=len)
    end = overlap(one, other, len(longer))
    terms = []
    for d in range(1, 6000):
        found = overlap(one, other, d) if d <= len(longer) else end
        new_shorter, new_longer = max(d - len(shorter), 0), max(d - len(longer), 0)
        terms.append(min(found + new_shorter + new_longer, d) * p ** (d - 1) / d)
    return (1 - p) * fsum(terms)


def rbo_ext(one: Sequence[str], other: Sequence[str], p: float) -> float:
    """Equation 32: the agreement at the ends of the lists continues."""
    shorter, longer = sorted((one, other), key=len)
    s, last = len(shorter), len(longer)
    at_s, at_last = overlap(one, other, s), overlap(one, other, last)
    seen = fsum(overlap(one, other, d) / d * p**d for d in range(1, last + 1))
    more = fsum(at_s * (d - s) / (s * d) * p**d for d in range(s + 1, last + 1))
    return (1 - p) / p * (seen + more) + ((at_last - at_s) / last + at_s / s) * p**last


def rbo_of_orders(one: Places, other: Places, p: float) -> float | None:
    """Rank-biased overlap of whole orders: a group of ties is placed at its first rank."""
    if not one:
        return None
    terms = []
    for d in range(1, len(one) + 1):
        sets = []
        for order in (one, other):
            rank = {x: 1 + sum(order[y] < order[x] for y in order) for x in order}
            sets.append({x for x in order if rank[x] <= d})
        first, second = sets
        terms.append(2 * len(first & second) / (len(first) + len(second)) * p ** (d - 1))
    return (1 - p) * fsum(terms) + p ** len(one)


def rbo_cut(one: Sequence[str], other: Sequence[str], p: float, depth: int) -> float:
    """Rank-biased overlap down to a depth, divided by that of equal lists: repro_eval's."""
    weights = [p ** (d - 1) for d in range(1, depth + 1)]
    shares = [overlap(one, other, d) / d for d in range(1, depth + 1)]
    return fsum(w * x for w, x in zip(weights, shares, strict=True)) / fsum(weights)


def ktu(one: Sequence[str], other: Sequence[str]) -> float | None:
    """Kendall's tau of two lists of numbers: at each rank the documents' places by id."""
    length = min(len(one), len(other))
    number = {doc: float(n) for n, doc in enumerate(sorted({*one, *other}, key=str.encode))}
    ranks = [str(n) for n in range(length)]
    return tau_b(
        dict(zip(ranks, (number[d] for d in one[:length]), strict=True)),
        dict(zip(ranks, (number[d] for d in other[:length]), strict=True)),
    )
