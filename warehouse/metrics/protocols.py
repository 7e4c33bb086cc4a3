"""Protocols: the rules of an evaluation that are not the metric's.

Each is a record in protocols.toml, or in the `warehouse.toml` of a project.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from warehouse.config import project, toml
from warehouse.errors import DefinitionError, check_word, listing, nearest
from warehouse.metrics.catalogue import Definition, undefined_value
from warehouse.metrics.catalogue import catalogue as metrics
from warehouse.metrics.curves import curves
from warehouse.metrics.lazy import Lazy
from warehouse.metrics.notation import Defaults, Metric, peers
from warehouse.metrics.parameters import Value
from warehouse.sql_text.templates import names_in

DEFAULT = "default"
_CHOICES: dict[str, tuple[object, ...]] = {
    "ties": ("doc_desc", "doc_asc", "input"),
    "score_precision": ("double", "single"),
    "queries": ("judged", "both", "run"),
}


@dataclass(frozen=True)
class Protocol:
    """How rankings are read before any metric is computed.

    >>> get("trec_eval_9").score_precision
    'single'
    """

    name: str
    summary: str
    ties: str
    score_precision: str
    queries: str
    list_silent: bool
    depth: int | None = None
    judged_only: bool = False
    judged_only_first: bool = False
    relevant_only: bool = False
    lacks: Sequence[str] = ()
    names: str | None = None
    params: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    undefined: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def ordering(self) -> str:
        """Return the name of this protocol's order of documents; hits are stored by it."""
        return f"{self.score_precision}/{self.ties}"

    def defaults(self, level: int | None = None) -> Defaults:
        """Return this protocol's defaults, which replace those of the metrics."""
        return Defaults(
            level=level, params=self.params, lacks=frozenset(self.lacks), names=self.names
        )

    def undefined_of(self, metric: Metric) -> float | None:
        """Return the value of a query without one; None leaves it out of the mean."""
        if metric.name in self.undefined:
            return undefined_value(self.undefined[metric.name], f"protocol {self.name}")
        return metric.definition.undefined

    def variables(self) -> dict[str, Any]:
        """Return the protocol's values for the templates of relations."""
        return {
            "tie_order": self.ties,
            "score_precision": self.score_precision,
            "queries": self.queries,
            "depth": self.depth,
            "judged_only": self.judged_only,
            "judged_only_first": self.judged_only_first,
            "relevant_only": self.relevant_only,
        }


_KEYS: dict[str, toml.Kinds] = {
    "extends": str,
    "summary": str,
    "ties": str,
    "score_precision": str,
    "queries": str,
    "list_silent": bool,
    "depth": int,
    "judged_only": bool,
    "judged_only_first": bool,
    "relevant_only": bool,
    "lacks": list,
    "names": str,
    "params": dict,
    "undefined": dict,
}
_REQUIRED = ("summary", "ties", "score_precision", "queries", "list_silent")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


def _protocol(name: str, record: Mapping[str, Any], where: str) -> Protocol:
    toml.check(record, _KEYS, where)
    for key in _REQUIRED:
        if key not in record:
            advice = "" if key == "summary" else '; or extend one that has it: extends = "default"'
            raise DefinitionError(f"{where}: the key {key!r} is missing{advice}")
    for key, choices in _CHOICES.items():
        if record[key] not in choices:
            hint = nearest(record[key], map(str, choices))
            raise DefinitionError(
                f"{where}: {key} is one of {listing(map(str, choices))}, not {record[key]!r}{hint}"
            )
    if record.get("depth", 1) < 1:
        raise DefinitionError(f"{where}: depth is at least 1, not {record['depth']}")
    if not all(isinstance(word, str) for word in record.get("lacks", ())):
        raise DefinitionError(f"{where}: lacks is a list of names")
    known: dict[str, Mapping[str, Definition]] = {"params": parametrised(), "undefined": metrics()}
    for key, names in known.items():
        for metric in record.get(key, {}):
            if metric not in names:
                hint = nearest(metric, names)
                raise DefinitionError(f"{where}: {key}: no such metric {metric!r}{hint}")
    for metric, given in record.get("undefined", {}).items():
        toml.check({metric: given}, {metric: (int, float, str)}, f"{where}: undefined")
        undefined_value(given, f"{where}: undefined.{metric}")
    params = {
        metric: _values(metric, given, f"{where}: params.{metric}")
        for metric, given in record.get("params", {}).items()
    }
    return Protocol(name=name, **{**record, "params": params})


