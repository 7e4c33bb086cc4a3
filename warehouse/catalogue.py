"""The catalogue of metrics: what the header of each file in `sql/metrics` says, checked hard.

A metric is one file, `sql/metrics/<name>.sql.j2`; its name is its file name and nothing else lists it.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from warehouse import relations, templates
from warehouse.errors import WarehouseError, nearest

Value = int | float | str | bool | None

_HEADER_KEYS = {
    "title": str,
    "summary": str,
    "formula": str,
    "reads": list,
    "direction": str,
    "range": list,
    "aggregate": str,
    "undefined": (int, float, str),
    "reference": str,
}
_OPTIONAL_KEYS = {
    "params": dict,
    "names": dict,
    "ranx": dict,
    "trec_eval": dict,
    "at": str,
    "extends": str,
}
# What a metric that extends another has to say for itself.
_OWN_KEYS = ("names", "ranx", "trec_eval")
_PARAM_KEYS = {
    "type", "default", "min", "max", "above", "choices", "required", "summary", "follows_level", "needs",
}  # fmt: skip
_TYPES = ("integer", "number", "choice", "boolean", "attribute")
# What the name of an attribute cannot have in the notation.
_NOT_IN_A_NAME = re.compile(r"[(),'\"\\]")
DIRECTIONS = ("higher", "lower", "none")
AGGREGATES = ("mean", "sum", "geometric_mean", "pooled")
# A parameter of this name says how a metric's queries are put together, in place of its header.
AGGREGATE = "aggregate"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a metric, as its header declares it.

    `above` names another parameter, whose value must be smaller. `inherited` is one that every metric
    has which reads the same relation.
    """

    name: str
    type: str
    summary: str
    default: Value = None
    required: bool = False
    minimum: float | None = None
    maximum: float | None = None
    above: str | None = None
    choices: tuple[str, ...] = ()
    follows_level: bool = True
    needs: Mapping[str, str] = field(default_factory=dict)
    inherited: bool = False

    def write(self, value: Value) -> str:
        """Write a value as `read` reads it: the name of an attribute in quotes, if it is no word."""
        if self.type == "attribute" and not re.fullmatch(r"\w+", str(value)):
            return f"'{value}'"
        return str(value)

    def read(self, text: str) -> Value:
        """Read a value from the notation, or raise ValueError in words."""
        quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
        word = text[1:-1] if quoted else text
        if self.type == "attribute":
            if not word.strip() or _NOT_IN_A_NAME.search(word):
                raise ValueError(
                    f"{self.name} is the name of an attribute, without commas, parentheses and quotes, "
                    f"not {text}"
                )
            return word
        if self.type == "choice":
            if word not in self.choices:
                raise ValueError(f"{self.name} is one of {', '.join(self.choices)}, not {text}")
            return word
        try:
            value: object = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = text
        if self.type == "boolean":
            if not isinstance(value, bool):
                raise ValueError(f"{self.name} is True or False, not {text}")
            return value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{self.name} is a number, not {text}")
        if not math.isfinite(value):
            raise ValueError(f"{self.name} is a finite number, not {text}")
        if self.type == "integer":
            if value != int(value):
                raise ValueError(f"{self.name} is a whole number, not {text}")
            value = int(value)
        else:
            value = float(value)
        if self.minimum is not None and value < self.minimum:
            raise ValueError(f"{self.name} is at least {self.minimum:g}, not {text}")
        if self.maximum is not None and value > self.maximum:
            raise ValueError(f"{self.name} is at most {self.maximum:g}, not {text}")
        return value


@dataclass(frozen=True)
class TrecName:
    """A name that trec_eval has for a metric.

    `param` is what it lists, with the `values` it takes when none are given; `given` holds values of
    other parameters that the name itself stands for.
    """

    name: str
    param: str | None = None
    values: tuple[float, ...] = ()
    format: str = "{}"
    integer: bool = False
    per_query: bool = True
    given: Mapping[str, Value] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class RanxName:
    """A name that ranx has for a metric, with the values that it stands for.

    `fraction` is the parameter of which the name carries the decimals, as `rbp.95` does.
    """

    name: str
    fraction: str | None = None
    given: Mapping[str, Value] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Alias:
    """A name that a peer has for a metric, with the parameters that it fixes."""

    peer: str
    name: str
    fixed: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Definition:
    """A metric as its file defines it."""

    name: str
    title: str
    summary: str
    formula: str
    reads: tuple[str, ...]
    direction: str
    range: tuple[float, float]
    aggregate: str
    undefined: float | None
    reference: str
    parameters: tuple[Parameter, ...]
    at: str
    names: tuple[Alias, ...]
    ranx_names: tuple[RanxName, ...]
    trec_names: tuple[TrecName, ...]
    body: str = field(repr=False)

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of that name, if the metric has it."""
        return next((p for p in self.parameters if p.name == name), None)

    @property
    def aliases(self) -> dict[str, list[str]]:
        """Return the metric's other names by peer."""
        found: dict[str, list[str]] = {}
        for alias in self.names:
            found.setdefault(alias.peer, []).append(alias.name)
        return found

    @property
    def arrow(self) -> str:
        """Return an arrow for the direction that is better."""
        return {"higher": "↑", "lower": "↓"}.get(self.direction, "")


