"""Our values against those of ir_measures: every measure that its providers compute here.

It hands each measure to another program. pytrec_eval orders equal scores by document id, descending,
as our protocol `ir_measures` does; the other providers do not, so those are compared on runs without
equal scores. What they do with equal ones is told by tests below.
"""

from __future__ import annotations

import importlib
import math
import shutil
from collections.abc import Iterable

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
    tied,
    without,
)
from shared_cases import EDGES, needs_cases

from warehouse.metrics import notation, protocols

pytestmark = pytest.mark.slow

ir_measures = peer("ir_measures")
needs_cwl = pytest.mark.skipif(
    not ir_measures.cwl_eval.is_available(), reason="cwl-eval is not installed"
)
needs_perl = pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval needs perl")

PYTREC_EVAL = [
    "AP", "AP(rel=2)", "AP@3", "AP(rel=2)@10", "BPref", "Bpref(rel=2)", "IPrec@0.0", "IPrec@0.1",
    "IPrec@0.35", "IPrec@0.7", "IPrec@1.0", "IPrec(rel=2)@0.7", "MAP", "MRR", "RR(rel=2)", "NDCG",
    "nDCG@1", "nDCG@5", "nDCG@20", "NumRet", "NumRet(rel=2)", "NumRelRet", "P@1", "P(rel=2)@5",
    "Precision@50", "R@5", "R(rel=2)@5", "Recall@20", "RPrec", "Rprec(rel=2)", "SetAP",
    "SetAP(rel=2)", "SetF", "SetF(beta=0.5)", "SetF(beta=2.0)", "SetF(rel=2)", "SetP", "SetP(rel=2)",
    "SetR", "SetR(rel=2)", "SetRelP", "Success@1", "Success(rel=2)@5", "infAP", "infAP(rel=2)",
]  # fmt: skip
JUDGED_ONLY = [
    "AP(judged_only=True)", "AP(judged_only=True,rel=2)@3", "P(judged_only=True)@5",
    "R(judged_only=True)@5", "RR(judged_only=True)", "Rprec(judged_only=True)",
    "SetAP(judged_only=True)", "SetF(judged_only=True)", "SetP(judged_only=True)",
    "Success(judged_only=True)@5", "nDCG(judged_only=True)", "nDCG(judged_only=True)@5",
]  # fmt: skip
IN_PYTHON = [
    "RR@1", "RR@10", "MRR(rel=2)@5", "Judged@1", "Judged@10", "Judged", "Compat", "Compat(p=0.8)",
    "Compat(normalize=False)",
]  # fmt: skip
ACCURACY = ["Accuracy", "Accuracy@5", "Accuracy(rel=2)@10"]
CWL_EVAL = [
    "RBP(rel=1)", "RBP(p=0.5,rel=2)", "SDCG(max_rel=3)@10", "SDCG(min_rel=1,max_rel=2)@5",
    "BPM(max_rel=3)@10", "BPM(T=2.5,max_rel=3)@20", "INST(max_rel=3)", "INST(T=3.0,max_rel=2)",
    "INSQ(max_rel=3)", "INSQ(T=2.5,min_rel=1,max_rel=3)", "NERR8(max_rel=4)@10",
    "NERR9(max_rel=3)@20", "NERR10(max_rel=3)", "NERR10(p=0.5,max_rel=4)", "NERR11(T=2.0,max_rel=4)",
]  # fmt: skip
GDEVAL = ["ERR@5", "ERR@20", "nDCG(dcg='exp-log2')@3", "nDCG(dcg='exp-log2')@10"]
COUNTS = ["NumQ", "NumRel"]
# By iteration of the judgments: compared in test_peers_pyndeval.
DIVERSITY = [
    *(f"{name}@{k}" for name in ("nERR_IA", "alpha_nDCG", "P_IA", "StRecall") for k in (1, 5, 20)),
    *(f"{name}@{k}" for name in ("ERR_IA", "alpha_DCG") for k in (2, 5, 20)),
    *(f"{name}(rel=2)@10" for name in ("ERR_IA", "nERR_IA", "P_IA", "StRecall")),
    *(f"{name}(alpha={alpha})@10" for name in ("alpha_DCG", "alpha_nDCG")
      for alpha in (0.0, 0.25, 0.3, 1.0)),
    "alpha_DCG(rel=2,alpha=0.75)@7", "alpha_nDCG(rel=2,alpha=0.75)@7", "NRBP",
    "NRBP(alpha=0.25,beta=0.9)", "NRBP(rel=2)", "AP_IA", "AP_IA(rel=2)",
]  # fmt: skip
# No number in pyndeval where nothing is relevant: compared apart, in test_peers_pyndeval.
NORMALISED_NRBP = ["nNRBP", "nNRBP(alpha=0.25,beta=0.9)", "nNRBP(rel=2)"]
# What a name of theirs is called here.
NAMES = {
    "NumRet(rel=2)": "NumRelRet(rel=2)",  # with a level it counts the relevant documents retrieved
    "SetF(beta=0.5)": "SetF(x=0.5)",  # see the test of its name below
    "SetF(beta=2.0)": "SetF(x=2.0)",
}


