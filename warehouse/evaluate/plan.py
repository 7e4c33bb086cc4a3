"""What to run for a list of metrics under a protocol: rendered SQL, in order, with fingerprints."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import jinja2

from warehouse import templates
from warehouse.errors import DefinitionError
from warehouse.metrics import Metric
from warehouse.protocols import Protocol
from warehouse.relations import relation as _relation
from warehouse.relations import relation_variables

# What an expression of a template may raise.
_TEMPLATE_ERRORS = (
    jinja2.TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError,
)  # fmt: skip


@dataclass
class Plan:
    """The tables to make, in order, and the metric queries that read them."""

    protocol: Protocol
    tables: dict[str, str] = field(default_factory=dict)
    queries: dict[Metric, str] = field(default_factory=dict)
    reads: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self, metric: Metric) -> str:
        """Add a metric and the relations that it reads; return its SQL."""
        if metric not in self.queries:
            found = metric.definition
            names = {read: self._table(read, metric.params) for read in found.reads}
            if found.is_own:
                self._table("rankings", metric.params)  # its rows are held against these
            self.queries[metric] = _rendered(metric, names)
            self.reads[str(metric)] = tuple(names.values())
        return self.queries[metric]

    def _table(self, relation: str, params: Mapping[str, Any]) -> str:
        head, body, _ = _relation(relation)
        rules = self.protocol.variables()
        own = sorted(v for v in relation_variables(relation) if v in params and v not in rules)
        table = "_".join([relation, *(f"{name}_{params[name]}" for name in own)])
        if table not in self.tables:
            names = {read: self._table(read, params) for read in head["reads"]}
            self.tables[table] = _render(body, {**params, **rules, **names})
            self.reads[table] = tuple(names.values())
        return table

    def fingerprint(self, metric: Metric) -> str:
        """Return a hash of all SQL that a metric's values come from; comments do not count."""
        parts: dict[str, str] = {}

        def follow(names: Iterable[str]) -> None:
            for name in names:
                parts[name] = templates.normalised(self.tables[name])
                follow(self.reads[name])

        text = templates.normalised(self.add(metric))
        follow(self.reads[str(metric)])
        hits = templates.normalised(matched_sql(self.protocol))
        lines = [text, metric.aggregate, repr(self.protocol.undefined_of(metric)), hits]
        lines += [f"{name}: {parts[name]}" for name in sorted(parts)]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

    def script(self, metric: Metric) -> str:
        """Return everything that is run for one metric, as one readable SQL script."""
        needed: list[str] = []

        def follow(names: Iterable[str]) -> None:
            for name in names:
                follow(self.reads[name])
                if name not in needed:
                    needed.append(name)

        query = self.add(metric)
        follow(self.reads[str(metric)])
        made = [f"create temp table {name} as\n{self.tables[name]};" for name in needed]
        return "\n\n".join([*made, f"-- {metric}\n{query};"])


@cache
def _compiled(body: str) -> jinja2.Template:
    return templates.environment().from_string(body)


def _rendered(metric: Metric, names: Mapping[str, str]) -> str:
    try:
        return _render(metric.definition.body, {**metric.params, **names})
    except _TEMPLATE_ERRORS as error:
        where = metric.definition.where
        raise DefinitionError(f"{metric}: the template {where} fails: {error}") from error


def _render(body: str, values: Mapping[str, Any]) -> str:
    return _compiled(body).render(**values).strip()


def relations_sql(protocol: Protocol, *names: str) -> dict[str, str]:
    """Return the queries of relations that take no parameter, and of what they read, in order."""
    work = Plan(protocol)
    for name in names:
        work._table(name, {})
    return work.tables


def matched_sql(protocol: Protocol) -> str:
    """Return the query that makes the hits in a protocol's order."""
    _, ranked, _ = _relation("ranked")
    _, matched, _ = _relation("matched")
    order = {"score_precision": protocol.score_precision, "ties": protocol.ties}
    return _render(matched, {"ranked": _render(ranked, order)})


def plan(metrics: Iterable[Metric], protocol: Protocol) -> Plan:
    """Return the plan for some metrics under a protocol.

    >>> from warehouse import metrics, protocols
    >>> sorted(plan(metrics.parse("AP", "nDCG@10"), protocols.get("default")).tables)
    ['hits_rel_1', 'ideal_rel_1', 'rankings', 'retrieved']
    """
    made = Plan(protocol)
    for metric in metrics:
        made.add(metric)
    return made
