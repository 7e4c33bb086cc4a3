"""Running a plan: the one module where metrics are computed, for stored runs and for files alike.

The engine works on the tables that its caller has filled by `Scope`, and on `pending
(evaluation_id, run_id, metric_number, kind, aggregate)`, which says what is to be computed. It writes
to `query_score` and `score`, or to `curve_point`: a curve is computed as a metric is, and
gives its points, those of all queries with no query_id. A metric that is pooled gives, next to the rows
of its queries, one row for each run with no query_id: the value over all queries. Metrics that differ
only in how their queries are put together have the same rows, which are computed once. What queries
weigh stays in the temporary table `query_weight (metric_number, query_id, weight)`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress

import duckdb

from warehouse.errors import UsageError, counted, listing
from warehouse.evaluate import project_metrics, python_values
from warehouse.evaluate.chain import chain, table_query
from warehouse.evaluate.plan import Plan
from warehouse.metrics.notation import Metric
from warehouse.sql_text.quoting import ident
from warehouse.sql_text.templates import render

# Scratch tables: rows of metrics that are read again, numbered, and values over all queries of
# pooled metrics.
_ROWS = "metric_rows"
_POOLED = "pooled_score"
# The most that one statement computes: values, which bounds its memory, and metrics, since the time
# that DuckDB needs to plan a statement grows faster than their number. What an aggregate of a query
# keeps is never spilled, so that each value needs some of the memory that there may be; so many always
# fit.
_VALUES = 4_000_000
_FEW = 10_000
_METRICS = 100
_BYTES = 512


def compute(
    con: duckdb.DuckDBPyConnection,
    work: Plan,
    *,
    part: str | None = None,
    ready: frozenset[int] = frozenset(),
    kept: Collection[str] = (),
    num_rankings: int | None = None,
    stored: bool = False,
    combine: bool = True,
    on_metric: Callable[[str], None] | None = None,
) -> None:
    """Compute the pending evaluations of a plan's metrics; `metric_number` counts them from 0.

    If only a `part` of a slice is in scope, the values are over the part. For the metrics in
    `ready`, the values of the queries are there already, and so are the relations that are `kept`.
    Where every metric is pending, `num_rankings` may say for how many rankings at most. `stored` says
    that the values are stored, `combine` whether the queries are put together, too.
    """
    numbers = set(range(len(work.queries)))
    if num_rankings is None:
        rows = con.execute("select distinct metric_number from pending").fetchall()
        numbers = {row[0] for row in rows}
    pending = [(n, m) for n, m in enumerate(work.queries) if n in numbers]
    missing = [(n, m) for n, m in pending if n not in ready]
    made: list[str] = []
    try:
        aggregates = sorted({metric.aggregate for _, metric in pending})
        if "pooled" in aggregates:
            made.append(_POOLED)
            con.execute(
                f"create or replace temp table {_POOLED} (evaluation_id integer, pooled double)"
            )
        if "weighted" in aggregates:
            _weigh(con, work, pending)
        rows_of: dict[Metric, str] = {}
        for position, alike in enumerate(_read_again(missing)):
            made.append(f"{_ROWS}_{position}")
            rows_of |= dict.fromkeys(alike, _rows(con, work, alike[0], made[-1]))
        size = batch_size(con, len(pending), num_rankings)
        for batch in _batches(missing, size):
            _store(con, work, batch, part, rows_of, kept, stored=stored)
            for _, metric in batch:
                if on_metric is not None:
                    on_metric(str(metric))
        if not combine:
            return
        con.execute(render("statements/answered"))
        for first in range(0, len(pending), size):
            some = [number for number, _ in pending[first : first + size]]
            words = {"part": part, "numbers": some, "aggregates": aggregates}
            con.execute(render("statements/scores", **words))
    finally:
        for table in made:
            _drop_quietly(con, table)


def keep(con: duckdb.DuckDBPyConnection, work: Plan) -> list[str]:
    """Make tables of the relations that do not depend on the runs in scope, for `compute` to keep."""
    tables = [one for one in work.tables if one not in work.inline | work.of_runs]
    for table in tables:
        con.execute(f"create or replace temp table {ident(table)} as\n{table_query(work, table)}")
    return tables


_Pending = Sequence[tuple[int, Metric]]


def _weigh(con: duckdb.DuckDBPyConnection, work: Plan, pending: _Pending) -> None:
    """Keep the query weights of weighted metrics; refuse a query without a weight."""
    con.execute(
        "create or replace temp table query_weight "
        "(metric_number integer, query_id varchar, weight double)"
    )
    for number, metric in pending:
        weights = work.weights(metric)
        if weights is None:
            continue
        rows = f"({table_query(work, weights)})"
        wrong = con.execute(render("checks/weights", weights=rows)).fetchall()
        lacking = [query for query, is_negative in wrong if not is_negative]
        if wrong:
            queries = lacking or [query for query, _ in wrong]
            problem = "is not one number" if lacking else "is below 0"
            raise UsageError(
                f"{metric}: the attribute {metric.weight} {problem} for "
                f"{counted(len(queries), 'query')} of those that count: {listing(queries, 5)}; "
                "give each of them a number of at least 0, with a table of attributes of the queries"
            )
        con.execute(render("statements/query_weights", weights=rows, number=number))


def _read_again(missing: _Pending) -> list[list[Metric]]:
    """Group the metrics whose rows become a table by the kind of their rows.

    These are metrics in Python, a project's metrics, whose rows are checked, and pooled metrics.
    """
    found: dict[object, list[Metric]] = {}
    for _, metric in missing:
        definition = metric.definition
        if definition.function is not None or definition.is_own or metric.aggregate == "pooled":
            key = metric.name, tuple(metric.row_params.items()), metric.has_pooled_row
            found.setdefault(key, []).append(metric)
    return list(found.values())


def _rows(con: duckdb.DuckDBPyConnection, work: Plan, metric: Metric, table: str) -> str:
    """Compute a metric's rows into a table; return the query that reads them."""
    query = chain(work, [metric]).rows(metric)
    if metric.definition.function is not None:
        python_values.compute(con, metric, query, table)
        return f"from {ident(table)}"
    with project_metrics.blamed(metric):
        if metric.definition.is_own:
            return project_metrics.checked(con, work, metric, table)
        con.execute(f"create or replace temp table {ident(table)} as\n{query}")
    return f"from {ident(table)}"


