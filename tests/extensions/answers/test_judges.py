"""Judges: loading, agreement, what another judge does to the board, correction, qrels made of several.

Peers are scikit-learn and krippendorff for agreement, SciPy for correlations and t-tests, and through
judges.json ppi-python for corrected means and autojudge-evaluate for tau-GAP.
"""

from __future__ import annotations

import json
import math
import random
import shutil
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest
from refusals import expect_refusal

from warehouse.cli.application import completed, modules
from warehouse.errors import ConflictError, WarehouseError
from warehouse.extensions.answers import (
    combine_judges,
    ingest_judgments,
    judges,
    judges_agree,
    judges_correct,
    judges_swap,
)
from warehouse.sql_text.templates import render
from warehouse.store import database
from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.core

Put = Callable[..., Path]
GOLDEN = json.loads((Path(__file__).with_name("judges.json")).read_text())
QUERIES = [f"q{n:02}" for n in range(30)]
DOCS = [f"d{n:02}" for n in range(12)]
RUNS = [f"r{n}" for n in range(6)]


def _graded() -> dict[str, dict[str, dict[str, int]]]:
    """Return random judgments of three judges, of which ann judged ten queries, with gaps."""
    rng = random.Random(7)
    truth = {q: {d: rng.choice([0, 0, 1, 2, 3]) for d in DOCS} for q in QUERIES}

    def noisy(share: float, queries: list[str]) -> dict[str, dict[str, int]]:
        return {
            q: {
                d: grade if rng.random() < share else rng.choice([0, 1, 2, 3])
                for d, grade in truth[q].items()
                if rng.random() < 0.9
            }
            for q in queries
        }

    return {"ann": noisy(0.9, QUERIES[:10]), "ben": noisy(0.5, QUERIES), "gpt": noisy(0.7, QUERIES)}


JUDGED = _graded()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = random.Random(11)
    wh = Warehouse(tmp_path_factory.mktemp("judged") / "judged.duckdb")
    for name in RUNS:
        wh.ingest_run("it", {q: {d: rng.random() for d in DOCS} for q in QUERIES}, name=name)
    for name, grades in JUDGED.items():
        model = "gpt-4o" if name == "gpt" else None
        ingest_judgments(wh, "it", grades, judge=name, model=model, prompt=model and "umbrela")
    return wh.path


@pytest.fixture
def wh(made: Path, tmp_path: Path) -> Warehouse:
    return Warehouse(shutil.copyfile(made, tmp_path / "judged.duckdb"))


@pytest.mark.slow
def test_what_is_stored(wh: Warehouse, put: Put) -> None:
    """A judge's version is never current; a table with a column of judges has one for each."""
    listed = judges(wh, "it").fetchall()
    assert [row[1:6] for row in listed] == [
        ("ann", "human", None, None, 1), ("ben", "human", None, None, 2),
        ("gpt", "llm", "gpt-4o", "umbrela", 3),
    ]  # fmt: skip
    assert [row.is_current for row in wh.qrels("it")] == [False] * 3
    with expect_refusal("it"):
        wh.holes("it")
    # the same again, other judgments of a judge, and the same content as qrels
    assert ingest_judgments(wh, "it", JUDGED["ann"], judge="ann")[0].status == "unchanged"
    again = ingest_judgments(wh, "it", JUDGED["ann"], judge="ann", kind="crowd")[0]
    assert again.warnings == ("stays of the kind human: these judgments are loaded already",)
    with expect_refusal("ann", ConflictError):
        ingest_judgments(wh, "it", JUDGED["ben"], judge="ann")
    replaced = ingest_judgments(wh, "it", {"q00": {"d00": 1}}, judge="ann", replace=True)[0]
    assert (replaced.status, replaced.version) == ("replaced", 4)
    loaded = wh.ingest_qrels("it", JUDGED["gpt"])
    assert (loaded.status, loaded.version) == ("loaded", 5)
    # a column of judges, in each of the formats
    table = "judge,query_id,doc_id,relevance\nx,q00,d00,1\ny,q00,d00,0\ny,q00,d01,2\n"
    lines = "".join(
        json.dumps(dict(zip(("judge", "query_id", "doc_id", "relevance"), row, strict=True))) + "\n"
        for row in (("x", "q00", "d00", 1), ("y", "q00", "d00", 0), ("y", "q00", "d01", 2))
    )
    for text, name in ((table, "a.csv"), (table.replace(",", "\t"), "a.tsv"), (lines, "a.jsonl")):
        done = ingest_judgments(wh, "it", put(text, name), by="judge", kind="crowd")
        assert [(one.name, one.num_rows) for one in done] == [("x", 1), ("y", 2)]
        assert {one.status for one in done} == {"loaded" if name == "a.csv" else "unchanged"}
    rows = wh.query(
        "select judge, doc_id, relevance from judge_judgments "
        "where judge_kind = 'crowd' order by all"
    ).fetchall()
    assert rows == [("x", "d00", 1.0), ("y", "d00", 0.0), ("y", "d01", 2.0)]
    assert wh.verify().is_good


