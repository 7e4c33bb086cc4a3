"""Ranks found by counting, and those of the first documents only, are those of the sorted lists."""

from __future__ import annotations

import random

import duckdb
import pytest

from warehouse import protocols
from warehouse.evaluate import grounds
from warehouse.evaluate.plan import matched_sql, ranked_sql

pytestmark = pytest.mark.core

SCORES = (-1.0, 1.0, 1.00000001, 2.0, 3.0)


@pytest.fixture
def con() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute("create table scope_judgment (query_id varchar, doc_id varchar, relevance integer)")
    con.execute(
        "create table scope_prediction (run_id integer, query_id varchar, doc_id varchar, "
        "score double, position bigint, lower_is_better boolean)"
    )
    return con


@pytest.mark.parametrize("protocol", ["default", "trec_eval_9", "trec_eval_9_prefs", "rectools"])
def test_counting_and_sorting_agree(con: duckdb.DuckDBPyConnection, protocol: str) -> None:
    """Equal scores, scores equal as 32-bit floats, distances, queries without a list or judgments."""
    rng = random.Random(protocol)
    found = 0
    for _ in range(12):
        con.execute("delete from scope_judgment")
        con.execute("delete from scope_prediction")
        docs = [f"d{n}" for n in range(15)]
        judged = [(f"q{q}", d, rng.randint(-1, 2)) for q in range(4) for d in rng.sample(docs, 6)]
        con.executemany("insert into scope_judgment values (?, ?, ?)", judged)
        listed = [
            (run, f"q{q}", doc, rng.choice(SCORES))
            for run in (1, 2)
            for q in range(5)
            for doc in rng.sample(docs, rng.randint(0, 12))
        ]
        con.executemany(
            "insert into scope_prediction values (?, ?, ?, ?, ?, ?)",
            [(*row, place, row[0] == 2) for place, row in enumerate(listed)],
        )
        rules = protocols.get(protocol)
        by_sorting = con.execute(matched_sql(rules)).fetchall()
        assert con.execute(matched_sql(rules, by_counting=True)).fetchall() == by_sorting
        found += len(by_sorting)
        for first in (1, 3, 20, 1_000_000):
            asked = f"from ({ranked_sql(rules)}) where rank <= {first} order by all"
            cut = f"from ({ranked_sql(rules, first)}) order by all"
            assert con.execute(cut).fetchall() == con.execute(asked).fetchall()
    assert found > 100


def test_lists_are_counted_where_little_is_judged(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("insert into scope_judgment select 'q1', 'd' || i, 1 from range(19) as t (i)")
    con.execute("insert into scope_judgment values ('q2', 'd', 0)")
    assert grounds.has_few_judgments(con)
    con.execute("insert into scope_judgment values ('q2', 'e', 0)")
    assert not grounds.has_few_judgments(con)
