"""Queries without a document that is relevant for a metric: their number, and what they count as."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import duckdb

from warehouse.errors import counted, listing
from warehouse.evaluate.plan import Plan
from warehouse.metrics.aggregates import NO_RELEVANT
from warehouse.metrics.notation import Metric
from warehouse.sql_text import relations


def notes(con: duckdb.DuckDBPyConnection, work: Plan) -> Iterator[str]:
    """Yield a sentence for metrics that have such queries, of the values that were just computed.

    What the queries count as is read from their values.
    """
    alike: defaultdict[str, dict[int, Metric]] = defaultdict(dict)
    for number, metric in enumerate(work.queries):
        if NO_RELEVANT in metric.params:
            sql, _ = work.relation_sql(relations.get("relevant_queries"), metric.row_params)
            alike[sql][number] = metric
    for sql, metrics in alike.items():
        rows = con.execute(
            "select metric_number, count(distinct query_id) filter (where is_without) as without, "
            "count(distinct query_id), min(value) filter (where is_without), "
            "max(value) filter (where is_without) from (select metric_number, query_id, value, "
            f"query_id not in (select query_id::varchar from ({sql})) as is_without "
            "from query_score join pending using (evaluation_id)) "
            "where list_contains($numbers, metric_number) group by metric_number having without > 0 "
            "order by metric_number",
            {"numbers": list(metrics)},
        ).fetchall()
        said: defaultdict[tuple[int, int, str], list[Metric]] = defaultdict(list)
        for number, without, every, low, high in rows:
            said[without, every, _counts_as(low, high)].append(metrics[number])
        for (without, every, what), those in said.items():
            have, are = ("has", "is") if without == 1 else ("have", "are")
            counts = "counts as" if without == 1 else "count as"
            yield (
                f"{listing(map(str, those), 3)}: {without:,} of {counted(every, 'query')} {have} no "
                f"document with {_relevant(those[0])} and {what.format(are=are, count=counts)}; "
                "no_relevant=0, no_relevant=1 or no_relevant=skip sets that"
            )


def _relevant(metric: Metric) -> str:
    params = metric.params
    if params.get("gains") is not None:
        return "a gain above 0"
    if params.get("min_rel") is not None:
        return f"a relevance above {params['min_rel']}"
    rel = params.get("rel")
    return "a relevance above 0" if rel is None else f"a relevance of {rel} or more"


def _counts_as(low: float | None, high: float | None) -> str:
    if low is None:
        return "{are} left out"
    return f"{{count}} {low:g}" if low == high else f"{{count}} {low:.4g} to {high:.4g}"
