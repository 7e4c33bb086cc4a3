"""How much rankings agree: by hand, against SciPy, rbo and the papers in plain Python."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import duckdb
import oracles_agreement as twin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from projects import BEST, Folder, command
from quick import examples
from refusals import expect_refusal

from warehouse.analyze.agreement import MEASURES
from warehouse.errors import UsageError
from warehouse.sql_text.templates import render
from warehouse.store import database
from warehouse.warehouse import Warehouse

GOLDEN = json.loads((Path(__file__).parent / "golden_peers" / "repro_eval.json").read_text())
CLOSE = {"rel": 1e-9, "abs": 1e-12}


def close(expected: float | None) -> object:
    """Return what a value equals that is near to this one; None where it is undefined."""
    return None if expected is None else pytest.approx(expected, **CLOSE)


def run_of(**lists: str) -> dict[str, dict[str, float]]:
    """Return a run whose lists are words: `q="cab"` ranks c, a, b."""
    return {q: {doc: -float(rank) for rank, doc in enumerate(word)} for q, word in lists.items()}


def compare(wh: Warehouse, one: dict, other: dict, **asked: Any) -> dict[str, dict[str, Any]]:
    """Load two runs and return their agreement by query."""
    wh.ingest_run("tiny", one, name="one")
    wh.ingest_run("tiny", other, name="other")
    return by_query(wh.agree("tiny", ["one", "other"], **asked).queries)


def by_query(relation: duckdb.DuckDBPyRelation) -> dict[str, dict[str, Any]]:
    rows = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
    return {row["query_id"]: row for row in rows}


def orders(*values: dict[str, float | None], directions: str = "", **asked: Any) -> list[dict]:
    """Return what the analysis says of metrics m0, m1 … with these values by run."""
    with database.memory() as con:
        con.execute(
            "create table scores (dataset varchar, metric varchar, protocol varchar, "
            "run varchar, direction varchar, value double, is_current boolean)"
        )
        for number, found in enumerate(values):
            direction = "lower" if directions[number : number + 1] == "<" else "higher"
            for run, value in found.items():
                con.execute(
                    "insert into scores values ('d', $1, 'p', $2, $3, $4, true)",
                    [f"m{number}", run, direction, value],
                )
        relation = con.sql(
            render("analyses/agree_runs", **{"by": "metric", "against": None, "p": 0.9} | asked),
            params={
                "names": [f"m{number}" for number in range(len(values))],
                "metrics": [f"m{number}" for number in range(len(values))],
                "datasets": ["d"],
                "runs": [],
                "protocol": "p",
            },
        )
        return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def test_over_the_union_a_document_that_a_list_lacks_is_below_its_end(wh: Warehouse) -> None:
    """ab against ac: a b c is 1 2 3 there and 1 3 2 here: tau (2 - 1)/3. Of both there is only a.

    abc against a: b and c are tied in the second list, so of three pairs it orders two: 2/sqrt(3 * 2).
    """
    lists = run_of(q="ab", r="abc"), run_of(q="ac", r="a")
    found = compare(wh, *lists, over="union")
    assert found["q"]["tau_b"] == pytest.approx(1 / 3)
    assert found["r"]["tau_b"] == pytest.approx(2 / math.sqrt(6))
    # above b and c of the first list: a, right; a right, b tied in the second: 1/2
    assert found["r"]["tau_ap"] == pytest.approx(2 * (1 + 1 / 2) / 2 - 1)
    # below a in the second: both have it above in the first
    assert found["r"]["tau_ap_b"] == pytest.approx((1 / 2 + 1) / 2)
    inside = by_query(wh.agree("tiny").queries)
    assert (inside["q"]["tau_b"], inside["q"]["tau_ap"]) == (None, None)
    assert inside["r"]["rbo_ext"] == 1.0


@pytest.mark.core
def test_orders_of_runs_by_hand() -> None:
    """By m0 the runs are a > b > c > d, by m1 a > b = c > d, and d is best by the lower m2.

    m0, m1: five of six pairs in the same order, one tied in m1: 5/sqrt(6 * 5). Down m0: above b a,
    right; above c a right, b tied: 1/2; above d all: 2/3 * (1 + 1/2 + 1) - 1 = 2/3. Down m1: above b
    and c only a, which is right, above d all: 1. To depth 2 there are a, b and a, b, c, for b and c
    come at once: 2 * 2/(2 + 3); else all is alike. p = 1/2: 1/2 + 4/5 * 1/4 + 1/8 + 1/16 + 1/16 = 19/20.
    """
    m0 = {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}
    m1 = {"a": 0.9, "b": 0.5, "c": 0.5, "d": 0.1}
    m2 = {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0, "e": 9.0}
    first, turned, _ = orders(m0, m1, m2, directions=">><", p=0.5)
    assert (first["metric"], first["other"], first["runs"]) == ("m0", "m1", 4)
    assert first["tau_b"] == pytest.approx(5 / math.sqrt(30))
    assert first["tau_ap"] == pytest.approx(2 / 3)
    assert first["tau_ap_b"] == pytest.approx(5 / 6)
    assert first["rbo_ext"] == pytest.approx(19 / 20)
    assert (first["swapped_pairs"], first["left_out"]) == (0, 0)
    assert (turned["tau_b"], turned["tau_ap"], turned["swapped_pairs"]) == (-1.0, -1.0, 6)
    assert turned["left_out"] == 1


# What ircor, the authors' R package, has in its tests: scores of ten items, to four digits.
IRCOR = [
    (
        [0.9, 0.4, 0.9, 0.9, 0.7, 0.1, 0.2, 0.4, 0.5, 1],
        [0.8, 0.4, 0.8, 1, 0.7, 0.1, 0.4, 0.5, 0.6, 1],
        0.9398,
        0.7321,
    ),
    (
        [0.3, 0.6, 0.2, 0.9, 0.6, 0.2, 0.7, 0.8, 0.7, 0.4],
        [0.3, 0.8, 0.7, 0.9, 0.1, 0.1, 0.5, 0.6, 1, 0.6],
        0.3765,
        0.297,
    ),
    (
        [0.2, 0.6, 0.9, 0.1, 0.5, 0.6, 0.8, 0.4, 1, 0.4],
        [0.8, 0.3, 0.3, 0.9, 0.6, 0.3, 0.2, 0.9, 0, 0.2],
        -0.6510,
        -0.7047,
    ),
    (
        [0.897, 0.372, 0.908, 0.898, 0.661, 0.062, 0.177, 0.384, 0.498, 0.992],
        [0.82, 0.406, 0.817, 0.953, 0.673, 0.073, 0.364, 0.547, 0.589, 0.988],
        0.9111,
        0.8333,
    ),
]


@pytest.mark.parametrize(("x", "y", "tau", "tau_ap"), IRCOR)
def test_ties_are_those_of_urbano_and_marrero(
    x: list[float], y: list[float], tau: float, tau_ap: float
) -> None:
    named = [{f"r{n}": value for n, value in enumerate(values)} for values in (x, y)]
    (row,) = orders(*named)
    assert row["tau_b"] == pytest.approx(tau, abs=5e-5)
    assert row["tau_ap_b"] == pytest.approx(tau_ap, abs=5e-5)


@pytest.mark.slow
def test_kendalls_tau_is_scipys_on_every_query_of_the_demo(demo: Warehouse) -> None:
    stats = pytest.importorskip("scipy.stats")
    rows = demo.query(
        "select run, query_id, list(doc_id order by rank) from predictions "
        "where run in ('bm25', 'tasb', 'rr_v2aug_bm25') group by all"
    ).fetchall()
    lists = {(run, query): docs for run, query, docs in rows}
    for over in ("intersection", "union"):
        found = demo.agree("dl19", ["bm25", "tasb", "rr_v2aug_bm25"], over=over).queries.fetchall()
        assert len(found) == 3 * 43
        for run, other, query, tau, *_ in found:
            one, two = twin.compared(lists[run, query], lists[other, query], over)
            theirs = stats.kendalltau([one[d] for d in one], [two[d] for d in one]).statistic
            assert tau == pytest.approx(theirs, **CLOSE)


@pytest.mark.slow
@pytest.mark.core
def test_random_lists_are_as_the_papers_say(wh: Warehouse) -> None:
    """Lists of all lengths, ends and overlaps, and orders of runs with ties, one collection each."""
    rng = random.Random(8)
    one, other = {}, {}
    for number in range(60):
        pool = [f"d{n}" for n in range(rng.randint(1, 30))]
        one[f"q{number}"] = rng.sample(pool, rng.randint(1, len(pool)))
        other[f"q{number}"] = rng.sample(pool, rng.randint(1, len(pool)))
    as_run = [
        {q: {d: -float(n) for n, d in enumerate(docs)} for q, docs in run.items()}
        for run in (one, other)
    ]
    for over, p in (("intersection", 0.8), ("union", 0.98)):
        wh.path.unlink(missing_ok=True)
        found = compare(wh, *as_run, over=over, p=p)
        assert len(found) == 60
        for query, row in found.items():
            lists = one[query], other[query]
            spots = twin.compared(*lists, over)
            expected = {
                "tau_b": twin.tau_b(*spots),
                "tau_ap": twin.tau_ap(*spots),
                "tau_ap_b": twin.tau_ap_b(*spots),
                "rbo_ext": twin.rbo_ext(*lists, p),
                "rbo_min": twin.rbo_min(*lists, p),
                "rbo_residual": twin.rbo_max(*lists, p) - twin.rbo_min(*lists, p),
            }
            for measure in MEASURES:
                assert row[measure] == close(expected[measure]), (query, measure)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12),
    st.sampled_from([0.5, 0.9, 0.99]),
)
@examples(12)
def test_orders_of_runs_are_as_the_papers_say(values: list[tuple[int, int]], p: float) -> None:
    one = {f"r{n}": float(x) for n, (x, _) in enumerate(values)}
    other = {f"r{n}": float(y) for n, (_, y) in enumerate(values)}
    same, turned = orders(one, other, other, directions="<<>", p=p)[:2]
    expected = twin.tau_b(one, other)
    assert same["tau_b"] == close(expected)
    assert same["tau_ap"] == close(twin.tau_ap(one, other))
    assert same["tau_ap_b"] == close(twin.tau_ap_b(one, other))
    assert same["rbo_ext"] == close(twin.rbo_of_orders(one, other, p))
    # the other way round tau changes its sign
    assert turned["tau_b"] == close(None if expected is None else -expected)


def test_means_are_over_the_queries_that_both_answer(wh: Warehouse) -> None:
    wh.ingest_run("tiny", run_of(q="ab", r="ab", s="a", t="a"), name="one")
    wh.ingest_run("tiny", run_of(q="ab", r="ba", s="a", u="a"), name="other")
    found = wh.agree("tiny")
    columns = "tau_b, rbo_ext, common, queries, undefined, only_one"
    ((tau, rbo, *counts),) = found.relation.project(columns).fetchall()
    # tau 1, -1 and undefined; overlap 1, 1/10 * 0 + 9/10 and 1
    assert (tau, counts) == (0.0, [5 / 3, 3, 1, 2])
    assert rbo == pytest.approx((1 + 0.9 + 1) / 3)
    assert found.notes == (
        "queries that only one of two runs answers are left out: one and other 2",
        "tau is undefined for queries with fewer than two documents in both lists: "
        "one and other 1 of 3",
    )


def test_runs_without_a_query_in_common_have_a_row_that_says_so(wh: Warehouse) -> None:
    wh.ingest_run("tiny", run_of(q="ab"), name="one")
    wh.ingest_run("tiny", run_of(r="ab"), name="other")
    found = wh.agree("tiny")
    ((*values, queries, undefined, only_one),) = found.relation.fetchall()
    assert values == ["one", "other", *[None] * 7]
    assert (queries, undefined, only_one) == (0, 0, 2)
    assert found.notes[0] == "no common query, so no value: one and other"


def test_the_order_is_the_protocols(wh: Warehouse) -> None:
    """Equal scores stand by id, descending or as they come; a protocol's depth and --depth both cut."""
    wh.ingest_run("tiny", {"q": {"a": 1.0, "b": 1.0, "c": 0.0}}, name="tied")
    wh.ingest_run("tiny", run_of(q="abc"), name="strict")
    tau = "tau_b, common"
    assert wh.agree("tiny").relation.project(tau).fetchall() == [(1 / 3, 3.0)]
    by_input = wh.agree("tiny", protocol="rectools").relation
    assert by_input.project(tau).fetchall() == [(1.0, 3.0)]
    assert wh.agree("tiny", depth=1).relation.project(tau).fetchall() == [(None, 0.0)]