def test_candidates_that_umbrela_judged(wh: Warehouse, put: Put) -> None:
    """A line has a query and its candidates; without their judgments they are a run."""
    lines = [
        {"query": {"text": "flea", "qid": "007"}, "candidates": [
            {"doc": {"segment": "A flea"}, "docid": "d1", "score": 2.5, "judgment": 3},
            {"doc": {"segment": "No"}, "docid": "d2", "score": 2.0, "judgment": 0},
        ]},
        {"query": {"text": "tick", "qid": "8"}, "candidates": [
            {"doc": {"segment": "A tick"}, "docid": "d2", "score": 1.0, "judgment": 1},
        ]},
    ]  # fmt: skip
    file = put("".join(json.dumps(line) + "\n" for line in lines), "judged.jsonl")
    assert ingest_judgments(wh, "fleas", file, judge="umbrela", model="m")[0].num_rows == 3
    assert wh.ingest_run("fleas", file, name="found").num_rows == 3
    rows = wh.query(
        "select query_id, doc_id, relevance from judge_judgments where dataset = 'fleas'"
    )
    assert sorted(rows.fetchall()) == [("007", "d1", 3), ("007", "d2", 0), ("8", "d2", 1)]
    for text, names in (
        ('{"query": {"qid": "q"}, "others": []}', "wrong.jsonl … candidates"),
        ('{"query": {"qid": "q"}, "candidates": [{"docid": "d"}, {"docid": "e"}]}', "wrong.jsonl"),
    ):
        with expect_refusal(names, WarehouseError):
            ingest_judgments(wh, "fleas", put(text + "\n", "wrong.jsonl"), judge="other")


def test_wrong_judges(wh: Warehouse, put: Put) -> None:
    twice = put("judge,query_id,doc_id,relevance\nx,q,d,1\nx,q,d,0\n", "twice.csv")
    unnamed = put("judge,query_id,doc_id,relevance\n,q,d,1\n", "unnamed.csv")
    for call, names in (
        (lambda: ingest_judgments(wh, "it", {"q": {"d": 1}}), "judge"),
        (lambda: ingest_judgments(wh, "it", {"q": {"d": 1}}, judge="a", by="b"), "judge"),
        (lambda: ingest_judgments(wh, "it", {"q": {"d": 1}}, judge="qrels"), "qrels"),
        (lambda: ingest_judgments(wh, "it", {"q": {"d": 1}}, judge="a", kind="lm"), "lm … llm"),
        (lambda: ingest_judgments(wh, "it", unnamed, by="judge"), "unnamed.csv"),
        (lambda: ingest_judgments(wh, "it", twice, by="judge"), "twice.csv"),
        (lambda: ingest_judgments(wh, "it", twice, by="worker"), "twice.csv … worker"),
        (lambda: judges_agree(wh, "it", ["an", "gpt"]), "an … ann"),
        (lambda: judges_agree(wh, "it", ["gpt"]), "it … gpt"),
        (lambda: judges_agree(wh, "it", ["gpt", "qrels"]), "it"),
        (lambda: judges_swap(wh, "it", metrics="GMAP"), "GMAP"),
        (lambda: judges_swap(wh, "it", metrics="NumRet"), "NumRet"),
        (lambda: judges_correct(wh, "it", "gpt", "gpt"), "gpt"),
        (lambda: judges_correct(wh, "it", "gpt", "ben"), "it … ben … gpt … combine"),
        (lambda: judges_correct(wh, "it", "gpt", "ann", alpha=0), "alpha"),
        (lambda: combine_judges(wh, "it", rule="vote"), "vote"),
    ):
        with expect_refusal(names, WarehouseError):
            call()
    assert len(judges(wh, "it")) == 3


