"""The plan to compute a list of metrics under a protocol: rendered SQL of relations and of values."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from textwrap import dedent
from typing import Any

import jinja2

from warehouse.errors import DefinitionError
from warehouse.metrics import protocols
from warehouse.metrics.aggregates import NO_RELEVANT, WEIGHT
from warehouse.metrics.notation import Metric
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text import relations, templates
from warehouse.sql_text.relations import Relation

# The macros by which a metric's template writes an expression: see `_Writer`.
WRITERS = ("value", "part", "summed", "fact")
# The errors that an expression of a template may raise.
_TEMPLATE_ERRORS = (
    jinja2.TemplateError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip


@dataclass(frozen=True)
class Contents:
    """The other contents of a dataset: hashes of the training set, some attributes and the nuggets.

    The attributes of the documents and of the queries are given by name. What judges say
    of the answers of a run is a content of the run: see `requirements.assessed`.
    """

    training: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    query_attributes: Mapping[str, str] = field(default_factory=dict)
    nuggets: str | None = None


@dataclass
class _Read:
    """The inputs of a rendered template: tables of the plan and, itself or through them, in scope."""

    tables: dict[str, None] = field(default_factory=dict)
    scope: dict[str, None] = field(default_factory=dict)

    @property
    def needs(self) -> frozenset[str]:
        """The needs in scope apart from judgments and hits."""
        return frozenset(need for table in self.scope if (need := relations.SCOPE[table]))

    def add(self, table: str, scope: Iterable[str]) -> None:
        """Add a table of the plan, and its inputs in scope."""
        self.tables[table] = None
        self.scope |= dict.fromkeys(scope)


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
        table = self._plan.table(self._relation, self._params)
        self._read.add(table, self._plan.read[table].scope)
        return table


@dataclass(frozen=True)
class Fact:
    """An expression over the rows of each query, or of each ranking, of a relation: a column of its own.

    `keys` are the columns that it is found by; its relation `is_grouped` by them, unless it has one row
    for each.
    """

    name: str
    over: str
    keys: tuple[str, ...]
    is_grouped: bool
    sql: str


@dataclass(frozen=True)
class Expression:
    """The values of a metric: an expression over the rows of each ranking in a relation.

    `by` are columns of the relation that are the same on all rows of a ranking. In its SQL each of the
    `facts` stands as `marked(number)`. The relation `is_grouped` unless it has one row for each ranking.
    """

    over: str
    by: tuple[str, ...]
    is_grouped: bool
    sql: str
    facts: tuple[Fact, ...]


def marked(number: int) -> str:
    """Return what stands in an expression for one of its facts, which gets its name in a statement."""
    return f"\0{number}\0"


def fact_steps(facts: Mapping[Fact, str]) -> dict[str, str]:
    """Return the steps of facts, by the names of their columns: one for each relation."""
    steps = {}
    for first in facts:
        columns = {name: fact.sql for fact, name in facts.items() if fact.over == first.over}
        steps[_facts_of(first.over)] = templates.render(
            "statements/expressions", columns=columns, over=first.over, keys=first.keys,
            by=first.keys if first.is_grouped else (), joins={},
        )  # fmt: skip
    return steps


def joins(facts: Iterable[Fact]) -> dict[str, tuple[str, ...]]:
    """Return the steps of facts with the columns that each is joined by."""
    return {_facts_of(fact.over): fact.keys for fact in facts}


def _facts_of(over: str) -> str:
    return f"facts_of_{over}"


class _Writer:
    """The macros by which a template writes its values as an expression: `value` and those inside."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.parts: dict[str, str] = {}
        self.is_pooled = self.is_nested = False
        self.expression: Expression | None = None

    def value(
        self,
        over: _Reference,
        *by: str,
        caller: Callable[[], str],
        each: tuple[str, ...] = (),
        pooled: bool = False,
    ) -> str:
        """Take the expression over the rows of each ranking in a relation.

        It is over the parts of a ranking, `each` with its own values of some columns, if these are
        given, and if it is `pooled`, over sums of all queries; it is then written as a query.
        """
        keys, is_grouped = _keys(over)
        if "run_id" not in keys:
            raise TypeError(f"value: the relation {over} has no rows of runs")
        by, each = tuple(map(_column, by)), tuple(map(_column, each))
        self.is_pooled, self.is_nested = pooled, pooled or bool(each)
        sql = dedent(caller()).strip()
        if self.is_nested:
            named = {fact: fact.name for fact in self.facts}
            of_query = ("run_id", "query_id", *named.values())
            keys = (*of_query, *each)
            parts = templates.render(
                "statements/expressions", columns=self.parts, over=str(over), keys=keys,
                by=(*keys, *by), joins=joins(named),
            )  # fmt: skip
            words = {"steps": fact_steps(named) | {"parts": parts}, "value": sql}
            return templates.render("statements/nested", **words, by=of_query, pooled=pooled)
        self.expression = Expression(str(over), by, is_grouped, sql, tuple(self.facts))
        return ""

    def part(self, name: str, caller: Callable[[], str]) -> str:
        """Take an expression over the rows of each part of a ranking; return its column."""
        self.parts[_column(name)] = dedent(caller()).strip()
        return name

    def summed(self, name: str, caller: Callable[[], str]) -> str:
        """Return an expression that is summed over the queries if the value is pooled, or that sum."""
        if not self.is_pooled:
            return dedent(caller()).strip()
        return f"total({self.part(name, caller)}, query_id)"

    def fact(self, over: _Reference, name: str, caller: Callable[[], str]) -> str:
        """Take an expression over a query's rows in another relation; return what stands for it."""
        keys, is_grouped = _keys(over)
        one = Fact(_column(name), str(over), keys, is_grouped, dedent(caller()).strip())
        if one not in self.facts:
            self.facts.append(one)
        return name if self.is_nested else marked(self.facts.index(one))


