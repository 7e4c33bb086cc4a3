"""The metrics against their twins in plain Python and against what must hold whatever the data.

A call of `Warehouse.score` costs some tens of milliseconds whatever its size, so one example is a
whole collection of random queries.
"""

from __future__ import annotations

import random
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import extended
import oracles
import oracles_preferences
import oracles_recsys
import oracles_sources
import pytest
from hypothesis import given
from hypothesis import strategies as st
from peered import PEERED
from quick import examples
from twins import JUDGED_FIRST, OF_RUN, Ranked, compare, own, twin, twins_in, worked

from warehouse.metrics import notation
from warehouse.metrics.catalogue import catalogue
from warehouse.warehouse import Warehouse

# The metrics that add up gains, which `gains` may set.
GAINED = ("nDCG", "DCG", "IdealDCG", "G", "nDCGrel", "Rndcg")
METRICS = [
    "AP", "AP@3", "AP(rel=2)", "AP(norm=min)@4", "AP(norm=hits)", "AP(norm=hits)@4", "AP(norm=k)@4",
    "AP(rel=2,norm=min)@2", "RR", "RR@2", "RR(rel=2)", "P@1", "P@3", "P@20", "P(rel=2)@4", "R@1",
    "R@3", "R@20", "R(rel=3)@5", "Rprec", "Rprec(rel=2)", "SetP", "SetP(rel=2)", "SetR",
    "SetR(rel=2)", "SetF", "SetF(beta=2.0)", "SetF(beta=0.5)", "SetF(x=2.0)", "SetF(beta=0.0)",
    "SetF(rel=2)", "SetF(beta=0.5, squared=False)", "Success@1", "Success@3", "Success(rel=2)@2",
    "Success(rel=2)", "Judged", "bpref", "bpref(rel=2)",
    "bpref(rel=3)", "nDCG", "nDCG@1", "nDCG@3", "nDCG@20", "nDCG(dcg=exp-log2)",
    "nDCG(dcg=exp-log2)@3", "nDCG(dcg=binary)",
    "nDCG(dcg=binary,rel=2)@3", "nDCG(rel=2)", "nDCG(rel=2)@3", "nDCG(best=all)@3", "Judged",
    "Judged@1", "Judged@3",
    "Judged@20", "NumQ", "NumRel", "NumRel(rel=2)", "NumRelRet", "NumRelRet@3", "NumRelRet(rel=2)",
    "NumRet", "Success", "bpref(negatives=nonrelevant)", "bpref(negatives=nonrelevant,rel=2)",
    "NumRet@3", "IPrec@0.0", "IPrec@0.1", "IPrec@0.25", "IPrec@0.5", "IPrec@0.7", "IPrec@1.0",
    "IPrec(rel=2)@0.5", "IPrec(needed=trec_eval_9)@0.7", "IPrec(needed=trec_eval_10)@0.7",
    "IPrec(needed=trec_eval_10)@0.4", "GMAP", "GMAP(rel=2, norm=min)@3", "GMbpref", "GMbpref(rel=2)",
    "infAP", "infAP(rel=2)", "Utility",
    "Utility(rel=2, p1=2.0, p2=-0.5, p3=-1.0, p4=0.25, collection=100)", "IAP", "IAP(levels=[0,0.5,1])",
    "IAP(needed=trec_eval_9)", "IAP(levels=[0.1,0.25,0.7], needed=trec_eval_10)", "IAP(rel=2)", "binG",
    "binG(rel=2)", "G", "G(rel=2)", "nDCGrel", "nDCGrel(rel=2)", "Rndcg", "Rndcg(rel=2)", "RelP@3",
    "RelP(rel=2)@4", "SetRelP", "SetRelP(rel=2)", "SetAP", "SetAP(rel=2)", "NumNonRelRet",
    "NumNonRelRet(rel=2)", "YAAP", "YAAP(rel=2)", "Unjudged@1", "Unjudged@3", "Unjudged@20", "RBP",
    "RBP@3", "RBP(rel=2)", "RBP(p=0.5, gain=grade)@4", "RBP(p=0.9, gain=normalised)", "RBPresid",
    "RBPresid(p=0.5)", "RBPresid(tail=trec_eval_10)", "Rprec(multiple=0.35)", "Rprec(multiple=2.0)",
    "Rprec(rel=2, multiple=0.5)", "DCG", "DCG@3", "DCG(rel=2, dcg=exp-log2)", "IdealDCG",
    "IdealDCG@2", "IdealDCG(rel=2, dcg=exp-log2)", "Q", "Q@3", "Q(rel=2, beta=0.0)", "Q(beta=10.0)@20",
    "Q(gains={1:0.25,2:3.5,3:0})@5",
    *(f"{name}(gains={{1:0.25,2:3.5,3:3}})" for name in GAINED), "nDCG(gains={0:0.5,1:0})@3",
    "RBP(gains={1:0.25,3:0}, gain=grade)", "RBP(gains={1:0.25,2:0.5,3:0.75}, gain=normalised)@4",
    "RBP(gains={0:4}, gain=normalised)", "RBP(gains={2:0})",
]  # fmt: skip
# A metric that is not named here is tried with the parameters of its cases.
METRICS += worked(twins_in(oracles) - {metric.name for metric in notation.parse(*METRICS)})
# Gains below 0 are taken off, so that a value may lie outside the metric's range.
LOSSES = [f"{name}(gains={{0:-1.5,2:-0.25}})" for name in GAINED]