def _definition(name: str, text: str, where: str) -> Definition:
    head = templates.header(text, where)
    body = templates.body(text)
    if "extends" in head:
        parent = head["extends"]
        if parent not in templates.names_in("metrics"):
            raise WarehouseError(f"{where}: extends {parent!r}, which is no metric")
        parent_text = templates.source(f"metrics/{parent}")
        inherited = templates.header(parent_text, _where(parent))
        if "extends" in inherited:
            raise WarehouseError(f"{where}: extends {parent!r}, which extends another itself")
        if body:
            raise WarehouseError(f"{where}: extends {parent!r} and has a body of its own")
        head = {k: v for k, v in inherited.items() if k not in _OWN_KEYS} | head
        body = templates.body(parent_text)
    allowed = _HEADER_KEYS | _OPTIONAL_KEYS
    for key, value in head.items():
        if key not in allowed:
            raise WarehouseError(f"{where}: unknown key {key!r}{nearest(key, allowed)}")
        if not isinstance(value, allowed[key]):  # type: ignore[arg-type]
            raise WarehouseError(f"{where}: {key!r} has the wrong type")
    for key in _HEADER_KEYS:
        if key not in head:
            raise WarehouseError(f"{where}: the key {key!r} is missing")
    if head["direction"] not in DIRECTIONS:
        raise WarehouseError(f"{where}: direction is one of {', '.join(DIRECTIONS)}")
    if head["aggregate"] not in AGGREGATES:
        raise WarehouseError(f"{where}: aggregate is one of {', '.join(AGGREGATES)}")
    specs = dict(head.get("params", {}))
    parameters = tuple(_parameter(key, spec, where) for key, spec in specs.items())
    for read in head["reads"]:
        for key, spec in relations.inherited_params(read).items():
            if key not in specs:
                specs[key] = spec
                parameters += (replace(_parameter(key, spec, where), inherited=True),)
    for p in parameters:
        if p.name == AGGREGATE and not (
            p.default == head["aggregate"] and set(p.choices) <= set(AGGREGATES)
        ):
            raise WarehouseError(
                f"{where}: parameter {AGGREGATE}: chooses among {', '.join(AGGREGATES)}, "
                "by default what the header says"
            )
    low, high = (float(bound) for bound in head["range"])
    return Definition(
        name=name,
        title=head["title"],
        summary=head["summary"],
        formula=head["formula"],
        reads=tuple(head["reads"]),
        direction=head["direction"],
        range=(low, high),
        aggregate=head["aggregate"],
        undefined=undefined_value(head["undefined"], where),
        reference=head["reference"],
        parameters=parameters,
        at=head.get("at", "cutoff"),
        names=tuple(
            _alias(peer, given, parameters, where)
            for peer, names in head.get("names", {}).items()
            for given in names
        ),
        ranx_names=tuple(
            [RanxName(key) for key in head.get("names", {}).get("ranx", ())]
            + [RanxName(key, **spec) for key, spec in head.get("ranx", {}).items()]
        ),
        trec_names=tuple(
            TrecName(key, **(spec | {"values": tuple(spec.get("values", ()))}))
            for key, spec in head.get("trec_eval", {}).items()
        ),
        body=body,
    )


def undefined_value(given: float | str, where: str) -> float | None:
    """Read what a query gets that has no value: a number, or 'null' for None."""
    if given == "null":
        return None
    if isinstance(given, str):
        raise WarehouseError(f"{where}: undefined is a number or 'null'")
    return float(given)


def _alias(
    peer: str, given: str | Mapping[str, Any], parameters: tuple[Parameter, ...], where: str
) -> Alias:
    """Read a peer's name: a string, or a table of `name` and the parameters that the name fixes."""
    if isinstance(given, str):
        return Alias(peer, given)
    fixed = {key: value for key, value in given.items() if key != "name"}
    known = {p.name: p for p in parameters}
    for key, value in fixed.items():
        if key not in known:
            raise WarehouseError(
                f"{where}: name {given['name']}: unknown parameter {key!r}{nearest(key, known)}"
            )
        fixed[key] = known[key].read(str(value))
    return Alias(peer, given["name"], fixed)


def _parameter(name: str, spec: Mapping[str, Any], where: str) -> Parameter:
    for key in spec:
        if key not in _PARAM_KEYS:
            raise WarehouseError(
                f"{where}: parameter {name}: unknown key {key!r}{nearest(key, _PARAM_KEYS)}"
            )
    if spec.get("type") not in _TYPES or "summary" not in spec:
        raise WarehouseError(
            f"{where}: parameter {name}: needs a summary and a type ({', '.join(_TYPES)})"
        )
    return Parameter(
        name=name,
        type=spec["type"],
        summary=spec["summary"],
        default=spec.get("default"),
        required=spec.get("required", False),
        minimum=spec.get("min"),
        maximum=spec.get("max"),
        above=spec.get("above"),
        choices=tuple(spec.get("choices", ())),
        follows_level=spec.get("follows_level", name == "rel"),
        needs=spec.get("needs", {}),
    )


@cache
def catalogue() -> dict[str, Definition]:
    """Return every metric by its name, read from `sql/metrics`."""
    return {
        name: _definition(name, templates.source(f"metrics/{name}"), _where(name))
        for name in templates.names_in("metrics")
    }


def _where(name: str) -> str:
    return f"sql/metrics/{name}{templates.SUFFIX}"
