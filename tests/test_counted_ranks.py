"""Ranks found in other ways than by sorting, and those of the first documents only, are the same."""

from __future__ import annotations

import random
from collections.abc import Sequence

import duckdb
import pytest

from warehouse import protocols
from warehouse.evaluate import hits
from warehouse.evaluate.plan import matched_sql, ranked_sql
from warehouse.protocols import Protocol

pytestmark = pytest.mark.core

SCORES = (-1e300, -1.0, -0.0, 0.0, 1.0, 1.00000001, 2.0, 3.0, 1e300)
PROTOCOLS = ("default", "trec_eval_9", "trec_eval_9_prefs", "rectools")
Row = tuple[int, str, str, float]


@pytest.fixture
def con() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute("create table scope_judgment (query_id varchar, doc_id varchar, relevance integer)")
    con.execute(
        "create table scope_prediction (run_id integer, query_id varchar, doc_id varchar, "
        "score double, position bigint, lower_is_better boolean)"
    )
    return con


def put(con: duckdb.DuckDBPyConnection, rng: random.Random, listed: Sequence[Row]) -> None:
    """Put lists in scope, in this order, of which the second run has distances, and some judgments."""
    con.execute("delete from scope_judgment")
    con.execute("delete from scope_prediction")
    docs = [f"d{n}" for n in range(15)]
    judged = [(f"q{q}", d, rng.randint(-1, 2)) for q in range(4) for d in rng.sample(docs, 6)]
    con.executemany("insert into scope_judgment values (?, ?, ?)", judged)
    con.executemany(
        "insert into scope_prediction values (?, ?, ?, ?, ?, ?)",
        [(*row, place, row[0] == 2) for place, row in enumerate(listed, start=7)],
    )


def lists(rng: random.Random) -> list[Row]:
    """Return the lists of two runs, in any order of their scores."""
    return [
        (run, f"q{q}", doc, rng.choice(SCORES))
        for run in (1, 2)
        for q in range(5)
        for doc in rng.sample([f"d{n}" for n in range(15)], rng.randint(0, 12))
    ]


def in_order(con: duckdb.DuckDBPyConnection, rules: Protocol) -> bool:
    """Walk down the lists and tell whether their ranks are their places."""
    hits.walk(con, rules)
    return hits.of_staged(con, rules, stepped=True) == matched_sql(rules, "placed")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_counting_and_sorting_agree(con: duckdb.DuckDBPyConnection, protocol: str) -> None:
    """Equal scores, scores equal as 32-bit floats, distances, queries without a list or judgments."""
    rng = random.Random(protocol)
    rules = protocols.get(protocol)
    found = 0
    for _ in range(12):
        put(con, rng, lists(rng))
        by_sorting = con.execute(matched_sql(rules)).fetchall()
        assert con.execute(matched_sql(rules, "counted")).fetchall() == by_sorting
        found += len(by_sorting)
        for first in (1, 3, 20, 1_000_000):
            asked = f"from ({ranked_sql(rules)}) where rank <= {first} order by all"
            cut = f"from ({ranked_sql(rules, first)}) order by all"
            assert con.execute(cut).fetchall() == con.execute(asked).fetchall()
    assert found > 100


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_places_and_sorting_agree(con: duckdb.DuckDBPyConnection, protocol: str) -> None:
    """Lists that stand in order but for equal scores; the runs after one another or query by query."""
    rng = random.Random(protocol)
    rules = protocols.get(protocol)
    found = 0
    for turn in range(12):
        best_first = sorted(lists(rng), key=lambda row: row[3] if row[0] == 2 else -row[3])
        put(con, rng, sorted(best_first, key=lambda row: (row[turn % 2], row[1 - turn % 2])))
        assert in_order(con, rules)
        by_sorting = con.execute(matched_sql(rules)).fetchall()
        assert con.execute(matched_sql(rules, "placed")).fetchall() == by_sorting
        found += len(by_sorting)
    assert found > 100


@pytest.mark.parametrize(
    "rows",
    [
        [(1, "q1", "a", 1.0), (1, "q1", "b", 2.0)],
        [(1, "q1", "a", 2.0), (1, "q2", "a", 1.0), (1, "q1", "b", 1.0)],
        [(2, "q1", "a", 2.0), (2, "q1", "b", 1.0)],
    ],
    ids=["a score rises", "a list in two pieces", "a distance falls"],
)
def test_what_is_out_of_order_is_sorted(con: duckdb.DuckDBPyConnection, rows: list[Row]) -> None:
    put(con, random.Random(1), rows)
    assert not in_order(con, protocols.get("default"))


def test_lists_with_a_gap_are_sorted(con: duckdb.DuckDBPyConnection) -> None:
    put(con, random.Random(1), [(1, "q1", "a", 2.0), (1, "q1", "b", 1.0)])
    assert in_order(con, protocols.get("default"))
    con.execute("update scope_prediction set position = position + 1 where doc_id = 'b'")
    assert not in_order(con, protocols.get("default"))


def test_lists_are_counted_where_little_is_judged(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("insert into scope_judgment select 'q1', 'd' || i, 1 from range(19) as t (i)")
    con.execute("insert into scope_judgment values ('q2', 'd', 0)")
    assert hits.has_few_judgments(con)
    con.execute("insert into scope_judgment values ('q2', 'e', 0)")
    assert not hits.has_few_judgments(con)