Qrels = dict[str, dict[str, float]]
Run = dict[str, dict[str, float]]
# Equal scores often; two that are equal in 32 bits only; the sign; a great and a small one.
SCORES = [0.0, 1.0, 1.0, 2.0, 2.0000000001, 2.00000001, -1.0, 16777216.0, 16777216.5, 1e-300, 0.1]
WHOLE = [[0, 1], [0, 1, 2, 3], [-2, -1, 0, 1, 2, 3], [0], [1], [-1, 1, 3]]
DOCS = [*"abcdefghijklmnop", "d1", "d10", "d2", "é", "Z", "9"]


def collection(
    rng: random.Random, queries: int = 30, *, fractions: bool = False
) -> tuple[Qrels, Run]:
    """Return random judgments and a run; each may have queries that the other lacks."""
    qrels: Qrels = {"anchor": {"a": 1}}
    run: Run = {"anchor": {"a": 1.0}}
    for number in range(queries):
        query = f"q{number}"
        grades = rng.choice([*WHOLE, [-1, 0, 0.5, 1.7, 4.5]] if fractions else WHOLE)
        judged = {doc: rng.choice(grades) for doc in rng.sample(DOCS, rng.randint(1, 12))}
        scores = rng.choice([SCORES, [rng.random() for _ in range(30)]])
        found = {doc: rng.choice(scores) for doc in rng.sample(DOCS, rng.randint(1, 15))}
        if rng.random() < 0.9:
            qrels[query] = judged
        if rng.random() < 0.9:
            run[query] = found
    return qrels, run


SEEDS = st.integers(0, 2**32 - 1)
COLLECTIONS = SEEDS.map(lambda seed: collection(random.Random(seed), fractions=True))
# What a call costs it costs for the metrics: few calls, of many queries each.
LARGE = SEEDS.map(lambda seed: collection(random.Random(seed), 135))
FEW = examples(2)


def values(qrels: object, run: object, names: list[str], **options: object) -> dict:
    return values_of_runs(qrels, [run], names, **options)[0]


def values_of_runs(qrels: object, runs: list, names: list[str], **options: object) -> list[dict]:
    """Score runs at once, in hardly more time than one takes; return the values of each."""
    scores = Warehouse.score(qrels, runs, names, **options)
    found: dict[str, dict] = {name: {} for name in scores.names}
    for name, query, metric, value in scores.relation.fetchall():
        found[name][metric, query] = value
    return list(found.values())


def test_every_metric_has_a_twin_or_a_peer() -> None:
    modules = [import_module(path.stem) for path in Path(__file__).parent.glob("oracles*.py")]
    modules += extended.oracles()
    for metric in set(catalogue()) - {metric.name for metric in notation.parse(*PEERED)}:
        assert any(metric in twins_in(module) for module in modules) or twin(metric, oracles)


