"""Our values against those of scikit-learn, which takes labels and scores of one list at a time."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable
from functools import partial

import pytest
from peers import ALL, Qrels, Run, Values, ours, peer, random_collection, same

metrics = peer("sklearn.metrics")

CUTOFFS = (1, 3, 5, 10, None)


def only_retrieved(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Keep the judgments of what is retrieved and the queries of both: scikit-learn knows no more."""
    both = [query for query in run if query in qrels]
    judged = {q: {doc: g for doc, g in qrels[q].items() if doc in run[q]} for q in both}
    answered = [query for query in both if judged[query]]
    return {q: judged[q] for q in answered}, {q: run[q] for q in answered}


def labels(qrels: Qrels, run: Run, query: str) -> tuple[list[int], list[float]]:
    grades = [max(qrels[query].get(doc, 0), 0) for doc in run[query]]
    return grades, list(run[query].values())


def ndcg(qrels: Qrels, run: Run, *, ignore_ties: bool) -> Values:
    found: Values = {}
    for k in CUTOFFS:
        of_query = {}
        for query, docs in run.items():
            if len(docs) > 1:
                grades, scores = labels(qrels, run, query)
                of_query[query] = float(
                    metrics.ndcg_score([grades], [scores], k=k, ignore_ties=ignore_ties)
                )
        found["nDCG" if k is None else f"nDCG@{k}"] = of_query
    return found


def per_query(qrels: Qrels, run: Run, name: str, function: str) -> Values:
    """Ask for each query alone; a value that scikit-learn warns about is there as it gives it."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for query in run:
            grades, scores = labels(qrels, run, query)
            relevant = [int(grade >= 1) for grade in grades]
            found[query] = float(getattr(metrics, function)(relevant, scores))
    return {name: found}


def collection(seed: int) -> tuple[Qrels, Run]:
    return only_retrieved(*random_collection(seed, queries=80, ties=False))


def compare(qrels: Qrels, run: Run) -> None:
    found = ndcg(qrels, run, ignore_ties=True)
    found |= per_query(qrels, run, "AP", "average_precision_score")
    found |= per_query(qrels, run, "AUC", "roc_auc_score")
    values = ours(qrels, run, found)
    same({name: {q: values[name][q] for q in found[name]} for name in found}, found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_random_collections(seed: int) -> None:
    """A query with one class only has no AUC in either: NaN there, null here."""
    compare(*collection(300 + seed))


LABELS = [f"label{n:02}" for n in range(12)]
Matrix = tuple[list[list[int]], list[list[float]]]


def matrix(seed: int, rows: int = 60) -> Matrix:
    """Return grades and scores of every label, scores often equal; rows of one class among them."""
    rng = random.Random(seed)
    grades, scores = [], []
    for _ in range(rows):
        pool = rng.choice([[0, 1], [0, 1, 2, 3], [0, 0, 0, 0, 1], [0], [1, 2]])
        grades.append([rng.choice(pool) for _ in LABELS])
        values = rng.choice(
            [[0.0, 0.5, 1.0], [-1.0, 0.25, 1e-300, 1e9], [rng.random() for _ in LABELS]]
        )
        scores.append([rng.choice(values) for _ in LABELS])
    return grades, scores


def as_lists(data: Matrix) -> tuple[Qrels, Run]:
    grades, scores = (
        {f"row{n:03}": dict(zip(LABELS, row, strict=True)) for n, row in enumerate(side)}
        for side in data
    )
    return grades, scores


def rows_and_whole(of: Callable[[object, object], float], truth: list, scores: list) -> dict:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {ALL: float(of(truth, scores))}
        for number, (row, scored) in enumerate(zip(truth, scores, strict=True)):
            found[f"row{number:03}"] = float(of([row], [scored]))
    return found


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(3))
def test_whole_matrices(seed: int) -> None:
    """Row by row and over all rows, those without a relevant or without a non-relevant label too."""
    grades, scores = data = matrix(310 + seed)
    relevant = [[int(grade >= 1) for grade in row] for row in grades]
    found: Values = {
        "LRAP": rows_and_whole(metrics.label_ranking_average_precision_score, relevant, scores),
        "RankingLoss": rows_and_whole(metrics.label_ranking_loss, relevant, scores),
        "CoverageError": rows_and_whole(metrics.coverage_error, relevant, scores),
        "DCG": rows_and_whole(metrics.dcg_score, grades, scores),
    }
    for k in CUTOFFS:
        name = "nDCG" if k is None else f"nDCG@{k}"
        found[name] = rows_and_whole(partial(metrics.ndcg_score, k=k), grades, scores)
    qrels, run = as_lists(data)
    found |= per_query(qrels, run, "AP", "average_precision_score")
    found |= per_query(qrels, run, "AUC", "roc_auc_score")
    values = ours(qrels, run, found, "sklearn")
    for name in ("AP", "AUC"):
        del values[name][ALL]  # scikit-learn has no mean over rows of both classes
    same(values, found)


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(3))
def test_all_rows_as_one_list(seed: int) -> None:
    """The micro averages: one list of the labels of all rows."""
    grades, scores = data = matrix(320 + seed)
    relevant = [[int(grade >= 1) for grade in row] for row in grades]
    values = ours(*as_lists(data), ["AP(aggregate=pooled)", "AUC(aggregate=pooled)"], "sklearn")
    for name, function in (("AP", "average_precision_score"), ("AUC", "roc_auc_score")):
        micro = getattr(metrics, function)(relevant, scores, average="micro")
        assert math.isclose(values[f"{name}(aggregate=pooled)"][ALL], micro, rel_tol=1e-12)


@pytest.mark.sample(4)
@pytest.mark.parametrize("k", [None, 1, 3, 5])
def test_top_k_accuracy(k: int | None) -> None:
    """One label of a row is right; of equal scores the last column comes first in both.

    Without k each has its default.
    """
    _, scores = matrix(330)
    rng = random.Random(k)
    name, given = (
        ("top_k_accuracy_score", {}) if k is None else (f"top_k_accuracy_score@{k}", {"k": k})
    )
    right = [rng.randrange(len(LABELS)) for _ in scores]
    grades = [[int(n == label) for n in range(len(LABELS))] for label in right]
    values = ours(*as_lists((grades, scores)), [name], "sklearn")
    wanted = metrics.top_k_accuracy_score(right, scores, **given, labels=range(len(LABELS)))
    assert math.isclose(values[name][ALL], wanted, rel_tol=1e-12)
