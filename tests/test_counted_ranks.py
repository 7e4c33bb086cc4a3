"""Ranks found in other ways than by sorting, and those of the first documents only, are the same."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest
from rows import insert

from warehouse import Warehouse
from warehouse.evaluate import hits, stored_hits
from warehouse.evaluate.plan import matched_sql, ranked_sql
from warehouse.evaluate.scope import Scope
from warehouse.metrics import protocols
from warehouse.readers import checks
from warehouse.store import database

pytestmark = pytest.mark.core

SCORES = (-1e300, -1.0, -0.0, 0.0, 1.0, 1.00000001, 2.0, 3.0, 1e300)
PROTOCOLS = ("default", "trec_eval_9", "trec_eval_9_prefs", "rectools")
Row = tuple[int, str, str, float]


@pytest.fixture
def con() -> duckdb.DuckDBPyConnection:
    con = database.memory()
    con.execute("create table scope_judgment (query_id varchar, doc_id varchar, relevance integer)")
    return con


def put(
    con: duckdb.DuckDBPyConnection,
    rng: random.Random,
    listed: Sequence[Row],
    *,
    lowest_first: bool = False,
) -> None:
    """Put the lists of runs in scope, staged in this order, and some judgments."""
    con.execute("delete from scope_judgment")
    docs = [f"d{n}" for n in range(15)]
    judged = [(f"q{q}", d, rng.randint(-1, 2)) for q in range(4) for d in rng.sample(docs, 6)]
    insert(con, "scope_judgment", judged)
    con.execute(
        "create or replace temp table staged "
        "(run_number integer, query_id varchar, doc_id varchar, score double)"
    )
    insert(con, "staged", listed)
    checks.make_rankings(con, together=True)
    checks.walk_staged(con, ranks=False, lowest_first=lowest_first)
    con.execute(
        "create or replace temp type query_key as enum (select query_id from staged_ranking)"
    )
    Scope(con).read_runs(range(7, 13), first=7, together=True, lower_is_better=lowest_first)


def lists(rng: random.Random) -> list[Row]:
    """Return the lists of six runs, in any order of their scores."""
    return [
        (run, f"q{q}", doc, rng.choice(SCORES))
        for run in range(6)
        for q in range(5)
        for doc in rng.sample([f"d{n}" for n in range(15)], rng.randint(0, 12))
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_counting_and_sorting_agree(con: duckdb.DuckDBPyConnection, protocol: str) -> None:
    """Equal scores, scores equal as 32-bit floats, distances, queries without a list or judgments."""
    rng = random.Random(protocol)
    rules = protocols.get(protocol)
    found = 0
    for turn in range(4):
        put(con, rng, lists(rng), lowest_first=turn % 2 == 1)
        by_sorting = con.execute(matched_sql(rules)).fetchall()
        assert con.execute(matched_sql(rules, "counted")).fetchall() == by_sorting
        found += len(by_sorting)
        whole = con.sql(f"from ({ranked_sql(rules)}) order by all")
        rank = whole.columns.index("rank")
        ranked = whole.fetchall()
        for first in (1, 3, 20, 1_000_000):
            cut = con.execute(f"from ({ranked_sql(rules, first)}) order by all").fetchall()
            assert cut == [row for row in ranked if row[rank] <= first], first
    assert found > 100


@pytest.mark.sample(3)
@pytest.mark.parametrize("lowest_first", [False, True], ids=["scores", "distances"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_places_and_sorting_agree(
    con: duckdb.DuckDBPyConnection, protocol: str, lowest_first: bool
) -> None:
    """Lists that stand in order but for equal scores; the runs after one another or query by query."""
    rng = random.Random(protocol)
    rules = protocols.get(protocol)
    in_single = rules.score_precision == "single"
    found = 0
    for turn in range(4):
        best_first = sorted(
            lists(rng),
            # in 32 bits it does not matter how those stand that differ beyond
            key=lambda row: round(row[3]) if in_single else row[3],
            reverse=not lowest_first,
        )
        listed = sorted(best_first, key=lambda row: (row[turn % 2], row[1 - turn % 2]))
        put(con, rng, listed, lowest_first=lowest_first)
        assert not hits.out_of_order(con, rules)
        by_sorting = sorted(con.execute(matched_sql(rules)).fetchall())
        for sparse in (False, True):
            by_place = matched_sql(rules, "placed", sparse=sparse)
            assert sorted(con.execute(by_place).fetchall()) == by_sorting
        found += len(by_sorting)
    assert found > 100


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_lists_without_equal_scores_are_as_they_stand(
    con: duckdb.DuckDBPyConnection, protocol: str
) -> None:
    rules = protocols.get(protocol)
    listed = [(r, f"q{q}", f"d{n}", -float(n)) for r in (0, 1) for q in range(3) for n in range(9)]
    put(con, random.Random(1), listed)
    without = hits.by_place(con, rules, len(listed))
    assert without == matched_sql(rules, "placed", tied=False)
    by_sorting = sorted(con.execute(matched_sql(rules)).fetchall())
    assert sorted(con.execute(without).fetchall()) == by_sorting
    assert len(by_sorting) > 5
    put(con, random.Random(1), [*listed, (1, "q2", "d9", -8.0)])
    assert hits.by_place(con, rules, len(listed)) == matched_sql(rules, "placed", tied=True)


@pytest.mark.parametrize(
    ("rows", "runs"),
    [
        ([(0, "q1", "a", 1.0), (0, "q1", "b", 2.0)], {7}),
        ([(0, "q1", "a", 2.0), (0, "q2", "a", 1.0), (0, "q1", "b", 1.0)], {7}),
        ([(0, "q1", "a", 2.0), (0, "q1", "b", 2.0), (1, "q1", "b", 1.0), (1, "q1", "a", 1.5)], {8}),
        (
            [(0, "q1", "a", 2.0), (1, "q1", "a", 2.0), (1, "q2", "b", 3.0), (1, "q2", "c", 2.0)],
            set(),
        ),
    ],
    ids=[
        "a score rises",
        "a list in two pieces",
        "a score of the second run rises",
        "no list rises",
    ],
)
def test_the_runs_that_are_out_of_order(
    con: duckdb.DuckDBPyConnection, rows: list[Row], runs: set[int]
) -> None:
    """The first run of `put` is number 7, the second 8."""
    put(con, random.Random(1), rows)
    assert hits.out_of_order(con, protocols.get("default")) == runs


def test_of_more_steps_than_are_kept_nothing_is_known(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(con, random.Random(1), [(0, "q1", "a", 2.0), (1, "q1", "a", 2.0), (1, "q1", "b", 2.0)])
    for limit, runs in ((2, set()), (1, {7, 8})):
        monkeypatch.setattr(hits, "STEPS", limit)
        assert hits.out_of_order(con, protocols.get("default")) == runs


def test_steps_that_are_not_all_kept_are_too_many_to_count(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a list begins something is met that is no step: it takes no step's place."""
    monkeypatch.setattr(checks, "STEPS", 2)
    monkeypatch.setattr(hits, "STEPS", 2)
    one_tie = [
        (0, f"q{q}", doc, 1.0 if q == 8 else s) for q in range(9) for s, doc in ((2, "a"), (1, "b"))
    ]
    put(con, random.Random(1), one_tie)
    assert con.execute("from list_step").fetchall() == [(17, "tie")]
    assert hits.out_of_order(con, protocols.get("default")) == set()
    put(con, random.Random(1), [(0, "q1", doc, 1.0) for doc in "abcdefgh"])
    assert hits.out_of_order(con, protocols.get("default")) == {7}