def batch_size(
    con: duckdb.DuckDBPyConnection,
    num_metrics: int,
    num_rankings: int | None = None,
    *,
    queries: str = "scope_judgment",
) -> int:
    """Return of how many metrics one statement takes the values, one for each of `queries`, a table."""
    if num_rankings is not None and num_rankings * num_metrics <= _FEW:
        return _METRICS
    ((rankings, memory),) = con.execute(
        "select (select count(*) from scope_run) * count(distinct query_id), "
        f"try(parse_formatted_bytes(current_setting('memory_limit'))) from {queries}"
    ).fetchall()
    values = _VALUES if memory is None else min(_VALUES, memory // _BYTES)  # None: no limit
    return int(min(_METRICS, max(1, values // max(rankings, 1))))


def _batches(missing: _Pending, size: int) -> Iterator[_Pending]:
    """Divide metrics into batches whose values one statement computes; each curve is its own batch."""
    metrics = [one for one in missing if one[1].definition.kind == "metric"]
    for first in range(0, len(metrics), size):
        yield metrics[first : first + size]
    yield from ([one] for one in missing if one[1].definition.kind == "curve")


def _store(
    con: duckdb.DuckDBPyConnection,
    work: Plan,
    batch: _Pending,
    part: str | None,
    made: Mapping[Metric, str],
    kept: Collection[str],
    *,
    stored: bool,
) -> None:
    """Store the values of the queries, for pooled metrics also those over all; or a curve's points."""
    found = chain(work, [metric for _, metric in batch], made).without(kept)
    if batch[0][1].definition.kind == "curve":
        ((number, curve),) = batch
        con.execute(render("statements/curve_points", curve=found.rows(curve), number=number))
        return
    steps: dict[str, list[tuple[int, str, float | None]]] = {}
    for number, metric in batch:
        step, column = found.values[metric]
        values = number, column, work.protocol.undefined_of(metric)
        steps.setdefault(step, []).append(values)
    words = {"steps": steps, "part": part, "stored": stored}
    con.execute(render("statements/query_scores", chain=found.written(), **words))
    for number, metric in batch:
        if metric.aggregate == "pooled":
            con.execute(
                render("statements/pooled_scores", metric=f"({made[metric]})", number=number)
            )


def _drop_quietly(con: duckdb.DuckDBPyConnection, table: str) -> None:
    """Drop a scratch table; in an aborted transaction the rollback removes it."""
    with suppress(duckdb.Error):
        con.execute(f"drop table if exists temp.{ident(table)}")
