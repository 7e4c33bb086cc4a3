"""Between which values the order of documents with equal scores moves a metric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import duckdb

from warehouse.evaluate import engine, hits
from warehouse.evaluate.chain import relation
from warehouse.evaluate.plan import Plan
from warehouse.metrics.aggregates import NO_RELEVANT
from warehouse.metrics.notation import Metric
from warehouse.sql_text.templates import render

# Ways of putting the values of queries together in which a higher value never lowers the whole.
_RISING = frozenset({"mean", "median", "geometric_mean", "min", "max", "sum"})
# Metrics that may fall where a relevant document moves up: the user reads on by what was gained so far,
# or a cutoff decides which documents are compared, or unjudged documents count.
_NOT_MONOTONE = frozenset(
    {"AUC", "BPM", "IFT", "INSQ", "INST", "LAG", "PartialAUC", "TBG", "Utility", "YAAP", "infAP"}
)


@dataclass(frozen=True)
class TieRange:
    """The lowest and the highest value of a metric over all orders of documents with equal scores."""

    run_id: int
    metric: str
    low: float
    high: float


def has_range(metric: Metric, work: Plan) -> bool:
    """Whether the lowest and highest values are those with the relevant documents last and first."""
    return (
        NO_RELEVANT in metric.params
        and metric.params.get("gains") is None
        and metric.params.get("ties", "rank") == "rank"
        and metric.direction != "none"
        and metric.aggregate in _RISING
        and metric.name not in _NOT_MONOTONE
        and not work.read[str(metric)].needs
    )


def of_scope(
    con: duckdb.DuckDBPyConnection, work: Plan, *, walked: bool = True
) -> Iterator[TieRange]:
    """Yield the ranges of the runs in scope whose values depend on such an order.

    `walked` says that `list_step` is of the predictions in scope, whose values must be computed. The
    runs, their hits, the judgments, what is pending and the values in scope are others afterwards.
    """
    metrics = [*work.queries]
    numbers = [number for number, metric in enumerate(metrics) if has_range(metric, work)]
    if not numbers:
        return
    rules = work.protocol
    in_order = walked and rules.exclude is None and not hits.out_of_order(con, rules)
    oriented = f"(\n{relation('oriented', rules)}\n)"
    con.execute(render("statements/tie_levels", in_order=in_order, oriented=oriented))
    if not con.execute("select 1 from tied_hit limit 1").fetchall():
        return
    con.execute(render("statements/tie_orders", numbers=numbers, num_metrics=len(metrics)))
    engine.compute(con, work, combine=False)
    aggregates = sorted({metrics[number].aggregate for number in numbers})
    size = engine.batch_size(con, len(numbers), queries="scope_query")
    found = []
    for first in range(0, len(numbers), size):
        words = {"numbers": numbers[first : first + size], "aggregates": aggregates}
        found += con.execute(render("statements/tie_ranges", **words)).fetchall()
    con.execute("drop table temp.whole_score")
    for run_id, number, low, high in sorted(found):
        yield TieRange(run_id, str(metrics[number]), low, high)


def any_tie(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether any list that was read may have documents with equal scores, by the walk down them."""
    ((found,),) = con.execute("select count(*) > 0 from list_step where step <> 'rank'").fetchall()
    return bool(found)
