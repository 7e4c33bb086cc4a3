"""The catalogue of metrics: the headers of the files in `sql/metrics`, thoroughly checked.

A metric is one file; its name is the file's name and nothing else lists it. A project adds its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar

from warehouse.config import project, toml
from warehouse.errors import DefinitionError, nearest
from warehouse.metrics import aggregates, checks
from warehouse.metrics import header as keys
from warehouse.metrics.aggregates import AGGREGATE, POOLED, WEIGHT
from warehouse.metrics.lazy import Lazy
from warehouse.metrics.parameters import TYPES, Parameter, Value
from warehouse.sql_text import relations, templates

DIRECTIONS = ("higher", "lower", "none")
ARROWS = {"higher": "↑", "lower": "↓"}


@dataclass(frozen=True)
class TrecName:
    """A name that trec_eval has for a metric.

    `param` is the parameter that follows it as a list; each value is a metric of its own, by
    default the `values`. If the parameter is itself a list, or gains by grade, the whole list is
    one value. Among gains, the parameters in `named` may also be set (p=0.8). `numbers` are
    parameters listed in order; with `first`, further numbers are ignored. `given` holds values of
    other parameters implied by the name.
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
    """A name that ranx has for a metric, with the values that it implies.

    `fraction` is the parameter whose decimals are part of the name, as in `rbp.95`. A name with
    `param` stands for one metric for each of its `values`.
    """

    name: str
    fraction: str | None = None
    param: str | None = None
    values: tuple[float, ...] = ()
    given: Mapping[str, Value] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Alias:
    """A name that a peer has for a metric, with the parameters that it fixes.

    `usual` holds the peer's own defaults of other parameters.
    """

    peer: str
    name: str
    fixed: Mapping[str, Value] = field(default_factory=dict)
    usual: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Definition:
    """A metric as its file defines it.

    `kind` is metric or curve. `other` has, by parameter, the other metric that peers mean by it:
    the metric's name for any value, which is kept, or names by value, which is dropped. `pools`
    says when the template returns, besides the rows of the queries, a row for all of them: never,
    on request or always. `counts` says that it counts something, so that a sum of its values is a
    whole number.
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
    where: str = field(repr=False)
    is_own: bool = False
    pools: str = "never"
    counts: bool = False
    kind: ClassVar[str] = "metric"

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of that name, if the metric has it."""
        return next((p for p in self.parameters if p.name == name), None)


def _definition(
    name: str, text: str, where: str, *, own: Mapping[str, tuple[str, str]] | None = None
) -> Definition:
    """Read a metric's file; `own` holds the texts of a project's metrics, each with its place."""
    head = templates.header(text, where)
    body = templates.body(text).rstrip("; \n")
    of_template = head
    only = "extends" in head and "aggregate" in head
    if "extends" in head:
        parent = head["extends"]
        known = [*templates.names_in("metrics"), *(own or ())]
        if parent not in known:
            hint = nearest(str(parent), known)
            raise DefinitionError(f"{where}: extends {parent!r}, which is not a metric{hint}")
        built_in = parent not in (own or {})
        parent_text, parent_where = _built_in_source(parent) if built_in else (own or {})[parent]
        inherited = templates.header(parent_text, parent_where)
        if "extends" in inherited:
            raise DefinitionError(
                f"{where}: extends {parent!r}, which itself extends another metric"
            )
        if body:
            raise DefinitionError(f"{where}: extends {parent!r} and has a body of its own")
        of_template = inherited
        head = {k: v for k, v in inherited.items() if k not in keys.OWN_KEYS} | head
        body = templates.body(parent_text)
    return from_header(
        name, head, body, where, is_own=own is not None, of_template=of_template, only=only
    )


