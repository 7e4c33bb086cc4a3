"""Running a plan: the one place where metrics are computed, for stored runs and for files alike.

The engine works on the tables that its caller has filled by `Scope`, and on `pending
(evaluation_id, run_id, metric_number, kind, aggregate)`, which says what is to be computed. It writes
to `query_score` and `score`, or to `curve_point`: a curve is computed as a metric is, and
gives its points, those of all queries with no query_id. A metric that is pooled gives, beside the rows
of its queries, one row for each run with no query_id: the value over all queries. Metrics that differ
only in how their queries are put together have the same rows, which are computed once. What queries
weigh stays in the temporary table `query_weight (metric_number, query_id, weight)`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import duckdb

from warehouse.errors import UsageError, counted, listing
from warehouse.evaluate import project_metrics, python_values
from warehouse.evaluate.passes import passes
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
_NAME = re.compile(r"\w+")
# What is in scope of runs, and may differ from run to run.
_OF_RUNS = re.compile(r"\b(scope_(run|ranking|hit|prediction|member|part)|list_\w+)\b")


def compute(
    con: duckdb.DuckDBPyConnection,
    work: Plan,
    *,
    part: str | None = None,
    ready: frozenset[int] = frozenset(),
    kept: frozenset[str] = frozenset(),
    num_rankings: int | None = None,
    on_metric: Callable[[str], None] | None = None,
) -> None:
    """Compute the pending evaluations of a plan's metrics; `metric_number` counts them from 0.

    If only a `part` of a slice is in scope, the values are those of the part. For the metrics in
    `ready`, the values of the queries are there already, and so are the tables in `kept`. Where every
    metric is pending, `num_rankings` may say for how many rankings at most.

    Only what is pending is computed, and only the relations that it reads are made.
    """
    numbers = set(range(len(work.queries)))
    if num_rankings is None:
        rows = con.execute("select distinct metric_number from pending").fetchall()
        numbers = {row[0] for row in rows}
    pending = [(n, m) for n, m in enumerate(work.queries) if n in numbers]
    missing = [(n, m) for n, m in pending if n not in ready]
    needed = {table for _, metric in missing for table in work.below(metric)}
    needed |= {table for _, metric in pending for table in work.weighing(metric)}
    tables = [table for table in work.tables if table in needed - kept]
    made: list[_Scratch] = []
    try:
        _make(con, work, tables, [work.queries[metric] for _, metric in missing], made)
        aggregates = sorted({metric.aggregate for _, metric in pending})
        if "pooled" in aggregates:
            made.append(("table", _POOLED))
            con.execute(
                f"create or replace temp table {_POOLED} (evaluation_id integer, pooled double)"
            )
        if "weighted" in aggregates:
            _weigh(con, work, pending)
        found: list[_Rows] = []
        for position, alike in enumerate(_same_rows(work, missing)):
            table = f"{_ROWS}_{position}"
            query = _rows(con, work, [metric for _, metric in alike], table)
            if query != work.queries[alike[0][1]]:
                made.append(("table", table))
            found += [(number, metric, query) for number, metric in alike]
        for batch in _batches(con, found, num_rankings):
            _keep(con, work, batch, part)
            for _, metric, _ in batch:
                if on_metric is not None:
                    on_metric(str(metric))
        con.execute(render("statements/scores", part=part, aggregates=aggregates))
    finally:
        for scratch in reversed(made):
            _drop_quietly(con, scratch)


def keep(con: duckdb.DuckDBPyConnection, work: Plan) -> frozenset[str]:
    """Make the tables of a plan that do not depend on the runs in scope, for `compute` to keep."""
    kept: list[str] = []
    for table in work.tables:
        below = work.read[table].tables
        if not _OF_RUNS.search(work.tables[table]) and all(name in kept for name in below):
            con.execute(f"create or replace temp table {ident(table)} as\n{work.tables[table]}")
            kept.append(table)
    return frozenset(kept)


# A table or view by its name.
_Scratch = tuple[Literal["table", "view"], str]
# A metric with its number and the query of its rows.
_Rows = tuple[int, Metric, str]
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
        wrong = con.execute(render("checks/weights", weights=ident(weights))).fetchall()
        lacking = [query for query, is_negative in wrong if not is_negative]
        if wrong:
            queries = lacking or [query for query, _ in wrong]
            problem = "is not one number" if lacking else "is below 0"
            raise UsageError(
                f"{metric}: the attribute {metric.weight} {problem} for "
                f"{counted(len(queries), 'query')} of those that count: {listing(queries, 5)}; "
                "give each of them a number of at least 0, with a table of attributes of the queries"
            )
        con.execute(render("statements/query_weights", weights=ident(weights), number=number))


def _same_rows(work: Plan, pending: _Pending) -> list[list[tuple[int, Metric]]]:
    """Group metrics that have the same rows, in the order of the first of each group."""
    found: dict[object, list[tuple[int, Metric]]] = {}
    for number, metric in pending:
        key: object = work.queries[metric], metric.definition.is_own, metric.has_pooled_row
        if metric.definition.function is not None:
            key = metric.name, tuple(metric.row_params.items())
        found.setdefault(key, []).append((number, metric))
    return list(found.values())


def _make(
    con: duckdb.DuckDBPyConnection,
    work: Plan,
    tables: Sequence[str],
    queries: Sequence[str],
    made: list[_Scratch],
) -> None:
    """Make the tables that queries read, without the spare columns that nothing names.

    A relation that is read only once is made as a view, so that its reader takes only what it
    needs. Each one made is added to `made`.
    """
    texts = {table: work.tables[table] for table in tables}
    words = {table: Counter(_NAME.findall(text)) for table, text in texts.items()}
    everywhere = Counter(_NAME.findall(" ".join(queries)))
    for counts in words.values():
        everywhere.update(counts)
    for table, text in texts.items():
        elsewhere = everywhere - words[table]
        kind: Literal["table", "view"] = "view" if elsewhere[table] == 1 else "table"
        spare = [ident(column) for column in work.spare[table] if column not in elsewhere]
        if spare:
            whole = f"(\n{text}\n) as whole"
            query = f"select * exclude ({', '.join(spare)})\nfrom {whole}"
        else:
            query = text
        con.execute(f"create or replace temp {kind} {ident(table)} as\n{query}")
        made.append((kind, table))


def _rows(con: duckdb.DuckDBPyConnection, work: Plan, alike: Sequence[Metric], table: str) -> str:
    """Return the query of the rows of some metrics with the same rows, computed if read again."""
    metric = alike[0]
    query = work.queries[metric]
    if metric.definition.function is not None:
        python_values.compute(con, metric, query, table)
        return f"from {ident(table)}"
    with project_metrics.blamed(metric):
        if metric.definition.is_own:
            rankings = work.rankings(metric)
            return project_metrics.checked(
                con, metric, query, made=work.tables, rankings=rankings, table=table
            )
        if len(alike) == 1 and metric.aggregate != "pooled":
            return query
        con.execute(f"create or replace temp table {ident(table)} as\n{query}")
    return f"from {ident(table)}"


def _batches(
    con: duckdb.DuckDBPyConnection, found: Sequence[_Rows], num_rankings: int | None = None
) -> Iterator[list[_Rows]]:
    """Divide metrics into batches whose values one statement computes; each curve is its own batch."""
    size = _METRICS
    if num_rankings is None or num_rankings * len(found) > _FEW:
        ((rankings, memory),) = con.execute(
            "select (select count(*) from scope_run) * count(distinct query_id), "
            "try(parse_formatted_bytes(current_setting('memory_limit'))) from scope_judgment"
        ).fetchall()
        values = _VALUES if memory is None else min(_VALUES, memory // _BYTES)  # None: no limit
        size = min(_METRICS, max(1, values // max(rankings, 1)))
    metrics = [rows for rows in found if rows[1].definition.kind == "metric"]
    for first in range(0, len(metrics), size):
        yield metrics[first : first + size]
    yield from ([rows] for rows in found if rows[1].definition.kind == "curve")


def _keep(
    con: duckdb.DuckDBPyConnection, work: Plan, batch: Sequence[_Rows], part: str | None
) -> None:
    """Store the values of the queries, for pooled metrics also those over all; or a curve's points."""
    if batch[0][1].definition.kind == "curve":
        ((number, _, query),) = batch
        con.execute(render("statements/curve_points", curve=query, number=number))
        return
    each = tuple((n, work.protocol.undefined_of(metric), query) for n, metric, query in batch)
    if (each, part) not in work.statements:  # a scorer computes the same again
        work.statements[each, part] = render(
            "statements/query_scores", passes=passes(each), part=part
        )
    con.execute(work.statements[each, part])
    for number, metric, query in batch:
        if metric.aggregate == "pooled":
            con.execute(render("statements/pooled_scores", metric=f"({query})", number=number))


def _drop_quietly(con: duckdb.DuckDBPyConnection, scratch: _Scratch) -> None:
    """Drop a scratch table or view; in an aborted transaction the rollback removes it."""
    kind, name = scratch
    try:
        con.execute(f"drop {kind} if exists temp.{ident(name)}")
    except duckdb.Error:
        return
