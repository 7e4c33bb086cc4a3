"""The catalogue of fusion methods: files in `sql/fusion`, with a header like a metric's.

A method is written like a metric, `rrf(k=60)`, and its parameters are read in the same way. The
ways to make scores comparable first are in `sql/normalisations`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import ClassVar

from msgspec.structs import asdict

from warehouse import extending
from warehouse.config import toml
from warehouse.errors import UsageError, nearest
from warehouse.metrics import checks, notation
from warehouse.metrics.header import FusionHeader, GridTable, NormalisationHeader
from warehouse.metrics.metric import Defaults, Metric
from warehouse.metrics.parameters import Value
from warehouse.metrics.template import Alias, Template, header_parameters, parts, source, template
from warehouse.sql_text import templates

WEIGHTS, TRAINING, AVERAGE_PRECISION = "weights", "training", "average_precision"
NONE, USUAL = "none", "min-max"


class Grid(GridTable, frozen=True, kw_only=True):
    """The values of a parameter to try when tuning."""

    def values(self) -> list[str]:
        """Return the values as written, without the noise of binary fractions.

        >>> Grid(first=0.1, last=0.3, step=0.1).values()
        ['0.1', '0.2', '0.3']
        """
        first, last, step = (Decimal(repr(one)) for one in (self.first, self.last, self.step))
        return [str(first + number * step) for number in range(int((last - first) / step) + 1)]


class Method(Template, frozen=True, kw_only=True):
    """A method as its file defines it.

    `needs` names what it needs apart from the lists, `scores` says whether it reads scores or only
    ranks, and `grid` has the values of its parameters to try when tuning.
    """

    needs: tuple[str, ...] = ()
    scores: bool = False
    grid: dict[str, Grid]
    kind: ClassVar[str] = "method"


class Normalisation(Template, frozen=True, kw_only=True):
    """A way of making the scores of lists comparable, as its file defines it.

    If it is `positive`, it cannot handle lists without a score above 0.
    """

    positive: bool = False
    kind: ClassVar[str] = "normalisation"


def _method(name: str, document: toml.Document, body: str) -> Method:
    head = document.convert(FusionHeader)
    parameters = header_parameters(document, head)
    grid = {key: Grid(**asdict(one)) for key, one in head.tune.items()}
    for key in grid:
        checks.check_known(document, ("tune", key), key, (p.name for p in parameters))
    return template(Method, document, head, name, body, parameters, grid=grid)


@cache
def methods() -> dict[str, Method]:
    """Return every method by its name.

    >>> methods()["rrf"].title, len(methods())
    ('Reciprocal rank fusion (RRF)', 25)
    """
    found = {name: _method(name, *source("fusion", name)) for name in templates.names_in("fusion")}
    checks.check_names(found.values(), checks.names_of(()))
    for one in extending.others():
        for path in one.extension.files("fusion"):
            for method in extending.attempt(one.name, str(path), lambda: _added(path, found)):  # noqa: B023
                found[method.name] = method
    return found


def _added(path: Path, found: Mapping[str, Method]) -> Method:
    """Return the method in a file of an extension."""
    method = _method(
        path.name.removesuffix(templates.SUFFIX), *parts(path.read_text("utf-8"), str(path))
    )
    checks.check_names([method], checks.names_of(found.values()))
    return method


@cache
def _names() -> dict[str, tuple[Method, Alias]]:
    return notation.folded_names(methods())


def parse(text: str) -> Metric:
    """Read a method in the notation of metrics. Raises UsageError with the nearest right name.

    >>> str(parse("RRF")), str(parse("CombGMNZ( gamma = 1 )"))
    ('rrf', 'gmnz(gamma=1.0)')
    """
    asked = text.strip()
    name = asked.partition("(")[0].strip()
    if name.lower() in _names():
        asked = name.lower() + asked[len(name) :]
    found = notation.read_plain(asked, _names(), Defaults())
    if found is None:
        hint = nearest(name, _names()) or f"; there are {', '.join(methods())}"
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
    found = {}
    for name in templates.names_in("normalisations"):
        document, body = source("normalisations", name)
        head = document.convert(NormalisationHeader)
        found[name] = template(Normalisation, document, head, name, body)
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