def from_header(
    name: str,
    head: Mapping[str, Any],
    body: str,
    where: str,
    *,
    of_template: Mapping[str, Any],
    is_own: bool = False,
    only: bool = False,
    together: aggregates.Together = aggregates.with_parameters,
) -> Definition:
    """Return what a header and its SQL define; `together` adds the parameters of the aggregate."""
    toml.check(head, keys.HEADER_KEYS | keys.OPTIONAL_KEYS, where, required=keys.HEADER_KEYS)
    _check_tables(head, where)
    if head["direction"] not in DIRECTIONS:
        raise DefinitionError(f"{where}: direction is one of {', '.join(DIRECTIONS)}")
    if head["aggregate"] not in aggregates.OF_HEADERS:
        raise DefinitionError(f"{where}: aggregate is one of {', '.join(aggregates.OF_HEADERS)}")
    specs = dict(head.get("params", {}))
    if WEIGHT in specs:
        raise DefinitionError(
            f"{where}: parameter {WEIGHT}: every metric has one of that name; choose another"
        )
    parameters = tuple(_parameter(key, spec, where) for key, spec in specs.items())
    for read in head["reads"]:
        for key, spec in relations.inherited_params(read).items():
            if key not in specs:
                specs[key] = spec
                parameters += (replace(_parameter(key, spec, where), inherited=True),)
    pools = "asked" if AGGREGATE in specs else "never"
    if pools == "never" and of_template.get("aggregate") == POOLED:
        pools = "always"
    parameters = together(parameters, head["aggregate"], where, pools=pools != "never", only=only)
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
            + [
                RanxName(key, **_peer_name(spec, parameters, f"{where}: ranx.{key}"))
                for key, spec in head.get("ranx", {}).items()
            ]
        ),
        trec_names=tuple(
            TrecName(key, **_peer_name(spec, parameters, f"{where}: trec_eval.{key}"))
            for key, spec in head.get("trec_eval", {}).items()
        ),
        other=head.get("other", {}),
        body=body,
        where=where,
        is_own=is_own,
        pools=pools,
        counts=of_template.get("aggregate") == "sum",
    )
    checks.check_header(found)
    return found


def _check_tables(head: Mapping[str, Any], where: str) -> None:
    """Refuse lists and tables in a header with wrong contents."""
    for key, spec in head.get("params", {}).items():
        toml.check({key: spec}, {key: dict}, f"{where}: params")
        toml.check(spec, keys.PARAM_KEYS, f"{where}: parameter {key}")
        for listed in ("choices", "replaces"):
            _check_list(spec.get(listed, []), str, f"{where}: parameter {key}: {listed}")
        for mapped, kinds in (("needs", str), ("at_most", (int, float))):
            values = list(spec.get(mapped, {}).values())
            _check_list(values, kinds, f"{where}: parameter {key}: {mapped}")
    for peer, known in (("trec_eval", keys.TREC_KEYS), ("ranx", keys.RANX_KEYS)):
        for key, spec in head.get(peer, {}).items():
            toml.check({key: spec}, {key: dict}, f"{where}: {peer}")
            toml.check(spec, known, f"{where}: {peer}.{key}")
            for listed, kind in (("named", str), ("numbers", str), ("values", (int, float))):
                _check_list(spec.get(listed, []), kind, f"{where}: {peer}.{key}: {listed}")
    for key, target in head.get("other", {}).items():
        toml.check({key: target}, {key: (str, dict)}, f"{where}: other")
        if isinstance(target, dict):
            _check_list(list(target.values()), str, f"{where}: other.{key}")
    for peer, names in head.get("names", {}).items():
        toml.check({peer: names}, {peer: list}, f"{where}: names")
        for given in names:
            # the values fixed by a name of ranx are in the table of that name
            taken: toml.Kinds = str if peer == "ranx" else (str, dict)
            toml.check({peer: given}, {peer: taken}, f"{where}: names")
            if isinstance(given, dict) and not isinstance(given.get("name"), str):
                raise DefinitionError(f"{where}: names: {peer}: a table has a name and parameters")
    if not all(isinstance(read, str) for read in head["reads"]):
        raise DefinitionError(f"{where}: 'reads' is a list of relations' names")
    checks.check_reads(head["reads"], where)
    bounds = head["range"]
    if len(bounds) != 2 or not all(isinstance(b, int | float) for b in bounds):
        raise DefinitionError(f"{where}: 'range' is a list of two numbers, as in [0, 1]")


