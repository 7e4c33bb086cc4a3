"""Protocols: the rules of an evaluation that are not the metric's.

Each is a record in protocols.toml, or in the `warehouse.toml` of a project.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from warehouse import extending
from warehouse.config import project, toml
from warehouse.config.key_paths import KeyPath
from warehouse.errors import DefinitionError, UsageError, check_word, listing, nearest, option
from warehouse.metrics.aggregates import NO_RELEVANT
from warehouse.metrics.catalogue import broken
from warehouse.metrics.catalogue import catalogue as metrics
from warehouse.metrics.curves import curves
from warehouse.metrics.lazy import Lazy
from warehouse.metrics.notation import Defaults, Metric, peers
from warehouse.metrics.parameters import Value, read_values
from warehouse.metrics.template import Template
from warehouse.sql_text.templates import names_in

DEFAULT = "default"
# The sign between the name of a protocol and a rule of exclusion: default~self.
WITHOUT = "~"
# The rules of exclusion, apart from rules by the name of an attribute of the queries.
SELF, TRAINING = "self", "training"
# Values that other programs computed are under this name, or under it with a judge: imported:NAME.
IMPORTED = "imported"


@dataclass(frozen=True)
class Protocol:
    """How rankings are read before any metric is computed.

    Documents may be left out of the rankings, whose ranks then close up: with `exclude` "self" the
    document that has the id of its query, with "training" those that the training set has for the
    query, else those that an attribute of the queries names. `excluded` is the hash of these, where
    it is known.

    >>> get("trec_eval_9").score_precision
    'single'
    >>> get("trec_eval_9~self").exclude
    'self'
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
    grades: str = "any"
    lacks: Sequence[str] = ()
    names: str | None = None
    metrics: Sequence[str] = ()
    params: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    undefined: Mapping[str, float | str] = field(default_factory=dict)
    exclude: str | None = None
    excluded: str | None = None

    @property
    def is_imported(self) -> bool:
        """Whether its values were computed by other programs, whose rules are not known."""
        return is_imported(self.name)

    @property
    def ordering(self) -> str:
        """Return the name of this protocol's order of documents; hits are stored by it."""
        without = [name for name in (self.exclude, self.excluded) if name is not None]
        return WITHOUT.join([f"{self.score_precision}/{self.ties}", *without])

    @property
    def needs(self) -> frozenset[str]:
        """Return the inputs needed in scope to leave documents out: see relations.SCOPE."""
        if self.exclude is None:
            return frozenset()
        more = {SELF: (), TRAINING: ("training",)}.get(self.exclude, ("query_attributes",))
        return frozenset({"predictions", *more})

    @property
    def attributes(self) -> frozenset[str]:
        """Return the attribute of the queries that says what to leave out, if one does."""
        return frozenset({self.exclude} - {None, SELF, TRAINING})  # type: ignore[arg-type]

    def defaults(self, level: int | None = None) -> Defaults:
        """Return this protocol's defaults, which replace the metrics' defaults."""
        return Defaults(
            level=level, params=self.params, lacks=frozenset(self.lacks), names=self.names
        )

    def undefined_of(self, metric: Metric) -> float | None:
        """Return the value of a query without one; None leaves it out of the mean."""
        if metric.params.get(NO_RELEVANT) is not None:  # its rows have it: see `Plan.add`
            return None
        return self.usual_undefined_of(metric)

    def usual_undefined_of(self, metric: Metric) -> float | None:
        """Return the value of a query without one, whatever the metric's parameters say."""
        if metric.name in self.undefined:
            given = self.undefined[metric.name]
            return None if isinstance(given, str) else float(given)
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
            "grades": self.grades,
            "exclude": self.exclude,
        }


_REQUIRED = ("summary", "ties", "score_precision", "queries", "list_silent")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


def _protocol(name: str, every: Mapping[str, Mapping[str, Any]]) -> Protocol:
    whole = _whole(name, every)
    for key in _REQUIRED:
        if key not in whole:
            advice = "" if key == "summary" else '; or extend one that has it: extends = "default"'
            raise _error(name, (), f"the key {key!r} is missing{advice}")
    for key, names in (("params", metrics_and_curves()), ("undefined", metrics())):
        for metric in whole.get(key, {}):
            if metric not in names and metric not in broken():
                problem = f"no such metric {metric!r}{nearest(metric, names)}"
                raise _error(name, (key, metric), problem, table=(key,))
    params = {
        metric: _values(name, metric, given)
        for metric, given in whole.get("params", {}).items()
        if metric not in broken()
    }
    return Protocol(name=name, **{**whole, "params": params})


def metrics_and_curves() -> Mapping[str, Template]:
    """Return everything whose defaults a protocol can set: every metric and every curve."""
    known = metrics()
    names = [*known, *names_in("curves")]
    return Lazy(names, lambda name: known[name] if name in known else curves()[name])


def _values(protocol: str, metric: str, given: Mapping[str, Any]) -> dict[str, Value]:
    """Read the values that a protocol gives to parameters of a metric."""
    try:
        return read_values(metrics_and_curves()[metric].parameters, given)
    except (ValueError, OverflowError) as error:
        raise _error(protocol, ("params", metric), str(error)) from None


@cache
def _built_in() -> toml.Document:
    text = (Path(__file__).parent / "protocols.toml").read_text(encoding="utf-8")
    return toml.read(text, "protocols.toml")


