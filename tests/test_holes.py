"""The unjudged documents that runs rank high: by hand, a plain-Python twin, and what judging fills."""

from __future__ import annotations

import random
import shutil
from fractions import Fraction
from pathlib import Path

import oracles
import pytest
from extended import needs
from projects import command
from refusals import expect_refusal, tells

from warehouse.errors import UsageError
from warehouse.report import trec
from warehouse.warehouse import Warehouse

QRELS = {"q1": {"a": 1, "b": 0, "pooled": -1}, "q2": {"a": 2}}
ONE = {"q1": {"x": 3.0, "a": 2.0, "y": 1.0}, "q2": {"a": 2.0, "x": 1.0}, "q9": {"z": 1.0}}
TWO = {"q1": {"b": 3.0, "x": 2.0, "pooled": 1.0}, "q2": {"y": 2.0, "a": 1.0}}


@pytest.fixture(scope="module")
def tiny_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a warehouse with two runs, one whose dataset has no qrels and qrels without a run."""
    wh = Warehouse(tmp_path_factory.mktemp("tiny") / "tiny.duckdb")
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", ONE, name="one")
    wh.ingest_run("tiny", TWO, name="two")
    wh.ingest_run("unjudged", ONE, name="one")
    wh.ingest_qrels("empty", QRELS)
    return wh.path


@pytest.fixture
def tiny(tiny_file: Path, tmp_path: Path) -> Warehouse:
    """Return a copy of it."""
    return Warehouse(shutil.copy(tiny_file, tmp_path / "tiny.duckdb"))


def test_by_hand(tiny: Warehouse) -> None:
    """Both have x for q1, at ranks 1 and 2: (1 + 1/2)/2. What was pooled and not judged is a hole.

    q9 is not judged, so it does not count. Of `one` x and y of q1 and x of q2 are holes among five
    documents: shares 1/3 and 1/2. Of `two` x and pooled of q1, y of q2: 1/3 and 1/2 too.
    """
    found = tiny.holes("tiny")
    assert found.relation.fetchall() == [
        ("q1", "x", 2, 1, 3 / 4),
        ("q2", "y", 1, 1, 1 / 2),
        ("q2", "x", 1, 2, 1 / 4),
        ("q1", "pooled", 1, 3, 1 / 6),
        ("q1", "y", 1, 3, 1 / 6),
    ]
    assert (found.total, found.depth) == (5, 10)
    before = float(Fraction(1, 3) + Fraction(1, 2)) / 2
    assert found.filled.fetchall() == [
        ("one", 5, 3, 3, pytest.approx(before), 1.0),
        ("two", 5, 3, 3, pytest.approx(before), 1.0),
    ]


@needs("collections")
def test_the_order_by_the_greatest_error(tiny: Warehouse) -> None:
    """With the ranks of the next test."""
    asked = {"order": "greatest-error", "p": 0.5}
    rows = tiny.holes("tiny", top=2, **asked).relation.fetchall()
    assert [(*row[:2], row[5]) for row in rows] == [("q1", "x", 1 / 2), ("q2", "y", 3 / 8)]
    assert len(tiny.holes("tiny", top=9, **asked)) == 5
    for words, told in (({}, "greatest-error … top"), ({"top": 1, "per_query": True}, "top")):
        with expect_refusal(told):
            tiny.holes("tiny", **asked, **words)


def test_orders_by_hand(tiny: Warehouse) -> None:
    """RBP with p = 1/2 gives the ranks 1/2, 1/4, 1/8; there are two runs and two queries.

    x of q1 is at ranks 1 and 2: (1/2 + 1/4)/4. Both runs have the error 1 - (1/2 + 1/4)/2; by its name
    `one` is first, and x of q1 its first hole, which leaves `two` with 5/8 - 1/8; then y of q2 is the
    first hole of `two`, and `one` is left with 5/8 - 1/4. Above pooled alone a document is judged as
    not relevant, b.
    """

    def found(order: str, **asked: object) -> list[tuple]:
        rows = tiny.holes("tiny", order=order, **asked).relation.fetchall()
        return [(*row[:2], row[5]) for row in rows]

    assert found("average-error", p=0.5) == [
        ("q1", "x", 3 / 16), ("q2", "y", 1 / 8), ("q2", "x", 1 / 16), ("q1", "pooled", 1 / 32),
        ("q1", "y", 1 / 32),
    ]  # fmt: skip
    assert found("move-to-front") == [
        ("q1", "x", 0), ("q2", "y", 0), ("q2", "x", 0), ("q1", "y", 0), ("q1", "pooled", 1),
    ]  # fmt: skip
    for order, asked, told in (
        ("popular", {}, "popular … popularity"), ("average-error", {"p": 1}, "p"),
    ):  # fmt: skip
        with expect_refusal(told):
            tiny.holes("tiny", order=order, **asked)


@needs("collections")
@pytest.mark.slow
def test_orders_as_rbp_eval_has_them(wh: Warehouse, tmp_path: Path) -> None:
    """minmaxerr judges the same documents in the same order, minavgerr those of the same weights."""
    minavgerr = pytest.importorskip("rbp_eval.cli.minavgerr")
    minmaxerr = pytest.importorskip("rbp_eval.cli.minmaxerr")
    rng = random.Random(3)
    queries, docs = [f"q{n:02}" for n in range(6)], [f"d{n:02}" for n in range(30)]
    files = []
    for name in ("r1", "r2", "r3", "r4"):
        lists = {query: rng.sample(docs, 12) for query in queries}
        run = {q: {d: 12.0 - n for n, d in enumerate(found)} for q, found in lists.items()}
        wh.ingest_run("tiny", run, name=name)
        file = tmp_path / f"{name}.run"
        file.write_text(
            "".join(
                f"{query} Q0 {doc} {rank} {13 - rank} {name}\n"
                for query, found in lists.items()
                for rank, doc in enumerate(found, 1)
            )
        )
        files.append(str(file))
    wh.ingest_qrels("tiny", {query: {"other": 0} for query in queries})
    qrels, log = tmp_path / "qrels", tmp_path / "log"
    qrels.write_text("".join(f"{query} 0 {doc} 0\n" for query in queries for doc in docs))
    judged = {}
    for order, peer in (("average-error", minavgerr), ("greatest-error", minmaxerr)):
        peer.main(["-Q", str(qrels), "-p", "0.8", "-j", str(log), *files])
        judged[order] = [tuple(line.split()[:2]) for line in log.read_text().splitlines()]
    found = wh.holes("tiny", depth=12, top=80, order="greatest-error", p=0.8).relation.fetchall()
    assert [row[:2] for row in found] == judged["greatest-error"][:80]
    rows = wh.holes("tiny", depth=12, order="average-error", p=0.8).relation.fetchall()
    error = {row[:2]: row[5] for row in rows}
    assert error.keys() == set(judged["average-error"])
    assert [error[key] for key in judged["average-error"]] == pytest.approx([r[5] for r in rows])


@pytest.mark.slow
def test_top_and_depth_and_runs(tiny: Warehouse) -> None:
    def keys(**asked: object) -> list[tuple]:
        return tiny.holes("tiny", **asked).relation.project("query_id, doc_id").fetchall()

    assert keys(top=2) == [("q1", "x"), ("q2", "y")]
    assert keys(top=1, per_query=True) == [("q1", "x"), ("q2", "y")]
    assert keys(top=2, per_query=True) == [
        ("q1", "x"), ("q2", "y"), ("q2", "x"), ("q1", "pooled"),
    ]  # fmt: skip
    assert keys(depth=1) == [("q1", "x"), ("q2", "y")]
    assert keys(runs="two") == [("q2", "y"), ("q1", "x"), ("q1", "pooled")]
    # one document of three; its run has x first for q1: 1/3 -> 2/3 and 1/2 -> 1/2
    found = tiny.holes("tiny", ["one"], top=1)
    ((*counts, _, after),) = found.filled.relation.project(
        "shown, unjudged, filled, judged, judged_after"
    ).fetchall()
    assert counts == [5, 3, 1]
    assert after == pytest.approx(float(Fraction(2, 3) + Fraction(1, 2)) / 2)
    assert found.total == 3


@pytest.mark.slow
def test_the_protocol_says_which_queries_and_documents_count(tiny: Warehouse, here: object) -> None:
    every = tiny.holes("tiny", protocol="ardoco").relation.fetchall()
    assert {row[0] for row in every} == {"q1", "q2"}
    tied = {"q1": {"m": 1.0, "n": 1.0}}
    tiny.ingest_run("tiny", tied, name="tied")
    first = {
        protocol: tiny.holes("tiny", "tied", depth=1, protocol=protocol).relation.fetchall()[0][1]
        for protocol in ("default", "trec_eval_9_prefs", "rectools")
    }
    assert first == {"default": "n", "trec_eval_9_prefs": "m", "rectools": "m"}
    # top2, a protocol of the project, ends every list
    found = tiny.holes("tiny", "one", protocol="top2")
    assert (found.depth, found.total) == (2, 2)


@pytest.mark.slow
@pytest.mark.core
def test_random_runs_are_as_the_twin_says(wh: Warehouse) -> None:
    """Ties and gaps; without judgments below 0, the share is Judged@k, before and after judging."""
    rng = random.Random(5)
    docs = [f"d{n}" for n in range(30)]
    qrels = {
        f"q{n}": {d: rng.randint(0, 2) for d in rng.sample(docs, rng.randint(1, 8))}
        for n in range(12)
    }
    runs = {
        name: {
            q: {d: float(rng.randint(0, 6)) for d in rng.sample(docs, rng.randint(1, 15))}
            for q in qrels
            if rng.random() < 0.8
        }
        for name in ("r1", "r2", "r3", "r4")
    }
    wh.ingest_qrels("tiny", qrels)
    for name, run in runs.items():
        wh.ingest_run("tiny", run, name=name)
    seen: dict[tuple[str, str], list[int]] = {}
    for run in runs.values():
        for query, scores in run.items():
            for rank, doc in enumerate(oracles.ranking(scores, {})[:4], 1):
                if doc not in qrels[query]:
                    seen.setdefault((query, doc), []).append(rank)
    expected = sorted(
        (-len(found), -sum(Fraction(1, r) for r in found) / 4, min(found), *key)
        for key, found in seen.items()
    )
    found = wh.holes("tiny", depth=4, top=20)
    assert found.total == len(expected)
    assert [(row[0], row[1], row[2], row[3]) for row in found.relation.fetchall()] == [
        (query, doc, -number, best) for number, _, best, query, doc in expected[:20]
    ]
    assert [row[4] for row in found.relation.fetchall()] == [
        pytest.approx(float(-mean)) for _, mean, *_ in expected[:20]
    ]

    def judged() -> list[tuple]:
        wh.evaluate(metrics="Judged@4")
        return [(row[1], pytest.approx(row[3])) for row in wh.leaderboard("tiny").fetchall()]

    assert sorted(judged()) == found.filled.relation.project("run, judged").fetchall()
    for query, doc, *_ in found.relation.fetchall():
        qrels[query][doc] = 0
    wh.ingest_qrels("tiny", qrels, replace=True)
    assert sorted(judged()) == found.filled.relation.project("run, judged_after").fetchall()


@pytest.mark.slow
def test_what_assessors_get_can_be_filled_in_and_loaded(tiny: Warehouse, tmp_path: Path) -> None:
    """Unfilled lines are no judgments: they are holes again."""
    file = tmp_path / "to_judge.txt"
    code, out, told = command(
        "holes", "-d", "tiny", "-f", "trec", "-o", str(file), "--db", str(tiny.path)
    )
    assert (code, out) == (0, "")
    assert file.read_text() == "q1 0 pooled -1\nq1 0 x -1\nq1 0 y -1\nq2 0 x -1\nq2 0 y -1\n"
    share = "3 of its 3 holes, judged of the first 10: 0.4167 -> 1.0000"
    assert told.endswith(f"\n5 of 5 unjudged documents\none: {share}\ntwo: {share}\n")
    # which the metric is not: it counts the judgment below 0 of two's third document, 2/3 and 1/2
    tiny.evaluate("tiny", metrics="Judged@10")
    board = tiny.leaderboard("tiny").relation.project('run, "Judged@10"').fetchall()
    assert board == [("two", pytest.approx(7 / 12)), ("one", pytest.approx(5 / 12))]
    filled = file.read_text().replace("q1 0 x -1", "q1 0 x 1")
    known = "q1 0 a 1\nq1 0 b 0\nq2 0 a 2\n"
    file.write_text(known + filled)
    tiny.ingest_qrels("tiny", str(file), replace=True)
    assert tiny.holes("tiny").total == 4


def test_the_unjudged_documents_of_each_query_are_the_holes(tiny: Warehouse) -> None:
    """Two of the holes of `two`, x and pooled, are of q1, and one is of q2; Unjudged counts them too."""
    tiny.evaluate("tiny", metrics="Unjudged@10")
    page = tiny.queries("tiny", "two").relation.project('query_id, unjudged_at_10, "Unjudged@10"')
    assert page.fetchall() == [("q1", 2, 0.2), ("q2", 1, 0.1)]


def test_nothing_to_judge_says_so(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q1": {"a": 1}})
    wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name="one")
    code, out, told = command("holes", "-d", "tiny", "-f", "csv", "--db", str(wh.path))
    assert (code, out.count("\n")) == (0, 1)
    assert told == "tiny: all of the first 10 documents of 1 run are judged\n"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"dataset": "tini"}, "tini … tiny"),
        ({"runs": "ones"}, "ones … one"),
        ({"depth": 0}, "depth is at least 1, not 0"),
        ({"top": 0}, "top is at least 1, not 0"),
        ({"per_query": True}, "needs top, the number of documents for each query"),
        ({"dataset": "unjudged"}, "warehouse ingest qrels FILE -d unjudged"),
        ({"dataset": "empty"}, "warehouse ingest run FILE -d empty"),
        ({"protocol": "defualt"}, "defualt … default"),
    ],
)
def test_wrong_words_are_refused(tiny: Warehouse, asked: dict, message: str) -> None:
    with expect_refusal(message):
        tiny.holes(**{"dataset": "tiny"} | asked)


def test_ids_with_blanks_and_tables_of_runs_are_no_qrels(tiny: Warehouse) -> None:
    with pytest.raises(UsageError, match="'a b': an id with a blank"):
        trec.qrels_to_fill([("q", "a b")])
    assert trec.qrels_to_fill([("q", "#a"), ("#1", "a")]) == "#1 0 a -1\nq 0 #a -1\n"
    code, _, told = command("holes", "-d", "tiny", "--by-run", "-f", "trec", "--db", str(tiny.path))
    assert (code, "-f trec writes documents" in told) == (2, True)
    code, _, told = command("holes", "-d", "tiny", "-f", "trek", "--db", str(tiny.path))
    assert (code, tells(told, "trek … trec")) == (2, True)


def test_many_runs_are_told_in_a_table(tiny: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warehouse.report.presentation._MOST_RUNS", 1)
    asked = ("holes", "-d", "tiny", "--db", str(tiny.path), "-f", "csv")
    _, _, told = command(*asked, "--top", "1")
    assert told.splitlines()[-1] == "and 1 run more: --by-run"
    _, out, _ = command(*asked, "--top", "1", "--by-run")
    assert [line.split(",")[0] for line in out.splitlines()] == ["run", "one", "two"]
