"""The values of a metric in Python: its function called for each ranking, the values kept as a table."""

from __future__ import annotations

import math
from typing import Any

import duckdb

from warehouse.errors import WarehouseError
from warehouse.metrics.notation import Metric
from warehouse.sql_text.quoting import ident

# So many rankings are in memory as Python objects at once.
_BATCH = 10_000


def compute(con: duckdb.DuckDBPyConnection, metric: Metric, query: str, table: str) -> None:
    """Make a scratch table `run_id, query_id, value` by calling a function for each of the lists."""
    lists = ident(f"{table}_lists")
    con.execute(f"create or replace temp table {lists} as\n{query}")
    con.execute(
        f"create or replace temp table {ident(table)} as "
        f"select run_id, query_id, null::double as value from {lists} limit 0"
    )
    try:
        ((count,),) = con.execute(f"select count(*) from {lists}").fetchall()
        for first in range(0, count, _BATCH):
            rows = con.execute(
                "select rowid, query_id, num_ret, ranks, grades, judged "
                f"from {lists} where rowid >= ? and rowid < ?",
                [first, first + _BATCH],
            ).fetchall()
            values = [_value(metric, *row[1:]) for row in rows]
            con.execute(
                f"insert into {ident(table)} select run_id, query_id, value from {lists} as lists "
                "join (select unnest(?::bigint[]) as number, unnest(?::double[]) as value) as computed "
                "on computed.number = lists.rowid",
                [[row[0] for row in rows], values],
            )
    finally:
        con.execute(f"drop table {lists}")


def _value(
    metric: Metric,
    query: object,
    num_ret: int,
    ranks: list[int] | None,
    found: list[float] | None,
    judged: list[float] | None,
) -> float | None:
    """Return the value of one ranking. Raises WarehouseError if the function fails."""
    function = metric.definition.function
    assert function is not None, f"{metric} is no metric in Python"
    grades: list[float | None] = [None] * num_ret
    for rank, grade in zip(ranks or (), found or (), strict=True):
        grades[rank - 1] = grade
    given: dict[str, Any] = {key: metric.params[key] for key in function.keywords}
    where = f"{metric}: {metric.definition.where}"
    try:
        value = function.call(grades, list(judged or ()), **given)
        number = None if value is None else float(value)  # type: ignore[arg-type]
    except Exception as error:
        raise WarehouseError(
            f"{where} fails for query {query}: {type(error).__name__}: {error}"
        ) from error
    if number is not None and not math.isfinite(number):
        raise WarehouseError(
            f"{where} returns {number} for query {query}; it must return a finite number or None"
        )
    return number
