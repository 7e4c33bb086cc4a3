"""A plan as one statement: relations and values as steps, each before the steps that read it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from textwrap import indent
from typing import Any, Literal

from warehouse.evaluate.plan import (
    Contents,
    Expression,
    Fact,
    Plan,
    fact_steps,
    joins,
    marked,
    plan,
)
from warehouse.metrics.aggregates import NO_RELEVANT, SKIP
from warehouse.metrics.notation import Metric
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text import functions, relations, templates
from warehouse.sql_text.quoting import ident
from warehouse.sql_text.templates import render


@dataclass
class Chain:
    """Steps of one statement, by name, and where the values of metrics are: a step, and its column.

    `inline` steps are computed where they are read, the others once.
    """

    steps: dict[str, str]
    inline: frozenset[str] = frozenset()
    values: dict[Metric, tuple[str, str]] = field(default_factory=dict)

    def written(self) -> str:
        """Return the steps as the WITH clause of a statement."""
        return "with\n" + ",\n".join(
            _step(name, sql, is_inline=name in self.inline) for name, sql in self.steps.items()
        )

    def without(self, tables: Iterable[str]) -> Chain:
        """Return the chain without some steps, which are then read as tables."""
        left = {name: sql for name, sql in self.steps.items() if name not in set(tables)}
        return Chain(left, self.inline, self.values)

    def rows(self, metric: Metric) -> str:
        """Return the query of a metric's rows."""
        step, column = self.values[metric]
        last = f"from {step}"
        if column != "value":
            last = f"select run_id, query_id, {ident(column)} as value\nfrom {step}"
        return f"{self.written()}\n{last}"


def chain(work: Plan, metrics: Iterable[Metric], made: Mapping[Metric, str] | None = None) -> Chain:
    """Return the steps that compute some metrics of a plan; those that are `made` have their own query.

    Metrics that are expressions over the rows of one relation are columns of one step.
    """
    metrics, made = list(metrics), made or {}
    rows = {metric: made.get(metric) or work.add(metric) for metric in metrics}
    read = (table for one in metrics if one not in made for table in work.read[str(one)].tables)
    steps = {table: work.tables[table] for table in work.below(*read)}
    facts: dict[Fact, str] = {}
    groups: dict[str, _Group] = {}
    queries: dict[str, str] = {}
    found = Chain(steps, frozenset(work.inline))
    for metric, values in rows.items():
        if isinstance(values, Expression):
            group = groups.setdefault(values.over, _Group(values, facts))
            found.values[metric] = group.step, group.add(str(metric), values)
        else:
            if values not in queries:
                queries[values] = _apart(f"{metric} by query", queries.values())
            step = ident(queries[values])
            steps[step] = values
            found.values[metric] = step, "value"
    steps |= fact_steps(facts) | {group.step: group.sql() for group in groups.values()}
    for metric in metrics:
        if metric.params.get(NO_RELEVANT) is not None and metric not in made:
            _set_apart(work, metric, found)
    return found


def table_query(work: Plan, table: str) -> str:
    """Return the query of a relation of a plan, with the relations that it reads."""
    steps = {one: work.tables[one] for one in work.below(table)}
    if len(steps) == 1:
        return steps[table]
    return f"{Chain(steps, frozenset(work.inline)).written()}\nfrom {table}"


def relation(
    name: str, protocol: Protocol, params: Mapping[str, Any] | None = None, *, sliced: bool = False
) -> str:
    """Return the query of a relation by its name, with the relations that it reads."""
    work = Plan(protocol, sliced)
    return table_query(work, work.table(relations.get(name), params or {}))


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
    return relation(way, protocol, {"sparse": sparse, "numbered": numbered, "tied": tied})


def ranked_sql(protocol: Protocol, first: int | None = None) -> str:
    """Return the query that ranks the predictions in scope, or the first ones, by a protocol."""
    name = "ranked" if first is None else "first_ranked"
    return relation(name, protocol, {"cutoff": first})