def parametrised() -> Mapping[str, Definition]:
    """Return everything whose defaults a protocol can set: every metric and every curve."""
    known = metrics()
    names = [*known, *names_in("curves")]
    return Lazy(names, lambda name: known[name] if name in known else curves()[name])


def _values(metric: str, given: object, where: str) -> dict[str, Value]:
    """Read the values that a protocol gives to parameters of a metric."""
    if not isinstance(given, dict):
        raise DefinitionError(f"{where}: write a table, as in {{ rel = 2 }}")
    found = parametrised()[metric]
    read: dict[str, Value] = {}
    for key, value in given.items():
        parameter = found.parameter(key)
        if parameter is None:
            known = [p.name for p in found.parameters]
            hint = nearest(key, known) or f"; it has {listing(known) or 'none'}"
            raise DefinitionError(f"{where}: {metric} has no parameter {key!r}{hint}")
        try:
            read[key] = parameter.take(value)
        except (ValueError, OverflowError) as error:
            raise DefinitionError(f"{where}: {error}") from None
    return read


@cache
def _built_in() -> dict[str, dict[str, Any]]:
    text = (Path(__file__).parent / "protocols.toml").read_text(encoding="utf-8")
    return toml.read(text, "protocols.toml")


@project.per_project
def catalogue() -> Mapping[str, Protocol]:
    """Return every protocol by its name: those of protocols.toml, then the project's own."""
    own = project.current().protocols
    _check_names(own)
    every = {**_built_in(), **own}
    found = Lazy(every, lambda name: _protocol(name, _whole(name, every), _where(name)))
    for name in own:
        # what is wrong with a project's own is said at once
        check_peer(found[name].names, _where(name))
    return found


def check_peer(name: str | None, where: str) -> None:
    """Refuse a protocol with the names of an unknown peer."""
    if name is not None and name not in peers():
        hint = nearest(name, peers()) or f"; those are {listing(peers())}"
        raise DefinitionError(f"{where}: names: no peer {name!r} has names for metrics{hint}")


def is_own(name: str) -> bool:
    """Whether a protocol is the project's."""
    return name in project.current().protocols


def _where(name: str) -> str:
    file = project.current().where if is_own(name) else "protocols.toml"
    return f"{file}: protocols.{name}"


def _check_names(own: Mapping[str, Any]) -> None:
    # besides the protocols, the columns of the table that compares them
    taken = {*_built_in(), "rule", "differs"}
    for name, record in own.items():
        where = _where(name)
        if not _NAME.fullmatch(name):
            raise DefinitionError(
                f"{where}: a name has letters, digits, _, . and -, a letter first"
            )
        if name.lower() in taken:
            raise DefinitionError(f"{where}: the name is taken; choose another")
        if not isinstance(record, dict):
            raise DefinitionError(f"{where}: write a table: [protocols.{name}]")
        taken.add(name.lower())


def _whole(
    name: str, every: Mapping[str, Mapping[str, Any]], below: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return a protocol's record, completed from the one that it extends.

    The summary is not inherited, and settings of metrics are merged, its own taking precedence.
    """
    record = dict(every[name])
    if "extends" not in record:
        return record
    toml.check({"extends": record["extends"]}, _KEYS, _where(name))
    parent = record.pop("extends")
    if parent not in every:
        known = [other for other in every if other != name]
        hint = nearest(str(parent), known) or f"; known are {listing(known)}"
        raise DefinitionError(f"{_where(name)}: extends {parent!r}, which is not a protocol{hint}")
    if parent in (*below, name):
        raise DefinitionError(f"{_where(name)}: extends {parent!r}, which extends it")
    inherited = _whole(parent, every, (*below, name))
    inherited.pop("summary", None)
    return _over(inherited, record)


def _over(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Merge one record into another, table by table."""
    merged = {**lower, **upper}
    for key in lower.keys() & upper.keys():
        if isinstance(lower[key], dict) and isinstance(upper[key], dict):
            merged[key] = _over(lower[key], upper[key])
    return merged


def get(name: str) -> Protocol:
    """Return a protocol. Raises UsageError with the nearest name."""
    known = catalogue()
    return known[check_word("protocol", name, known)]