def test_agreement_as_the_peers_have_it(wh: Warehouse) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    krippendorff = pytest.importorskip("krippendorff")
    found = judges_agree(wh, "it", level=2)
    rows = found.fetchall()
    nan = math.nan
    scales = ("nominal", "ordinal", "interval")
    for row, (one, other) in zip(rows, combinations(JUDGED, 2), strict=False):
        shared = [
            (grade, JUDGED[other][q][d])
            for q, grades in JUDGED[one].items()
            for d, grade in grades.items()
            if d in JUDGED[other].get(q, {})
        ]
        mine, theirs = map(list, zip(*shared, strict=True))
        expected = [
            metrics.accuracy_score(mine, theirs),
            *(
                metrics.cohen_kappa_score(mine, theirs, weights=w)
                for w in (None, "linear", "quadratic")
            ),
            *(krippendorff.alpha([mine, theirs], level_of_measurement=scale) for scale in scales),
            metrics.jaccard_score([g >= 2 for g in mine], [g >= 2 for g in theirs]),
            metrics.adjusted_rand_score(mine, theirs),
        ]
        assert row[:3] == (one, other, len(shared))
        assert row[4:] == pytest.approx(expected, abs=1e-12)
        cells = [r[2:] for r in found.confusion.fetchall() if r[:2] == (one, other)]
        grid = metrics.confusion_matrix(mine, theirs, labels=[0, 1, 2, 3])
        assert cells == [(i, j, grid[i][j]) for i in range(4) for j in range(4) if grid[i][j]]
    ratings = [[JUDGED[n].get(q, {}).get(d, nan) for q in QUERIES for d in DOCS] for n in JUDGED]
    assert rows[3][8:11] == pytest.approx(
        [krippendorff.alpha(ratings, level_of_measurement=scale) for scale in scales], abs=1e-12
    )


def _valued(rows: list[tuple[Any, ...]]) -> Any:
    """Return a connection with values of runs by two judges: place, run, query, value."""
    con = database.memory()
    con.execute(
        "create temp table judge_value (place int, run text, query_id text, value double, "
        "judge text, metric text, direction text, goodness double)"
    )
    con.executemany(
        "insert into judge_value values ($1, $2, $3, $4, 'j' || $1, 'M', 'higher', $4)", rows
    )
    return con


def test_one_run_and_equal_runs_have_no_correlation() -> None:
    """Means that do not deviate have no correlation: null, which prints as nothing, and no NaN.

    Of two runs that differ by one on both queries, p is that of two of four choices of signs: 1/2.
    """
    for runs in ({"a": 1}, {"a": 1, "b": 1}, {"a": 1, "b": 2}):
        rows = [
            (j, run, str(n), value) for j in (0, 1) for run, value in runs.items() for n in (0, 1)
        ]
        for alpha, decided in ((0.4, 0), (0.6, len({*runs.values()}) - 1)):
            sql = render("judges/judge_swap", values="judge_value", top=2, alpha=alpha)
            found = _valued(rows).execute(sql)
            columns = [column[0] for column in found.description]
            row = dict(zip(columns, found.fetchone(), strict=True))
            is_one = len({*runs.values()}) < 2
            assert row["spearman"] == row["pearson"] == (None if is_one else pytest.approx(1))
            assert (row["significant"] or 0) == decided