def test_every_twin_is_compared() -> None:
    """Those in `oracles` are by the notations of the cases; others take more than two arguments."""
    compared = {metric.name for metric in notation.parse(*METRICS)}
    assert twins_in(oracles) <= compared
    for module in (
        oracles_sources, oracles_preferences, oracles_recsys,
    ):  # fmt: skip
        named = {metric.name for metric in notation.parse(*module.METRICS)}
        missing = twins_in(module) - named
        assert missing - compared == set(), f"name it in METRICS of tests/{module.__name__}.py"


@pytest.mark.slow
@pytest.mark.core
@given(
    data=COLLECTIONS,
    protocol=st.sampled_from(
        ["default", "trec_eval_9", "trec_eval_10", "trec_eval_c", OF_RUN, JUDGED_FIRST]
    ),
    depth=st.sampled_from([None, None, 1, 3]),
    judged_only=st.booleans(),
    complete=st.booleans(),
    level=st.sampled_from([None, None, 2]),
)
@examples(10)
def test_twins(
    data: tuple[Qrels, Run],
    protocol: str,
    depth: int | None,
    judged_only: bool,
    complete: bool,
    level: int | None,
) -> None:

    def of_query(metric: notation.Metric, one: Ranked, _: object) -> float | None:
        return twin(metric.name, oracles)(one.docs, one.grades, **own(metric))

    compare(
        data, [*METRICS, *LOSSES], of_query, abs_tolerance=0.0, protocol=protocol, depth=depth,
        judged_only=judged_only, complete=complete, level=level,
    )  # fmt: skip


@pytest.mark.slow
@FEW
@given(data=LARGE)
def test_judged_documents_only_by_metric_or_by_protocol(data: tuple[Qrels, Run]) -> None:
    """What every metric takes from the relation that it reads is the protocol's rule for it alone."""
    qrels, run = data
    asked = [notation.parse(text)[0] for text in METRICS]
    asked = [one for one in asked if "judged_only" in one.params]
    assert asked
    one_by_one = [
        replace(m, values=tuple({**m.params, "judged_only": True}.items())) for m in asked
    ]
    by_metric = values(qrels, run, [str(m) for m in one_by_one])
    by_protocol = values(qrels, run, [str(m) for m in asked], judged_only=True)
    names = {str(one): str(m) for one, m in zip(one_by_one, asked, strict=True)}
    assert {(names[m], q): value for (m, q), value in by_metric.items()} == by_protocol


@pytest.mark.slow
@FEW
@given(data=LARGE)
def test_unjudged_documents_at_the_bottom_change_nothing(data: tuple[Qrels, Run]) -> None:
    """They change only what counts the retrieved documents."""
    qrels, run = data
    longer = {
        query: found | {f"unjudged{n}": min(found.values()) - 1 - abs(min(found.values())) - n
                        for n in range(3)}
        for query, found in run.items()
    }  # fmt: skip
    counting = (
        "SetP", "SetF", "SetAP", "SetRelP", "NumRet", "Judged", "Unjudged", "Utility", "RBPresid",
        "Rndcg",
    )  # fmt: skip
    names = [m for m in METRICS if not m.startswith(counting)]
    of_run, of_longer = values_of_runs(qrels, [run, longer], names)
    assert of_run == of_longer


@pytest.mark.slow
def test_many_threads_to_the_bit() -> None:
    """Enough rows for DuckDB to share them out: sums must still go in one order."""
    rng = random.Random(7)
    queries = [f"q{n}" for n in range(300)]
    docs = [f"d{n}" for n in range(1000)]
    qrels = {q: {d: rng.randint(0, 3) for d in rng.sample(docs, 40)} for q in queries}
    run = {q: {d: rng.random() for d in rng.sample(docs, 500)} for q in queries}
    names = ["AP", "nDCG", "nDCG@10", "bpref", "IPrec@0.3"]
    one, two, four = (
        Warehouse.score(qrels, run, names, threads=n).relation.fetchall() for n in (1, 2, 4)
    )
    assert one == two == four
