"""The experimental metrics again in plain Python; a twin takes what those in `oracles_recsys` take."""

from __future__ import annotations

from collections import Counter
from math import log2

from oracles_recsys import Lists, World

METRICS = [
    "U(attribute=count)", "U(attribute=count, L=5)@3", "U(attribute=count, L=9, N=3)",
    "AWRF(attribute=genre)@3", "AWRF(attribute=genre, rel=2)@9", "AWRF(attribute=count)@5",
]  # fmt: skip


def awrf(lists: Lists, world: World, *, rel: float, cutoff: int, attribute: str) -> float | None:
    ((_, docs, grades),) = lists
    exposure: Counter[str] = Counter()
    target: Counter[str] = Counter()
    weights = {doc: 1 / log2(max(rank, 2)) for rank, doc in enumerate(docs[:cutoff], 1)}
    wanted = {doc: 1.0 for doc, grade in grades.items() if grade >= rel}
    for counts, some in ((exposure, weights), (target, wanted)):
        for doc, weight in some.items():
            groups = world.values(doc, attribute)
            for group in groups:
                counts[group] += weight / len(groups)
    if not exposure or not target:
        return None
    divergence = 0.0
    for group in exposure.keys() | target.keys():
        p, q = (counts[group] / counts.total() for counts in (exposure, target))
        divergence += sum(x * log2(2 * x / (p + q)) for x in (p, q) if x) / 2
    return 1 - divergence


def u(
    lists: Lists,
    world: World,
    *,
    cutoff: int | None,
    attribute: str,
    L: float,  # noqa: N803
    N: float,  # noqa: N803
) -> float | None:
    ((_, docs, grades),) = lists
    end = gained = 0.0
    for doc in docs[:cutoff]:
        length = world.values(doc, attribute)
        if not length:
            return None
        end += float(*length)
        gained += max(grades.get(doc, 0), 0) * max(0.0, 1 - end / L)
    return gained / N
