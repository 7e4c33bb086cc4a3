"""Our values against those of pyndeval, which is TREC's ndeval: ir_measures' measures by iteration.

pyndeval orders equal scores by document id, ascending: the random runs have none.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from peers import ALL, Run, Values, near, peer, random_collection, same, undefined, without
from test_peers_ir_measures import DIVERSITY, NORMALISED_NRBP, mine, theirs

pytestmark = pytest.mark.slow

pandas = peer("pandas")
peer("pyndeval")


def theirs_of_iterations(names: Iterable[str], qrels: pandas.DataFrame, run: Run) -> Values:
    """Ask for each diversity measure alone: see the test of reading the run once below."""
    return {name: theirs([name], qrels, run)[name] for name in names}


def by_iteration(seed: int) -> tuple[pandas.DataFrame, Run]:
    """Return random judgments of one to six subtopics for each query, and a run."""
    qrels, run = random_collection(seed, queries=80, ties=False)
    rng = random.Random(seed)
    rows = [
        (query, f"s{subtopic}", doc, rng.choice([grades[doc], *grades.values()]))
        for query, grades in qrels.items()
        for subtopic in range(rng.randint(1, 6))
        for doc in rng.sample(sorted(grades), rng.randint(1, len(grades)))
    ]
    return pandas.DataFrame(rows, columns=["query_id", "iteration", "doc_id", "relevance"]), run


@pytest.mark.parametrize("seed", range(2))
def test_measures_of_pyndeval(seed: int) -> None:
    qrels, run = by_iteration(160 + seed)
    same(mine(DIVERSITY, qrels, run, iterations=True), theirs_of_iterations(DIVERSITY, qrels, run))


@pytest.mark.parametrize("seed", range(2))
def test_nnrbp_of_pyndeval(seed: int) -> None:
    """Of a query without a relevant document nNRBP is no number there, nor is the mean; ours is 0."""
    qrels, run = by_iteration(170 + seed)
    found = theirs_of_iterations(NORMALISED_NRBP, qrels, run)
    values = mine(NORMALISED_NRBP, qrels, run, iterations=True)
    for name in NORMALISED_NRBP:
        nothing = {query for query, value in found[name].items() if undefined(value)}
        assert ALL in nothing
        relevant = qrels[qrels.relevance >= (2 if "rel=2" in name else 1)]
        answered = set(qrels.query_id) & set(run)
        assert nothing - {ALL} == answered - set(relevant.query_id) != set()
        assert {values[name][query] for query in nothing - {ALL}} == {0.0}
        same(*(without({name: of[name]}, nothing) for of in (values, found)))


# --------------------------------------------------------------------------- known disagreements


def test_ndeval_forgets_to_divide_at_the_first_rank() -> None:
    """ERR_IA@1 and alpha_DCG@1 of pyndeval are not divided by the number of subtopics."""
    names = ["ERR_IA@1", "alpha_DCG@1"]
    qrels, run = by_iteration(180)
    relevant = qrels[qrels.relevance > 0]
    subtopics = relevant.groupby("query_id").iteration.nunique().to_dict()
    found, values = theirs(names, qrels, run), mine(names, qrels, run, iterations=True)
    undivided = {
        name: {
            query: value * subtopics.get(query, 1) for query, value in of.items() if query != ALL
        }
        for name, of in values.items()
    }
    same(undivided, without(found, [ALL]))
    assert (
        sum(found[name][query] != values[name][query] for name in names for query in subtopics) > 9
    )


def test_pyndeval_stops_at_judged_documents_only() -> None:
    """The diversity measures of ir_measures fail with judged_only, which asks its run by query; ours
    take the others out of the ranking first."""
    qrels, run = by_iteration(190)
    with pytest.raises(TypeError, match="generator"):
        theirs(["P_IA(judged_only=True)@5"], qrels, run)
    counted = qrels[qrels.relevance >= 0]
    judged = set(zip(counted.query_id, counted.doc_id, strict=True))
    filtered = {
        query: {doc: score for doc, score in docs.items() if (query, doc) in judged}
        for query, docs in run.items()
    }
    names = [name for name in DIVERSITY if "alpha=0.3" not in name]  # see the next test
    found = mine(names, qrels, run, iterations=True, judged_only=True)
    same(found, theirs_of_iterations(names, qrels, filtered))


def test_equal_gains_of_ndeval_may_differ_in_their_last_bits() -> None:
    """alpha_nDCG of pyndeval adds 1, 0.7 and 0.49 in the order of the subtopics: of documents that
    gain the same, its best order may take another one than by id. Ours has equal gains equal."""
    qrels, run = by_iteration(190)
    names = ["alpha_nDCG(alpha=0.3)@10", "alpha_nDCG(alpha=0.25)@10"]
    found = theirs_of_iterations(names, qrels, run)
    values = mine(names, qrels, run, iterations=True)
    differs, exact = (
        [query for query, value in found[name].items() if not near(value, values[name][query])]
        for name in names
    )
    assert (differs, exact) == (["q013", ALL], [])


def test_pyndeval_reads_the_run_once() -> None:
    """The diversity measures of ir_measures are right for one set of parameters in a call; with the
    others they find the run read already, and are 0."""
    qrels, run = by_iteration(200)
    names = ["AP_IA", "AP_IA(rel=2)", "NRBP(alpha=0.25,beta=0.9)"]
    alone = theirs_of_iterations(names, qrels, run)
    company = theirs(names, qrels, run)
    nothing = {name for name in names if set(company[name].values()) == {0.0}}
    assert len(nothing) == 2
    assert {name for name in names if company[name] == alone[name]} == set(names) - nothing
    same(mine(names, qrels, run, iterations=True), alone)


def test_pyndeval_takes_the_lower_id_first() -> None:
    """The diversity measures of ir_measures take the lower id first; ours go by the protocol."""
    rows = [("q", "s0", "a", 1), ("q", "s1", "a", 1)]
    qrels = pandas.DataFrame(rows, columns=["query_id", "iteration", "doc_id", "relevance"])
    run = {"q": {"a": 1.0, "b": 1.0}}
    assert theirs(["StRecall@1"], qrels, run)["StRecall@1"]["q"] == 1.0
    assert mine(["StRecall@1"], qrels, run, iterations=True)["StRecall@1"]["q"] == 0.0
