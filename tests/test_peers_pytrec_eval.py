"""Our values against those of pytrec_eval, which wraps trec_eval 9: every measure that it supports."""

from __future__ import annotations

import math

import pytest
from peers import (
    ALL,
    Qrels,
    Run,
    Values,
    nothing_in_common,
    ours,
    peer,
    random_collection,
    read_case,
    same,
)
from shared_cases import EDGES, needs_cases

from warehouse.errors import InputError
from warehouse.warehouse import Warehouse

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
    # what disagrees, see the test of its name below
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


@needs_cases
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize(
    ("folder", "run"),
    [
        *((f"{EDGES}/{name}", "run") for name in (
            "ties_blocks", "ties_float32", "negative_judgements", "missing_queries_in_run",
            "extra_queries_in_run", "query_without_relevant", "scientific_scores",
        )),
        ("dl19_passage", "bm25"),
    ],
)  # fmt: skip
def test_shared_cases(folder: str, run: str, level: int) -> None:
    compare(*read_case(folder, run), level)


def test_parameters() -> None:
    qrels, run = random_collection(11)
    names = [
        "P_7", "P_1", "recall_3", "map_cut_7", "ndcg_cut_23", "relative_P_2", "success_2",
        "iprec_at_recall_0.25", "iprec_at_recall_0.33", "Rprec_mult_0.35", "Rprec_mult_5.00",
    ]  # fmt: skip
    same(ours(qrels, run, names, "trec_eval_9"), theirs(qrels, run, names))


def test_the_parameter_of_set_f() -> None:
    """pytrec_eval returns set_F_2.0 under the name set_F; the 2.0 is the square of beta in both."""
    qrels, run = random_collection(12)
    found = theirs(qrels, run, ["set_F_2.0"])
    assert list(found) == ["set_F"]
    mine = ours(qrels, run, ["set_F_2.0", f"SetF(beta={math.sqrt(2)!r})"], "trec_eval_9")
    for values in mine.values():
        same({"set_F": values}, found)


# --------------------------------------------------------------------------- known disagreements


def test_scores_are_32_bit_floats_in_pytrec_eval() -> None:
    """pytrec_eval and trec_eval 9 take 10.00000002 and 10.00000001 for equal; `default` does not."""
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 10.00000002, "b": 10.00000001}}
    assert theirs(qrels, run, ["recip_rank"])["recip_rank"]["q"] == 0.5
    assert ours(qrels, run, ["recip_rank"], "trec_eval_9")["recip_rank"]["q"] == 0.5
    assert ours(qrels, run, ["recip_rank"])["recip_rank"]["q"] == 1.0


def test_a_query_without_a_run_is_left_out_by_pytrec_eval() -> None:
    """pytrec_eval averages over judged queries of the run; `default` counts the missing one as 0."""
    qrels, run = {"q": {"a": 1}, "silent": {"a": 1}}, {"q": {"a": 1.0}}
    assert theirs(qrels, run, ["map"])["map"] == {"q": 1.0, ALL: 1.0}
    assert ours(qrels, run, ["map"], "trec_eval_9")["map"] == {"q": 1.0, ALL: 1.0}
    assert ours(qrels, run, ["map"])["map"] == {"q": 1.0, "silent": 0.0, ALL: 0.5}


@pytest.mark.parametrize(
    ("ranking", "judged_only"), [({}, False), ({}, True), ({"x": 1.0}, True), ({"n": 1.0}, True)]
)
def test_empty_lists(ranking: dict[str, float], judged_only: bool) -> None:
    """pytrec_eval divides 0 by 0 for an empty list, or one that judged_docs_only empties; ours is 0.

    Only its interpolated precisions do, and their NaN goes on into the mean over all queries.
    """
    qrels = {"p": {"a": 1}, "q": {"b": 0, "c": 1, "n": -1}}
    run = {"p": {"a": 1.0}, "q": ranking}
    found = theirs(qrels, run, MEASURES, judged_only=judged_only)
    mine = ours(qrels, run, found, "trec_eval_9", judged_only=judged_only)
    unknown = {measure for measure, values in found.items() if math.isnan(values["q"])}
    assert unknown == {measure for measure, values in found.items() if math.isnan(values[ALL])}
    assert unknown == {"11pt_avg", "iprec_at_recall_0.00"}
    assert {mine[measure]["q"] for measure in unknown} == {0.0}


def test_strings_are_zeros_in_pytrec_eval() -> None:
    """pytrec_eval returns 0 for relstring and runid; ours gives the strings that trec_eval prints."""
    qrels, run = {"q": {"a": 1, "b": 0, "e": -1}}, {"q": {"b": 4.0, "a": 3.0, "c": 2.0, "e": 1.0}}
    found = theirs(qrels, run, sorted(TEXTS))
    assert {found[name]["q"] for name in TEXTS} == {0.0}
    scored = Warehouse.score(qrels, run, "num_q relstring", protocol="trec_eval_9")
    assert scored.strings == {("relstring", "q"): "01-."}


def test_no_query_in_common() -> None:
    """pytrec_eval returns nothing where no query is in both; ours is an error that says so."""
    qrels, run = nothing_in_common(5)
    same(ours(qrels, run, ["map"], "trec_eval_9"), theirs(qrels, run, ["map"]))
    del run["anchor"]
    assert theirs(qrels, run, ["map"]) == {}
    with pytest.raises(InputError, match="no query of the run is judged"):
        ours(qrels, run, ["map"], "trec_eval_9")