@pytest.mark.slow
def test_swap_as_the_peers_have_it(wh: Warehouse) -> None:
    stats = pytest.importorskip("scipy.stats")
    rows = judges_swap(wh, "it", metrics="AP", top=3).fetchall()
    values = {}
    for version, judge in enumerate(JUDGED, 1):
        wh.evaluate("it", metrics="AP", qrels=version)
        values[judge] = {
            (run, query): value
            for run, query, value in wh.query(
                "select run, query_id, value from query_score_versions where qrels_version = $v",
                v=version,
            ).fetchall()
        }
    # stored values give the same as those computed in between
    assert judges_swap(wh, "it", metrics="AP", top=3).fetchall() == rows
    for row, (one, other) in zip(rows, combinations(JUDGED, 2), strict=True):
        queries = sorted(JUDGED[one].keys() & JUDGED[other].keys())
        lists = {j: {r: [values[j][r, q] for q in queries] for r in RUNS} for j in (one, other)}
        mine, theirs = ([sum(lists[j][r]) / len(queries) for r in RUNS] for j in (one, other))
        best = sorted(range(len(RUNS)), key=lambda n: -mine[n])[:3]

        def decision(judge: str, pair: tuple[str, str], of: Any = lists) -> int:
            found = stats.ttest_rel(of[judge][pair[0]], of[judge][pair[1]])
            return int(math.copysign(found.pvalue < 0.05, found.statistic))

        pairs = list(combinations(RUNS, 2))
        decided = [[decision(j, pair) for pair in pairs] for j in (one, other)]
        assert row[:5] == (one, other, "AP", len(RUNS), len(queries))
        assert row[5:7] == pytest.approx(
            (
                stats.kendalltau(mine, theirs).statistic,
                stats.kendalltau([mine[n] for n in best], [theirs[n] for n in best]).statistic,
            )
        )
        assert row[9:11] == pytest.approx(
            (stats.spearmanr(mine, theirs).statistic, stats.pearsonr(mine, theirs).statistic)
        )
        assert row[12:] == (
            pytest.approx(sum(a == b for a, b in zip(*decided, strict=True)) / len(pairs)),
            *(sum(map(bool, each)) for each in decided),
            sum(a * b < 0 for a, b in zip(*decided, strict=True)),
        )


def test_tau_gap_as_autojudge_has_it() -> None:
    human = len(GOLDEN["corrected"]["r0"])
    rows = [
        (0, run, str(n), v)
        for run, of in GOLDEN["judged"].items()
        for n, v in enumerate(of[:human])
    ]
    rows += [
        (1, run, str(n), v) for run, of in GOLDEN["corrected"].items() for n, v in enumerate(of)
    ]
    found = _valued(rows).execute(
        render("judges/judge_swap", values="judge_value", top=10, alpha=0.05)
    )
    columns = [column[0] for column in found.description]
    (row,) = found.fetchall()
    assert row[columns.index("tau_gap")] == pytest.approx(GOLDEN["tau_gap"], abs=1e-9)


@pytest.mark.parametrize("tuned", [False, True])
def test_correction_as_ppi_python_has_it(tuned: bool) -> None:
    rows = [
        (0, run, f"{n:02}", v) for run, of in GOLDEN["judged"].items() for n, v in enumerate(of)
    ]
    rows += [
        (1, run, f"{n:02}", v) for run, of in GOLDEN["corrected"].items() for n, v in enumerate(of)
    ]
    sql = render("judges/prediction_powered", values="judge_value", tuned=tuned)
    found = _valued(rows).execute(sql, {"z": NormalDist().inv_cdf(0.975)}).fetchall()
    name = "tuned" if tuned else "plain"
    expected = {run: of[name] for run, of in GOLDEN["powered"].items()}
    assert {row[2]: list(row[3:6]) for row in found} == {
        run: pytest.approx(of, abs=1e-9) for run, of in expected.items()
    }
    order = sorted(expected, key=lambda run: -expected[run][0])
    assert [row[2] for row in found] == order


def test_correction_of_stored_judgments(wh: Warehouse) -> None:
    """The parts of the estimate are the means of the boards by each judge."""
    found = judges_correct(wh, "it", "gpt", "ann", metrics="P@5", run="r1").fetchall()
    ((value, low, high, judge_mean, by_mean, alone, both),) = [
        (*row[3:6], row[6], row[7], row[11], row[12]) for row in found
    ]
    p = {
        judge: {
            q: sum(JUDGED[judge][q].get(d, 0) >= 1 for d in docs[:5]) / 5
            for q, docs in _lists(wh, "r1").items()
            if q in JUDGED[judge]
        }
        for judge in ("gpt", "ann")
    }
    human = QUERIES[:10]
    differences = [p["ann"][q] - p["gpt"][q] for q in human]
    rest = [p["gpt"][q] for q in QUERIES[10:]]
    assert (alone, both) == (20, 10)
    assert judge_mean == pytest.approx(sum(p["gpt"].values()) / 30)
    assert by_mean == pytest.approx(sum(p["ann"].values()) / 10)
    assert value == pytest.approx(sum(rest) / 20 + sum(differences) / 10)
    assert high - value == pytest.approx(value - low)