def our_name(name: str) -> str:
    return NAMES.get(name) or name.replace("judged_only=True,", "").replace(
        "(judged_only=True)", ""
    )


def theirs(names: Iterable[str], qrels: object, run: object) -> Values:
    measures = {name: ir_measures.parse_measure(name) for name in names}
    result = ir_measures.calc(list(measures.values()), qrels, run)
    values: dict[object, dict[str, float]] = {}
    for row in result.per_query:
        values.setdefault(row.measure, {})[row.query_id] = float(row.value)
    for measure, value in result.aggregated.items():
        values.setdefault(measure, {})[ALL] = float(value)
    return {name: values[measure] for name, measure in measures.items()}


def mine(names: Iterable[str], qrels: object, run: Run, **options: bool) -> Values:
    of = {name: our_name(name) for name in names}
    found = ours(qrels, run, of.values(), "ir_measures", **options)
    return {name: found[called] for name, called in of.items()}


def numbered(data: tuple[Qrels, Run]) -> tuple[Qrels, Run]:
    """Name the queries by numbers, as gdeval wants them."""
    numbers = {query: str(n) for n, query in enumerate(sorted({*data[0], *data[1]}), 100)}
    qrels, run = ({numbers[q]: docs for q, docs in side.items()} for side in data)
    return qrels, run


def test_every_measure_of_the_registry_is_compared() -> None:
    names = [
        *PYTREC_EVAL, *IN_PYTHON, *ACCURACY, *CWL_EVAL, *GDEVAL, *COUNTS, *DIVERSITY, *NORMALISED_NRBP,
    ]  # fmt: skip
    compared = {ir_measures.parse_measure(name).NAME for name in names}
    registry = {measure.NAME for measure in ir_measures.measures.registry.values()}
    assert registry == compared


@pytest.mark.parametrize("seed", range(2))
def test_measures_of_pytrec_eval(seed: int) -> None:
    qrels, run = random_collection(100 + seed, queries=80)
    same(mine(PYTREC_EVAL, qrels, run), theirs(PYTREC_EVAL, qrels, run))


@pytest.mark.parametrize("seed", range(2))
def test_measures_of_pytrec_eval_over_judged_documents(seed: int) -> None:
    qrels, run = random_collection(110 + seed, queries=80)
    same(mine(JUDGED_ONLY, qrels, run, judged_only=True), theirs(JUDGED_ONLY, qrels, run))


@pytest.mark.parametrize("seed", range(2))
def test_measures_in_python(seed: int) -> None:
    qrels, run = random_collection(120 + seed, queries=80, ties=False)
    # above 0: see the test of Compat and negative scores below
    run = {query: {doc: score + 11 for doc, score in docs.items()} for query, docs in run.items()}
    same(mine(IN_PYTHON, qrels, run), theirs(IN_PYTHON, qrels, run))


@needs_cwl
@pytest.mark.parametrize("seed", range(2))
def test_measures_of_cwl_eval(seed: int) -> None:
    qrels, run = random_collection(130 + seed, ties=False)
    same(mine(CWL_EVAL, qrels, run), theirs(CWL_EVAL, qrels, run))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ACCURACY)
def test_accuracy(name: str, seed: int) -> None:
    """A query without a relevant document among those looked at has no value; one without a
    non-relevant one stops ir_measures, so each query has one here. Equal scores stay as they come;
    they are compared as doubles, as under our protocol `default`."""
    qrels, run = random_collection(140 + seed, queries=80)
    for docs in run.values():
        docs["not judged at all"] = max(docs.values()) + 1
    found = theirs([name], qrels, run)
    (area,) = notation.parse(name, defaults=protocols.get("ir_measures").defaults())
    values = ours(qrels, run, [str(area)])[str(area)]
    same({name: {query: value for query, value in values.items() if value is not None}}, found)


