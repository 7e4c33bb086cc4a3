"""Our values against those that ranx printed, in the shared cases.

ranx leaves the order of equal scores open. A query without them has to agree to 1e-9; of one with them,
ranx' value has to lie between that of the order which is best for the relevant documents and that of
the worst, and so has the mean.
"""

from __future__ import annotations

import pytest
from conformance import peer_keys, tied_queries
from shared_cases import Case, aggregate, opened

from warehouse import metrics as notation
from warehouse.warehouse import Warehouse

OTHERWISE = {
    "recall": "SetR",  # alone it is trec_eval's list of cutoffs here
}
CLOSE = 1e-9
Judged = dict[str, dict[str, int]]
Scored = dict[str, dict[str, float]]
Values = dict[tuple[str, str], float]


def arranged(run: Scored, judged: Judged, *, best: bool) -> Scored:
    """Return a run without equal scores: among equals the relevant documents come first, or last.

    What nobody judged stands between them and the judged non-relevant, for bpref tells these apart.
    """
    made: Scored = {}
    for query, scores in run.items():
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


def read(data: Case, run: str) -> tuple[Judged, Scored]:
    judged: Judged = {}
    with opened(data.qrels) as lines:
        for line in lines:
            query, _, doc, grade = line.split()
            judged.setdefault(query, {})[doc] = int(grade)
    scored: Scored = {}
    with opened(data.runs[run]) as lines:
        for line in lines:
            query, _, doc, _, score = line.split()[:5]
            scored.setdefault(query, {})[doc] = float(score)
    return judged, scored


@pytest.mark.parametrize(("data", "run", "opts"), peer_keys("ranx"))
def test_ranx(data: Case, run: str, opts: str) -> None:
    """Its bpref is only comparable where no query of the qrels is without judgments of both kinds.

    It takes negative grades for judged non-relevant ones, and a query without relevant or without
    judged non-relevant documents is 0/0 there, which also leaves other queries at 0.
    """
    golden = dict((data.golden("ranx-0.3.21", "base") or {}).get(run, {}))
    for row in aggregate(data):
        if (row["tool"], row["qrels"], row["run"]) == ("ranx", data.qrels_name, run):
            golden[row["measure"], "all"] = row["exact"]
    assert golden
    judged, scored = read(data, run)
    settled = {m: notation.parse_one(OTHERWISE.get(m, m)).metric for m, _ in golden}
    metrics = [str(metric) for metric in settled.values()]

    def values(source: object) -> Values:
        found = Warehouse.score(data.qrels, source, metrics).relation.fetchall()
        return {(metric, query): value for query, metric, value in found}

    lowest = highest = values(data.runs[run])
    if tied_queries(data.runs[run], single=False):
        highest, lowest = (values(arranged(scored, judged, best=best)) for best in (True, False))
    wrong = []
    for (measure, query), text in golden.items():
        metric = settled[measure]
        if measure.startswith("bpref"):
            level = int(metric.params["rel"] or 1)
            kinds = [g.values() for g in judged.values()]
            if not all(min(g) in range(level) and max(g) >= level for g in kinds):
                continue
        low, high = lowest[str(metric), query], highest[str(metric), query]
        if not low - CLOSE <= float(text) <= high + CLOSE:
            wrong.append(f"{measure} {query}: golden {text}, ours {low} to {high}")
    assert not wrong, f"{len(wrong)} of {len(golden)} differ: {wrong[:10]}"
