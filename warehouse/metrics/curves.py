"""The catalogue of curves: files in `sql/curves`, with a header like a metric's and two axes.

A curve is written like a metric, `ROC(rel=2)@100`, and its parameters are read in the same way.
"""

from __future__ import annotations

from functools import cache
from typing import ClassVar

from warehouse.config import toml
from warehouse.errors import UsageError, nearest
from warehouse.metrics import aggregates, catalogue, checks, notation
from warehouse.metrics.aggregates import AGGREGATE, POOLED
from warehouse.metrics.checks import check_range
from warehouse.metrics.header import Axis, CurveHeader
from warehouse.metrics.metric import Defaults, Metric
from warehouse.metrics.template import Alias, Template, header_parameters, source, template
from warehouse.sql_text import templates


class Curve(Template, frozen=True, kw_only=True):
    """A curve as its file defines it.

    `direction` says whether the higher or the lower of two curves is better. `area` is the name of
    the area under the curve of a query, or of all queries pooled; `chance` says that the diagonal
    is the curve of a random order. If `same_x` is true, the points of all queries have the same x,
    a query without a value has no point, and the mean at an x is over the queries with one.
    """

    x: Axis
    y: Axis
    joined: str
    area: str | None = None
    chance: bool = False
    same_x: bool = False
    kind: ClassVar[str] = "curve"


def _curve(name: str, document: toml.Document, body: str) -> Curve:
    head = document.convert(CurveHeader)
    parameters = aggregates.of_curve(header_parameters(document, head), head.aggregate)
    (together,) = (p for p in parameters if p.name == AGGREGATE)
    if together.default != head.aggregate or not {*together.choices} <= {"mean", POOLED}:
        problem = f"its choices are mean and {POOLED}, its default comes from the header"
        raise document.error(("param", AGGREGATE), problem)
    for name_of_axis, axis in (("x", head.x), ("y", head.y)):
        check_range(document, (name_of_axis,), axis.range)
    pools = (
        "asked" if AGGREGATE in head.param else "always" if head.aggregate == POOLED else "never"
    )
    return template(Curve, document, head, name, body, parameters, pools=pools)


@cache
def curves() -> dict[str, Curve]:
    """Return every curve by its name.

    >>> curves()["ROC"].x.name
    'false positive rate'
    """
    found = {name: _curve(name, *source("curves", name)) for name in templates.names_in("curves")}
    checks.check_names(found.values(), checks.names_of(()))
    return found


@cache
def _names() -> dict[str, tuple[Curve, Alias]]:
    return notation.folded_names(curves())


def parse(text: str, *, defaults: Defaults | None = None) -> Metric:
    """Read one curve's name. Raises UsageError with the nearest right one.

    >>> str(parse("ROC( rel = 2 )@50")), str(parse("recall@k"))
    ('ROC(rel=2)@50', 'RecallByRank@100')
    """
    metric = notation.read_plain(text.strip(), _names(), defaults or Defaults())
    if metric is None:
        name = text.partition("(")[0].partition("@")[0]
        known = ", ".join(curves())
        if name in catalogue.catalogue():
            raise UsageError(f"{text}: a metric, not a curve; curves are {known}")
        hint = nearest(name, _names()) or f"; curves are {known}"
        raise UsageError(f"{text}: no such curve{hint}")
    return metric


def of(metric: Metric) -> Curve:
    """Return the definition of a parsed curve."""
    found = metric.definition
    assert isinstance(found, Curve), f"{metric} is a metric"
    return found


def known_curve(name: str) -> Metric | None:
    """Return the curve of a stored name, or None if it no longer exists."""
    try:
        return parse(name)
    except UsageError:
        return None