@needs_perl
@pytest.mark.parametrize("seed", range(2))
def test_measures_of_gdeval(seed: int) -> None:
    """gdeval prints five decimals, reads queries that are numbers, and scores as doubles."""
    qrels, run = numbered(random_collection(150 + seed, queries=80, ties=False))
    same(mine(GDEVAL, qrels, run), theirs(GDEVAL, qrels, run), tolerance=5.1e-6)


@needs_cases
@pytest.mark.parametrize(
    ("folder", "run"),
    [
        (f"{EDGES}/ties_blocks", "run"),
        (f"{EDGES}/negative_judgements", "run"),
        (f"{EDGES}/missing_queries_in_run", "run"),
        (f"{EDGES}/query_without_relevant", "run"),
        ("dl19_passage", "tasb"),
    ],
)
def test_shared_cases(folder: str, run: str) -> None:
    qrels, docs = read_case(folder, run)
    same(mine(PYTREC_EVAL, qrels, docs), theirs(PYTREC_EVAL, qrels, docs))
    untied = set(qrels) - tied(docs)
    found = mine(IN_PYTHON, qrels, docs), theirs(IN_PYTHON, qrels, docs)
    compared = [without(values, set(qrels) - untied) for values in found]
    if untied:
        same(*compared)


def test_no_query_in_common_but_one() -> None:
    qrels, run = nothing_in_common(160)
    names = ["AP", "RR@10", "nDCG@10"]
    same(mine(names, qrels, run), theirs(names, qrels, run))


@pytest.mark.parametrize("run", [{"other": {"a": 1.0}}, {}])
def test_the_provider_and_a_run_without_a_judged_query(run: Run) -> None:
    """Each judged query counts as an empty ranking."""
    qrels = {"q": {"a": 1, "b": 0}, "r": {"a": 2}}
    names = ["AP", "nDCG@10", "P@5", "RR@10", "Success@5", "Bpref", "SetP", "Compat", "NumRet"]
    measures = [ir_measures.parse_measure(name) for name in names]
    provider = importlib.import_module("warehouse.compat.ir_measures").provider
    theirs = ir_measures.calc(measures, qrels, run)
    found = provider.calc(measures, qrels, run)
    assert found.aggregated == theirs.aggregated == dict.fromkeys(measures, 0)
    assert len(found.per_query) == len(theirs.per_query) == 2 * len(measures)
    assert set(found.per_query) == set(theirs.per_query)


# --------------------------------------------------------------------------- known disagreements

