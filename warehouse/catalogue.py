"""The catalogue of metrics: what the header of each file in `sql/metrics` says, checked hard.

A metric is one file, `sql/metrics/<name>.sql.j2`; its name is its file name and nothing else lists it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from warehouse import relations, templates
from warehouse.errors import WarehouseError, nearest
from warehouse.parameters import TYPES, Parameter, Value

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
    "other": dict,
}
# What a metric that extends another has to say for itself. If it says how its queries are put together,
# its parameter for that has no other choice.
_OWN_KEYS = ("names", "ranx", "trec_eval", "other")
_PARAM_KEYS = {
    "type", "default", "min", "max", "above", "choices", "required", "summary", "follows_level", "needs",
    "replaces",
}  # fmt: skip
DIRECTIONS = ("higher", "lower", "none")
AGGREGATES = ("mean", "sum", "geometric_mean", "pooled")
# A parameter of this name says how a metric's queries are put together, in place of its header.
AGGREGATE = "aggregate"


@dataclass(frozen=True)
class TrecName:
    """A name that trec_eval has for a metric.

    `param` is the parameter that is listed after it, each value a metric of its own, with the `values`
    it takes when none are given; of a parameter that is a list itself, or gains by grade, all that is
    listed is one value. Among gains, the parameters in `named` may stand too (p=0.8). `numbers` are
    parameters listed in order; where `first` is true, numbers beyond them have no say. `given` holds
    values of other parameters that the name itself stands for.
    """

    name: str
    param: str | None = None
    named: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    first: bool = False
    values: tuple[float, ...] = ()
    format: str = "{}"
    integer: bool = False
    per_query: bool = True
    given: Mapping[str, Value] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class RanxName:
    """A name that ranx has for a metric, with the values that it stands for.

    `fraction` is the parameter of which the name carries the decimals, as `rbp.95` does. A name with
    `param` stands for one metric for each of its `values`.
    """

    name: str
    fraction: str | None = None
    param: str | None = None
    values: tuple[float, ...] = ()
    given: Mapping[str, Value] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Alias:
    """A name that a peer has for a metric, with the parameters that it fixes."""

    peer: str
    name: str
    fixed: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Definition:
    """A metric as its file defines it.

    `other` tells by parameter what peers mean by it that is another metric here: the metric's name
    for any value, which is kept, or names by the value, which is not.
    """

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
    other: Mapping[str, str | Mapping[str, str]]
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
        if "aggregate" in head and AGGREGATE in inherited.get("params", {}):
            inherited["params"][AGGREGATE] |= {
                "default": head["aggregate"],
                "choices": [head["aggregate"]],
            }
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
            + [RanxName(key, **_tuples(spec)) for key, spec in head.get("ranx", {}).items()]
        ),
        trec_names=tuple(
            TrecName(key, **_tuples(spec)) for key, spec in head.get("trec_eval", {}).items()
        ),
        other=head.get("other", {}),
        body=body,
    )


def _tuples(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(v) if isinstance(v, list) else v for key, v in spec.items()}


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
    if spec.get("type") not in TYPES or "summary" not in spec:
        raise WarehouseError(
            f"{where}: parameter {name}: needs a summary and a type ({', '.join(TYPES)})"
        )
    parameter = Parameter(
        name=name,
        type=spec["type"],
        summary=spec["summary"],
        required=spec.get("required", False),
        minimum=spec.get("min"),
        maximum=spec.get("max"),
        above=spec.get("above"),
        choices=tuple(spec.get("choices", ())),
        follows_level=spec.get("follows_level", name == "rel"),
        needs=spec.get("needs", {}),
        replaces=tuple(spec.get("replaces", ())),
    )
    return replace(parameter, default=parameter.adopt(spec.get("default")))


@cache
def catalogue() -> dict[str, Definition]:
    """Return every metric by its name, read from `sql/metrics`."""
    return {
        name: _definition(name, templates.source(f"metrics/{name}"), _where(name))
        for name in templates.names_in("metrics")
    }


def _where(name: str) -> str:
    return f"sql/metrics/{name}{templates.SUFFIX}"
