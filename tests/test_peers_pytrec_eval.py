"""Our values against those of pytrec_eval, which wraps trec_eval 9: every measure that it supports."""

from __future__ import annotations

import math

import pytest
from peers import ALL, Qrels, Run, Values, ours, peer, random_collection, same

pytestmark = pytest.mark.slow

pytrec_eval = peer("pytrec_eval")

# It has a string of trec_eval only as the number 0.
TEXTS = {"relstring", "runid"}
INTERPOLATED = ("iprec_at_recall_", "11pt_avg")
MEASURES = sorted(pytrec_eval.supported_measures - TEXTS)


def theirs(
    qrels: Qrels, run: Run, measures: list[str], level: int = 1, judged_only: bool = False
) -> Values:
    """Return its values, gm_map and gm_bpref out of their logarithms."""
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, measures, relevance_level=level, judged_docs_only_flag=judged_only
    )
    found: Values = {}
    for query, values in evaluator.evaluate(run).items():
        for measure, value in values.items():
            found.setdefault(measure, {})[query] = value
    for measure, by_query in found.items():
        over_all = pytrec_eval.compute_aggregated_measure(measure, list(by_query.values()))
        if measure.startswith("gm_"):
            found[measure] = {query: math.exp(value) for query, value in by_query.items()}
        found[measure][ALL] = over_all
    return found


def compare(qrels: Qrels, run: Run, level: int = 1, judged_only: bool = False) -> None:
    peers = theirs(qrels, run, MEASURES, level, judged_only)
    assert len(peers) == 93
    mine = ours(qrels, run, peers, "trec_eval_9", level=level, judged_only=judged_only)
    for measure in (
        "gm_map",
        "gm_bpref",
    ):  # it lists what goes into the mean, ours the query's value
        mine[measure] = {query: max(value, 1e-5) for query, value in mine[measure].items()}
    # of an empty list its interpolated precisions are 0/0; ours are 0
    empty = {q for q, count in peers["num_ret"].items() if count == 0}
    if judged_only and empty:
        leave_out([m for m in peers if m.startswith(INTERPOLATED)], {*empty, ALL}, mine, peers)
    same(mine, peers)


def leave_out(measures: list[str], queries: set[str], *found: Values) -> None:
    for values in found:
        for measure in measures:
            values[measure] = {q: v for q, v in values[measure].items() if q not in queries}


@pytest.mark.parametrize("judged_only", [False, True])
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("seed", range(2))
def test_random_collections(seed: int, level: int, judged_only: bool) -> None:
    compare(*random_collection(seed, queries=80), level, judged_only)


def test_parameters() -> None:
    qrels, run = random_collection(11)
    names = [
        "P_7", "P_1", "recall_3", "map_cut_7", "ndcg_cut_23", "relative_P_2", "success_2",
        "iprec_at_recall_0.25", "iprec_at_recall_0.33", "Rprec_mult_0.35", "Rprec_mult_5.00",
    ]  # fmt: skip
    same(ours(qrels, run, names, "trec_eval_9"), theirs(qrels, run, names))


def test_values_by_query_have_its_bits() -> None:
    """So that four printed digits are its own, too, where the fifth is a 5."""
    qrels, run = random_collection(3, queries=80)
    peers = theirs(qrels, run, [one for one in MEASURES if not one.startswith("gm_")])
    mine = ours(qrels, run, peers, "trec_eval_9")
    other = {
        (measure, query)
        for measure, values in peers.items()
        for query, value in values.items()
        if query != ALL and mine[measure][query] != value
    }
    assert other == set()
