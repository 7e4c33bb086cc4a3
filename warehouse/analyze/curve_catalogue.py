"""The catalogue of curves as a list and as pages."""

from __future__ import annotations

from duckdb import DuckDBPyRelation as Relation

from warehouse.analyze import metric_catalogue
from warehouse.analyze.protocol_catalogue import relation
from warehouse.metrics import curves as known
from warehouse.metrics import protocols as rules
from warehouse.metrics.header import Axis


def curves() -> Relation:
    """Return every curve: `curve, title, summary, x, y, over_queries, parameters, elsewhere`.

    >>> curves().filter("curve = 'ROC[@k]'").project("x, over_queries").fetchall()
    [('false positive rate', 'pooled')]
    """
    columns = ("curve", "title", "summary", "x", "y", "over_queries", "parameters", "elsewhere")
    rows = [
        (
            metric_catalogue.usage(found),
            found.title,
            metric_catalogue.in_short(found.summary),
            found.x.name,
            found.y.name,
            found.aggregate,
            metric_catalogue.parameters(found),
            metric_catalogue.elsewhere(found),
        )
        for found in known.curves().values()
    ]
    return relation(columns, rows)


def curves_for_people(format: str) -> Relation:
    """Return the curves with the columns that fit the format."""
    if format == "table":
        return curves().project("curve, title, over_queries")
    return curves()


def describe(*names: str, protocol: str = rules.DEFAULT) -> str:
    """Return a page about each curve: what it is, its axes, parameters, other names and its SQL.

    >>> print(describe("roc").splitlines()[0])
    ROC[@k]: Receiver operating characteristic
    """
    chosen = rules.get(protocol)
    pages = []
    for metric in [known.parse(name, defaults=chosen.defaults()) for name in names]:
        found = known.of(metric)
        facts = {
            "formula": found.formula,
            "x": _axis(found.x),
            "y": _axis(found.y),
            "over queries": metric.aggregate,
            "reference": found.reference,
        }
        pages.append(metric_catalogue.page(metric, chosen, facts))
    return "\n\n".join(pages)


def _axis(axis: Axis) -> str:
    low, high = axis.range
    return f"{axis.name}, {low:g} to {high:g}"