def _keys(over: _Reference) -> tuple[tuple[str, ...], bool]:
    """Return the columns that name a query or a ranking, and whether it has several rows for it."""
    grain = over._relation.grain
    keys = tuple(key for key in ("run_id", "query_id") if key in grain)
    return keys, len(grain) > len(keys)


@dataclass
class Plan:
    """The relations that some metrics read, in the order in which each can be made, and their values.

    `queries` has the values of each metric: an expression, or a query with the columns run_id, query_id
    and value. `inline` names relations that are computed where they are read, `of_runs` those that
    depend on the runs. `sliced` plans read the parts of a slice of the documents, one at a time.
    """

    protocol: Protocol
    sliced: bool = False
    tables: dict[str, str] = field(default_factory=dict)
    inline: set[str] = field(default_factory=set)
    of_runs: set[str] = field(default_factory=set)
    queries: dict[Metric, str | Expression] = field(default_factory=dict)
    read: dict[str, _Read] = field(default_factory=dict)

    @property
    def needs(self) -> frozenset[str]:
        """Return what the metrics need in scope apart from judgments and hits: see relations.SCOPE."""
        of_metrics = (self.needs_of(metric) for metric in self.queries)
        return self.protocol.needs.union(*of_metrics)

    def add(self, metric: Metric) -> str | Expression:
        """Add a metric and the relations that it reads; return its values."""
        if metric not in self.queries:
            found = metric.definition
            params = metric.row_params
            writer = _Writer()
            functions_of = {name: getattr(writer, name) for name in WRITERS}
            values: str | Expression
            try:
                values, read = self._render(found.body, params | functions_of, found.reads, params)
                if writer.expression is not None:
                    if values:
                        raise ValueError("it holds SQL outside the call of value")
                    values = writer.expression
            except _TEMPLATE_ERRORS as error:
                raise DefinitionError(
                    f"{metric}: the template {found.where} fails: {error}"
                ) from error
            if found.is_own:
                read.add(self.rankings(metric), ())  # its rows are checked against these
            for table in (self.relevant(metric), self.weights(metric)):
                if table is not None:
                    read.add(table, self.read[table].scope)
            self.queries[metric] = values
            self.read[str(metric)] = read
        return self.queries[metric]

    def relevant(self, metric: Metric) -> str | None:
        """Add the queries with a relevant document, if those without one have a value of their own."""
        if metric.params.get(NO_RELEVANT) is None:
            return None
        return self.table(relations.get("relevant_queries"), metric.row_params)

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
            values = dict.fromkeys(relation.optional) | usual | {**params, **rules}
            sql, read = self._render(relation.body, values, relation.reads, params)
            self.tables[table] = sql
            self.read[table] = read
            if relation.inline:
                self.inline.add(table)
            if "run_id" in relation.grain or not self.of_runs.isdisjoint(read.tables):
                self.of_runs.add(table)
        return table

    def _render(
        self, body: str, values: Mapping[str, Any], reads: Iterable[str], params: Mapping[str, Any]
    ) -> tuple[str, _Read]:
        read = _Read()
        names: dict[str, Any] = {
            table: templates.Mention(table, read.scope) for table in relations.SCOPE
        }
        names |= {name: _Reference(self, relations.get(name), params, read) for name in reads}
        return templates.compiled(body).render(**{**values, **names}).strip(), read

    def _rules(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the protocol's rules; a metric may itself ask for judged documents only."""
        rules = self.protocol.variables()
        rules["sliced"] = self.sliced
        rules["judged_only"] = rules["judged_only"] or params.get("judged_only", False)
        return rules

    def needs_of(self, metric: Metric) -> frozenset[str]:
        """Return the needs of one metric in scope apart from judgments and hits."""
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

    def below(self, *tables: str) -> list[str]:
        """Return some tables and those that they read, directly or not, in the order of making."""
        needed: dict[str, None] = {}

        def follow(names: Iterable[str]) -> None:
            for name in names:
                if name not in needed:
                    follow(self.read[name].tables)
                    needed[name] = None

        follow(tables)
        return list(needed)


def _assumed(relation: Relation, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters, with the relation's assumptions for open ones."""
    given = {key: value for key, value in params.items() if value is not None}
    return {**params, **relation.assumes, **given}


def _word(value: object) -> str:
    """Return a parameter's value as part of a table's name, in which DuckDB does not tell A from a."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    is_word = re.fullmatch(r"[a-z0-9_]+", text)
    return text if is_word else hashlib.sha256(text.encode()).hexdigest()[:8]


def _column(name: str) -> str:
    """Return the name of a column. Raises ValueError if it is no plain word."""
    if not re.fullmatch(r"[a-z]\w*", name):
        raise ValueError(f"{name!r} is no name of a column: write a word in small letters")
    return name


def plan(metrics: Iterable[Metric], protocol: Protocol, *, sliced: bool = False) -> Plan:
    """Return the plan for some metrics under a protocol.

    >>> from warehouse.metrics import notation, protocols
    >>> sorted(plan(notation.parse("AP", "IdealDCG"), protocols.get("default")).tables)
    ['hits_rel_1', 'ideal_gains', 'rankings', 'retrieved']
    """
    made = Plan(protocol, sliced)
    for metric in metrics:
        made.add(metric)
    return made
