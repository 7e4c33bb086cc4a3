"""The measures of preferences again in plain Python, over every pair of documents.

A twin takes `docs` (the ids, best first), the preferences as `{group: {subgroup: {document:
level}}}`, and the parameters as keywords. An undefined value is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import inf

from oracles import Docs, ratio

Levels = Mapping[str, float]
Preferences = Mapping[str, Mapping[str, Levels]]
METRICS = [
    "NumPref", "NumPref(pairs=one)", "NumPref(pairs=both)", "NumPrefKept",
    "NumPrefKept(pairs=both)", "PrefSimple", "PrefSimple(pairs=one)", "PrefSimple(pairs=both)",
    "PrefPair", "PrefPair(pairs=one)", "PrefPair(pairs=both)", "PrefGroup", "PrefGroup(pairs=one)",
    "PrefGroup(pairs=both)", "PrefBalanced", "PrefBalanced(pairs=both)",
    "PrefBalanced(rule=trec_eval)", "PrefBalanced(pairs=both, rule=trec_eval)",
]  # fmt: skip


def preferred(group: Mapping[str, Levels]) -> set[tuple[str, str]]:
    """Return the pairs of which a group prefers the first document, including implied ones."""
    pairs = {
        (a, b)
        for levels in group.values()
        for a, b in product(levels, repeat=2)
        if levels[a] > levels[b]
    }
    if len(group) == 1:
        return pairs
    while True:
        more = {(a, d) for (a, b), (c, d) in product(pairs, repeat=2) if b == c} - pairs
        if not more:
            return pairs
        pairs |= more


def above_zero(group: Mapping[str, Levels]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for levels in group.values():
        for doc, level in levels.items():
            found[doc] = found.get(doc, False) or level > 0
    return found


class Places:
    """The ranks of the documents; one that was not retrieved is below all others."""

    def __init__(self, docs: Docs) -> None:
        self.place = {doc: number for number, doc in enumerate(docs)}

    def of(self, doc: str) -> float:
        return self.place.get(doc, inf)

    def keeps(self, a: str, b: str) -> bool:
        return self.of(a) < self.of(b)

    def counts(self, a: str, b: str, pairs: str) -> bool:
        retrieved = (a in self.place) + (b in self.place)
        return retrieved >= {"all": 0, "one": 1, "both": 2}[pairs]


def tally(places: Places, pairs: set[tuple[str, str]], which: str) -> tuple[int, int]:
    """Return the number of preferences that the ranking keeps, and of all."""
    there = [(a, b) for a, b in pairs if places.counts(a, b, which)]
    return sum(places.keeps(a, b) for a, b in there), len(there)


def tallies(docs: Docs, judged: Preferences, which: str) -> list[tuple[int, int]]:
    return [tally(Places(docs), preferred(group), which) for group in judged.values()]


def num_pref(docs: Docs, judged: Preferences, *, pairs: str) -> float:
    return sum(there for _, there in tallies(docs, judged, pairs))


def num_pref_kept(docs: Docs, judged: Preferences, *, pairs: str) -> float:
    return sum(kept for kept, _ in tallies(docs, judged, pairs))


def pref_simple(docs: Docs, judged: Preferences, *, pairs: str) -> float | None:
    return ratio(num_pref_kept(docs, judged, pairs=pairs), num_pref(docs, judged, pairs=pairs))


def pref_group(docs: Docs, judged: Preferences, *, pairs: str) -> float | None:
    found = [ratio(*one) or 0 for one in tallies(docs, judged, pairs)]
    return ratio(sum(found), len(found))


def pref_pair(docs: Docs, judged: Preferences, *, pairs: str) -> float | None:
    places = Places(docs)
    votes: dict[frozenset[str], list[bool]] = {}
    for group in judged.values():
        for a, b in preferred(group):
            if places.counts(a, b, pairs):
                votes.setdefault(frozenset((a, b)), []).append(places.keeps(a, b))
    return ratio(sum(sum(kept) / len(kept) for kept in votes.values()), len(votes))


def balanced_group(
    places: Places, group: Mapping[str, Levels], pairs: str, rule: str
) -> tuple[int, int]:
    is_rel = above_zero(group)
    own = preferred(group)
    rels = {doc for doc in is_rel if is_rel[doc]}
    rels_ret = rels & places.place.keys()
    rest = sorted(is_rel.keys() - rels, key=lambda doc: (places.of(doc), doc.encode()))
    there = rels
    if pairs == "both":
        there = rels_ret
        rest = [doc for doc in rest if doc in places.place]
    as_coded = rule == "trec_eval"
    missing = len(there) - len(rest)
    if missing >= 0:
        kept, possible = tally(places, own, pairs)
        padded = rels if as_coded else there
        return kept + len(rels_ret) * missing, possible + len(padded) * missing
    if len(group) > 1:
        left = rest[: len(rels) if as_coded else len(there)]
        return tally(places, {(a, b) for a, b in own if b in rels or b in left}, pairs)
    kept, possible = tally(places, {(a, b) for a, b in own if b in rels}, pairs)
    better = set(is_rel) if as_coded else there
    if pairs == "both":
        better &= places.place.keys()
    left = rest[: len(there)]
    return (
        kept + sum(places.keeps(a, b) for a, b in product(better, left)),
        possible + len(better) * len(left),
    )


def pref_balanced(docs: Docs, judged: Preferences, *, pairs: str, rule: str) -> float:
    places = Places(docs)
    found = [balanced_group(places, group, pairs, rule) for group in judged.values()]
    if rule == "trec_eval" and any(possible == 0 for _, possible in found):
        return 0.0
    return sum(ratio(*one) or 0 for one in found) / len(found)