def test_a_distance_that_rises_is_in_order(con: duckdb.DuckDBPyConnection) -> None:
    rows = [(0, "q1", "a", 1.0), (0, "q1", "b", 2.0)]
    put(con, random.Random(1), rows, lowest_first=True)
    rules = protocols.get("default")
    assert hits.out_of_order(con, rules) == set()
    put(con, random.Random(1), rows[::-1], lowest_first=True)
    assert hits.out_of_order(con, rules) == {7}


def test_a_score_that_rises_beyond_32_bits_rises_where_64_count(
    con: duckdb.DuckDBPyConnection,
) -> None:
    """As 32-bit floats they are the same: trec_eval 9 breaks the tie, trec_eval 10 sees none."""
    put(con, random.Random(1), [(0, "q1", "a", 1.0), (0, "q1", "b", 1.00000001)])
    assert not hits.out_of_order(con, protocols.get("trec_eval_9"))
    assert hits.out_of_order(con, protocols.get("trec_eval_10"))


@pytest.mark.parametrize(("protocol", "rr"), [("trec_eval_9", 0.5), ("trec_eval_10", 1.0)])
def test_a_file_with_scores_that_differ_beyond_32_bits(
    tmp_path: Path, protocol: str, rr: float
) -> None:
    """By hand: as 64-bit numbers a is first; as 32-bit ones the two are equal, and b the later id."""
    run = tmp_path / "near.run"
    run.write_text("q1 Q0 b 1 1.0 t\nq1 Q0 a 2 1.00000001 t\n")
    assert Warehouse.score({"q1": {"a": 1}}, run, "RR", protocol=protocol).means() == {"RR": rr}


