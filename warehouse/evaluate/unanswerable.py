"""Queries without a document that is relevant for a metric: their number, and what they count as."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import duckdb

from warehouse.errors import counted, listing
from warehouse.evaluate import scope
from warehouse.evaluate.chain import relation
from warehouse.evaluate.plan import Plan, plan
from warehouse.metrics.aggregates import NO_RELEVANT
from warehouse.metrics.notation import Metric, known_metric
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render

_COMPUTED = (
    "select metric_number, query_id, value from query_score join pending using (evaluation_id)"
)


def notes(con: duckdb.DuckDBPyConnection, work: Plan) -> Iterator[str]:
    """Yield a sentence for metrics that have such queries, of the values that were just computed.

    What the queries count as is read from their values.
    """
    for sentence, metric in _sentences(con, work, possible_numbers(con, work), values=_COMPUTED):
        other = "0" if metric.params[NO_RELEVANT] == "skip" else "skip"
        values = tuple((key, other if key == NO_RELEVANT else one) for key, one in metric.values)
        example = replace(metric, values=values)
        yield f"{sentence}; no_relevant=0, 1 or skip sets that, as in {shlex.quote(str(example))}"


def of_stored(
    con: duckdb.DuckDBPyConnection, dataset: str, metrics: Sequence[str], protocol: Protocol
) -> tuple[str, ...]:
    """Return such sentences of the current values of a dataset.

    Only values of metrics are read for which the judgments have such a query.
    """
    current = con.execute(
        "select qrels_id, kind from qrels join qrels_version using (qrels_id) "
        "where dataset = $dataset and is_current",
        {"dataset": dataset},
    ).fetchall()
    known = [metric for metric in map(known_metric, metrics) if metric is not None]
    if protocol.is_imported or not current or current[0][1] == scope.PREFERENCES:
        return ()
    qrels = scope.stored_qrels(*current[0])
    work = plan(known, protocol)
    possible = possible_numbers(con, work, qrels)
    words = {"protocol": protocol.name, "metrics": list(map(str, work.queries))}
    values = render("statements/stored_values", dataset=dataset, **words, numbers=possible)
    found = _sentences(con, work, possible, values=values, qrels=qrels)
    return tuple(sentence for sentence, _ in found)


def possible_numbers(
    con: duckdb.DuckDBPyConnection, work: Plan, qrels: str | None = None
) -> list[int]:
    """Return the numbers of the metrics that any run can have such queries for.

    They are judged, in scope or in `qrels`, or others count: of the run, or of other parts of a slice.
    """
    numbers = [number for number, one in enumerate(work.queries) if NO_RELEVANT in one.params]
    if work.protocol.queries == "run" or work.sliced or not numbers:
        return numbers
    return [number for (number,) in con.execute(_sql(work, numbers, qrels, None)).fetchall()]


def _sql(work: Plan, numbers: Sequence[int], qrels: str | None, values: str | None) -> str:
    metrics = list(work.queries)
    alike: defaultdict[str, list[int]] = defaultdict(list)
    for number in numbers:
        params = metrics[number].row_params
        alike[relation("relevant_queries", work.protocol, params, sliced=work.sliced)].append(
            number
        )
    return render(
        "statements/without_relevant",
        relevant=[(of, sql) for sql, of in alike.items()],
        qrels=qrels, values=values,
    )  # fmt: skip


def _sentences(
    con: duckdb.DuckDBPyConnection,
    work: Plan,
    numbers: Sequence[int],
    *,
    values: str,
    qrels: str | None = None,
) -> Iterator[tuple[str, Metric]]:
    """Yield a sentence for metrics that have alike queries, and the first of these metrics."""
    if not numbers:
        return
    metrics = list(work.queries)
    groups: defaultdict[tuple[str, int, int, str], list[Metric]] = defaultdict(list)
    for number, without, every, low, high in con.execute(
        _sql(work, numbers, qrels, values)
    ).fetchall():
        metric = metrics[number]
        groups[_relevant(metric), without, every, _counts_as(low, high)].append(metric)
    for (relevant, without, every, what), those in groups.items():
        have, are = ("has", "is") if without == 1 else ("have", "are")
        counts = "counts as" if without == 1 else "count as"
        yield (
            f"{listing(map(str, those), 3)}: {without:,} of {counted(every, 'query')} {have} no "
            f"document with {relevant} and {what.format(are=are, count=counts)}",
            those[0],
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