class _Known(Lazy[Protocol]):
    """Protocols by name; one whose rankings leave documents out is known, and not listed."""

    def __getitem__(self, name: str) -> Protocol:
        base, without, exclude = name.partition(WITHOUT)
        found = super().__getitem__(base)
        if not without:
            return found
        if not exclude:
            raise KeyError(name)
        return replace(found, name=name, exclude=exclude)

    def __contains__(self, name: object) -> bool:
        base, without, exclude = str(name).partition(WITHOUT)
        return super().__contains__(base) and bool(exclude) == bool(without)


def left_out(name: str) -> str | None:
    """Say which documents a protocol leaves out of the rankings, if any.

    >>> left_out("default~training")
    'left out of each ranking: the documents that the training set has for the query'
    """
    exclude = name.partition(WITHOUT)[2]
    if not exclude:
        return None
    documents = {
        SELF: "the document with the id of the query",
        TRAINING: "the documents that the training set has for the query",
    }
    listed = f"the documents in the attribute {exclude} of the query"
    return f"left out of each ranking: {documents.get(exclude, listed)}"


def without(protocol: str, exclude: str | None) -> str:
    """Return the name of a protocol that leaves documents out of the rankings.

    >>> without("default", "self"), without("default", None)
    ('default~self', 'default')
    """
    if exclude is None:
        return protocol
    if not exclude or WITHOUT in protocol:
        raise UsageError(
            f"{option('exclude', exclude)}: protocol {protocol} leaves documents out already; "
            "name one protocol without ~ and one rule"
            if exclude
            else f"{option('exclude', exclude)}: is empty; write self, training, or a list"
        )
    return f"{protocol}{WITHOUT}{exclude}"


@project.per_project
def catalogue() -> Mapping[str, Protocol]:
    """Return every protocol by its name: first from protocols.toml, then the project's own."""
    own = project.current().protocols
    _check_names(own)
    every = {**_built_in().record, **_of_extensions(), **own}
    found = _Known(every, lambda name: _protocol(name, every))
    for name in own:
        # problems of a project's own protocols are reported at once
        peer = found[name].names
        if peer is not None and peer not in peers():
            hint = nearest(peer, peers()) or f"; those are {listing(peers())}"
            problem = f"names: no peer {peer!r} has names for metrics{hint}"
            raise _error(name, ("names",), problem, table=())
    return found


@cache
def _of_extensions() -> dict[str, Mapping[str, Any]]:
    """Return the records of the protocols that extensions give; those that are wrong are left out."""
    found: dict[str, Mapping[str, Any]] = {}
    for one in extending.found():
        for name, record in one.extension.protocols.items():
            part, add = f"protocol {name}", lambda: _check_added(name, record, found)  # noqa: B023
            for _ in extending.attempt(one.name, part, add):
                found[name] = record
    return found


def _check_added(name: str, record: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Refuse the record of an extension's protocol if the project's file could not have it."""
    from warehouse.config.project_file import ProjectFile

    toml.Document("Extension", {"protocols": {name: record}}).convert(ProjectFile)
    if name in {*_built_in().record, *known, IMPORTED} or not _NAME.fullmatch(name):
        raise _error(name, (), "the name is taken, or is none; choose another")
    _protocol(name, {**_built_in().record, **known, name: record})


def is_imported(name: str) -> bool:
    """Whether a name stands for values that other programs computed.

    >>> is_imported("imported"), is_imported("imported:gpt-4o"), is_imported("default")
    (True, True, False)
    """
    return name.partition(":")[0] == IMPORTED


def of_values(name: str) -> Protocol:
    """Return the protocol of stored values: as `get`, or what stands for imported ones."""
    if is_imported(name):
        return imported(name.partition(":")[2] or None)
    return get(name)


def imported(judge: str | None = None) -> Protocol:
    """Return the protocol for the unknown rules of values that another program computed.

    >>> imported("gpt-4o").name
    'imported:gpt-4o'
    """
    name = IMPORTED if judge is None else f"{IMPORTED}:{judge}"
    return replace(catalogue()[DEFAULT], name=name, summary="Computed by another program.")


def is_own(name: str) -> bool:
    """Whether a protocol is the project's."""
    return name in project.current().protocols


def _error(name: str, path: KeyPath, problem: str, table: KeyPath | None = None) -> DefinitionError:
    if is_own(name):
        above: KeyPath = ("protocols", name)
        document = project.current().document
    elif name in _built_in().record:
        above, document = (name,), _built_in()
    else:
        above, document = ("protocols", name), toml.Document("Extension")
    return document.error((*above, *path), problem, None if table is None else (*above, *table))


def _check_names(own: Iterable[str]) -> None:
    # apart from the protocols, the columns of the table that compares them
    taken = {*_built_in().record, "rule", "differs", IMPORTED}
    for name in own:
        if not _NAME.fullmatch(name):
            raise _error(name, (), "a name has letters, digits, _, . and -, a letter first")
        if name.lower() in taken:
            raise project.current().document.error(
                ("protocols", name), "the name is taken; choose another"
            )
        taken.add(name.lower())


def _whole(
    name: str, every: Mapping[str, Mapping[str, Any]], below: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return a protocol's record, completed from the one that it extends.

    The summary is not inherited, and settings of metrics are merged, its own taking precedence.
    """
    record = dict(every[name])
    parent = record.pop("extends", None)
    if parent is None:
        return record
    if parent not in every:
        known = [other for other in every if other != name]
        hint = nearest(parent, known) or f"; known are {listing(known)}"
        raise _error(name, (), f"extends {parent!r}, which is not a protocol{hint}")
    if parent in (*below, name):
        raise _error(name, (), f"extends {parent!r}, which extends it")
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
    return known[name if name in known else check_word("protocol", name, known)]
