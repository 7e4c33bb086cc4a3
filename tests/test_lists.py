"""Sources with one row per query, which has lists of documents."""

from __future__ import annotations

import json

import pytest
from staging import refused, rows

from warehouse import readers

USER = {"user": 1, "items": ["b", "a"], "scores": [0.5, 0.25]}
RUN = [("1", "b", 0.5), ("1", "a", 0.25)]


@pytest.mark.core
@pytest.mark.parametrize("name", ["a.jsonl", "list.json", "a.parquet", "frame", "relation"])
def test_lists_of_items_and_scores(con, put, tmp_path, name):
    source: object = put(json.dumps([USER] if name == "list.json" else USER) + "\n", name)
    if name == "a.parquet":
        con.execute(
            f"copy (select 1 as user, ['b', 'a'] as items, [0.5e0, 0.25] as scores) to '{source}'"
        )
    if name == "frame":
        source = pytest.importorskip("pandas").DataFrame([USER])
    if name == "relation":
        source = con.sql("select 1 as user, ['b', 'a'] as items, [0.5, 0.25] as scores")
    result = readers.stage(con, source, "run")
    assert (rows(con), result.ranked_by) == (RUN, "score")


@pytest.mark.core
def test_a_list_of_ids_alone_is_a_ranked_list(con, put):
    path = put(
        '{"qid": "q", "docnos": [7.0, 5], "genres": ["x"]}\n{"qid": "r", "docnos": []}\n', "a.jsonl"
    )
    result = readers.stage(con, path, "run")
    assert (rows(con), result.ranked_by) == ([("q", "7", 1.0), ("q", "5", 2.0)], "rank")
    assert result.warnings == ("1 empty list: the run answers these queries with nothing",)
    assert con.sql("select query_id, num_ret from staged_ranking").fetchall()[-1] == ("r", 0)
    readers.stage(con, path, "qrels")
    assert rows(con) == [("q", "7", 1.0, "0"), ("q", "5", 1.0, "0")]
    readers.stage(con, path, "training", where="qid = 'q'")
    assert rows(con) == [("q", "7", 1.0), ("q", "5", 1.0)]


@pytest.mark.core
def test_a_list_of_records(con, put):
    hits = [{"corpus_id": 3, "score": 0.5}, {"corpus_id": 4, "score": 0.25}]
    readers.stage(con, put(json.dumps({"query-id": "q", "hits": hits}), "a.jsonl"), "run")
    assert rows(con) == [("q", "3", 0.5), ("q", "4", 0.25)]
    # lists beside a document of each line mean nothing
    path = put(json.dumps({"qid": "q", "docno": "d", "score": 1, "genres": [{"a": 1}]}), "a.jsonl")
    readers.stage(con, path, "run")
    assert rows(con) == [("q", "d", 1.0)]


@pytest.mark.core
def test_lists_that_do_not_fit(con, put):
    lines = [
        '{"user": 1, "items": ["a", "b"], "scores": [1]}',
        "",
        '{"user": 2, "items": ["a"], "scores": [1]}',
        '{"user": 2, "items": ["c"], "scores": [1]}',
    ]
    error = refused(con, put("\n".join(lines), "a.jsonl"), "run")
    assert error.problems == (
        (1, "its lists have different lengths: 2 and 1"),
        (4, "query '2' has a list already"),
    )
    lines = ["", '{"user": 1, "items": ["a", "a"], "scores": [1, 2]}']
    lines += ['{"user": 2, "items": ["c", null], "scores": [null, 1]}']
    error = refused(con, put("\n".join(lines), "a.jsonl"), "run")
    assert error.problems == (
        (2, "document 'a' is there twice for query '1', first on line 2"),
        (3, "the score is missing"),
        (3, "the document id is empty"),
    )