def _check_list(items: list[Any], kinds: toml.Kinds, where: str) -> None:
    for number, item in enumerate(items, 1):
        toml.check({f"item {number}": item}, {f"item {number}": kinds}, where)


def _peer_name(
    spec: Mapping[str, Any], parameters: tuple[Parameter, ...], where: str
) -> dict[str, Any]:
    """Return a peer's name from a header, with its values read like those of parameters."""
    said = {key: tuple(v) if isinstance(v, list) else v for key, v in spec.items()}
    given: dict[str, Any] = spec.get("given", {})
    return said | {"given": _values(given, parameters, where)}


def _values(
    given: Mapping[str, Any], parameters: tuple[Parameter, ...], where: str
) -> dict[str, Value]:
    """Read values of parameters from a header."""
    known = {p.name: p for p in parameters}
    found: dict[str, Value] = {}
    for key, value in given.items():
        if key not in known:
            raise DefinitionError(f"{where}: unknown parameter {key!r}{nearest(key, known)}")
        try:
            found[key] = known[key].take(value)
        except (ValueError, OverflowError) as error:
            raise DefinitionError(f"{where}: {error}") from None
    return found


def undefined_value(given: float | str, where: str) -> float | None:
    """Read the value of a query without one: a number, or 'null' for None."""
    if given == "null":
        return None
    if isinstance(given, str) or not math.isfinite(given):
        raise DefinitionError(f"{where}: undefined is a finite number or 'null'")
    return float(given)


def _alias(
    peer: str, given: str | Mapping[str, Any], parameters: tuple[Parameter, ...], where: str
) -> Alias:
    """Read a peer's name: a string, or a table of `name` and the parameters that it fixes.

    The table `usual` in it has the peer's own defaults.
    """
    if isinstance(given, str):
        return Alias(peer, given)
    where = f"{where}: name {given['name']}"
    fixed = {key: value for key, value in given.items() if key not in ("name", "usual")}
    usual = given.get("usual", {})
    toml.check({"usual": usual}, {"usual": dict}, where)
    return Alias(
        peer, given["name"], _values(fixed, parameters, where), _values(usual, parameters, where)
    )


def _parameter(name: str, spec: Mapping[str, Any], where: str) -> Parameter:
    where = f"{where}: parameter {name}"
    if spec.get("type") not in TYPES or "summary" not in spec:
        raise DefinitionError(f"{where}: needs a summary and a type ({', '.join(TYPES)})")
    if "default" in spec:
        kinds = keys.DEFAULTS.get(spec["type"], (int, float, str, bool))
        toml.check({"default": spec["default"]}, {"default": kinds}, where)
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
        is_rank=spec.get("is_rank", name == "cutoff"),
        needs=spec.get("needs", {}),
        at_most=spec.get("at_most", {}),
        replaces=tuple(spec.get("replaces", ())),
    )
    try:
        return replace(parameter, default=parameter.adopt(spec.get("default")))
    except (ValueError, OverflowError) as error:
        raise DefinitionError(f"{where}: default: {error}") from None


@cache
def _built_in() -> Mapping[str, Definition]:
    return Lazy(
        templates.names_in("metrics"), lambda name: _definition(name, *_built_in_source(name))
    )


def _built_in_source(name: str) -> tuple[str, str]:
    return templates.source(f"metrics/{name}"), f"sql/metrics/{name}{templates.SUFFIX}"


@project.per_project
def catalogue() -> Mapping[str, Definition]:
    """Return every metric by its name: those of `sql/metrics`, then the project's own."""
    here = project.current()
    here.check_folder()
    if not here.metric_files:
        return _built_in()
    sources = {
        path.name.removesuffix(templates.SUFFIX): (project.read_text(path), project.shown(path))
        for path in here.metric_files
    }
    own = {name: _definition(name, *source, own=sources) for name, source in sources.items()}
    checks.check_names(own.values(), _built_in().values())
    every = {**_built_in(), **own}
    checks.check_other(own.values(), every)
    types = {p.name: p.type for found in _built_in().values() for p in found.parameters}
    for name, found in own.items():
        text, _ = sources[name]
        checks.check_body(found, text if templates.body(text) else found.body, types)
    return every
