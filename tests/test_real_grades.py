"""Grades of relevance that are any real numbers, such as half stars."""

from __future__ import annotations

import csv
import gzip
import math
import random
from pathlib import Path

import pytest
from shared_cases import CASES, needs_cases

from warehouse.ingest.steps import Content
from warehouse.store import database
from warehouse.warehouse import Warehouse

QRELS = {"q1": {"a": 0.5, "b": 4.5, "c": 3, "d": 2.5}, "q2": {"a": True, "b": -0.5}}
RUN = {"q1": {"a": 5, "b": 4, "c": 3, "x": 2.5, "d": 2}, "q2": {"a": 1, "b": 2}}


def test_whole_grades_keep_their_hash(tmp_path: Path) -> None:
    """The hash of before grades could be any number: of the grades as integers."""
    path = tmp_path / "kept.duckdb"
    wh = Warehouse(path)
    wh.ingest_qrels("kept", {"q": {"a": 2, "b": 0.0, "c": -2147483648}})
    wh.ingest_training("kept", {"q": {"a": 1}})
    sql = (
        "select sum(hash('q', doc_id, grade::integer, '0')) from "
        "(values ('a', 2), ('b', 0), ('c', -2147483648)) as judged (doc_id, grade)"
    )
    ((total,), (of_training,)) = (
        database.memory().execute(text).fetchone() or ()
        for text in (sql, "select hash('q', 'a', 1::integer)::hugeint")
    )
    (stored,) = wh.query("select content_hash from store.qrels")
    assert stored.content_hash == Content.of("kept", 3, 1, total).content_hash
    (stored,) = wh.query("select content_hash from store.training")
    assert stored.content_hash == Content.of("kept", 1, 1, of_training).content_hash


@needs_cases
def test_real_ratings_as_scikit_learn() -> None:
    """nDCG of half stars is that of ndcg_score, on the ratings of 40 users of MovieLens."""
    metrics = pytest.importorskip("sklearn.metrics")
    qrels: dict[str, dict[str, float]] = {}
    with gzip.open(CASES / "ml_latest_small" / "test.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            qrels.setdefault(row["userId"], {})[row["movieId"]] = float(row["rating"])
    qrels = {user: rated for user, rated in qrels.items() if len(rated) > 1}
    qrels = dict(list(qrels.items())[:40])
    assert any(grade == 0.5 for rated in qrels.values() for grade in rated.values())
    rng = random.Random(1)
    # one in three scores is shared, so that there are ties
    run = {
        user: {item: rng.randint(1, 3 * len(rated)) for item in rated}
        for user, rated in qrels.items()
    }
    found = Warehouse.score(qrels, run, ["nDCG", "nDCG@5", "DCG@5"], protocol="sklearn")
    compared = 0
    for user, metric, value in found.relation.fetchall():
        if user != "all":
            name = "dcg_score" if metric.startswith("DCG") else "ndcg_score"
            items = list(qrels[user])
            expected = getattr(metrics, name)(
                [[qrels[user][i] for i in items]], [[run[user][i] for i in items]],
                k=5 if "@5" in metric else None,
            )  # fmt: skip
            assert value == pytest.approx(expected, rel=1e-12)
            compared += 1
    assert compared == 120


@pytest.mark.long
def test_stored_and_scored_alike(tmp_path: Path) -> None:
    metrics = [
        "nDCG", "nDCG@2", "DCG", "G", "nDCGrel", "Rndcg", "P(rel=3.5)@2", "AP", "ERR(max_rel=5)@5",
        "SDCG(max_rel=4.5)@3", "BPM(T=1, max_rel=5)@4", "Compat", "bpref(rel=3)", "RBP(gain=grade)",
    ]  # fmt: skip
    wh = Warehouse(tmp_path / "half.duckdb")
    assert wh.ingest_qrels("half", QRELS).status == "loaded"
    wh.ingest_run("half", RUN, name="run")
    for protocol in ("default", "trec_eval_9"):
        wh.evaluate("half", metrics=metrics, protocol=protocol)
        (stored,) = wh.leaderboard("half", metrics=metrics, protocol=protocol)
        scored = Warehouse.score(QRELS, RUN, metrics, protocol=protocol).means()
        for name, value in scored.items():
            assert stored[name] == value, name
    whole = {q: {d: math.floor(g) for d, g in docs.items()} for q, docs in QRELS.items()}
    assert Warehouse.score(whole, RUN, metrics, protocol="trec_eval_9").means() == scored
    shown = wh.explain("half", "run", "q1", "nDCG").text("table")
    grades = [line.split()[3] for line in shown.splitlines()[2:7] if " x " not in line]
    assert grades == ["0.5", "4.5", "3", "2.5"]
    wh.ingest_qrels("half", QRELS | {"q2": {"a": 1, "b": -1}}, replace=True)
    (changed,) = wh.qrels_diff("half", 1, 2).tables["rows"]
    assert (changed.doc_id, changed.before, changed.after) == ("b", -0.5, -1)