@pytest.mark.slow
def test_datasets_are_compared_by_the_runs_that_both_have(demo: Warehouse) -> None:
    rows = demo.query("from qrels").fetchall()
    demo.ingest_qrels("other", {rows[0][2]: {rows[0][3]: 3}})
    for run, docs in (("bm25", "ab"), ("tasb", "ba"), ("alone", "a")):
        first = rows[0][3]
        demo.ingest_run("other", {rows[0][2]: {first if d == "a" else d: -float(n)
                                      for n, d in enumerate(docs)}}, name=run)  # fmt: skip
    demo.evaluate("other", metrics="nDCG@10 Judged@10")
    demo.evaluate("dl19", metrics="Judged@10")
    found = demo.agree(["dl19", "other"], of="runs", metrics="nDCG@10")
    ((*row,),) = found.relation.project(
        "metric, dataset, other, tau_b, runs, swapped_pairs, left_out"
    ).fetchall()
    # tasb is better than bm25 in dl19, and worse in other; eight runs are in one of them only
    assert row == ["nDCG@10", "dl19", "other", -1.0, 2, 1, 8]
    left_out = "left out, because they have only one of the values:"
    assert found.notes == (f"{left_out} nDCG@10 in dl19 and other 8 runs",)
    # one of two documents is judged in either list of other
    assert demo.agree(["dl19", "other"], of="runs", metrics="nDCG@10 Judged@10").notes == (
        f"{left_out} Judged@10 in dl19 and other 8 runs, nDCG@10 in dl19 and other 8 runs",
        "undefined, because there are fewer than two runs or all values are equal: "
        "Judged@10 in dl19 and other",
    )


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"runs": ["bm26"]}, "bm26 … bm25"),
        ({"runs": "bm25"}, "agreement needs two runs; name another beside bm25"),
        ({"against": "tasp"}, "tasp … tasb"),
        ({"p": 1.0}, "lies between 0 and 1, not 1.0"),
        ({"depth": 0}, "depth is at least 1, not 0"),
        ({"over": "unions"}, "unions … union"),
        ({"of": "run"}, "run … runs"),
        ({"metrics": "AP"}, "ask for the agreement of runs"),
        ({"of": "runs", "depth": 5}, "are for lists of documents"),
        ({"of": "runs", "metrics": "nDCG@10"}, "agreement needs two metrics"),
        ({"of": "runs", "against": "nDCG@1"}, "nDCG@1 … nDCG@10"),
        ({"of": "runs", "runs": ["bm26"]}, "bm26 … bm25"),
        ({"of": "runs", "p": 0}, "lies between 0 and 1, not 0"),
    ],
)
def test_wrong_words_are_refused(demo: Warehouse, asked: dict, message: str) -> None:
    with expect_refusal(message):
        demo.agree("dl19", **asked)


