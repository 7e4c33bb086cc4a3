"""What to run for a list of metrics under a protocol: rendered SQL, in order, with fingerprints."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import jinja2

from warehouse.errors import DefinitionError
from warehouse.metrics import protocols
from warehouse.metrics.aggregates import NO_RELEVANT, SKIP, WEIGHT
from warehouse.metrics.notation import Metric
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text import functions, relations, templates
from warehouse.sql_text.relations import Relation

# What an expression of a template may raise.
_TEMPLATE_ERRORS = (
    jinja2.TemplateError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip


@dataclass(frozen=True)
class Contents:
    """The other contents of a dataset: hashes of the training set, some attributes and the nuggets.

    The attributes are those of the documents and those of the queries, each by name. What judges say
    of the answers of a run is a content of the run: see `requirements.assessed`.
    """

    training: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    query_attributes: Mapping[str, str] = field(default_factory=dict)
    nuggets: str | None = None


@dataclass
class _Read:
    """What a rendered template reads: tables of the plan, and what must be in scope."""

    tables: list[str] = field(default_factory=list)
    needs: frozenset[str] = frozenset()

    def add(self, tables: Iterable[str], needs: frozenset[str]) -> None:
        self.tables += [table for table in tables if table not in self.tables]
        self.needs |= needs


@dataclass
class _Reference:
    """A relation in a template's values: writing it adds the relation to the plan.

    A template can thus read a relation only for some values of its parameters; a relation that it
    does not read is not made. The names of the fields hide the plan from templates, which may be a
    user's.
    """

    _plan: Plan
    _relation: Relation
    _params: Mapping[str, Any]
    _read: _Read

    def __str__(self) -> str:
        if self._relation.inline and not self._plan.is_written_out:
            sql, inner = self._plan.relation_sql(self._relation, self._params)
            self._read.add(inner.tables, inner.needs)
            return f"(\n{sql}\n)"
        table = self._plan.table(self._relation, self._params)
        self._read.add([table], self._plan.read[table].needs)
        return table


@dataclass
class Plan:
    """The tables to make, in order, and the metric queries that read them.

    `spare` has, by table, the columns that can be left out if nothing names them. `sliced` plans
    read the parts of a slice of the documents, one at a time. In a plan that `is_written_out` each
    relation is a table, also one that is inline. `statements` keeps those that the engine has made.
    """

    protocol: Protocol
    sliced: bool = False
    is_written_out: bool = False
    tables: dict[str, str] = field(default_factory=dict)
    spare: dict[str, tuple[str, ...]] = field(default_factory=dict)
    queries: dict[Metric, str] = field(default_factory=dict)
    read: dict[str, _Read] = field(default_factory=dict)
    statements: dict[object, str] = field(default_factory=dict, repr=False)

    @cached_property
    def _hits(self) -> str:
        return templates.normalised(matched_sql(self.protocol))

    @property
    def needs(self) -> frozenset[str]:
        """Return what the metrics need in scope besides judgments and hits: see relations.NEEDS."""
        of_metrics = (self.needs_of(metric) for metric in self.queries)
        return self.protocol.needs.union(*of_metrics)

    def add(self, metric: Metric) -> str:
        """Add a metric and the relations that it reads; return its SQL."""
        if metric not in self.queries:
            found = metric.definition
            params = metric.row_params
            try:
                sql, read = self._render(found.body, params, found.reads, params)
            except _TEMPLATE_ERRORS as error:
                raise DefinitionError(
                    f"{metric}: the template {found.where} fails: {error}"
                ) from error
            if found.is_own:
                read.add([self.rankings(metric)], frozenset())  # its rows are checked against these
            value = metric.params.get(NO_RELEVANT)
            if value is not None:
                relevant = self.table(relations.get("relevant_queries"), params)
                read.add([relevant], frozenset())
                sql = templates.render(
                    "statements/no_relevant", metric=sql, relevant=relevant,
                    undefined=self.protocol.usual_undefined_of(metric),
                    value=None if value == SKIP else value,
                )  # fmt: skip
            weights = self.weights(metric)
            if weights is not None:
                read.add([weights], self.read[weights].needs)
            self.queries[metric] = sql
            self.read[str(metric)] = read
        return self.queries[metric]

    def rankings(self, metric: Metric) -> str:
        """Add the rankings that a metric is computed for, once; return their table's name."""
        return self.table(relations.get("rankings"), metric.row_params)

    def weights(self, metric: Metric) -> str | None:
        """Add the query weights of a metric, once; return their table, None if it has no weights."""
        if metric.weight is None:
            return None
        params = metric.row_params | {WEIGHT: metric.weight}
        return self.table(relations.get("weights"), params)

    def table(self, relation: Relation, params: Mapping[str, Any]) -> str:
        """Add a relation's table for some parameters, once; return its name."""
        params = _assumed(relation, params)
        rules = self._rules(params)
        used = relations.variables(relation.name)
        named = sorted(used & params.keys() - rules.keys())
        usual = relations.defaults(relation.name)
        own = {key: params[key] for key in named if params[key] not in (None, usual.get(key))}
        if "judged_only" in used and rules["judged_only"] and not self.protocol.judged_only:
            own["judged_only"] = True
        table = "_".join([relation.name, *(f"{key}_{_word(own[key])}" for key in own)])
        if table not in self.tables:
            sql, read = self.relation_sql(relation, params)
            self.tables[table] = sql
            self.spare[table] = relation.spare
            self.read[table] = read
        return table

    def relation_sql(self, relation: Relation, params: Mapping[str, Any]) -> tuple[str, _Read]:
        """Return a relation's query for some parameters, and what it reads."""
        params = _assumed(relation, params)
        usual = relations.defaults(relation.name)
        values = dict.fromkeys(relation.optional) | usual | {**params, **self._rules(params)}
        sql, read = self._render(relation.body, values, relation.reads, params)
        read.add([], frozenset(relation.needs))
        return sql, read

    def _render(
        self,
        body: str,
        values: Mapping[str, Any],
        reads: Iterable[str],
        params: Mapping[str, Any],
    ) -> tuple[str, _Read]:
        read = _Read()
        names = {name: _Reference(self, relations.get(name), params, read) for name in reads}
        return templates.compiled(body).render(**{**values, **names}).strip(), read

    def _rules(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the protocol's rules; a metric may itself ask for judged documents only."""
        rules = self.protocol.variables()
        rules["sliced"] = self.sliced
        rules["judged_only"] = rules["judged_only"] or params.get("judged_only", False)
        return rules

    def needs_of(self, metric: Metric) -> frozenset[str]:
        """Return what one metric needs in scope besides judgments and hits."""
        self.add(metric)
        return self.read[str(metric)].needs | self.protocol.needs

    def follows_source(self, metric: Metric) -> bool:
        """Whether equal scores count in the order of the source, by the protocol or by the metric."""
        return "input" in (self.protocol.ties, metric.row_params.get("ties"))

    def attributes_of(self, metric: Metric) -> list[str]:
        """Return the attributes of the documents that a metric reads."""
        if "attributes" not in self.needs_of(metric):
            return []
        values = metric.row_params
        named = (p.name for p in metric.definition.parameters if p.type == "attribute")
        return [str(values[name]) for name in named if values.get(name) is not None]

    def judge_of(self, metric: Metric) -> str | None:
        """Return the judge whose assessments of answers a metric reads, or None: one without a name."""
        judge = metric.params.get("judge")
        return None if judge is None else str(judge)

    def query_attributes_of(self, metric: Metric) -> list[str]:
        """Return the attributes of the queries that a metric reads."""
        self.add(metric)
        is_read = "query_attributes" in self.read[str(metric)].needs
        weights = [metric.weight] if is_read and metric.weight is not None else []
        return [*weights, *self.protocol.attributes]

    def resolved(self, contents: Contents) -> Plan:
        """Return the plan under a protocol that knows the hash of the documents that it leaves out."""
        exclude = self.protocol.exclude
        if exclude in (None, protocols.SELF):
            return self
        hashes = {**contents.query_attributes, protocols.TRAINING: contents.training}
        rules = replace(self.protocol, excluded=hashes.get(str(exclude)))
        return plan(self.queries, rules, sliced=self.sliced)

    def fingerprint(self, metric: Metric, contents: Contents | None = None) -> str:
        """Return a hash of everything that a metric's values depend on, besides run and judgments.

        That is the SQL without comments and that of the functions that it calls, the source of a
        metric in Python, the better direction, and those contents that the metric reads.
        """
        query = templates.normalised(self.add(metric))
        undefined = repr(self.protocol.undefined_of(metric))
        lines = [query, metric.aggregate, metric.direction, undefined, self._hits]
        function = metric.definition.function
        if function is not None:
            lines += [f"function: {function.source}", f"parameters: {metric.row_params}"]
        lines += sorted(
            f"{name}: {templates.normalised(self.tables[name])}" for name in self.below(metric)
        )
        called = functions.used(*lines).items()
        lines += sorted(f"{name}{templates.normalised(text)}" for name, text in called)
        if contents is not None:
            if "training" in self.needs_of(metric):
                lines.append(f"training: {contents.training}")
            if "assignments" in self.needs_of(metric):
                lines.append(f"nuggets: {contents.nuggets}")
            for name in self.attributes_of(metric):
                lines.append(f"attribute {name}: {contents.attributes.get(name)}")
            for name in self.query_attributes_of(metric):
                lines.append(f"attribute {name} of queries: {contents.query_attributes.get(name)}")
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

    def below(self, metric: Metric) -> list[str]:
        """Return the tables that a metric reads, directly or not, in the order of making."""
        return self._made(self.read[str(metric)].tables)

    def weighing(self, metric: Metric) -> list[str]:
        """Return the tables from which a metric's query weights are made, in the order of making."""
        weights = self.weights(metric)
        return [] if weights is None else self._made([weights])

    def _made(self, tables: Iterable[str]) -> list[str]:
        needed: list[str] = []

        def follow(names: Iterable[str]) -> None:
            for name in names:
                follow(self.read[name].tables)
                if name not in needed:
                    needed.append(name)

        follow(tables)
        return needed


def _assumed(relation: Relation, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with what the relation assumes in place of those that are left open."""
    given = {key: value for key, value in params.items() if value is not None}
    return {**params, **relation.assumes, **given}


def _word(value: object) -> str:
    """Return a parameter's value as part of a table's name."""
    text = str(value)
    return text if re.fullmatch(r"\w+", text) else hashlib.sha256(text.encode()).hexdigest()[:8]


def relations_sql(protocol: Protocol, *names: str) -> dict[str, str]:
    """Return the queries of relations without parameters and of those they read, in order."""
    work = Plan(protocol)
    for name in names:
        work.table(relations.get(name), {})
    return work.tables


def matched_sql(
    protocol: Protocol,
    way: Literal["matched", "counted", "placed"] = "matched",
    *,
    sparse: bool = False,
    numbered: bool = False,
    tied: bool = True,
) -> str:
    """Return the query that makes the hits in a protocol's order, by sorting or in another way.

    `sparse` says that few predictions are of judged documents, `numbered` that the documents of the
    predictions in scope are numbers, `tied` that `list_step` has rows.
    """
    values = {"sparse": sparse, "numbered": numbered, "tied": tied}
    return Plan(protocol).relation_sql(relations.get(way), values)[0]


def ranked_sql(protocol: Protocol, first: int | None = None) -> str:
    """Return the query that ranks the predictions in scope, or the first ones, by a protocol."""
    name = "ranked" if first is None else "first_ranked"
    return Plan(protocol).relation_sql(relations.get(name), {"cutoff": first})[0]


def plan(metrics: Iterable[Metric], protocol: Protocol, *, sliced: bool = False) -> Plan:
    """Return the plan for some metrics under a protocol.

    >>> from warehouse.metrics import notation, protocols
    >>> sorted(plan(notation.parse("AP", "IdealDCG"), protocols.get("default")).tables)
    ['hits_rel_1', 'ideal_gains', 'rankings']
    """
    made = Plan(protocol, sliced)
    for metric in metrics:
        made.add(metric)
    return made
