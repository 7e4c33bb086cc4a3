"""Our values against those of pyndeval, which is TREC's ndeval: ir_measures' measures by iteration.

pyndeval orders equal scores by document id, ascending: the random runs have none.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from peers import ALL, Run, Values, peer, random_collection, same, undefined, without
from test_peers_ir_measures import DIVERSITY, NORMALISED_NRBP, mine, theirs

pandas = peer("pandas")
peer("pyndeval")


def theirs_of_iterations(names: Iterable[str], qrels: pandas.DataFrame, run: Run) -> Values:
    """Ask for each diversity measure alone: with others it reads the run once, and the rest is 0."""
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


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(2))
def test_measures_of_pyndeval(seed: int) -> None:
    qrels, run = by_iteration(160 + seed)
    same(mine(DIVERSITY, qrels, run, iterations=True), theirs_of_iterations(DIVERSITY, qrels, run))


@pytest.mark.slow
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