TWO_TIED = ({"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0}})


def test_rr_and_rr_at_k_order_equal_scores_in_opposite_ways() -> None:
    """RR of ir_measures (pytrec_eval) takes the higher id first, its RR@10 (msmarco) the lower one."""
    found = theirs(["RR", "RR@10"], *TWO_TIED)
    assert (found["RR"]["q"], found["RR@10"]["q"]) == (0.5, 1.0)
    values = mine(["RR", "RR@10"], *TWO_TIED)
    assert (values["RR"]["q"], values["RR@10"]["q"]) == (0.5, 0.5)


def test_judged_and_compat_take_the_lower_id_first() -> None:
    """Judged and Compat of ir_measures order equal scores by id, ascending; ours by the protocol."""
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    found = theirs(["Judged@1", "Compat"], qrels, run)
    values = mine(["Judged@1", "Compat"], qrels, run)
    assert (found["Judged@1"]["q"], values["Judged@1"]["q"]) == (1.0, 0.0)
    assert math.isclose(found["Compat"]["q"], 1.0)
    # b first: nothing in common at rank 1, at rank 2 half of p = 0.95; of the best order 1 + 0.95 / 2
    assert math.isclose(values["Compat"]["q"], 0.475 / 1.475)


def test_compat_gives_what_is_not_retrieved_the_score_0() -> None:
    """The best order of Compat in ir_measures has u, not retrieved, above b, whose score is below 0.

    Ours has what is retrieved first: the scores say nothing but the order.
    """
    qrels, run = {"q": {"a": 1, "b": 1, "u": 1}}, {"q": {"a": 2.0, "b": -1.0}}
    higher = {"q": {"a": 3.0, "b": 1.0}}
    whole = 1 + 0.95 + 0.95**2
    u_second = (1 + 0.95 / 2 + 0.95**2 * 2 / 3) / whole
    b_second = (1 + 0.95 + 0.95**2 * 2 / 3) / whole
    assert math.isclose(theirs(["Compat"], qrels, run)["Compat"]["q"], u_second)
    assert math.isclose(theirs(["Compat"], qrels, higher)["Compat"]["q"], b_second)
    for docs in (run, higher):
        assert math.isclose(mine(["Compat"], qrels, docs)["Compat"]["q"], b_second)


@needs_cwl
def test_accuracy_and_cwl_eval_keep_the_order_of_the_source() -> None:
    """Accuracy and cwl_eval leave equal scores as they come.

    So does our Accuracy; the measures of cwl_eval are the same here whatever the order.
    """
    qrels, run = TWO_TIED
    turned = {"q": dict(reversed(run["q"].items()))}
    for name, as_given, as_turned in [("Accuracy", 1.0, 0.0), ("RBP(rel=1)", 0.2, 0.16)]:
        assert math.isclose(theirs([name], qrels, run)[name]["q"], as_given)
        assert math.isclose(theirs([name], qrels, turned)[name]["q"], as_turned)
        kept = as_given if name == "Accuracy" else as_turned
        assert math.isclose(mine([name], qrels, run)[name]["q"], kept)
        assert math.isclose(mine([name], qrels, turned)[name]["q"], as_turned)


def test_accuracy_divides_by_zero_without_non_relevant_documents() -> None:
    """Accuracy of ir_measures raises where all that is retrieved is relevant; ours has no value."""
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    with pytest.raises(ZeroDivisionError):
        theirs(["Accuracy"], qrels, run)
    assert mine(["Accuracy"], qrels, run) == {"Accuracy": {"q": None, ALL: None}}


def test_accuracy_leaves_queries_out_alone_and_counts_them_as_0_in_company() -> None:
    """Accuracy of ir_measures has no value without a relevant hit, but 0 with another measure."""
    qrels = {"p": {"a": 1}, "q": {"a": 1}}
    run = {"p": {"a": 2.0, "b": 1.0}, "q": {"b": 1.0}}
    assert theirs(["Accuracy"], qrels, run)["Accuracy"] == {"p": 1.0, ALL: 1.0}
    company = theirs(["Accuracy", "AP"], qrels, run)["Accuracy"]
    assert company == {"p": 1.0, "q": 0.0, ALL: 0.5}
    for names in (["Accuracy"], ["Accuracy", "AP"]):
        assert mine(names, qrels, run)["Accuracy"] == {"p": 1.0, "q": None, ALL: 1.0}


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_beta_of_setf_is_the_square_of_beta(beta: float) -> None:
    """SetF(beta=2) of ir_measures is trec_eval's set_F_2.0, whose 2 is the square of beta.

    With P = 1 and R = 1/2: 3 * 1/2 / (1/2 + 2) = 0.6 there and under its protocol, and by default
    F2 = 5 * 1/2 / (1/2 + 4) = 5/9.
    """
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 1.0}}
    name = f"SetF(beta={beta})"
    there = theirs([name], qrels, run)[name]["q"]
    here = ours(qrels, run, [name, f"SetF(x={beta})"], "ir_measures")
    assert math.isclose(here[name]["q"], there)
    assert math.isclose(here[f"SetF(x={beta})"]["q"], there)
    squared = (1 + beta**2) / 2 / (1 / 2 + beta**2)
    assert math.isclose(ours(qrels, run, [name])[name]["q"], squared)


def test_recall_levels_of_iprec_have_two_decimals() -> None:
    """IPrec@0.125 of ir_measures is lost beside IPrec@0.12: both are one name for pytrec_eval."""
    names = ["IPrec@0.125", "IPrec@0.12"]
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    assert {name: found["q"] for name, found in theirs(names, qrels, run).items()} in (
        {"IPrec@0.125": 0.0, "IPrec@0.12": 1.0},
        {"IPrec@0.125": 1.0, "IPrec@0.12": 0.0},
    )
    assert {name: found["q"] for name, found in mine(names, qrels, run).items()} == {
        "IPrec@0.125": 1.0,
        "IPrec@0.12": 1.0,
    }


