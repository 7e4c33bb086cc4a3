"""Our values against those of ranx: every metric string, with levels.

ranx leaves the order of equal scores open, so the runs that are compared have none. It would compile
its formulas in every process, for a minute: here they run as the Python that they are written in.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys

import pytest
from peers import ALL, Qrels, Run, Values, ours, peer, random_collection, read_case, same, tied
from shared_cases import EDGES, needs_cases

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


def test_interpolated_precision() -> None:
    """A function of ranx that no metric string reaches: eleven levels, by the rule of trec_eval 9."""
    qrels, run = random_collection(220, queries=80, ties=False)
    run = {query: run.get(query) or {"nothing": 1.0} for query in qrels}
    judged, scored = ranx.Qrels(qrels), ranx.Run(run)
    found = ranx.metrics.interpolated_precision_at_recall(
        judged.to_typed_list(), scored.to_typed_list()
    )
    names = [f"IPrec@{tenth / 10}" for tenth in range(11)]
    values = ours(qrels, run, names, "ranx")
    for by_query in values.values():
        del by_query[ALL]
    queries = sorted(qrels)
    same(
        values,
        {
            name: {query: float(row[tenth]) for query, row in zip(queries, found, strict=True)}
            for tenth, name in enumerate(names)
        },
    )


@needs_cases
@pytest.mark.parametrize(
    ("folder", "run"),
    [(f"{EDGES}/plain", "run"), (f"{EDGES}/negative_judgements", "run"), ("dl19_passage", "tasb")],
)
def test_shared_cases(folder: str, run: str) -> None:
    qrels, docs = read_case(folder, run)
    for query in tied(docs):
        del qrels[query], docs[query]
    assert qrels
    same(mine(qrels, docs, METRICS), theirs(qrels, docs, METRICS))


# --------------------------------------------------------------------------- known disagreements


def test_bpref_without_a_judged_non_relevant_document() -> None:
    """ranx's bpref divides 0 by 0 there, and its mean is lost; in ours nothing stands above a: 1/2."""
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 2.0, "x": 1.0}}
    assert math.isnan(theirs(qrels, run, ["bpref"])["bpref"]["q"])
    assert mine(qrels, run, ["bpref"])["bpref"]["q"] == 0.5


def test_bpref_counts_negative_judgments_as_non_relevant() -> None:
    """In ranx N = 2 (a, d), above c stands 1 and above e 2: (1/2 + 0) / 2.

    In trec_eval and by default N = 1 (d), above c stands none and above e 1: (1 + 0) / 2.
    """
    qrels, run = (
        {"q": {"c": 1, "e": 1, "a": -1, "d": 0}},
        {"q": {"a": 4.0, "c": 3.0, "d": 2.0, "e": 1.0}},
    )
    assert theirs(qrels, run, ["bpref"])["bpref"]["q"] == 0.25
    assert mine(qrels, run, ["bpref"])["bpref"]["q"] == 0.25
    assert ours(qrels, run, ["bpref"])["bpref"]["q"] == 0.5


COMPILED = """
import ranx
for number in (15, 40):
    run = ranx.Run({"q": {f"d{n:02}": 1.0 for n in range(number)}})
    print(ranx.evaluate(ranx.Qrels({"q": {"d00": 1}}), run, "mrr"))
"""


@pytest.mark.long
def test_equal_scores_come_in_an_undefined_order() -> None:
    """ranx keeps up to 15 equal scores as they came and shuffles more; ours go by id, descending.

    The order is that of the compiled sort, so this one runs compiled, in a process of its own.
    """
    command = [sys.executable, "-W", "ignore", "-c", COMPILED]
    there = os.environ | {"NUMBA_DISABLE_JIT": "0", "NUMBA_OPT": "0"}
    out = subprocess.run(command, env=there, capture_output=True, text=True, check=True).stdout
    few, many = map(float, out.split())
    assert few == 1.0
    assert 1 / 40 < many < 1
    for number in (15, 40):
        run = {"q": {f"d{n:02}": 1.0 for n in range(number)}}
        assert mine({"q": {"d00": 1}}, run, ["mrr"])["mrr"]["q"] == 1 / number


def test_rbp_above_1() -> None:
    """ranx's RBP adds up grades: 0.95 * (3 + 0.05 * 1); RBP here counts each as 1."""
    qrels, run = {"q": {"a": 3, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    value = 0.95 * (3 + 0.05)
    assert math.isclose(theirs(qrels, run, ["rbp.05"])["rbp.05"]["q"], value)
    assert math.isclose(mine(qrels, run, ["rbp.05"])["rbp.05"]["q"], value)
    assert math.isclose(ours(qrels, run, ["RBP(p=0.05)"])["RBP(p=0.05)"]["q"], 0.95 * 1.05)


def test_level_takes_lower_grades_out_of_ndcg() -> None:
    """ndcg-l2 of ranx leaves grades below 2 out of both sums; trec_eval's ndcg knows no level."""
    qrels = {"q": {"a": 3, "b": 2, "c": 1, "e": 0}}
    run = {"q": {"c": 4.0, "a": 3.0, "x": 2.0, "b": 1.0}}
    log2 = math.log2
    level_2 = (3 / log2(3) + 2 / log2(5)) / (3 + 2 / log2(3))
    assert math.isclose(theirs(qrels, run, ["ndcg-l2"])["ndcg-l2"]["q"], level_2)
    assert math.isclose(mine(qrels, run, ["ndcg-l2"])["ndcg-l2"]["q"], level_2)
    whole = (1 + 3 / log2(3) + 2 / log2(5)) / (3 + 2 / log2(3) + 1 / 2)
    assert math.isclose(ours(qrels, run, ["nDCG"], level=2)["nDCG"]["q"], whole)


def test_other_queries_are_an_error_unless_it_is_told() -> None:
    """ranx stops where queries differ unless told to go on; ours counts a missing one as 0."""
    qrels, run = {"p": {"a": 1}, "q": {"a": 1}}, {"q": {"a": 1.0}, "r": {"a": 1.0}}
    with pytest.raises(AssertionError, match="do not match"):
        ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), "mrr")
    found = {"mrr": {"p": 0.0, "q": 1.0, ALL: 0.5}}
    same(mine(qrels, run, ["mrr"]), theirs(qrels, run, ["mrr"]))
    same(mine(qrels, run, ["mrr"]), found)