def _lists(wh: Warehouse, run: str) -> dict[str, list[str]]:
    rows = wh.query(
        "select query_id, list(doc_id order by rank) from predictions where run = $run group by 1",
        run=run,
    ).fetchall()
    return dict(rows)


@pytest.mark.slow
def test_qrels_of_several_judges(tmp_path: Path) -> None:
    """a: 0, 1, 1; b: 0 and 3, a tie; c: only -1; d: -1 and 2, where -1 is no judgment."""
    wh = Warehouse(tmp_path / "rules.duckdb")
    ingest_judgments(wh, "it", {"q": {"a": 0, "b": 0, "c": -1, "d": -1}}, judge="x")
    ingest_judgments(wh, "it", {"q": {"a": 1, "b": 3, "d": 2}}, judge="y")
    ingest_judgments(wh, "it", {"q": {"a": 1}}, judge="z")
    for rule, a, b in (
        ("majority", 1, 0), ("mean", 2 / 3, 3 / 2), ("median", 1, 3 / 2), ("max", 1, 3), ("min", 0, 0),
    ):  # fmt: skip
        done = combine_judges(wh, "it", rule=rule, label=rule, replace=True)
        assert done.num_rows == 4
        rows = wh.query(
            "select doc_id, relevance from qrels_versions where is_current order by doc_id"
        ).fetchall()
        assert rows == [("a", pytest.approx(a)), ("b", b), ("c", -1), ("d", 2)]
    one = combine_judges(wh, "it", "y", replace=True)
    assert (one.num_rows, one.version) == (3, 9)
    assert combine_judges(wh, "it", "y").status == "unchanged"
    with expect_refusal("it", ConflictError):
        combine_judges(wh, "it", "x")
    rows = wh.qrels("it").fetchall()
    assert [row[2] for row in rows] == [False] * 8 + [True]
    assert rows[-1][-1] == "y (version 2)"
    assert rows[3][-1] == "majority of x (version 1), y (version 2), z (version 3)"
    # the current qrels are a judge too, and their grades agree with y's wholly
    assert judges_agree(wh, "it", ["qrels", "y"]).fetchall()[0][4] == 1
    changed = wh.qrels_diff("it", 8, 9)
    assert [(row.change, row.judgments) for row in changed] == [
        ("added", 0), ("removed", 1), ("changed", 2),
    ]  # fmt: skip
    assert wh.verify().is_good


def test_a_lake_takes_no_judges(wh: Warehouse) -> None:
    """There the newest version is current, so a judge would change the board of everyone."""
    pytest.importorskip("warehouse.extensions.lake", reason="without the extension lake")
    wh.ingest_qrels("it", {"q00": {"d00": 1}})
    wh.evaluate("it", metrics="RR", qrels=1)
    wh.evaluate("it", metrics="RR")
    with wh.file.read() as con:
        for sql, number in (("qrels", 1), ("evaluation", len(RUNS)), ("score", len(RUNS))):
            table = "score" if sql == "score" else None
            rows = con.execute(
                render(f"lake/{sql}", known=None, table=table, who="ann", at="2026-01-01")
            ).fetchall()
            assert len(rows) == number, sql


def test_the_group_has_its_old_name_too() -> None:
    assert completed(["judges"]) == ["judgments"]
    assert completed(["judges", "agree", "ann"]) == ["judgments", "agree", "ann"]
    assert completed(["help", "judges"]) == ["judgments", "--help"]
    listed = [one.__name__.rpartition(".")[2] for one in modules()]
    assert (listed.count("judgments"), listed.count("judges")) == (1, 0)