def test_many_predictions_of_which_few_are_of_judged_documents(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hits, "_SAMPLE", 10)
    listed = [(0, "q1", f"d{n}", -float(n)) for n in range(20)]
    rules = protocols.get("default")
    for judged, sparse in ((["d0", "d5"], True), (["d0", "d5", "d9"], False)):
        put(con, random.Random(1), listed)
        con.execute("delete from scope_judgment")
        insert(con, "scope_judgment", [("q2", doc, 1) for doc in judged])
        assert hits.by_place(con, rules, 999_999) == matched_sql(rules, "placed", tied=False)
        expected = matched_sql(rules, "placed", sparse=sparse, tied=False)
        assert hits.by_place(con, rules, 1_000_000) == expected


def test_lists_are_counted_where_little_is_judged(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("insert into scope_judgment select 'q1', 'd' || i, 1 from range(19) as t (i)")
    con.execute("insert into scope_judgment values ('q2', 'd', 0)")
    assert hits.has_few_judgments(con)
    con.execute("insert into scope_judgment values ('q2', 'e', 0)")
    assert not hits.has_few_judgments(con)


WORDS = {"q1": {"b": 3.0, "c": 2.0, "a": 2.0}, "q2": {"a": 1.0}}
NUMBERS = {"q1": {"9": 3.0, "10": 2.0, "8": 2.0}, "q2": {"10": 1.0}}
DISTANCES = {"q1": {"10": 2.0, "8": 2.0, "9": 3.0}, "q2": {"10": 1.0}}
RISING = {"q1": {"9": 2.0, "8": 3.0}}
RUNS = {"words": WORDS, "numbers": NUMBERS, "distances": DISTANCES, "rising": RISING}


@pytest.mark.long
@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("batch", "names", "sorted_runs"),
    [
        # every run by itself
        (1, ["rising", "words", "numbers", "distances"], ["rising"]),
        # those whose documents are stored alike together, with others between them
        (1_000_000, ["words", "numbers", "words again", "numbers again", "distances"], []),
        # one that is out of order does not keep the others from it
        (
            1_000_000,
            ["words", "rising", "numbers", "rising again", "distances"],
            ["rising", "rising again"],
        ),
    ],
)
def test_stored_runs_are_ranked_by_place_where_they_stand_in_order(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    batch: int,
    names: list[str],
    sorted_runs: list[str],
) -> None:
    """By hand, 8 and a being relevant for q1, 10 and a for q2.

    Equal scores are in the order of the texts, the last first: c before a, and 8 before 10. So the
    reciprocal ranks are 1/3 and 1/1 of WORDS, 1/2 and 1/1 of NUMBERS, 1/1 and 1/1 of DISTANCES, lowest
    first, and 1/1 and 0 of RISING.
    """
    seen: list[int] = []
    in_any_order = hits.in_any_order

    def spy(con: duckdb.DuckDBPyConnection, protocol: protocols.Protocol) -> str:
        seen.extend(row[0] for row in con.execute("select run_id from batch").fetchall())
        return in_any_order(con, protocol)

    monkeypatch.setattr(hits, "in_any_order", spy)
    monkeypatch.setattr(stored_hits, "BATCH_PREDICTIONS", batch)
    wh = Warehouse(tmp_path / "w.duckdb")
    for dataset in ("d", "another"):
        wh.ingest_qrels(dataset, {"q1": {"8": 1, "a": 1}, "q2": {"10": 1, "a": 1}})
    for name in names:
        run = RUNS[name.removesuffix(" again")]
        for dataset in ("another", "d"):
            wh.ingest_run(dataset, run, name=name, lower_is_better=name == "distances")
    wh.evaluate("d", metrics="RR")
    ids = dict(wh.query("select run_id, name from store.run").fetchall())
    assert sorted(ids[run] for run in seen) == sorted_runs
    expected = {"words": [1 / 3, 1], "numbers": [1 / 2, 1], "distances": [1, 1], "rising": [1, 0]}
    for name in names:
        sql = "select value from query_scores where run = $run order by query_id"
        values = [row[0] for row in wh.query(sql, {"run": name}).fetchall()]
        assert values == expected[name.removesuffix(" again")], name
