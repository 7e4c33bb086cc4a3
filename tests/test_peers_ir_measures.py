"""Our values against those of ir_measures: every measure that its providers compute here.

It hands each measure to another program. pytrec_eval orders equal scores by document id, descending,
as our protocol `ir_measures` does; the other providers do not, so those are compared on runs without
equal scores.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable

import pytest
from peers import ALL, Qrels, Run, Values, ours, peer, random_collection, same

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
    "SetF(beta=0.5)": "SetF(x=0.5)",  # which it hands to trec_eval as x, the square of beta
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
    # above 0: its Compat gives what is not retrieved the score 0
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
