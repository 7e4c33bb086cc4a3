"""Metrics of rating prediction: against scikit-learn."""

from __future__ import annotations

import random

import pytest
from test_metric_properties import Qrels, Run, collection

from warehouse.metrics.notation import parse
from warehouse.warehouse import Warehouse


def ratings(seed: int) -> tuple[Qrels, Run]:
    """Return random ratings, halves among them, and predictions that are also probabilities."""
    rng = random.Random(seed)
    qrels, run = collection(rng, fractions=True)
    scores = [0.0, 1.0, 0.5, 0.25, *(rng.random() for _ in range(4))]
    return qrels, {q: {doc: rng.choice(scores) for doc in found} for q, found in run.items()}


def test_as_scikit_learn() -> None:
    """Over all pairs of users and items that have both ratings, as recommenders joins them."""
    metrics = pytest.importorskip("sklearn.metrics")
    qrels, run = ratings(1)
    both = [
        (grade, run[user][item])
        for user, rated in qrels.items()
        for item, grade in rated.items()
        if item in run.get(user, {})
    ]
    true, predicted = zip(*both, strict=True)
    labels, probabilities = zip(*((g >= 1, p) for g, p in both if g >= 0), strict=True)
    assert len(labels) < len(true)
    names = {
        "RMSE": metrics.root_mean_squared_error(true, predicted),
        "MAE": metrics.mean_absolute_error(true, predicted),
        "R2": metrics.r2_score(true, predicted),
        "Brier": metrics.brier_score_loss(labels, probabilities),
        "LogLoss": metrics.log_loss(labels, probabilities),
    }
    asked = "rmse mae rsquared brier_score_loss logloss"
    assert Warehouse.score(qrels, run, asked).means() == pytest.approx(names, rel=1e-12)
    assert [str(one) for one in parse("r2_score", "log_loss(rel=4)")] == ["R2", "LogLoss(rel=4)"]


def test_ratings_that_are_all_equal() -> None:
    """The mean of 4.1, 4.1 and 4.1 differs from it in the last bit, and R2 is undefined."""
    qrels = {"q": dict.fromkeys("abc", 4.1)}
    found = Warehouse.score(qrels, {"q": {"a": 4.0, "b": 4.1, "c": 4.2}}, "R2 MAE").means()
    assert found == {"R2": None, "MAE": pytest.approx(0.2 / 3)}


def test_scores_that_are_no_probabilities() -> None:
    qrels, run = (
        {"q": {"a": 1}, "r": {"a": 1}},
        {"q": {"a": 1.5, "x": 0.5}, "r": {"a": 1.0, "x": 7.0}},
    )
    found = Warehouse.score(qrels, run, "LogLoss").relation.fetchall()
    assert [value for _, _, value in found] == [None, pytest.approx(0, abs=1e-15), None]
