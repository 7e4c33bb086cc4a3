"""Files that wrap judgments or a run in JSON, written after the programs' own documentation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.refusals import expect_refusal
from warehouse.errors import InputError
from warehouse.warehouse import Warehouse

# After the reference of Elasticsearch's _rank_eval.
REQUEST: dict[str, Any] = {
    "requests": [
        {
            "id": "amsterdam_query",
            "request": {"query": {"match": {"text": "amsterdam"}}},
            "ratings": [
                {"_index": "my-index-000001", "_id": "doc1", "rating": 0},
                {"_index": "my-index-000001", "_id": "doc2", "rating": 3},
            ],
        },
        {
            "id": "berlin_query",
            "request": {"query": {"match": {"text": "berlin"}}},
            "ratings": [{"_index": "my-index-000001", "_id": "doc1", "rating": 1}],
        },
    ],
    "metric": {"precision": {"k": 20, "relevant_rating_threshold": 1, "ignore_unlabeled": False}},
}
RESPONSE: dict[str, Any] = {
    "metric_score": 0.4,
    "details": {
        "amsterdam_query": {
            "metric_score": 0.5,
            "unrated_docs": [{"_index": "my-index-000001", "_id": "1960795"}],
            "hits": [
                {"hit": {"_index": "my-index-000001", "_id": "1960795", "_score": 7.0}, "rating": None},
                {"hit": {"_index": "my-index-000001", "_id": "doc2", "_score": 6.5}, "rating": 3},
            ],
            "metric_details": {"precision": {"relevant_docs_retrieved": 1, "docs_retrieved": 2}},
        },
        # sorted by a field, so that there are no scores
        "berlin_query": {
            "metric_score": 0.3,
            "unrated_docs": [],
            "hits": [
                {"hit": {"_index": "my-index-000001", "_id": "z", "_score": None}, "rating": None},
                {"hit": {"_index": "my-index-000001", "_id": "a", "_score": None}, "rating": None},
                {"hit": {"_index": "my-index-000001", "_id": "doc1", "_score": None}, "rating": 1},
            ],
        },
    },
    "failures": {},
}  # fmt: skip
# As mteb writes <task>_predictions.json.
PREDICTIONS: dict[str, Any] = {
    "mteb_model_meta": {"model_name": "your-org/retriever", "revision": "model-sha"},
    "english": {"test": {"amsterdam_query": {"doc1": 0.91, "doc2": 0.83}}},
}


def write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return path


def test_they_are_read(tmp_path: Path) -> None:
    """By hand: doc2 is second, doc1 third; in the predictions doc2 is second, and berlin is missing."""
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_qrels("shop", write(tmp_path / "request.json", REQUEST))
    wh.ingest_run("shop", write(tmp_path / "response.json", RESPONSE))
    wh.ingest_run("shop", write(tmp_path / "task_predictions.json", PREDICTIONS))
    wh.evaluate("shop", metrics="RR")
    board = {row.run: row["RR"] for row in wh.leaderboard("shop")}
    assert board == {"response": (1 / 2 + 1 / 3) / 2, "task_predictions": (1 / 2) / 2}
    with wh.file.read() as con:
        rows = con.execute("select run, system, tags from runs where system is not null").fetchall()
    assert rows == [("task_predictions", "your-org/retriever", {"revision": "model-sha"})]


def test_what_is_not_understood_is_refused(tmp_path: Path) -> None:
    def changed(value: dict[str, Any], **others: object) -> Path:
        return write(tmp_path / "file.json", {**value, **others})

    rated = {"_index": "i", "_id": "doc1", "rating": 1}
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    for path, is_run, wanted in (
        (write(tmp_path / "a.json", REQUEST), True, "a.json … request … response"),
        (write(tmp_path / "b.json", RESPONSE), False, "b.json … response … request"),
    ):
        with expect_refusal(wanted, InputError):
            Warehouse.score(qrels if is_run else path, path if is_run else run, "RR")
    for given, wanted in (
        ([{"ratings": []}], "requests[0] … 'id'"),
        ([{"id": "q", "ratings": [{"_id": "doc1"}]}], "requests[0].ratings[0] … 'rating'"),
        (
            [{"id": "q", "ratings": [rated, {**rated, "_index": "j"}]}],
            "ratings[1] … 'doc1' … indices",
        ),
        ([{"id": "q", "ratings": [{**rated, "rating": "good"}]}], "good"),
    ):
        with expect_refusal(wanted, InputError):
            Warehouse.score(changed(REQUEST, requests=given), run, "RR")
    several = {"test": {"q": {"a": 1.0}}, "dev": {"q": {"a": 1.0}}}
    with expect_refusal("english, test … english, dev", InputError):
        Warehouse.score(qrels, changed(PREDICTIONS, english=several), "RR")
    cut = tmp_path / "cut.json"
    cut.write_text('{"requests": [\n{"id": "q",\n', encoding="utf-8")
    with expect_refusal("cut.json … line 3", InputError):
        Warehouse.score(cut, run, "RR")


@pytest.mark.parametrize("name", ["rank_eval", "mteb"])
def test_the_format_can_be_named(name: str, tmp_path: Path) -> None:
    value = RESPONSE if name == "rank_eval" else PREDICTIONS
    path = write(tmp_path / "without_suffix", value)
    scores = Warehouse.score({"amsterdam_query": {"doc2": 1}}, path, "RR", run_format=name)
    assert scores.means() == {"RR": 0.5}