def fingerprint_of(work: Plan, metric: Metric, contents: Contents | None = None) -> str:
    """Return a hash of everything that a metric's values depend on, apart from run and judgments.

    That is the statement that computes it, without comments, with the functions that it calls, the
    source of a metric in Python, the better direction, and those contents that the metric reads.
    """
    rules = work.protocol
    alone = plan([metric], rules, sliced=work.sliced)
    statement = chain(alone, [metric]).rows(metric)
    lines = [statement, metric.aggregate, metric.direction, repr(rules.undefined_of(metric))]
    lines.append(matched_sql(rules))
    function = metric.definition.function
    if function is not None:
        lines += [f"function: {function.source}", f"parameters: {metric.row_params}"]
    lines += (f"{name}{text}" for name, text in functions.used(*lines).items())
    if contents is not None:
        if "training" in work.needs_of(metric):
            lines.append(f"training: {contents.training}")
        if "assignments" in work.needs_of(metric):
            lines.append(f"nuggets: {contents.nuggets}")
        for name in work.attributes_of(metric):
            lines.append(f"attribute {name}: {contents.attributes.get(name)}")
        for name in work.query_attributes_of(metric):
            lines.append(f"attribute {name} of queries: {contents.query_attributes.get(name)}")
    text = "\n".join(map(templates.normalised, lines))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _Group:
    """Expressions over the rows of one relation: the columns of one step.

    `facts` are the columns of facts that the groups of a chain share.
    """

    def __init__(self, first: Expression, facts: dict[Fact, str]) -> None:
        self.over = first.over
        self.step = f"values_of_{first.over}"
        self._is_grouped = first.is_grouped
        self._facts = facts
        self._joins: dict[str, tuple[str, ...]] = {}
        self._by: dict[str, None] = {}
        self._columns: dict[str, str] = {}

    def add(self, name: str, values: Expression) -> str:
        """Add an expression; return its column, which equal expressions share."""
        sql = values.sql
        self._by |= dict.fromkeys(values.by)
        self._joins |= joins(values.facts)
        for number, fact in enumerate(values.facts):
            if fact not in self._facts:  # of several with one name, the later ones are numbered
                alike = sum(one.name == fact.name for one in self._facts)
                self._facts[fact] = f"{fact.name}_{alike + 1}" if alike else fact.name
            sql = sql.replace(marked(number), self._facts[fact])
            self._by[self._facts[fact]] = None
        if sql not in self._columns:
            self._columns[sql] = _apart(name, self._columns.values())
        return self._columns[sql]

    def sql(self) -> str:
        """Return the query of the values."""
        keys = ("run_id", "query_id")
        by = (*keys, *self._by) if self._is_grouped else ()
        columns = {column: sql for sql, column in self._columns.items()}
        words = {"columns": columns, "over": self.over, "keys": keys, "by": by}
        return render("statements/expressions", **words, joins=self._joins)


def _set_apart(work: Plan, metric: Metric, found: Chain) -> None:
    """Add a step in which queries without a relevant document have the value that a parameter sets."""
    step, column = found.values[metric]
    value = metric.params[NO_RELEVANT]
    name = ident(_apart(f"{metric} of queries", found.steps))
    found.steps[name] = render(
        "statements/no_relevant", step=step, column=column, relevant=work.relevant(metric),
        undefined=work.protocol.usual_undefined_of(metric), value=None if value == SKIP else value,
    )  # fmt: skip
    found.values[metric] = name, "value"


def _apart(name: str, taken: Iterable[str]) -> str:
    """Return a name that DuckDB, which does not tell A from a, tells from those that are taken."""
    small = {one.strip('"').lower() for one in taken}
    while name.lower() in small:
        name += "'"
    return name


def _step(name: str, sql: str, *, is_inline: bool) -> str:
    """Return a step; a line within a text or a name stays as it is."""
    is_plain = all(line.count(mark) % 2 == 0 for line in sql.splitlines() for mark in "'\"")
    how = "not materialized " if is_inline else ""
    return f"{name} as {how}(\n{indent(sql, '    ') if is_plain else sql}\n)"