def test_counts_of_queries_that_the_run_is_silent_on() -> None:
    """NumQ and NumRel of ir_measures are 0 for a query that the run lacks; ours count it."""
    qrels, run = {"q": {"a": 1}, "silent": {"a": 1, "b": 1}}, {"q": {"a": 1.0}}
    assert theirs(COUNTS, qrels, run) == {
        "NumQ": {"q": 1, "silent": 0, ALL: 1},
        "NumRel": {"q": 1, "silent": 0, ALL: 1},
    }
    assert mine(COUNTS, qrels, run) == {
        "NumQ": {"q": 1, "silent": 1, ALL: 2},
        "NumRel": {"q": 1, "silent": 2, ALL: 3},
    }


@needs_cwl
def test_average_precision_of_cwl_eval_passes_over_what_is_not_retrieved() -> None:
    """AP asked of cwl_eval divides by the relevant documents retrieved; by default ours by all."""
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 2.0, "x": 1.0}}
    (row,) = ir_measures.cwl_eval.iter_calc([ir_measures.AP], qrels, run)
    assert float(row.value) == 1.0
    values = ours(qrels, run, ["AP", "AP(norm=hits)"], "ir_measures")
    assert (values["AP"]["q"], values["AP(norm=hits)"]["q"]) == (0.5, 1.0)
    assert theirs(["AP"], qrels, run)["AP"]["q"] == 0.5


@needs_cwl
def test_cwl_eval_looks_at_a_thousand_documents() -> None:
    """RBP of cwl_eval ends after 1,000 documents, over which its weights add up to 1; ours goes on.

    Only a p near 1 shows it: 0.8^1000 is 1e-97.
    """
    name = "RBP(p=0.999,rel=1)"
    run = {"q": {f"d{n:04}": 2000.0 - n for n in range(1001)}}
    qrels = {"q": {"d0000": 1, "d1000": 1}}
    values = theirs([name], qrels, run)
    assert math.isclose(values[name]["q"], 0.001 / (1 - 0.999**1000))
    assert math.isclose(mine([name], qrels, run)[name]["q"], 0.001 * (1 + 0.999**1000))


def test_rbp_over_grades_is_unknown_to_it() -> None:
    """RBP without a level is refused by ir_measures, of which no provider has it; here it is binary."""
    with pytest.raises(ValueError, match="Unsupported measures"):
        theirs(["RBP"], *TWO_TIED)
    assert math.isclose(mine(["RBP"], *TWO_TIED)["RBP"]["q"], 0.16)


def test_a_document_twice() -> None:
    """ir_measures keeps the last line of a document; ours refuses the run (see test_golden)."""
    run = [ir_measures.ScoredDoc("q", "a", 1.0), ir_measures.ScoredDoc("q", "b", 2.0)]
    again = [*run, ir_measures.ScoredDoc("q", "a", 3.0)]
    qrels = {"q": {"a": 1}}
    assert theirs(["AP"], qrels, run)["AP"]["q"] == 0.5
    assert theirs(["AP"], qrels, again)["AP"]["q"] == 1.0


@needs_cwl
def test_foraging_as_cwl_eval_computes_it() -> None:
    """ir_measures has no name for it."""
    from cwl.ruler.measures import cwl_ift
    from cwl.ruler.ranking import Ranking

    models = {
        "IFT(max_rel=3)": cwl_ift.IFTGoalRateCWLMetric(2.0, 0.9, 10, 0.2, 0.9, 10),
        "IFT(stop=goal, R1=100, max_rel=3)": cwl_ift.IFTGoalCWLMetric(2.0, 0.9, 100),
        "IFT(stop=rate, R2=1, max_rel=3)": cwl_ift.IFTRateCWLMetric(0.2, 0.9, 1),
    }
    qrels, run = random_collection(133, ties=False)
    found = ours(qrels, run, models, "ir_measures")
    for query, docs in run.items():
        if query not in qrels:
            continue
        best = sorted(docs, key=lambda doc: -docs[doc])
        gains = [min(max(qrels[query].get(doc, 0), 0), 3) / 3 for doc in best]
        ranking = Ranking(query, gains, [1.0] * len(gains))
        for name, model in models.items():
            assert found[name][query] == pytest.approx(model.measure(ranking), abs=1e-12), name