@pytest.mark.slow
def test_what_puts_runs_in_no_order_is_refused_or_left_out(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    wh.ingest_run("tiny", run_of(q="ab"), name="one")
    wh.ingest_run("tiny", run_of(q="ba"), name="two")
    wh.evaluate(metrics="RR P@1 Volume")
    found = wh.agree("tiny", of="runs")
    assert found.relation.project("metric, other").fetchall() == [("RR", "P@1")]
    with pytest.raises(UsageError, match="Volume: neither higher nor lower is better"):
        wh.agree("tiny", of="runs", metrics="RR Volume")


@pytest.mark.slow
def test_values_by_an_older_formula_are_told(here: Folder, loaded: Warehouse) -> None:
    loaded.evaluate(metrics="Best@2 RR")
    assert loaded.agree("tiny", of="runs").notes == ()
    here.metric(BEST.replace("max(relevance)", "2 * max(relevance)"))
    loaded.evaluate(metrics="Best@2", runs="one")
    assert loaded.agree("tiny", of="runs").notes == (
        "Best@2 in tiny: 1 run with a value by an older formula than the others: "
        "warehouse evaluate -d tiny -m Best@2",
    )
    assert loaded.agree("tiny", of="runs", runs=["one"]).notes[1:] == ()


@pytest.mark.slow
def test_the_command(demo: Warehouse) -> None:
    db = ("--db", str(demo.path), "-f", "csv")
    ((few,),) = demo.query(
        "select count(*) from (select query_id, count(*) filter (where number = 2) as shared from "
        "(select query_id, doc_id, count(*) as number from predictions where rank <= 10 "
        "and run in ('tasb', 'bm25') group by all) group by query_id) where shared < 2"
    ).fetchall()
    code, out, told = command("agree", "tasb", "bm25", "-d", "dl19", "--depth", "10", *db)
    header, row = out.splitlines()
    assert (code, told) == (
        0,
        "tau is undefined for queries with fewer than two documents in both lists: "
        f"tasb and bm25 {few} of 43\n",
    )
    assert header.split(",") == demo.agree("dl19").relation.columns
    assert row.startswith("tasb,bm25,")
    code, out, _ = command("agree", "-d", "dl19", "--against", "bm25", "--by-query", *db)
    assert (code, len(out.splitlines())) == (0, 1 + 8 * 43)
    # a metric is named as everywhere
    arguments = ("agree", "-d", "dl19", "--of", "runs", "--against")
    assert command(*arguments, "ndcg_cut_10", *db) == command(*arguments, "nDCG@10", *db)
    code, out, _ = command("agree", "-d", "dl19", "--of", "runs", "--against", "nDCG@10", *db)
    assert [line.split(",")[1] for line in out.splitlines()[1:]] == ["nDCG@10"] * 4
    code, _, told = command("agree", "-d", "dl19", "--of", "runs", "--by-query", *db)
    assert (code, "orders of runs are over all queries" in told) == (2, True)


PREDICTED = {
    "q1": {"length": 2, "idf": 1.5}, "q2": {"length": 5, "idf": 0.5}, "q3": {"length": 2, "idf": 2.5},
    "q4": {"length": 9, "kind": "who"},
}  # fmt: skip


def test_predictors_by_hand_and_as_scipy_computes_them(tmp_path: Path) -> None:
    stats = pytest.importorskip("scipy.stats")
    wh = Warehouse(tmp_path / "w.duckdb")
    # RR of one: 1, 1/2, 1/2, 1/4; of two: 1, 0, 1, 1/3
    wh.ingest_qrels("d", {q: {"a": 1} for q in PREDICTED})
    wh.ingest_run("d", run_of(q1="a", q2="xa", q3="xa", q4="xyza"), name="one")
    wh.ingest_run("d", run_of(q1="a", q2="x", q3="a", q4="xya"), name="two")
    wh.ingest_attributes("d", PREDICTED, of="queries", name="about")
    found = wh.agree("d", of="queries", against="length", metrics="RR").fetchall()
    values = {"one": [1, 1 / 2, 1 / 2, 1 / 4], "two": [1, 0, 1, 1 / 3]}
    lengths = [2, 5, 2, 9]
    assert [row[:3] for row in found] == [("length", run, "RR") for run in values]
    for *_, run, _metric, pearson, spearman, tau, queries, left_out in found:
        assert pearson == close(stats.pearsonr(lengths, values[run]).statistic)
        assert spearman == close(stats.spearmanr(lengths, values[run]).statistic)
        assert tau == close(stats.kendalltau(lengths, values[run]).statistic)
        assert (queries, left_out) == (4, 0)
    # of one, five pairs have two lengths, four of them in the opposite order, and q2, q3 are tied:
    # -4 / sqrt(5 * 5)
    assert found[0][5] == close(-4 / 5)
    result = wh.agree("d", of="queries", metrics="RR", runs="one")
    assert [(row.attribute, row.queries, row.left_out) for row in result] == [
        ("idf", 3, 1), ("length", 4, 0),
    ]  # fmt: skip
    assert any("kind" in note for note in result.notes)
    with expect_refusal("lenght … length"):
        wh.agree("d", of="queries", against="lenght")
    with expect_refusal("kind"):
        wh.agree("d", of="queries", against="kind", metrics="RR")
    with expect_refusal("depth"):
        wh.agree("d", of="queries", depth=3)


def test_correlations_are_scipys_with_ties_and_gaps(tmp_path: Path) -> None:
    stats = pytest.importorskip("scipy.stats")
    draw = random.Random(3)
    queries = [f"q{n}" for n in range(30)]
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_qrels("d", {q: {"a": 1} for q in queries})
    values = {q: draw.randint(1, 5) for q in queries}
    wh.ingest_run("d", run_of(**{q: "xyzuv"[: n - 1] + "a" for q, n in values.items()}), name="r")
    numbers = {q: {f"n{k}": draw.randint(0, k) for k in range(8)} for q in queries}
    for q in queries[:7]:
        del numbers[q]["n5"]
    wh.ingest_attributes("d", numbers, of="queries", name="about")
    rows = wh.agree("d", of="queries", metrics="AvgRank").fetchall()
    assert len(rows) == 8
    for attribute, _run, _metric, *found, number, left_out in rows:
        both = [q for q in queries if attribute in numbers[q]]
        assert (number, left_out) == (len(both), 30 - len(both))
        ones = [numbers[q][attribute] for q in both]
        others = [values[q] for q in both]
        if len(set(ones)) == 1:
            assert found == [None, None, None]
            continue
        tests = stats.pearsonr, stats.spearmanr, stats.kendalltau
        assert found == [close(test(ones, others).statistic) for test in tests]
