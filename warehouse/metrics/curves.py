"""The catalogue of curves: files in `sql/curves`, with a header like a metric's and two axes.

A curve is written like a metric, `ROC(rel=2)@100`, and its parameters are read in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar

from warehouse.config import toml
from warehouse.errors import DefinitionError, UsageError, nearest
from warehouse.metrics import aggregates, catalogue, checks, notation
from warehouse.metrics.catalogue import Alias, Definition
from warehouse.metrics.metric import Defaults, Metric
from warehouse.sql_text import templates

_AXIS_KEYS: dict[str, toml.Kinds] = {"name": str, "range": list}
_OWN_KEYS: dict[str, toml.Kinds] = {
    "x": dict,
    "y": dict,
    "joined": str,
    "area": str,
    "chance": bool,
    "same_x": bool,
}
_REQUIRED = ("x", "y", "joined")
# The keys that a curve has instead of a metric's.
_NO_METRIC: dict[str, Any] = {"range": [0, 0], "undefined": "null"}
# How points are joined: by straight lines, or in steps before or after each point.
JOINED = ("lines", "steps_before", "steps_after")
AGGREGATES = ("mean", "pooled")


@dataclass(frozen=True)
class Axis:
    """An axis of a curve: its name, and its lowest and highest value."""

    name: str
    range: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Curve(Definition):
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


def _curve(name: str, text: str, where: str) -> Curve:
    head = templates.header(text, where)
    own = {key: head.pop(key) for key in _OWN_KEYS if key in head}
    toml.check(own, _OWN_KEYS, where, required=_REQUIRED)
    for key in _NO_METRIC:
        if key in head:
            raise DefinitionError(f"{where}: {key!r} is a metric's, and a curve has none")
    if own["joined"] not in JOINED:
        hint = nearest(own["joined"], JOINED)
        raise DefinitionError(f"{where}: joined is one of {', '.join(JOINED)}{hint}")
    body = templates.body(text).rstrip("; \n")
    found = catalogue.from_header(
        name, head | _NO_METRIC, body, where, of_template=head, together=aggregates.as_declared
    )
    together = found.parameter(aggregates.AGGREGATE)
    if together is None or not {*together.choices, found.aggregate} <= set(AGGREGATES):
        raise DefinitionError(f"{where}: aggregate is one of {', '.join(AGGREGATES)}")
    if together.default != found.aggregate:
        raise DefinitionError(f"{where}: parameter aggregate: is by default what the header says")
    own |= {key: _axis(own[key], f"{where}: {key}") for key in ("x", "y")}
    return Curve(**{f.name: getattr(found, f.name) for f in fields(found)}, **own)


def _axis(spec: Mapping[str, Any], where: str) -> Axis:
    toml.check(spec, _AXIS_KEYS, where, required=_AXIS_KEYS)
    bounds = spec["range"]
    if len(bounds) != 2 or not all(isinstance(b, int | float) for b in bounds):
        raise DefinitionError(f"{where}: 'range' is a list of two numbers, as in [0, 1]")
    low, high = (float(bound) for bound in bounds)
    if not low < high:
        raise DefinitionError(f"{where}: range is [lowest, highest], not [{low:g}, {high:g}]")
    return Axis(spec["name"], (low, high))


@cache
def curves() -> dict[str, Curve]:
    """Return every curve by its name.

    >>> curves()["ROC"].x.name
    'false positive rate'
    """
    found = {
        name: _curve(
            name, templates.source(f"curves/{name}"), f"sql/curves/{name}{templates.SUFFIX}"
        )
        for name in templates.names_in("curves")
    }
    checks.check_names(found.values(), ())
    return found


@cache
def _aliases() -> dict[str, tuple[Curve, Alias]]:
    known = {name: (found, Alias("", name)) for name, found in curves().items()}
    for found in curves().values():
        known |= {alias.name: (found, alias) for alias in found.names}
    # in any case, unless two names then collide
    folded = {name.lower(): one for name, one in known.items() if name.lower() not in known}
    return known | folded


def parse(text: str, *, defaults: Defaults | None = None) -> Metric:
    """Read one curve's name. Raises UsageError with the nearest right one.

    >>> str(parse("ROC( rel = 2 )@50")), str(parse("recall@k"))
    ('ROC(rel=2)@50', 'RecallByRank@100')
    """
    metric = notation.read_plain(text.strip(), _aliases(), defaults or Defaults())
    if metric is None:
        name = text.partition("(")[0].partition("@")[0]
        known = ", ".join(curves())
        if name in catalogue.catalogue():
            raise UsageError(f"{text}: a metric, not a curve; curves are {known}")
        hint = nearest(name, _aliases()) or f"; curves are {known}"
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
