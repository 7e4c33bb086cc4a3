"""Our values against those of ranx: every metric string, with levels.

ranx leaves the order of equal scores open, so the runs that are compared have none. It would compile
its formulas in every process, for a minute: here they run as the Python that they are written in.
"""

from __future__ import annotations

import os

import pytest
from peers import ALL, Qrels, Run, Values, ours, peer, random_collection, same

os.environ["NUMBA_DISABLE_JIT"] = "1"  # read when numba is imported
ranx = peer("ranx")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:invalid value encountered")]

NAMES = [
    "hits", "hits@3", "hit_rate", "hit_rate@1", "hit_rate@5", "precision", "precision@5", "recall",
    "recall@5", "f1", "f1@5", "r-precision", "mrr", "mrr@2", "map", "map@5", "dcg", "dcg@5",
    "dcg_burges", "dcg_burges@5", "ndcg", "ndcg@1", "ndcg@5", "ndcg@50", "ndcg_burges",
    "ndcg_burges@5", "rbp.80", "rbp.95", "rbp@5",
]  # fmt: skip
METRICS = [*NAMES, *(f"{name}-l2" for name in NAMES)]


def theirs(qrels: Qrels, run: Run, metrics: list[str]) -> Values:
    judged, scored = ranx.Qrels(qrels), ranx.Run(run)
    ranx.evaluate(judged, scored, metrics, make_comparable=True)
    return {
        name: {q: float(value) for q, value in scored.scores[name].items()}
        | {ALL: float(scored.mean_scores[name])}
        for name in metrics
    }


def mine(qrels: Qrels, run: Run, metrics: list[str]) -> Values:
    return ours(qrels, run, metrics, "ranx")


def test_random_collection() -> None:
    qrels, run = random_collection(200, queries=250, ties=False)
    same(mine(qrels, run, METRICS), theirs(qrels, run, METRICS))


def test_bpref() -> None:
    """Negative judgments count as non-relevant, as in ranx; each query has a 0 and a relevant one."""
    qrels, run = random_collection(210, queries=80, ties=False)
    for judged in qrels.values():
        judged |= {"judged 0": 0, "judged 3": 3}
    for metrics in (["bpref"], ["bpref-l2"]):
        same(mine(qrels, run, metrics), theirs(qrels, run, metrics))
