"""The catalogue of metrics: what the header of each file in `sql/metrics` says, checked hard.

A metric is one file, `sql/metrics/<name>.sql.j2`; its name is its file name and nothing else lists it.
A project adds its own, in the folder that its `warehouse.toml` names.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from warehouse import metric_checks, project, records, templates
from warehouse.errors import DefinitionError, nearest

Value = int | float | str | bool | None

_HEADER_KEYS: dict[str, records.Kinds] = {
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
_OPTIONAL_KEYS: dict[str, records.Kinds] = {
    "params": dict,
    "names": dict,
    "ranx": dict,
    "trec_eval": dict,
    "at": str,
    "extends": str,
}
# What a metric that extends another has to say for itself.
_OWN_KEYS = ("names", "ranx", "trec_eval")
_PARAM_KEYS: dict[str, records.Kinds] = {
    "type": str,
    "default": (int, float, str, bool),
    "min": (int, float),
    "max": (int, float),
    "above": str,
    "choices": list,
    "required": bool,
    "summary": str,
    "follows_level": bool,
    "needs": dict,
}
_TREC_KEYS: dict[str, records.Kinds] = {
    "param": str,
    "values": list,
    "format": str,
    "integer": bool,
    "per_query": bool,
    "given": dict,
}
_RANX_KEYS: dict[str, records.Kinds] = {"fraction": str, "given": dict}
_TYPES = ("integer", "number", "choice", "boolean")
DIRECTIONS = ("higher", "lower", "none")
AGGREGATES = ("mean", "sum", "geometric_mean", "pooled")
# A parameter of this name says how a metric's queries are put together, in place of its header.
AGGREGATE = "aggregate"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a metric, as its header declares it.

    `above` names another parameter, whose value must be smaller.
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

    def read(self, text: str) -> Value:
        """Read a value from the notation, or raise ValueError in words."""
        if self.type == "choice":
            quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
            word = text[1:-1] if quoted else text
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
    where: str = field(repr=False)
    is_own: bool = False

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


def _definition(
    name: str, text: str, where: str, *, own: Mapping[str, tuple[str, str]] | None = None
) -> Definition:
    """Read a metric's file; `own` holds the texts of a project's metrics, each with its place."""
    head = templates.header(text, where)
    body = templates.body(text).rstrip("; \n")
    if "extends" in head:
        parent = head["extends"]
        known = [*templates.names_in("metrics"), *(own or ())]
        if parent not in known:
            hint = nearest(str(parent), known)
            raise DefinitionError(f"{where}: extends {parent!r}, which is no metric{hint}")
        built_in = parent not in (own or {})
        parent_text, parent_where = _built_in_source(parent) if built_in else (own or {})[parent]
        inherited = templates.header(parent_text, parent_where)
        if "extends" in inherited:
            raise DefinitionError(f"{where}: extends {parent!r}, which extends another itself")
        if body:
            raise DefinitionError(f"{where}: extends {parent!r} and has a body of its own")
        head = {k: v for k, v in inherited.items() if k not in _OWN_KEYS} | head
        body = templates.body(parent_text)
    records.check(head, _HEADER_KEYS | _OPTIONAL_KEYS, where, required=_HEADER_KEYS)
    _check_tables(head, where)
    if head["direction"] not in DIRECTIONS:
        raise DefinitionError(f"{where}: direction is one of {', '.join(DIRECTIONS)}")
    if head["aggregate"] not in AGGREGATES:
        raise DefinitionError(f"{where}: aggregate is one of {', '.join(AGGREGATES)}")
    parameters = tuple(_parameter(key, spec, where) for key, spec in head.get("params", {}).items())
    for p in parameters:
        if p.name == AGGREGATE and not (
            p.default == head["aggregate"] and set(p.choices) <= set(AGGREGATES)
        ):
            raise DefinitionError(
                f"{where}: parameter {AGGREGATE}: chooses among {', '.join(AGGREGATES)}, "
                "by default what the header says"
            )
    low, high = (float(bound) for bound in head["range"])
    found = Definition(
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
        where=where,
        is_own=own is not None,
    )
    metric_checks.check_header(found)
    return found


def _check_tables(head: Mapping[str, Any], where: str) -> None:
    """Refuse lists and tables in a header that do not hold what they should."""
    for key, spec in head.get("params", {}).items():
        records.check({key: spec}, {key: dict}, f"{where}: params")
        records.check(spec, _PARAM_KEYS, f"{where}: parameter {key}")
    for peer, keys in (("trec_eval", _TREC_KEYS), ("ranx", _RANX_KEYS)):
        for key, spec in head.get(peer, {}).items():
            records.check({key: spec}, {key: dict}, f"{where}: {peer}")
            records.check(spec, keys, f"{where}: {peer}.{key}")
    for peer, names in head.get("names", {}).items():
        records.check({peer: names}, {peer: list}, f"{where}: names")
        for given in names:
            records.check({peer: given}, {peer: (str, dict)}, f"{where}: names")
            if isinstance(given, dict) and not isinstance(given.get("name"), str):
                raise DefinitionError(f"{where}: names: {peer}: a table has a name and parameters")
    if not all(isinstance(read, str) for read in head["reads"]):
        raise DefinitionError(f"{where}: 'reads' is a list of relations' names")
    bounds = head["range"]
    if len(bounds) != 2 or not all(isinstance(b, int | float) for b in bounds):
        raise DefinitionError(f"{where}: 'range' is a list of two numbers, as in [0, 1]")


def undefined_value(given: float | str, where: str) -> float | None:
    """Read what a query gets that has no value: a number, or 'null' for None."""
    if given == "null":
        return None
    if isinstance(given, str):
        raise DefinitionError(f"{where}: undefined is a number or 'null'")
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
            raise DefinitionError(
                f"{where}: name {given['name']}: unknown parameter {key!r}{nearest(key, known)}"
            )
        try:
            fixed[key] = known[key].read(str(value))
        except (ValueError, OverflowError) as error:
            raise DefinitionError(f"{where}: name {given['name']}: {error}") from None
    return Alias(peer, given["name"], fixed)


def _parameter(name: str, spec: Mapping[str, Any], where: str) -> Parameter:
    if spec.get("type") not in _TYPES or "summary" not in spec:
        raise DefinitionError(
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
def _built_in() -> dict[str, Definition]:
    return {
        name: _definition(name, *_built_in_source(name)) for name in templates.names_in("metrics")
    }


def _built_in_source(name: str) -> tuple[str, str]:
    return templates.source(f"metrics/{name}"), f"sql/metrics/{name}{templates.SUFFIX}"


@project.per_project
def catalogue() -> dict[str, Definition]:
    """Return every metric by its name: those of `sql/metrics`, then the project's own."""
    here = project.current()
    here.check_folder()
    sources = {
        path.name.removesuffix(templates.SUFFIX): (project.read_text(path), project.shown(path))
        for path in here.metric_files
    }
    own = {name: _definition(name, *source, own=sources) for name, source in sources.items()}
    metric_checks.check_names(own.values(), _built_in().values())
    types = {p.name: p.type for found in _built_in().values() for p in found.parameters}
    for name, found in own.items():
        text, _ = sources[name]
        metric_checks.check_body(found, text if templates.body(text) else found.body, types)
    return _built_in() | own
