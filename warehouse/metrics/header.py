"""The keys of the headers of metrics, curves, fusion methods and normalisations, with their types."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from warehouse.metrics.parameters import Declaration

Direction = Literal["higher", "lower", "none"]
Maturity = Literal["established", "experimental", "obsolete"]
_Finite = Annotated[
    float,
    Meta(
        ge=-sys.float_info.max,
        le=sys.float_info.max,
        extra={"rule": "is a finite number or 'null'"},
    ),
]


class _Table(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class TrecTable(_Table, frozen=True, kw_only=True):
    """The meaning of a name of trec_eval; see TrecName."""

    param: str | None = None
    named: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    first: bool = False
    values: tuple[int | float, ...] = ()
    format: Annotated[
        str, Meta(pattern=r"^\{(:\.\d{1,2}f)?\}$", extra={"rule": "is {} or as {:.2f}"})
    ] = "{}"
    integer: bool = False
    per_query: bool = True
    given: dict[str, Any] = {}


class RanxTable(_Table, frozen=True, kw_only=True):
    """The meaning of a name of ranx; see RanxName."""

    fraction: str | None = None
    param: str | None = None
    values: tuple[int | float, ...] = ()
    given: dict[str, Any] = {}


class Header(_Table, frozen=True, kw_only=True):
    """The keys of the header of every template."""

    title: str
    summary: str
    formula: str
    # for the manual, typeset
    latex: str = ""


class NormalisationHeader(Header, frozen=True, kw_only=True):
    """The header of a normalisation."""

    positive: bool = False


class ParametrisedHeader(Header, frozen=True, kw_only=True):
    """The header of a template with parameters, and with names in other programs."""

    reference: str
    param: dict[str, Declaration] = {}
    names: dict[str, list[str | dict[str, Any]]] = {}
    ranx: dict[str, RanxTable] = {}
    trec_eval: dict[str, TrecTable] = {}
    at: str = "cutoff"


class MetricHeader(ParametrisedHeader, frozen=True, kw_only=True):
    """The header of a metric."""

    reads: tuple[str, ...]
    direction: Direction
    range: tuple[float, float]
    aggregate: Literal["mean", "geometric_mean", "median", "min", "max", "stddev", "sum", "pooled"]
    undefined: _Finite | Literal["null"]
    maturity: Maturity = "established"
    extends: str | None = None
    other: dict[str, str | dict[str, str]] = {}


class Axis(_Table, frozen=True, kw_only=True):
    """An axis of a curve: its name, and its lowest and highest value."""

    name: str
    range: tuple[float, float]


class CurveHeader(ParametrisedHeader, frozen=True, kw_only=True):
    """The header of a curve."""

    reads: tuple[str, ...]
    direction: Direction
    aggregate: Literal["mean", "pooled"]
    x: Axis
    y: Axis
    # by straight lines, or in steps before or after each point
    joined: Literal["lines", "steps_before", "steps_after"]
    area: str | None = None
    chance: bool = False
    same_x: bool = False


class GridTable(_Table, frozen=True, kw_only=True):
    """The values of a parameter to try when tuning: the first, the last, and the step between."""

    first: int | float
    last: int | float
    step: int | float


class FusionHeader(ParametrisedHeader, frozen=True, kw_only=True):
    """The header of a fusion method.

    `needs` names what it needs apart from the lists: a weight for each run, judged queries for
    training, or the mean average precision of each run on these.
    """

    needs: tuple[Literal["weights", "training", "average_precision"], ...]
    scores: bool
    tune: dict[str, GridTable] = {}
