"""The catalogue of fusion methods: files in `sql/fusion`, with a header like a metric's.

A method is written like a metric, `rrf(k=60)`, and its parameters are read in the same way. The
ways to make scores comparable first are in `sql/normalisations`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

from warehouse.config import toml
from warehouse.errors import DefinitionError, UsageError, nearest
from warehouse.metrics import catalogue, checks, notation
from warehouse.metrics.catalogue import Alias, Definition
from warehouse.metrics.metric import Defaults, Metric
from warehouse.metrics.parameters import Parameter, Value
from warehouse.sql_text import templates

WEIGHTS, TRAINING, AVERAGE_PRECISION = "weights", "training", "average_precision"
# What a method may need besides the lists: a weight for each run, judged queries for training, and
# the mean average precision of each run on these.
NEEDS = (WEIGHTS, TRAINING, AVERAGE_PRECISION)
NONE, USUAL = "none", "min-max"
_OWN_KEYS: dict[str, toml.Kinds] = {"needs": list, "scores": bool, "tune": dict}
_GRID_KEYS = dict.fromkeys(("first", "last", "step"), (int, float))
_NORMALISATION_REQUIRED: dict[str, toml.Kinds] = dict.fromkeys(("title", "summary", "formula"), str)
_NORMALISATION_KEYS = _NORMALISATION_REQUIRED | {"positive": bool}
# The keys that a method has instead of a metric's.
_NO_METRIC: dict[str, Any] = {
    "reads": [],
    "direction": "none",
    "range": [0, 0],
    "aggregate": "mean",
    "undefined": "null",
}


@dataclass(frozen=True)
class Grid:
    """The values of a parameter to try when tuning."""

    first: float
    last: float
    step: float

    def values(self) -> list[str]:
        """Return the values as written, without the noise of binary fractions.

        >>> Grid(0.1, 0.3, 0.1).values()
        ['0.1', '0.2', '0.3']
        """
        first, last, step = (Decimal(repr(one)) for one in (self.first, self.last, self.step))
        return [str(first + number * step) for number in range(int((last - first) / step) + 1)]


@dataclass(frozen=True, kw_only=True)
class Method(Definition):
    """A method as its file defines it.

    `needs` names what it needs besides the lists, `scores` says whether it reads scores or only
    ranks, and `grid` has the values of its parameters to try when tuning.
    """

    needs: tuple[str, ...] = ()
    scores: bool = False
    grid: Mapping[str, Grid] = field(default_factory=dict, hash=False)
    kind: ClassVar[str] = "method"


@dataclass(frozen=True)
class Normalisation:
    """A way of making the scores of lists comparable, as its file defines it.

    If it is `positive`, it cannot handle lists without a score above 0.
    """

    name: str
    title: str
    summary: str
    formula: str
    body: str = field(repr=False)
    positive: bool = False


def _method(name: str, text: str, where: str) -> Method:
    head = templates.header(text, where)
    own = {key: head.pop(key) for key in _OWN_KEYS if key in head}
    toml.check(own, _OWN_KEYS, where, required=("needs", "scores"))
    for key in _NO_METRIC:
        if key in head:
            raise DefinitionError(f"{where}: {key!r} is a metric's, and a method has none")
    for need in own["needs"]:
        if need not in NEEDS:
            hint = nearest(str(need), NEEDS)
            raise DefinitionError(f"{where}: needs: one of {', '.join(NEEDS)}, not {need!r}{hint}")
    body = templates.body(text).rstrip("; \n")
    found = catalogue.from_header(
        name, head | _NO_METRIC, body, where, of_template=head, together=_as_declared
    )
    grid: dict[str, Grid] = {}
    for key, spec in own.get("tune", {}).items():
        if found.parameter(key) is None:
            known = [p.name for p in found.parameters]
            raise DefinitionError(f"{where}: tune: no parameter {key!r}{nearest(key, known)}")
        toml.check({key: spec}, {key: dict}, f"{where}: tune")
        toml.check(spec, _GRID_KEYS, f"{where}: tune: {key}", required=_GRID_KEYS)
        grid[key] = Grid(**spec)
    of_definition = {f.name: getattr(found, f.name) for f in fields(found)}
    return Method(**of_definition, needs=tuple(own["needs"]), scores=own["scores"], grid=grid)


def _as_declared(
    declared: tuple[Parameter, ...], *_: object, **__: object
) -> tuple[Parameter, ...]:
    return declared


@cache
def methods() -> dict[str, Method]:
    """Return every method by its name.

    >>> methods()["rrf"].title, len(methods())
    ('Reciprocal rank fusion (RRF)', 25)
    """
    found = {
        name: _method(
            name, templates.source(f"fusion/{name}"), f"sql/fusion/{name}{templates.SUFFIX}"
        )
        for name in templates.names_in("fusion")
    }
    checks.check_names(found.values(), ())
    return found


@cache
def _aliases() -> dict[str, tuple[Method, Alias]]:
    known = {name: (found, Alias("", name)) for name, found in methods().items()}
    for found in methods().values():
        known |= {alias.name: (found, alias) for alias in found.names}
    # in any case
    return known | {name.lower(): one for name, one in known.items() if name.lower() not in known}


def parse(text: str) -> Metric:
    """Read a method in the notation of metrics. Raises UsageError with the nearest right name.

    >>> str(parse("RRF")), str(parse("CombGMNZ( gamma = 1 )"))
    ('rrf', 'gmnz(gamma=1.0)')
    """
    asked = text.strip()
    name = asked.partition("(")[0].strip()
    if name.lower() in _aliases():
        asked = name.lower() + asked[len(name) :]
    found = notation.read_plain(asked, _aliases(), Defaults())
    if found is None:
        hint = nearest(name, _aliases()) or f"; there are {', '.join(methods())}"
        raise UsageError(f"{text}: no such fusion method{hint}")
    return found


def of(method: Metric) -> Method:
    """Return the definition of a parsed method."""
    found = method.definition
    assert isinstance(found, Method), f"{method} is a metric"
    return found


def written(method: Metric) -> str:
    """Write a method with all of its parameters, including defaults.

    >>> written(parse("rrf"))
    'rrf(k=60)'
    """
    shown = ", ".join(f"{key}={value}" for key, value in method.values)
    return f"{method.name}({shown})" if shown else method.name


def with_values(method: Metric, values: Mapping[str, str]) -> Metric:
    """Return a method with other values of some parameters, written as in the notation."""
    given: dict[str, Value] = method.params
    for parameter in method.definition.parameters:
        if parameter.name in values:
            given[parameter.name] = parameter.read(values[parameter.name])
    return Metric(method.definition, method.name, tuple(given.items()))


@cache
def normalisations() -> dict[str, Normalisation]:
    """Return every normalisation by its name.

    >>> list(normalisations())
    ['borda', 'max', 'min-max', 'min-max-inverted', 'none', 'rank', 'sum', 'zmuv']
    """
    found: dict[str, Normalisation] = {}
    for name in templates.names_in("normalisations"):
        text = templates.source(f"normalisations/{name}")
        where = f"sql/normalisations/{name}{templates.SUFFIX}"
        head = templates.header(text, where)
        toml.check(head, _NORMALISATION_KEYS, where, required=_NORMALISATION_REQUIRED)
        found[name] = Normalisation(name, body=templates.body(text), **head)
    return found


def normalisation(name: str | None, method: Metric) -> Normalisation:
    """Return a normalisation, or a method's default; refuse unknown ones with the nearest name."""
    if name is None:
        name = USUAL if of(method).scores else NONE
    known = normalisations()
    folded = name.strip().lower().replace("_", "-")
    if folded not in known:
        hint = nearest(folded, known) or f"; there are {', '.join(known)}"
        raise UsageError(f"{name}: no such normalisation{hint}")
    return known[folded]


def whole(weights: Iterable[float]) -> list[int]:
    """Return whole numbers in the proportions of weights written in decimals.

    Their sums are exact: 0.1 + 0.2 equals 0.3. Proportions that exceed 64 bits are rounded.

    >>> whole([0.1, 0.2, 0.3])
    [1, 2, 3]
    """
    exact = [Fraction(repr(weight)) for weight in weights]
    scale = math.lcm(*(one.denominator for one in exact))
    scaled = [int(one * scale) for one in exact]
    shared = math.gcd(*scaled) or 1
    if sum(scaled) // shared < 2**62:
        return [one // shared for one in scaled]
    return [int(one / max(exact) * 10**15) for one in exact]


def sql(method: Metric, weights: Iterable[float], num_runs: int) -> str:
    """Return the query of a method over the lists in `entry`: `query_id, doc_id, score`.

    >>> print(sql(parse("max"), (), 2))
    select
        query_id,
        doc_id,
        max(score) as score
    from entry
    group by query_id, doc_id
    """
    weights = list(weights)
    values = dict(method.params) | {
        "weights": weights,
        "whole_weights": whole(weights),
        "num_runs": num_runs,
    }
    return templates.compiled(method.definition.body).render(**values).strip()
