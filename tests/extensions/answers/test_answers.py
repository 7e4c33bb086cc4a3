"""Nuggets, and what judges say of answers: read, kept, scored as other programs do, and verified."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import oracles_answers
import pytest
from refusals import expect_refusal
from twins import own, twin

from warehouse.errors import ConflictError, InputError, UsageError, WarehouseError
from warehouse.extensions import answers
from warehouse.extensions.answers import ingest_assignments, ingest_citations, ingest_nuggets
from warehouse.metrics import notation
from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.core
RUNS = ("one", "two", "silent")
QUERIES = tuple(f"q{number}" for number in range(12))
WORDS = ("support", "partial_support", "not_support", "contradict")
Row = dict[str, Any]


def random_answers(rng: random.Random) -> tuple[list[Row], list[Row]]:
    """Return random assignments and citations of two runs, each to most of the queries."""
    assigned, cited = [], []
    for query in QUERIES:
        nuggets = [
            {"query_id": query, "nugget_id": str(n), "importance": rng.choice(["vital", "okay"])}
            | {"weight": rng.choice([1, 2, 4, 0.1]), "part": rng.choice(["x", "y", None])}
            for n in range(rng.randint(1, 9))
        ]
        for run in RUNS[:2]:
            if rng.random() < 0.8:
                assigned += [
                    nugget | {"run": run, "assignment": rng.choice(WORDS)} for nugget in nuggets
                ]
            for sentence in range(1, rng.randint(1, 5)):
                docs: list[str | None] = list(rng.sample("abcd", rng.randint(0, 3))) or [None]
                cited += [
                    {"run": run, "query_id": query, "sentence": sentence, "doc_id": doc}
                    | {"support": None if doc is None else rng.choice(WORDS[:3])}
                    for doc in docs
                ]
    return assigned, cited


@pytest.fixture
def wh(tmp_path: Path, prepared: Callable[..., Warehouse]) -> Warehouse:
    """Return a warehouse with three runs, and judgments of what they retrieved."""
    return prepared(tmp_path / "warehouse.duckdb", loaded)


def loaded(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {query: {"d": 1} for query in QUERIES})
    for run in RUNS:
        wh.ingest_run("tiny", {query: {"d": 1.0} for query in QUERIES[1:]}, name=run)


def test_twins(wh: Warehouse) -> None:
    """Each metric of each run and query, and the pooled values, are as in plain Python."""
    assigned, cited = random_answers(random.Random(0))
    ingest_nuggets(wh, "tiny", assigned)
    ingest_assignments(wh, "tiny", assigned)
    ingest_citations(wh, "tiny", cited)
    wh.evaluate("tiny", metrics=oracles_answers.METRICS)
    rows: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in (*assigned, *cited):
        row["answer"] = row["run"], row["query_id"]
        rows["doc_id" in row, row["run"], row["query_id"]].append(row)
    found = wh.query("select run, metric, query_id, value from query_scores").fetchall()
    assert len(found) == len(RUNS) * len(QUERIES) * len(oracles_answers.METRICS)
    metrics = {str(metric): metric for metric in notation.parse(*oracles_answers.METRICS)}
    for run, name, query, value in found:
        metric = metrics[name]
        known = {k: v for k, v in own(metric).items() if k not in ("judge", "judged_only", "scope")}
        answer = rows[name.startswith("Citation"), run, query]
        assert value == pytest.approx(twin(metric.name, oracles_answers)(answer, **known)), name
    pooled = "select run, metric, value from scores where metric like '%pooled%'"
    for run, name, value in wh.query(pooled).fetchall():
        known = {k: v for k, v in own(metrics[name]).items() if k != "judge"}
        every = [r for r in (cited if name.startswith("Citation") else assigned) if r["run"] == run]
        wanted = twin(f"pooled_{metrics[name].name}", oracles_answers)(every, **known)
        assert value == pytest.approx(wanted), name
    assert wh.verify().is_good


# What `nuggetizer assign` of nuggetizer 0.0.5 writes, with what calculate_nugget_scores of its
# core/metrics.py returns for each: strict vital, strict all, vital, all.
PEER = {
    ("one", "q1"): (("vs vp vn os on"), (1 / 3, 2 / 5, 0.5, 0.5)),
    ("one", "q2"): (("vs op op"), (1.0, 1 / 3, 1.0, 2 / 3)),
    ("two", "q1"): (("vn vn vp op op"), (0.0, 0.0, 1 / 6, 0.3)),
    ("two", "q2"): (("vp os os"), (0.0, 2 / 3, 0.5, 2.5 / 3)),
}
NAMES = ("strict_vital_score", "strict_all_score", "vital_score", "all_score")


def peer_lines() -> list[Row]:
    return [
        {
            "query": "what?", "qid": query, "answer_text": "…", "response_length": 9, "run_id": run,
            "nuggets": [
                {
                    "text": f"{query} {n}", "importance": "vital" if word[0] == "v" else "okay",
                    "assignment": {"s": "support", "p": "partial_support", "n": "not_support"}[word[1]],
                }
                for n, word in enumerate(text.split())
            ],
        }
        for (run, query), (text, _) in PEER.items()
    ]  # fmt: skip


def test_as_nuggetizer(wh: Warehouse, tmp_path: Path) -> None:
    path = tmp_path / "assignments.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in peer_lines()))
    assert ingest_nuggets(wh, "tiny", path).num_nuggets == 8
    assert ingest_assignments(wh, "tiny", path, judge="gpt-4o").status == dict.fromkeys(
        ("one", "two"), "loaded"
    )
    asked = [f"{name}(judge=gpt-4o)" for name in NAMES]
    wh.evaluate("tiny", metrics=asked)
    canonical = list(map(str, notation.parse(*asked)))
    assert canonical[1] == "NuggetScore(partial=0.0, judge=gpt-4o)"
    found = {
        (run, query, metric): value
        for run, query, metric, value in wh.query(
            "select run, query_id, metric, value from query_scores"
        ).fetchall()
    }
    for (run, query), (_, values) in PEER.items():
        ours = [found[run, query, metric] for metric in canonical]
        assert ours == pytest.approx(values), (run, query)
    board = {row.run: row[3:7] for row in wh.leaderboard("tiny", metrics=asked)}
    for run in ("one", "two"):  # the mean over the lines, as calculate_global_metrics
        values = zip(*(of for (name, _), (_, of) in PEER.items() if name == run), strict=True)
        assert board[run] == pytest.approx([sum(each) / 2 for each in values])
    assert board["silent"] == (None,) * 4


def test_as_the_scorer_of_dragun(wh: Warehouse, tmp_path: Path) -> None:
    """By hand, after the scorer: question 1 has weight 4 and two answers, question 2 weight 1.

    (4 (1 + 1/2) / 2 + 1 * 0) / 5 = 3/5 is supported, (4 * 0 + 1 * 1) / 5 = 1/5 contradicted.
    """
    rubric = {
        "topic_id": "q1",
        "rubrics": [
            {
                "question_id": "q1-1", "importance": "A: Have to Know",
                "short_answers": [{"answer_id": "a"}, {"answer_id": "b"}],
            },
            {
                "question_id": "q1-2", "importance": "C: Nice to Know",
                "short_answers": [{"answer_id": "c"}],
            },
        ],
    }  # fmt: skip
    (tmp_path / "rubric.json").write_text(json.dumps(rubric, indent=2))
    (tmp_path / "said.csv").write_text(
        "topic_id,run_tag,answer_id,annotation\n"
        "q1,one,a,supports\nq1,one,b,partial\nq1,one,c,contradicts\n"
        "q1,two,a,none\nq1,two,b,none\nq1,two,c,supports\n"
    )
    ingest_nuggets(wh, "tiny", tmp_path / "rubric.json")
    ingest_assignments(wh, "tiny", tmp_path / "said.csv")
    board = wh.leaderboard("tiny", metrics="RubricSupport RubricContradiction")
    assert {row.run: row[3:5] for row in board if row.run != "silent"} == {
        "one": pytest.approx((3 / 5, 1 / 5)), "two": pytest.approx((1 / 5, 0)),
    }  # fmt: skip
    # rows that name no run are of the run that is called as the file
    (tmp_path / "silent.csv").write_text(
        "topic_id,answer_id,annotation\nq1,a,supports\nq1,b,none\nq1,c,none\n"
    )
    found = ingest_assignments(wh, "tiny", tmp_path / "silent.csv", judge="file")
    assert found.status == {"silent": "loaded"}


def test_support_of_trec_rag(wh: Warehouse, tmp_path: Path) -> None:
    """Two sentences, the second with a citation of full and one of partial support: 2/3 and 1."""
    line = {
        "run_id": "one", "topic_id": "q1", "references": ["d1", "d2"],
        "answer": [{"text": "s", "citations": [1]}, {"text": "t", "citations": [0, 1]}],
        "support_eval": [
            {"answer": "s", "citations": [1], "count": 1, "eval_scores": ["PS"]},
            {"answer": "t", "citations": [0, 1], "count": 2, "eval_scores": ["FS", "PS"]},
        ],
    }  # fmt: skip
    (tmp_path / "support.jsonl").write_text(json.dumps(line) + "\n")
    ingest_citations(wh, "tiny", tmp_path / "support.jsonl", judge="gpt-4o")
    cited = wh.query("select sentence, doc_id, support from answer_citations order by all")
    assert cited.fetchall() == [
        (1, "d2", "partial_support"), (2, "d1", "support"), (2, "d2", "partial_support")
    ]  # fmt: skip
    metrics = [f"{name}(judge=gpt-4o)" for name in ("CitationPrecision", "CitationRecall")]
    (row, *_) = wh.leaderboard("tiny", metrics=metrics).fetchall()
    assert row[3:5] == pytest.approx((2 / 3, 3 / 4))


@pytest.mark.slow
def test_other_assignments_make_the_values_of_their_run_stale(wh: Warehouse) -> None:
    """Only those of the run: values of others, and the board of before, stay."""
    lines = peer_lines()
    ingest_nuggets(wh, "tiny", lines)
    ingest_assignments(wh, "tiny", lines, judge="j")
    wh.evaluate("tiny", metrics="NuggetScore(judge=j)")
    assert ingest_assignments(wh, "tiny", lines, judge="j").status == dict.fromkeys(
        ("one", "two"), "unchanged"
    )
    assert wh.evaluate("tiny").computed == 0
    lines[0]["nuggets"][2]["assignment"] = "support"
    with pytest.raises(ConflictError, match=r"by judge j already, of one; load these"):
        ingest_assignments(wh, "tiny", lines, judge="j")
    before = wh.query("select now()").fetchall()[0][0]
    replaced = ingest_assignments(wh, "tiny", lines, judge="j", replace=True)
    assert replaced.status == {"one": "replaced", "two": "unchanged"}
    assert wh.verify().skipped == {"stale or superseded": 1}
    assert [(run, why) for _, run, _, why in wh.evaluate("tiny").details] == [("one", "stale")]
    # of q1, 3.5 of 5 instead of 2.5; of q2 2/3
    board = wh.leaderboard("tiny", metrics="NuggetScore(judge=j)")
    assert board.fetchall()[0][3] == pytest.approx((0.7 + 2 / 3) / 2)
    old = wh.leaderboard("tiny", metrics="NuggetScore(judge=j)", as_of=before)
    assert {row.run: row[3] for row in old}["one"] == pytest.approx((0.5 + 2 / 3) / 2)
    verified = wh.verify()
    assert verified.is_good
    assert verified.num_verified == 3
    # a list that is cut has the answer of the whole: no document is worth anything
    steps = wh.explain("tiny", "one", "q1", "NuggetScore(judge=j)")
    assert [row.value_so_far for row in steps][::2] == [pytest.approx(0.7)]
    # other nuggets: what was assigned no longer counts
    lines[0]["nuggets"][0]["importance"] = lines[2]["nuggets"][0]["importance"] = "okay"
    with pytest.raises(ConflictError, match="other nuggets already"):
        ingest_nuggets(wh, "tiny", lines)
    (warning,) = ingest_nuggets(wh, "tiny", lines, replace=True).warnings
    assert "one, two" in warning
    with expect_refusal("NuggetScore(judge=j)"):
        wh.evaluate("tiny", metrics="NuggetScore(judge=j)")
    wh.forget("tiny", "one")
    assert wh.query("select count(*) from store.assignment").fetchall() == [(8,)]
    assert wh.verify().problems.fetchall() == []


NUGGET = {"qid": "q1", "text": "a", "importance": "vital"}
# What is wrong, by command: the source and a part of the message.
WRONG: list[tuple[str, object, str]] = [
    ("nuggets", [], "is empty"),
    ("nuggets", '{"qid": "q1",\n', "line 1: is no JSON"),
    ("nuggets", '{"qid": "q1", "nuggets": [{"text": "a", "importance": "huge"}]}\n', "not huge"),
    ("nuggets", [{"text": "a", "importance": "vital"}], "row 1: there is no query"),
    ("nuggets", [{"qid": "q1", "text": "a"}], "neither importance nor weight"),
    ("nuggets", [NUGGET | {"weight": -1}], "not a number above 0: -1"),
    ("nuggets", [NUGGET, NUGGET | {"importance": "okay"}], "with other content too"),
    ("nuggets", [NUGGET | {"nugget_id": x} for x in "xy"], "two nuggets of the same text"),
    ("nuggets", [{"qid": "q1", "nuggets": {"a": 1}}], "neither importance nor weight"),
    ("assignments", [{"qid": "q1", "text": "a", "assignment": "support"}], "name the run"),
    ("assignments", [{"run": "three", "qid": "q1", "text": "a", "assignment": "support"}], "three"),
    ("assignments", [{"run": "one", "qid": "q1", "text": "b", "assignment": "support"}],
     "no nugget of query q1: b"),
    ("assignments", [{"run": "one", "qid": "q1", "text": "a", "assignment": "failed"}], "not failed"),
    ("assignments", [{"run": "one", "qid": "q2", "text": "x", "assignment": "support"}],
     "nugget 2 of query q2 has no assignment"),
    ("assignments", [{"run": "one", "qid": "q1", "text": "a", "assignment": "support"}] * 2,
     "is assigned twice"),
    ("citations", [{"run": "one", "qid": "q1", "doc_id": "d", "support": "support"}], "number of"),
    ("citations", [{"run": "one", "qid": "q1", "sentence": 1, "doc_id": "d"}], "is not said"),
    ("citations", [{"run": "one", "qid": "q1", "sentence": 1, "support": "FS"}], "no document"),
    ("citations", [{"run": "one", "qid": "q1", "sentence": 1, "doc_id": "d", "support": "yes"}],
     "not yes"),
    ("citations",
     [{"run": "one", "qid": "q1", "sentence": n, "doc_id": "d", "support": "FS"} for n in (1, 2, 4)],
     "has a sentence 4 and no sentence 3"),
    ("citations", [{"run": "one", "qid": "q1", "sentence": 2, "doc_id": "d", "support": "FS"}],
     "no sentence 1"),
]  # fmt: skip


def test_a_question_with_two_weights_is_named(wh: Warehouse) -> None:
    rows = [NUGGET | {"text": x, "part": p, "weight": w} for x, p, w in ("xs4", "ys2", "zt1")]
    (warning,) = ingest_nuggets(wh, "tiny", rows).warnings
    assert "part s of query q1" in warning
    assert "4, 2" in warning
    assert not ingest_nuggets(wh, "tiny", rows[:1], replace=True).warnings


def test_what_cannot_be_kept_stores_nothing(wh: Warehouse, tmp_path: Path) -> None:
    with expect_refusal("ingest nuggets FILE"):
        ingest_assignments(wh, "tiny", [NUGGET | {"assignment": "support"}], name="one")
    ingest_nuggets(wh, "tiny", [NUGGET, *(NUGGET | {"qid": "q2", "text": x} for x in "xy")])
    for command, source, wanted in WRONG:
        path = tmp_path / "one.jsonl"
        if isinstance(source, str):
            path.write_text(source)
        with pytest.raises((InputError, UsageError)) as caught:
            getattr(answers, f"ingest_{command}")(
                wh, "tiny", path if isinstance(source, str) else source
            )
        assert wanted in str(caught.value), (command, source)
    assert wh.query("select count(*) from store.assessment").fetchall() == [(0,)]
    assert wh.query("select count(*) from store.nugget_set").fetchall() == [(1,)]


def test_metrics_that_nothing_was_loaded_for_are_refused(wh: Warehouse) -> None:
    run = {"q": {"a": 1.0}}
    with pytest.raises(WarehouseError, match="NuggetScore reads assignments of answers"):
        Warehouse.score({"q": {"a": 1}}, run, "NuggetScore")
    rows = [NUGGET | {"assignment": "support"}]
    ingest_nuggets(wh, "tiny", rows)
    ingest_assignments(wh, "tiny", rows, name="one", judge="ann")
    with expect_refusal("judge=ann"):
        wh.evaluate("tiny", metrics="NuggetScore")
    with expect_refusal("did you mean ann?"):
        wh.evaluate("tiny", metrics="NuggetScore(judge=anne)")


@pytest.mark.slow
def test_a_gate_checks_answers_that_were_assessed_again(
    wh: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "warehouse.toml").write_text(
        'database = "warehouse.duckdb"\n[datasets.tiny]\nqrels = "qrels.txt"\n[[gates]]\n'
        'dataset = "tiny"\nmetric = "NuggetScore(judge=j)"\nagainst = "one"\nmax_drop = 0.1\n'
    )
    monkeypatch.chdir(tmp_path)
    rows = [NUGGET | {"run": run, "assignment": "support"} for run in RUNS]
    ingest_nuggets(wh, "tiny", rows)
    ingest_assignments(wh, "tiny", rows, judge="j")
    wh.evaluate("tiny", metrics="NuggetScore(judge=j)")
    assert {row.verdict for row in wh.check(new=True)} <= {"unchecked", "good"}
    assert wh.check(new=True).fetchall() == []
    rows[-1]["assignment"] = "partial_support"
    ingest_assignments(wh, "tiny", rows, judge="j", replace=True)
    wh.evaluate("tiny")
    (row,) = wh.check(new=True)
    # which have a value of one of the twelve queries
    assert (row.run, row.value, row.verdict) == ("silent", 0.5, "unchecked")


@pytest.mark.slow
def test_assessed_answers_count_whatever_is_judged(wh: Warehouse) -> None:
    """As nuggetizer: the mean is over the answers that were assessed, here 1, 1 and 0.

    q12 has no judged document, and no run has a list for q0. The judge did not assess q5.
    """
    words = {"q0": "support", "q1": "support", "q12": "not_support"}
    rows = [
        {
            "query_id": query,
            "nugget_id": "n",
            "importance": "vital",
            "run": "one",
            "assignment": word,
        }
        for query, word in words.items()
    ]
    cited = [row | {"sentence": 1, "doc_id": "d", "support": row["assignment"]} for row in rows]
    ingest_nuggets(wh, "tiny", rows)
    ingest_assignments(wh, "tiny", rows)
    ingest_citations(wh, "tiny", cited)
    metrics = "NuggetScore NuggetScore(aggregate=pooled) CitationPrecision P@1"
    for protocol in ("default", "trec_eval_9"):
        wh.evaluate("tiny", metrics=metrics, protocol=protocol)
        values = wh.query(
            "select metric, value, num_queries from scores "
            f"where run = 'one' and protocol = '{protocol}' and metric <> 'P@1'"
        ).fetchall()
        assert sorted(values) == [
            (name, pytest.approx(2 / 3), 3) for name in sorted(metrics.split()[:3])
        ]
        found = wh.explain("tiny", "one", "q12", "NuggetScore", protocol=protocol)
        assert (found.value, found.recomputed, found.counted) == (0.0, 0.0, 3)
        assert found.left_out == {"undefined": (10, ("q10", "q11", "q2", "q3", "q4"))}
        found = wh.explain("tiny", "one", "q1", "P@1", protocol=protocol)
        silent = {"without documents": (1, ("q0",))} if protocol == "trec_eval_9" else {}
        assert (found.counted, found.left_out) == (11 if silent else 12, silent)
    assert any("left out: 1 as without documents (q0)" in note for note in found.notes)
    assert wh.verify().is_good
