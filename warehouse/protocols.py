"""Protocols: the rules of an evaluation that are not the metric's, each a record in protocols.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from warehouse.catalogue import undefined_value
from warehouse.errors import UsageError, WarehouseError, listing, nearest
from warehouse.metrics import Defaults, Metric
from warehouse.parameters import Value

DEFAULT = "default"
_CHOICES: dict[str, tuple[object, ...]] = {
    "ties": ("doc_desc", "doc_asc", "input"),
    "score_precision": ("double", "single"),
    "queries": ("judged", "both"),
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
    lacks: Sequence[str] = ()
    params: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    undefined: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def ordering(self) -> str:
        """Return the name of the order that this protocol puts documents in; hits are kept by it."""
        return f"{self.score_precision}/{self.ties}"

    def defaults(self, level: int | None = None) -> Defaults:
        """Return what this protocol puts in place of the metrics' own defaults."""
        return Defaults(level=level, params=self.params, lacks=frozenset(self.lacks))

    def undefined_of(self, metric: Metric) -> float | None:
        """Return what a query without a value counts as; None leaves it out of the mean."""
        if metric.name in self.undefined:
            return undefined_value(self.undefined[metric.name], f"protocol {self.name}")
        return metric.definition.undefined

    def variables(self) -> dict[str, Any]:
        """Return the values that the relations' templates ask a protocol for."""
        return {
            "tie_order": self.ties,
            "score_precision": self.score_precision,
            "queries": self.queries,
            "depth": self.depth,
            "judged_only": self.judged_only,
        }


def _protocol(name: str, record: Mapping[str, Any]) -> Protocol:
    known = {f.name for f in fields(Protocol)} - {"name"}
    for key in record:
        if key not in known:
            raise WarehouseError(f"protocol {name}: unknown key {key!r}{nearest(key, known)}")
    for key, choices in _CHOICES.items():
        if record.get(key) not in choices:
            raise WarehouseError(f"protocol {name}: {key} is one of {listing(map(str, choices))}")
    return Protocol(name=name, **record)


@cache
def catalogue() -> dict[str, Protocol]:
    """Return every protocol by its name."""
    text = (Path(__file__).parent / "protocols.toml").read_text(encoding="utf-8")
    return {name: _protocol(name, record) for name, record in tomllib.loads(text).items()}


def get(name: str) -> Protocol:
    """Return a protocol, or raise with the nearest name."""
    try:
        return catalogue()[name]
    except KeyError:
        known = list(catalogue())
        hint = nearest(name, known) or f"; known are {listing(known)}"
        raise UsageError(f"{name}: no such protocol{hint}") from None
