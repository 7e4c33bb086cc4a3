"""The metrics of extreme classification and of recommendation again in plain Python.

A twin takes `lists` (query, ids best first, grades by id), the `World` around them and the
parameters as keywords. For one list it returns the value of that query, for all lists the value of
a pooled metric. An undefined value is None.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log, log2, sqrt
from typing import Any

from oracles import Docs, Grades, ratio, relevant

METRICS = [
    "PSP@1", "PSP@3", "PSP(rel=2)@4", "PSP(A=0.5, B=0.4)@5", "PSP(frequency=count, instances=50)@3",
    "PSP(frequency=count)@2", "PSP(instances=7)@2", "PSR@1", "PSR@3", "PSR(rel=2, A=0.6, B=2.6)@4",
    "PSnDCG@1", "PSnDCG@3", "PSnDCG(rel=2)@4", "PSnDCG(frequency=count, instances=9)@20",
    "Rprec(aggregate=pooled)", "Rprec(rel=2, aggregate=pooled, multiple=0.5)", "PartialAUC@1",
    "PartialAUC@3", "PartialAUC(rel=2)@4", "PartialAUC(insufficient=exclude)@3", "PAP@1", "PAP@3",
    "PAP(rel=2)@2", "PAP(insufficient=exclude)@4", "MCC@3", "MCC(rel=2, catalogue=40)@5", "Correct@2",
    "Correct(rel=2, catalogue=40)@4", "MIUF@3", "MIUF(population=examples)@20",
    "MIUF(cold=zero, aggregate=pooled)@2", "MIUF(population=examples, cold=zero, aggregate=pooled)@4",
    "Surprisal@1", "Surprisal@4", "Popularity@1", "Popularity@20", "Popularity(share=True)@3",
    "Unseen@2", "Unseen@20", "Coverage@2", "Coverage(share=False)@3", "Coverage(catalogue=40)@3",
    "Coverage(counted=training)@3", "Coverage(counted=training, share=False)@4", "Spread@1", "Spread@4",
    "Gini@1", "Gini@4", "Gini(catalogue=40)@3",
    "Gini(exposure=log)@4", "Gini(exposure=geometric, p=0.5, catalogue=40)@20",
    "Serendipity@2", "Serendipity(rel=2, catalogue=40)@4", "ILD@2", "ILD@5", "ILD(alone=zero)@1",
    "ILD(distance=jaccard)@4", "ILD(distance=hamming)@3", "ILD(attribute=genre)@5",
    "ILD(attribute=genre, distance=jaccard)@4", "ILD(attribute=genre, distance=hamming, alone=zero)@3",
    "ILD(attribute=count, distance=hamming)@3", "Unfamiliarity@1", "Unfamiliarity@4",
    "Unfamiliarity(counted=relevant)@3", "Unfamiliarity(rel=2, counted=relevant, attribute=genre)@4",
    "TBG(attribute=count)", "TBG(attribute=count, half_life=9)@40", "TBG(attribute=count, rel=2)@2",
    "CategoricalDiversity(attribute=genre)@2", "CategoricalDiversity(attribute=count)@4",
    "Entropy(attribute=genre)", "Entropy(attribute=genre, p=0.85)@3",
    "Entropy(attribute=count, smoothing=0.5)@9",
    "Share@1", "Share@4", "Share(scope=part)@20", "PositiveCoverage@1", "PositiveCoverage@4",
    "PositiveCoverage(rel=2)@3", "PositiveCoverage(universe=mapping)@20", "nDCG(best=k)@3",
    "nDCG(dcg=binary, best=k)@4", "Hole@1", "Hole@4",
]  # fmt: skip

Lists = Sequence[tuple[str, Docs, Grades]]


@dataclass(frozen=True)
class World:
    """A training set as grades by query and document, and attributes by document and name."""

    training: Mapping[str, Mapping[str, int]]
    attributes: Mapping[str, Mapping[str, object]]

    def seen(self, query: str) -> set[str]:
        return {doc for doc, grade in self.training.get(query, {}).items() if grade >= 1}

    @property
    def counts(self) -> Counter[str]:
        return Counter(doc for query in self.training for doc in self.seen(query))

    @property
    def documents(self) -> set[str]:
        return {doc for grades in self.training.values() for doc in grades}

    def values(self, doc: str, attribute: str | None) -> set[str]:
        """Return the features of a document."""
        if attribute is None:
            return {query for query in self.training if doc in self.seen(query)}
        given = self.attributes.get(doc, {}).get(attribute)
        if given is None:
            return set()
        return {str(one) for one in given} if isinstance(given, list) else {str(given)}


def _is_hit(grades: Grades, doc: str, rel: float | None) -> bool:
    grade = grades.get(doc)
    return grade is not None and (grade > 0 if rel is None else grade >= rel)


def _worth(world: World, a: float, b: float, frequency: str | None, instances: int | None):
    counts: Mapping[str, float] = world.counts
    if frequency is not None:
        counts = {
            doc: float(has[frequency]) for doc, has in world.attributes.items() if frequency in has
        }
    number = instances or len(world.training)

    def worth(doc: str) -> float:
        return 1 + (log(number) - 1) * (b + 1) ** a / (counts.get(doc, 0) + b) ** a

    return worth


def _propensity(weigh: Callable[[int, int], float]) -> Callable[..., float | None]:
    """Return a twin whose documents have `weigh(rank, R)` times their inverse propensity."""

    def twin(lists: Lists, world: World, *, rel: int, cutoff: int, **rules: Any) -> float | None:
        worth = _worth(world, rules["A"], rules["B"], rules["frequency"], rules["instances"])
        gained = gainable = 0.0
        for _, docs, grades in lists:
            good = [doc for doc, grade in grades.items() if grade >= rel]
            best = sorted((worth(doc) for doc in good), reverse=True)[:cutoff]
            for rank, doc in enumerate(docs[:cutoff], 1):
                if doc in good:
                    gained += worth(doc) * weigh(rank, len(good))
            gainable += sum(w * weigh(rank, len(good)) for rank, w in enumerate(best, 1))
        return ratio(gained, gainable)

    return twin


def _alike(rank: int, number: int) -> float:
    return 1.0


def _of_relevant(rank: int, number: int) -> float:
    return 1 / number


psp, psr = _propensity(_alike), _propensity(_of_relevant)


def ps_ndcg(lists: Lists, world: World, *, cutoff: int, **rules: Any) -> float | None:
    def weigh(rank: int, number: int) -> float:
        return 1 / log2(rank + 1) / sum(1 / log2(i + 1) for i in range(1, min(cutoff, number) + 1))

    return _propensity(weigh)(lists, world, cutoff=cutoff, **rules)


def rprec(lists: Lists, _: World, *, rel: int, multiple: float, aggregate: str):
    found = depths = 0
    for _, docs, grades in lists:
        number = relevant(grades, rel)
        depth = number if multiple == 1 else math.floor(multiple * number + 0.9)
        found += sum(_is_hit(grades, doc, rel) for doc in docs[:depth])
        depths += depth
    return ratio(found, depths)


def _partial(lists: Lists, rel: int, cutoff: int, most: float, insufficient: str) -> float | None:
    ((_, docs, grades),) = lists
    number, area, wrong, found = relevant(grades, rel), 0, 0, 0
    for doc in docs:
        if not _is_hit(grades, doc, rel):
            wrong += 1
            continue
        found += 1
        if wrong < cutoff and found <= most:
            area += cutoff - wrong
    if insufficient == "exclude" and found < number and wrong < cutoff:
        return None
    return area / (cutoff * min(number, most)) if number else 0.0


def partial_auc(lists: Lists, _: World, *, rel: int, cutoff: int, insufficient: str):
    return _partial(lists, rel, cutoff, math.inf, insufficient)


def pap(lists: Lists, _: World, *, rel: int, cutoff: int, insufficient: str):
    return _partial(lists, rel, cutoff, cutoff, insufficient)


def _confusion(lists: Lists, world: World, rel: int, cutoff: int, catalogue: int | None):
    ((_, docs, grades),) = lists
    number = catalogue or len(world.documents)
    tp = sum(_is_hit(grades, doc, rel) for doc in docs[:cutoff])
    fn = relevant(grades, rel) - tp
    return tp, cutoff - tp, fn, number - cutoff - fn, number


def mcc(lists: Lists, world: World, *, rel: int, cutoff: int, catalogue: int | None):
    tp, fp, fn, tn, _ = _confusion(lists, world, rel, cutoff, catalogue)
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return ratio(tp * tn - fp * fn, sqrt(product)) if product > 0 else None


def correct(lists: Lists, world: World, *, rel: int, cutoff: int, catalogue: int | None):
    tp, _, _, tn, number = _confusion(lists, world, rel, cutoff, catalogue)
    return (tp + tn) / number


def ndcg(
    lists: Lists, _: World, *, rel: int, cutoff: int, dcg: str, best: str, gains: None, ties: str
) -> float | None:
    ((_, docs, grades),) = lists
    assert best == "k"
    gained = sum(
        (1 if dcg == "binary" else grades[doc]) / log2(rank + 1)
        for rank, doc in enumerate(docs[:cutoff], 1)
        if _is_hit(grades, doc, rel)
    )
    return gained / sum(1 / log2(rank + 1) for rank in range(1, cutoff + 1))


def _bits(world: World, doc: str, population: str, cold: str) -> float:
    count = world.counts.get(doc, 0)
    if not count and cold == "zero":
        return 0.0
    all_of_them = len(world.training) if population == "queries" else world.counts.total()
    return -log2(max(count, 1) / all_of_them)


def miuf(lists: Lists, world: World, *, cutoff: int, population: str, cold: str, aggregate: str):
    bits = [_bits(world, doc, population, cold) for _, docs, _ in lists for doc in docs[:cutoff]]
    return ratio(sum(bits), len(bits))


def surprisal(lists: Lists, world: World, *, cutoff: int) -> float | None:
    ((_, docs, _),) = lists
    if not docs:
        return None
    bits = sum(_bits(world, doc, "queries", "one") for doc in docs[:cutoff])
    return ratio(bits, log2(len(world.training)) * cutoff)


def popularity(lists: Lists, world: World, *, cutoff: int, share: bool) -> float | None:
    ((_, docs, _),) = lists
    if not docs:
        return None
    mean = sum(world.counts[doc] for doc in docs[:cutoff]) / len(docs[:cutoff])
    return mean / world.counts.total() if share else mean


def unseen(lists: Lists, world: World, *, cutoff: int) -> float | None:
    ((query, docs, _),) = lists
    seen = world.seen(query)
    return ratio(sum(doc not in seen for doc in docs[:cutoff]), len(docs[:cutoff]))


def serendipity(lists: Lists, world: World, *, rel: int, cutoff: int, catalogue: int | None):
    ((_, docs, grades),) = lists
    number = catalogue or len(world.documents)
    steps = sorted(set(world.counts.values()), reverse=True)
    total = 0.0
    for rank, doc in enumerate(docs[:cutoff], 1):
        here = (number + 1 - rank) / number
        count = world.counts.get(doc)
        anywhere = (number - steps.index(count)) / number if count else 0.0
        total += max(here - anywhere, 0.0) * _is_hit(grades, doc, rel)
    return ratio(total, len(docs[:cutoff]))


def coverage(
    lists: Lists, world: World, *, cutoff: int, catalogue: int | None, share: bool, counted: str
) -> float:
    shown = {doc for _, docs, _ in lists for doc in docs[:cutoff]}
    if counted == "training":
        shown &= set(world.counts)
    return len(shown) / (catalogue or len(world.documents)) if share else len(shown)


def share(lists: Lists, _: World, *, cutoff: int) -> float:
    ((_, docs, _),) = lists
    return len(docs[:cutoff]) / cutoff


def hole(lists: Lists, _: World, *, cutoff: int, every: Lists) -> float:
    ((_, docs, _),) = lists
    judged = {doc for *_, grades in every for doc in grades}
    return sum(doc not in judged for doc in docs[:cutoff]) / cutoff


def positive_coverage(
    lists: Lists, _: World, *, rel: int, cutoff: int, universe: str, every: Lists
) -> float | None:
    found = {doc for _, docs, grades in lists for doc in docs[:cutoff] if _is_hit(grades, doc, rel)}
    least = rel if universe == "relevant" else -math.inf
    known = {doc for *_, grades in every for doc, grade in grades.items() if grade >= least}
    return ratio(len(found), len(known))


def spread(lists: Lists, _: World, *, cutoff: int) -> float:
    times = Counter(doc for _, docs, _ in lists for doc in docs[:cutoff])
    return -sum(n / times.total() * log2(n / times.total()) for n in times.values())


def gini(
    lists: Lists, world: World, *, cutoff: int, catalogue: int | None, exposure: str, p: float
) -> float | None:
    attention = {
        "equal": lambda rank: 1, "log": lambda rank: 1 / log2(rank + 1),
        "geometric": lambda rank: p ** (rank - 1),
    }[exposure]  # fmt: skip
    times: Counter[str] = Counter()
    for _, docs, _ in lists:
        for rank, doc in enumerate(docs[:cutoff], 1):
            times[doc] += attention(rank)
    number = max(catalogue or len(world.documents), len(times))
    counts = [0] * (number - len(times)) + sorted(times.values())
    apart = sum(abs(one - other) for one in counts for other in counts)
    return ratio(apart, 2 * number * times.total())


def _cosine(one: set[str], other: set[str]) -> float:
    return len(one & other) / sqrt(len(one) * len(other)) if one and other else 0.0


def ild(
    lists: Lists, world: World, *, cutoff: int, attribute: str | None, distance: str, alone: str
) -> float | None:
    ((_, docs, _),) = lists
    shown = docs[:cutoff]
    if len(shown) == 1 and alone == "zero":
        return 0.0
    far: list[float] = []
    for pair in combinations(shown, 2):
        one, other = (world.values(doc, attribute) for doc in pair)
        if attribute is not None and not (one and other):
            continue
        if distance == "hamming":
            far.append(len(one ^ other))
        elif distance == "jaccard":
            far.append(1 - len(one & other) / len(one | other) if one | other else 1.0)
        else:
            far.append(1 - _cosine(one, other))
    return ratio(sum(far), len(far))


def unfamiliarity(
    lists: Lists, world: World, *, rel: int, cutoff: int, attribute: str | None, counted: str
) -> float | None:
    ((query, docs, grades),) = lists
    history = world.seen(query)
    if not history or not docs:
        return None
    total = 0.0
    for doc in docs[:cutoff]:
        if counted == "relevant" and not _is_hit(grades, doc, rel):
            continue
        mine = world.values(doc, attribute)
        alike = sum(_cosine(mine, world.values(other, attribute)) for other in history)
        total += 1 - alike / len(history)
    return total / len(docs[:cutoff])


def categorical_diversity(lists: Lists, world: World, *, cutoff: int, attribute: str):
    ((_, docs, _),) = lists
    if not docs:
        return None
    return len(set().union(*(world.values(doc, attribute) for doc in docs[:cutoff]))) / cutoff


def entropy(
    lists: Lists, world: World, *, cutoff: int | None, attribute: str, p: float, smoothing: float
) -> float | None:
    ((_, docs, _),) = lists
    masses: Counter[str] = Counter()
    for rank, doc in enumerate(docs[:cutoff], 1):
        values = world.values(doc, attribute)
        for value in values:
            masses[value] += p ** (rank - 1) / len(values)
    if not masses:
        return None
    everywhere = {value for doc in world.attributes for value in world.values(doc, attribute)}
    smoothed = [masses[value] + smoothing for value in sorted(everywhere)]
    shares = [mass / sum(smoothed) for mass in smoothed if mass > 0]
    return -sum(share * log2(share) for share in shares)


def tbg(
    lists: Lists, world: World, *, rel: float, cutoff: int | None, attribute: str, half_life: float
) -> float | None:
    ((_, docs, grades),) = lists
    seconds = saved = 0.0
    for doc in docs[:cutoff]:
        words = world.values(doc, attribute)
        if not words:
            return None
        is_hit = grades.get(doc, 0) >= rel
        saved += 0.64 * 0.77 * 0.5 ** (seconds / half_life) if is_hit else 0
        seconds += 4.4 + (0.64 if is_hit else 0.39) * (0.018 * float(*words) + 7.8)
    return saved


# Metrics that read the hits, not only what is shown.
OF_RELEVANCE = {
    "Correct", "MCC", "PAP", "PSP", "PSR", "PSnDCG", "PartialAUC", "PositiveCoverage", "Rprec", "nDCG",
}  # fmt: skip
