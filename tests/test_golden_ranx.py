"""Our values against those that ranx printed, in the shared cases.

ranx leaves the order of equal scores open. A query without them has to agree to 1e-9; of one with them,
ranx' value has to lie between that of the order which is best for the relevant documents and that of
the worst, and so has the mean.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

import pytest
from conformance import looked_at_with, peer_keys
from shared_cases import Case, Golden, aggregate_of, opened

from warehouse.metrics import notation
from warehouse.warehouse import Warehouse

OTHERWISE = {
    "recall": "SetR"  # alone it is trec_eval's list of cutoffs here
}
CLOSE = 1e-9
Judged = dict[str, dict[str, int]]
Scored = dict[str, dict[str, float]]
Values = dict[tuple[str, str], float]


def has_equal(scores: dict[str, float]) -> bool:
    return len(set(scores.values())) < len(scores)


def arranged(run: Scored, judged: Judged, *, best: bool) -> Scored:
    """Return a run without equal scores: among equals the relevant documents come first, or last.

    What nobody judged stands between them and the judged non-relevant, for bpref tells these apart.
    """
    made: Scored = {}
    for query, scores in run.items():
        if not has_equal(scores):
            made[query] = scores
            continue
        grades = judged.get(query, {})
        worth = {
            doc: (grades[doc] if grades[doc] > 0 else -1) if doc in grades else 0 for doc in scores
        }
        sign = -1 if best else 1
        docs = sorted(scores, key=lambda doc: (-scores[doc], sign * worth[doc]))
        made[query] = {doc: float(len(docs) - place) for place, doc in enumerate(docs)}
    return made


def test_equal_scores_are_arranged_for_and_against_the_relevant() -> None:
    run = {"q": {"top": 2.0, **dict.fromkeys("abcde", 1.0)}}
    judged = {"q": {"a": 0, "b": 2, "d": -1, "e": 1}}
    assert list(arranged(run, judged, best=True)["q"]) == ["top", "b", "e", "c", "a", "d"]
    assert list(arranged(run, judged, best=False)["q"]) == ["top", "a", "d", "c", "e", "b"]


def read_judged(data: Case) -> Judged:
    judged: Judged = {}
    with opened(data.qrels) as lines:
        for line in lines:
            query, _, doc, grade = line.split()
            judged.setdefault(query, {})[doc] = int(grade)
    return judged


def read_scored(run: Path) -> Scored:
    scored: Scored = {}
    with opened(run) as lines:
        for line in lines:
            query, _, doc, _, score = line.split()[:5]
            scored.setdefault(query, {})[doc] = float(score)
    return scored


def golden(data: Case, run: str) -> Golden:
    found = dict((data.golden("ranx-0.3.21", "base") or {}).get(run, {}))
    return found | {
        (row["measure"], "all"): row["exact"] for row in aggregate_of(data, "ranx", run)
    }


@cache
def settled(measure: str) -> notation.Metric:
    return notation.parse_one(OTHERWISE.get(measure, measure)).metric


@lru_cache(maxsize=1)
def bounds(data: Case, runs: tuple[str, ...]) -> tuple[Judged, dict[str, list[Values]]]:
    """Return the judgments, and the values of each run in the worst and the best order of equal scores.

    A run without equal scores has one order. All of them are scored at once.
    """
    judged = read_judged(data)
    sources: list[object] = []
    of: list[str] = []
    for run in runs:
        path = data.runs[run]
        orders: list[object] = [path]
        scored = read_scored(path)
        if any(map(has_equal, scored.values())):
            orders = [arranged(scored, judged, best=best) for best in (False, True)]
        sources += orders
        of += [run] * len(orders)
    metrics = {str(settled(measure)): None for run in runs for measure, _ in golden(data, run)}
    scores = Warehouse.score(data.qrels, sources, list(metrics))
    values: dict[str, Values] = {name: {} for name in scores.names}
    for name, query, metric, value in scores.relation.fetchall():
        values[name][metric, query] = value
    found: dict[str, list[Values]] = {run: [] for run in runs}
    for run, name in zip(of, scores.names, strict=True):
        found[run].append(values[name])
    return judged, found


@pytest.mark.sample(2, 2)
@pytest.mark.parametrize(("data", "run", "opts"), peer_keys("ranx"))
def test_ranx(data: Case, run: str, opts: str) -> None:
    """Its bpref is only comparable where no query of the qrels is without judgments of both kinds.

    It takes negative grades for judged non-relevant ones, and a query without relevant or without
    judged non-relevant documents is 0/0 there, which also leaves other queries at 0.
    """
    theirs = golden(data, run)
    assert theirs
    judged, found = bounds(data, tuple(looked_at_with(data, run)))
    lowest, highest = found[run][0], found[run][-1]
    wrong = []
    for (measure, query), text in theirs.items():
        metric = settled(measure)
        if measure.startswith("bpref"):
            level = int(metric.params["rel"] or 1)
            kinds = [g.values() for g in judged.values()]
            if not all(min(g) in range(level) and max(g) >= level for g in kinds):
                continue
        low, high = lowest[str(metric), query], highest[str(metric), query]
        if not low - CLOSE <= float(text) <= high + CLOSE:
            wrong.append(f"{measure} {query}: golden {text}, ours {low} to {high}")
    assert not wrong, f"{len(wrong)} of {len(theirs)} differ: {wrong[:10]}"
