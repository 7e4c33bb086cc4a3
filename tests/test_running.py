"""Running totals of numbers: one after the other, in the order of a list, however long the list is."""

from __future__ import annotations

import random
from itertools import accumulate
from operator import mul

import duckdb
import pytest

from warehouse.sql_text import templates

Numbers = list[float | None]


def running(macro: str, terms: str, where: str = "") -> str:
    text = (
        f"{{{{ {macro}('number', list=['name', 'part'], place='place', terms={terms}{where}) }}}}"
    )
    return templates.environment().from_string(text).render()


def put(con: duckdb.DuckDBPyConnection, lists: dict[str, Numbers], first: int = 1) -> None:
    """Put lists into the table `number`, in no order; some have a null in what tells lists apart."""
    rows = [
        (name, len(found) % 3 or None, place, x)
        for name, found in lists.items()
        for place, x in enumerate(found, first)
    ]
    random.Random(len(rows)).shuffle(rows)
    con.execute("create table number (name varchar, part integer, place bigint, x double)")
    columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * 4
    con.execute(
        "insert into number select unnest($1), unnest($2), unnest($3), unnest($4::double[])",
        columns,
    )


def found(con: duckdb.DuckDBPyConnection, sql: str, column: str) -> dict[str, Numbers]:
    rows = con.execute(f"select name, {column} from ({sql}) order by name, place").fetchall()
    made: dict[str, Numbers] = {}
    for name, value in rows:
        made.setdefault(name, []).append(value)
    return made


@pytest.mark.core
@pytest.mark.parametrize("first", [0, 1])
def test_one_after_the_other_to_the_last_bit(con: duckdb.DuckDBPyConnection, first: int) -> None:
    """A block has 32 places: lists that end within one, with one, and behind one."""
    dice = random.Random(first)
    lengths = (1, 2, 30, 31, 32, 33, 63, 64, 65, 1500)
    lists: dict[str, Numbers] = {
        f"{length}": [dice.uniform(-1, 2) for _ in range(length)] for length in lengths
    }
    put(con, lists, first)
    sums = running("running_sums", "{'so_far': 'x', 'doubled': '2 * x'}")
    assert found(con, sums, "so_far") == {k: list(accumulate(v)) for k, v in lists.items()}
    doubled = {k: list(accumulate(2 * x for x in v)) for k, v in lists.items()}
    assert found(con, sums, "doubled") == doubled
    before = {k: [1.0, *accumulate(v, mul)][:-1] for k, v in lists.items()}
    assert found(con, running("products_before", "{'before': 'x'}"), "before") == before
    # another order would be seen
    backwards = {k: list(accumulate(reversed(v)))[-1] for k, v in lists.items()}
    assert backwards != {k: list(accumulate(v))[-1] for k, v in lists.items()}


@pytest.mark.core
def test_what_is_null_adds_nothing(con: duckdb.DuckDBPyConnection) -> None:
    put(con, {"a": [None, 0.5, None, 0.25], "b": [None] * 300 + [3.0], "c": [None]})
    sums = found(con, running("running_sums", "{'so_far': 'x'}"), "so_far")
    assert sums == {"a": [0, 0.5, 0.5, 0.75], "b": [0.0] * 300 + [3.0], "c": [0.0]}
    products = found(con, running("products_before", "{'before': 'x'}"), "before")
    assert products == {"a": [1, 1, 0.5, 0.5], "b": [1.0] * 301, "c": [1.0]}


@pytest.mark.core
def test_only_some_rows_count(con: duckdb.DuckDBPyConnection) -> None:
    """The others stay, without a total."""
    put(con, {"a": [0.5, 0.0, 4.0, 0.0, 0.25], "b": [0.0] * 100, "c": [2.0] + [0.0] * 98 + [3.0]})
    sums = found(con, running("running_sums", "{'so_far': 'x'}", ", where='x > 0'"), "so_far")
    assert sums["a"] == [0.5, None, 4.5, None, 4.75]
    assert sums["b"] == [None] * 100
    assert sums["c"] == [2.0, *[None] * 98, 5.0]


def test_a_row_without_a_place_stands_alone(con: duckdb.DuckDBPyConnection) -> None:
    """It stands for a ranking without judged documents."""
    con.execute(
        "create table number as select 'a' as name, 1 as part, null::int as place, 2e0 as x"
    )
    assert found(con, running("running_sums", "{'so_far': 'x'}"), "so_far") == {"a": [2.0]}
    assert found(con, running("products_before", "{'before': 'x'}"), "before") == {"a": [1.0]}


@pytest.mark.parametrize("macro", ["running_sums", "products_before"])
def test_a_long_list_takes_little_memory(con: duckdb.DuckDBPyConnection, macro: str) -> None:
    """All numbers down to each of 50,000 places, at once, would be 10 GB."""
    con.execute("set memory_limit = '100MB'")
    con.execute(
        "create table number as select 'a' as name, 1 as part, place, 1e0 as x "
        "from range(50_000) as _(place)"
    )
    totals = running(macro, "{'total': 'x'}")
    sql = f"select count(*), min(total), max(total) from ({totals})"
    most = 50_000 if macro == "running_sums" else 1
    assert con.execute(sql).fetchall() == [(50_000, 1, most)]
