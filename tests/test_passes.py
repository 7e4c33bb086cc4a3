"""Metrics that one pass over a table serves have the values that each has by itself."""

from __future__ import annotations

import random
import struct

import pytest

from warehouse.evaluate import engine
from warehouse.evaluate.passes import passes
from warehouse.metrics import notation
from warehouse.store import database
from warehouse.warehouse import Warehouse

ONE_PASS = "RR RR@10 RR(rel=2) Success@1 Success@10 IPrec@0.0 IPrec@0.5 IPrec@1.0 NumRelRet"
STEPS = (
    "P@5 P@10 P(no_relevant=1)@5 P(norm=retrieved)@5 R@1 R@10 SetR Rprec "
    "Rprec(multiple=0.4) Utility SetF"
)
OTHERS = "AP AP@5 nDCG nDCG@10 bpref P(aggregate=pooled)@5 R(aggregate=pooled)@10 RBP ERR@10"


def collection(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    rng = random.Random(seed)
    documents = [f"d{n}" for n in range(40)]
    qrels = {
        f"q{q}": {doc: rng.choice([-1, 0, 0, 1, 2]) for doc in rng.sample(documents, 15)}
        for q in range(12)
    }
    run = {
        f"q{q}": {doc: float(rng.randrange(9)) for doc in rng.sample(documents, 25)}
        for q in range(2, 14)
    }
    return qrels, run


def bits(rows: list[tuple[str, str, str, float | None]]) -> dict[tuple[str, ...], bytes | None]:
    return {
        (run, query, metric): None if value is None else struct.pack("<d", value)
        for run, query, metric, value in rows
    }


@pytest.mark.slow
def test_values_are_those_of_each_by_itself() -> None:
    """Of runs that are silent on queries, with each of the metrics' values asked of both at once."""
    (qrels, run), (_, other) = collection(1), collection(2)
    asked = f"{ONE_PASS} {STEPS} {OTHERS}"
    together = Warehouse.score(qrels, [run, other], asked).relation.fetchall()
    alone = [
        row
        for one in asked.split()
        for row in Warehouse.score(qrels, [run, other], one).relation.fetchall()
    ]
    assert len(together) == len(alone) > 400
    assert bits(together) == bits(alone)


def step(
    columns: str = "n, count(*) filter (where x) as m",
    source: str = "t",
    value: str = "m / n",
    end: str = "",
) -> str:
    return (
        f"with s as (select run_id, query_id, {columns} from {source} group by run_id, query_id, n) "
        f"select run_id, query_id, {value} as value from s{end}"
    )


def test_names_of_columns_differ_within_a_pass() -> None:
    """By hand: a name is that of its own metric, a function of that name stays a function."""
    given = [
        step(value="m / (n + 1)"),
        step(columns="n, max(x) as m", value="n(m) - m / n"),
        step(columns="n, list_sum([1, coalesce(max(x), 0)]) as m", value="m"),
        step(source="u"),
        step(value="sum(m) / sum(n)", end=" group by run_id, query_id"),
    ]
    found = passes([(number, 0.0, query) for number, query in enumerate(given)])
    assert [[value.number for value in one.values] for one in found] == [[0, 1, 2], [3], [4]]
    assert [value.sql for value in found[0].values] == [
        "column_1 / (column_0 + 1)",
        "n(column_2) - column_2 / column_0",
        "column_3",
    ]
    assert found[0].columns["column_3"] == ["list_sum([1, coalesce(max(x), 0)])"]
    assert found[2].again
    undefined = passes([(0, 0.0, step()), (1, None, step())])
    assert [[value.undefined for value in one.values] for one in undefined] == [[0.0, None]]


@pytest.mark.parametrize(
    "query",
    [
        step(source="t where x > 1"),
        step(source="t join u using (y)"),
        step(end=" where m > 1"),
        step(end=" group by run_id, query_id having sum(m) > 1"),
        step(end=" group by run_id"),
        step(value="m / sum(n) over ()"),
        step(columns="n, row_number() over () as m"),
        step(columns="n, unnest([1, 2]) as m"),
        step(columns="n, (select 2) as m"),
        step(columns="n, max(case when x = 'a, b' then 1 end) as m"),
        step(columns="n, count(*) -- all\n as m"),
        step(columns="n, count(*)"),
        step(columns="*, 1 as m"),
        step(columns="n, 1 as metric_number, 2 as m"),
        step(columns="n, 1 as m, 2 as m"),
        step(columns="n, max(x) as m, m - 1 as o"),
        step().replace("from s", "from other"),
        "select run_id, query_id, 1 as value from t",
        "select run_id, query_id, value from t group by run_id, query_id",
        "select run_id, query_id, max(x) as value from t where x > 1 group by run_id, query_id",
        "select run_id, query_id, max(x) as value from t group by run_id, query_id having max(x) > 1",
        "select run_id, query_id, max(x) as value from t group by grouping sets ((run_id), (query_id))",
        "select run_id, query_id, max(x) as value from t join u using (y) group by run_id, query_id",
        "with t as (from u) select run_id, query_id, max(x) as value from t group by run_id, query_id",
        # two queries in one, and a query within the expression
        "select run_id, query_id, 1 as value from u union all "
        "select run_id, query_id, max(x) as value from t group by run_id, query_id",
        "select run_id, query_id, max(x) / (select 2) as value from t group by run_id, query_id",
        "select run_id, query_id, max(x) -- best\n as value from t group by run_id, query_id",
        "select run_id, query_id, max(x) /* best */ as value from t group by run_id, query_id",
    ],
)
def test_what_is_more_than_an_expression_is_computed_by_itself(query: str) -> None:
    found = passes([(0, 0.0, query), (1, 0.0, query)])
    assert [(one.source, one.is_query) for one in found] == [(query, True)] * 2


@pytest.mark.parametrize(
    ("limit", "sizes"), [("100MB", [3, 3, 1]), ("10MB", [1] * 7), ("1GB", [7]), ("-1", [7])]
)
def test_a_statement_computes_what_the_memory_limit_allows(limit: str, sizes: list[int]) -> None:
    """100 MB are 195,312 values of 512 bytes: those of 3 metrics for 50,000 queries."""
    con = database.memory(database.Resources(memory_limit="1GB"))
    con.execute("create temp table scope_run as select 1 as run_id")
    con.execute("create temp table scope_judgment as select range as query_id from range(50000)")
    con.execute(f"set memory_limit = '{limit}'")
    asked = notation.parse("AP RR P@1 P@2 P@3 P@4 P@5")
    rows = [(number, metric, "") for number, metric in enumerate(asked)]
    assert [len(batch) for batch in engine._batches(con, rows)] == sizes
