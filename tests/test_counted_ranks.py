"""Ranks found in other ways than by sorting, and those of the first documents only, are the same."""

from __future__ import annotations

import random
from collections.abc import Sequence

import duckdb
import pytest
from rows import insert

from warehouse.evaluate import hits
from warehouse.evaluate.chain import matched_sql, ranked_sql
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


@pytest.mark.sample(2)
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
        assert hits.by_position(con, rules, 999_999) == matched_sql(rules, "placed", tied=False)
        expected = matched_sql(rules, "placed", sparse=sparse, tied=False)
        assert hits.by_position(con, rules, 1_000_000) == expected
