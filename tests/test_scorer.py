"""A prepared scorer: the values of `score`, call by call."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.refusals import expect_refusal
from warehouse import Warehouse
from warehouse.errors import InputError
from warehouse.evaluate.scoring import Scores

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 1, "d": 3}, "q3": {"e": 0}}
RUNS: dict[str, dict[str, dict[str, float]]] = {
    "all queries judged": {"q1": {"c": 3, "x": 2, "a": 1}, "q2": {"a": 1.5}, "q3": {"e": 1}},
    "ties, and an unjudged query": {"q2": {"d": 1, "a": 1, "y": 1}, "new": {"a": 1}},
    "another unjudged query, falling order": {"newer": {"b": 1, "a": 2}, "q1": {"b": 1, "a": 5}},
    "no judged document": {"q1": {"z": 1}},
}
METRICS = "AP nDCG@2 RR bpref NumRet LRAP"
HOW: list[dict[str, Any]] = [
    {},
    {"protocol": "trec_eval_9", "judged_only": True, "depth": 2, "level": 2},
    {"protocol": "ranx", "lower_is_better": True},
]


def rows(scores: Scores) -> list[tuple[Any, ...]]:
    return scores.relation.fetchall()


@pytest.mark.sample(3)
@pytest.mark.parametrize("how", HOW, ids=lambda how: ",".join(how) or "default")
def test_every_call_has_the_values_of_score(how: dict[str, Any]) -> None:
    with Warehouse.scorer(QRELS, METRICS, **how) as scorer:
        for name, run in RUNS.items():
            alone = Warehouse.score(QRELS, run, METRICS, **how)
            scores = scorer(run)
            assert rows(scores) == rows(alone), name
            assert scores.means() == alone.means()
            assert (scores.num_judged, scores.read) == (alone.num_judged, alone.read)


def test_runs_of_every_kind() -> None:
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    np = pytest.importorskip("numpy")
    columns = {"query_id": ["q1", "q1", "q2"], "doc_id": ["b", "a", "d"], "score": [2.0, 1.0, 1.0]}
    arrays = {name: np.array(values) for name, values in columns.items()}
    # by hand: RR is 1/2 for q1, 1 for q2, and 0 for q3, which has no relevant document
    with Warehouse.scorer(QRELS, "RR") as scorer:
        assert scorer({}).means() == {"RR": 0}
        for run in (
            {"q1": {"b": 2.0, "a": 1.0}, "q2": {"d": 1.0}},
            pa.table(columns), pd.DataFrame(columns), pl.DataFrame(columns), pd.DataFrame(arrays),
        ):  # fmt: skip
            assert scorer(run).means() == {"RR": 0.5}


def test_what_depends_on_a_run_is_not_kept_for_the_next() -> None:
    """The queries that count are those of the run. By hand: 1, then (1 * 1 + 2 * 1/2) / 3."""
    metric = "RR(aggregate=weighted, weight=relevant)"
    qrels = {"q1": {"a": 1}, "q2": {"b": 1, "c": 1}}
    first, second = {"q1": {"a": 1.0}}, {"q1": {"a": 1.0}, "q2": {"x": 2.0, "b": 1.0}}
    with Warehouse.scorer(qrels, metric, protocol="trec_eval_9") as scorer:
        for run, value in ((first, 1.0), (second, 2 / 3), (first, 1.0)):
            assert list(scorer(run).means().values()) == [pytest.approx(value, abs=1e-15)]


def test_what_is_refused() -> None:
    scorer = Warehouse.scorer(QRELS, "RR")
    first = scorer({"q1": {"a": 1.0}})
    with expect_refusal("no query of the run is judged", InputError):
        scorer({"other": {"a": 1.0}})
    with expect_refusal("q1 … a", InputError):
        scorer({"q1": {"a": float("nan")}})
    again = scorer({"q1": {"b": 2.0, "a": 1.0}})
    assert again.means() == {"RR": 1 / 6}
    with expect_refusal("the values are gone"):
        first.means()
    found: list[BaseException] = []

    def elsewhere() -> None:
        try:
            scorer({"q1": {"a": 1.0}})
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert "another thread" in str(found[0])
    assert again.means() == {"RR": 1 / 6}
    scorer.close()
    scorer.close()
    for call in (again.means, lambda: scorer({"q1": {"a": 1.0}})):
        with expect_refusal("closed"):
            call()
    with expect_refusal("relstring"):
        Warehouse.scorer(QRELS, "relstring_3")
