"""One statement that computes some metrics, for people: it runs in a plain DuckDB, on any tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import NamedTuple

from warehouse.config.project import request
from warehouse.errors import UsageError, check_several
from warehouse.evaluate.chain import Chain, chain
from warehouse.evaluate.plan import Plan, plan
from warehouse.metrics import protocols
from warehouse.metrics.catalogue import catalogue
from warehouse.metrics.notation import Metric, Metrics, parse
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text import dialects, functions, relations, templates
from warehouse.sql_text.quoting import ident

_PART = re.compile(r'"[^"]+"|[^."]+')
# The tables that the steps read in addition to runs and qrels, with their columns.
_TABLES = {
    "scope_training": "training (query_id, doc_id, relevance)",
    "scope_attribute": "document_attributes (doc_id, attribute, position, text, number)",
    "scope_query_attribute": "query_attributes (query_id, attribute, position, text, number)",
    "scope_assignment": "assignments (run, query_id, judge, nugget_id, importance, weight, part,\n"
    "-- assignment)",
    "scope_citation": "citations (run, query_id, judge, sentence, doc_id, support)",
}


@request()
def compose(
    metrics: Metrics,
    protocol: str | Protocol = protocols.DEFAULT,
    *,
    run: str = "run",
    qrels: str = "qrels",
    dataset: str | None = None,
    by_query: bool = False,
    dialect: str | None = None,
) -> str:
    """Return one statement that computes some metrics, after the macros that it calls.

    It reads two tables: `run`, with the columns run, query_id, doc_id and score, and `qrels`, with the
    columns query_id, doc_id and relevance. With a `dataset`, it reads the current runs and qrels of
    that dataset in a warehouse, or in a replica. Its columns are metric, run and value, and with
    `by_query` also query_id. In a `dialect` it calls no macros. Raises UsageError for a metric that the
    dialect does not have.

    >>> print(compose("P@5").splitlines()[0])
    -- P@5: Precision, under the protocol default
    """
    rules = protocol if isinstance(protocol, Protocol) else protocols.get(protocol)
    asked = parse(*check_several("metrics", metrics), defaults=rules.defaults())
    if dataset is not None and dialect is not None:
        raise UsageError("a warehouse is a DuckDB file: leave out the dialect, or the dataset")
    tables = {"run": _qualified(run), "qrels": _qualified(qrels), "dataset": dataset}
    in_duckdb = dialect in (None, "duckdb")
    made = _statement(asked, rules, tables, by_query=by_query, in_duckdb=in_duckdb)
    whole = made.sql
    about = [_about(metric, rules) for metric in asked]
    if dataset is None:
        iteration = ", iteration" if made.reads_iterations else ""
        read = [f"{_in_line(run)} (run, query_id, doc_id, score)"]
        read += [f"{_in_line(qrels)} (query_id, doc_id, relevance{iteration})"]
        read += [one for step, one in _TABLES.items() if step in made.steps]
        about.append("-- reads " + "\n-- and ".join(read))
    macros = functions.script(whole)
    if dialect is not None:
        macros, whole = [], dialects.translated(whole, dialect, ", ".join(map(str, asked)))
        if dialect not in dialects.TESTED:
            about.append(f"-- translated for {dialect}, where we have not run it")
    return "\n\n".join([*about, *macros, whole]) + ";\n"


class _Argument(int):
    """A cutoff that is an argument of a macro."""

    __eq__, __hash__ = object.__eq__, object.__hash__  # no number, whatever it stands for

    def __str__(self) -> str:
        return "k"


def macros(protocol: str = protocols.DEFAULT) -> str:
    """Return a table macro for each established metric that reads runs and judgments alone.

    `from nDCG('my_run', 'my_qrels', k := 10)` returns metric, run and value in any DuckDB.
    """
    rules = protocols.get(protocol)
    made = []
    for name, found in sorted(catalogue().items(), key=lambda one: one[0].lower()):
        needs_more = {p.name for p in found.parameters if p.required} - {"cutoff"}
        if found.maturity != "established" or found.is_own or needs_more:
            continue
        cutoff = found.parameter("cutoff")
        (metric,) = parse(f"{name}@10" if cutoff else name, defaults=rules.defaults())
        if not plan([metric], rules).needs <= {"predictions"}:
            continue
        made.append(_macro(metric, rules, has_cutoff=cutoff is not None))
    return "\n\n".join(made) + "\n"


def _macro(metric: Metric, protocol: Protocol, *, has_cutoff: bool) -> str:
    """Return a table macro of a metric, with its cutoff as an argument if it has one."""
    tables = {"run": "query_table(run_table)", "qrels": "query_table(qrels_table)", "dataset": None}
    arguments = "run_table, qrels_table"
    if has_cutoff:
        at = metric.definition.at
        values = tuple((key, _Argument(10) if key == at else one) for key, one in metric.values)
        metric = replace(metric, values=values)
        arguments += ", k"
        if not metric.definition.needs_cutoff and _is_same_with_null(metric, protocol, tables):
            arguments += " := null"
    sql = dialects.translated(_statement([metric], protocol, tables).sql, "duckdb", str(metric))
    name = ident(metric.name)
    return (
        f"{_about(metric, protocol)}\ncreate or replace macro {name}({arguments}) as table\n{sql};"
    )


def _is_same_with_null(
    metric: Metric, protocol: Protocol, tables: Mapping[str, str | None]
) -> bool:
    """Whether a metric without a cutoff is the one whose cutoff is null."""
    values = tuple(
        (key, None if key == metric.definition.at else one) for key, one in metric.values
    )
    without = replace(metric, values=values)
    given = _statement([metric], protocol, tables).sql.replace(str(metric), str(without))
    return re.sub(r"\bk\b", "null", given) == _statement([without], protocol, tables).sql


class _Statement(NamedTuple):
    """A statement, the names of its steps, and whether it reads iterations of judgments."""

    sql: str
    steps: frozenset[str]
    reads_iterations: bool


def _statement(
    metrics: Sequence[Metric],
    protocol: Protocol,
    tables: Mapping[str, str | None],
    *,
    by_query: bool = False,
    in_duckdb: bool = True,
) -> _Statement:
    """Return the statement alone; `tables` has SQL of the runs and of the qrels, or a dataset."""
    if len(metrics) > 1 and {_kind(metric) for metric in metrics} != {"metric"}:
        problem = "a curve, and a metric in Python, have other columns than a metric in SQL has"
        raise UsageError(f"{problem}: ask for the SQL of each one by itself")
    work = plan(metrics, protocol)
    found = chain(work, metrics)
    reads = [work.read[str(metric)] for metric in metrics]
    in_scope = {"scope_run", *(table for read in reads for table in read.scope)}
    reads_iterations = not in_scope.isdisjoint({"scope_iteration", "scope_preference"})
    steps = _steps(
        work,
        [*sorted(in_scope), *(table for read in reads for table in read.tables)],
        **tables, exclude=protocol.exclude, ordering=protocol.ordering, in_duckdb=in_duckdb,
        reads_hits="scope_hit" in in_scope, reads_predictions="scope_prediction" in in_scope,
        reads_iterations=reads_iterations, in_order=any(map(work.follows_source, metrics)),
    )  # fmt: skip
    values = [
        templates.render(
            "statements/composed_values",
            metric=str(metric), step=step, column=column, kind=_kind(metric),
            aggregate=metric.aggregate, undefined=protocol.undefined_of(metric),
            weights=work.weights(metric), by_query=by_query,
        )
        for metric, (step, column) in found.values.items()
    ]  # fmt: skip
    steps |= found.without(work.tables).steps
    order = ", ".join("123"[: 3 if by_query else 2])
    whole = Chain(steps, frozenset(work.inline)).written()
    sql = "\n".join([whole, "\nunion all\n".join(values), f"order by {order}"])
    return _Statement(sql, frozenset(steps), reads_iterations)


def _kind(metric: Metric) -> str:
    """Return whether a metric is in Python, or what its template defines."""
    return "python" if metric.definition.function is not None else metric.definition.kind


def _qualified(table: str) -> str:
    """Quote the name of a table, which may have its schema and database before it.

    >>> _qualified('mine."my run"')
    '"mine"."my run"'
    """
    parts = [part.strip('"') for part in _PART.findall(table)]
    if not parts:
        raise UsageError("the name of a table is empty")
    return ".".join(map(ident, parts))


def _in_line(text: str) -> str:
    """Return a text without line breaks, which would end a comment."""
    return " ".join(text.split())


def _steps(work: Plan, read: Iterable[str], **words: object) -> dict[str, str]:
    """Return some tables of a plan and in scope, and what they read, each before its readers.

    `words` are what the templates of the tables in scope ask for, besides names of tables.
    """
    in_scope = templates.names_in("composed")
    matched = work.table(relations.get("matched"), {})
    found: dict[str, str] = {}

    def follow(name: str) -> None:
        if name in found:
            return
        noted: dict[str, None] = {}
        if name in work.tables:
            sql, noted = work.tables[name], work.read[name].scope | work.read[name].tables
        else:
            mentions = {one: templates.Mention(one, noted) for one in in_scope}
            mentions["matched"] = templates.Mention(matched, noted)
            sql = templates.render(f"composed/{name}", **words, **mentions)
        for one in noted:
            follow(one)
        found[name] = sql

    for name in read:
        follow(name)
    return found


def _about(metric: Metric, protocol: Protocol) -> str:
    """Return comments that say which metric it is."""
    found = metric.definition
    lines = [f"{metric}: {found.title}, under the protocol {protocol.name}"]
    lines += [line for line in (found.formula, found.reference) if line]
    if found.function is not None:
        lines.append(f"the rows from which {found.where} computes the values")
    wrapped = (piece for line in lines for piece in wrap(_in_line(line), 97))
    return "\n".join(f"-- {piece}" for piece in wrapped)
