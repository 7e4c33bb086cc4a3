"""The interfaces of pytrec_eval and ir_measures against these programs."""

from __future__ import annotations

import math
import random

import pytest
from peers import peer, random_collection

from tests.refusals import expect_refusal
from warehouse.errors import InputError
from warehouse.extensions.peers import pytrec_eval as ours

pytestmark = pytest.mark.slow


def test_pytrec_eval_gives_the_same_keys_and_values() -> None:
    """On random data with ties and gaps, and empty rankings; every measure, each also with numbers."""
    theirs = peer("pytrec_eval")
    assert set(ours.supported_measures) == set(theirs.supported_measures)
    known = {name: set(theirs.supported_nicknames[name]) for name in ours.supported_nicknames}
    assert known == ours.supported_nicknames
    for seed, (level, judged_only) in enumerate([(1, False), (2, True)]):
        qrels, run = random_collection(seed, queries=25)
        run |= {query: {} for query in random.Random(seed).sample(sorted(qrels), 3)}
        run["all"] = qrels["all"] = {"a": 1, "b": 2}  # a query may be called so
        qrels["judges nothing"] = {}
        names = {
            "all_trec",
            "P_7",
            "ndcg_cut.3,20",
            "set_F.2.0",
            "11pt_avg.0.25,0.5",
            "relstring.5",
        }
        how = {"relevance_level": level, "judged_docs_only_flag": judged_only}
        expected = theirs.RelevanceEvaluator(qrels, names, **how).evaluate(run)
        found = ours.RelevanceEvaluator(qrels, names, **how).evaluate(run)
        assert list(found) == list(expected)
        for query, values in expected.items():
            assert found[query].keys() == values.keys()
            for key, value in values.items():
                # 0 divided by 0, where a ranking is empty
                wanted = 0.0 if math.isnan(value) else value
                assert math.isclose(found[query][key], wanted, abs_tol=1e-9), (query, key)
                assert type(found[query][key]) is type(value)


def test_pytrec_eval_refuses_what_is_no_run() -> None:
    with pytest.raises(TypeError, match=r"'q', 'a': the relevance 0\.5 is no whole number"):
        ours.RelevanceEvaluator({"q": {"a": 0.5}}, {"map"})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="unsupported measure ndgc; did you mean ndcg"):
        ours.RelevanceEvaluator({"q": {"a": 1}}, {"ndgc"})
    evaluator = ours.RelevanceEvaluator({"q": {"a": 1}}, {"map"})
    with pytest.raises(TypeError, match="1: is a query id, a string"):
        evaluator.evaluate({1: {"a": 1.0}})  # type: ignore[dict-item]
    with expect_refusal("not a finite number", InputError):
        evaluator.evaluate({"q": {"a": math.nan}})
    assert evaluator.evaluate({"q": {"a": 1.0}}) == {"q": {"map": 1.0}}
    with expect_refusal("line 2 … a … twice … q", InputError):
        ours.parse_run(["q Q0 a 1 2.5 x\n", "q Q0 a 2 2.5 x\n"])
    with expect_refusal("line 1 … 3 fields, not 4", InputError):
        ours.parse_qrel(["q 0 a\n"])


def test_ir_measures_gets_the_same_values_from_our_provider() -> None:
    """For every measure that it has, on data without equal scores; and metrics that it has not."""
    theirs = peer("ir_measures")
    from test_peers_ir_measures import CWL_EVAL, IN_PYTHON, JUDGED_ONLY, PYTREC_EVAL

    from warehouse.extensions.peers.ir_measures import WarehouseProvider, install, measure, provider

    qrels, run = random_collection(8, queries=25, ties=False, grades=(0, 1, 2, 3))
    names = [
        name
        for name in (*PYTREC_EVAL, *IN_PYTHON, *JUDGED_ONLY)
        if "judged_only" not in name or "@" in name
    ]
    # cwl_eval passes over what is not retrieved, and counts undefined queries in its own way
    measures = [theirs.parse_measure(name) for name in (*names, *CWL_EVAL[:1])]
    silent = qrels.keys() - run.keys()
    found = provider.calc(measures, qrels, run)
    # one by one: asked together, theirs has another NumRet in some orders of a set
    expected = [theirs.calc([one], qrels, run) for one in measures]
    aggregated = {key: value for each in expected for key, value in each.aggregated.items()}
    assert found.aggregated.keys() == aggregated.keys()
    for one, value in aggregated.items():
        if one.NAME != "NumRel":
            assert math.isclose(found.aggregated[one], value, abs_tol=1e-9), one
    values = {(row.query_id, row.measure): row.value for each in expected for row in each.per_query}
    assert {(row.query_id, row.measure) for row in found.per_query} == values.keys()
    for row in found.per_query:
        if row.query_id not in silent:
            value = values[row.query_id, row.measure]
            assert math.isclose(row.value, value, abs_tol=1e-9), row

    lrap, pooled = measure("LRAP"), measure("PSP@5")
    assert not theirs.DefaultPipeline.supports(lrap)
    install()
    try:
        both = theirs.calc_aggregate(
            [lrap, theirs.P @ 5], {"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}
        )
        assert both == {lrap: 0.5, theirs.P @ 5: 0.2}
        with expect_refusal("PSP@5 … training set"):
            provider.calc_aggregate([pooled, lrap], qrels, run)
        with expect_refusal("PSP@5 … pooled"):  # where other providers take part
            pooled.aggregator()
    finally:
        theirs.DefaultPipeline.providers.remove(provider)
    trained = WarehouseProvider(training={"t": {"a": 1}, "u": {"a": 1, "b": 1}})
    (value,) = trained.calc_aggregate(
        [measure("PSP@1")], {"q": {"a": 1}}, {"q": {"a": 2.0}}
    ).values()
    assert value == 1.0
    with expect_refusal("nDGC@5 … nDCG@5"):
        measure("nDGC@5")


@pytest.mark.parametrize("run", [{"other": {"a": 1.0}}, {}])
def test_the_provider_and_a_run_without_a_judged_query(run: dict[str, dict[str, float]]) -> None:
    """Each judged query counts as an empty ranking."""
    ir_measures = peer("ir_measures")
    from warehouse.extensions.peers.ir_measures import provider

    qrels = {"q": {"a": 1, "b": 0}, "r": {"a": 2}}
    names = ["AP", "nDCG@10", "P@5", "RR@10", "Success@5", "Bpref", "SetP", "Compat", "NumRet"]
    measures = [ir_measures.parse_measure(name) for name in names]
    theirs = ir_measures.calc(measures, qrels, run)
    found = provider.calc(measures, qrels, run)
    assert found.aggregated == theirs.aggregated == dict.fromkeys(measures, 0)
    assert len(found.per_query) == len(theirs.per_query) == 2 * len(measures)
    assert set(found.per_query) == set(theirs.per_query)
