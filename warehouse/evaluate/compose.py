"""One statement that computes some metrics, for people: it runs in a plain DuckDB, on any tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Literal, NamedTuple, get_args

from warehouse.config.project import request
from warehouse.errors import UsageError, check_several, check_word
from warehouse.evaluate.chain import Chain, chain
from warehouse.evaluate.plan import Plan, plan
from warehouse.metrics import protocols
from warehouse.metrics.catalogue import catalogue
from warehouse.metrics.notation import Metric, Metrics, parse
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text import dialects, functions, relations, templates
from warehouse.sql_text.quoting import ident, literal

_PART = re.compile(r'"[^"]+"|[^."]+')
# A query over tables, table macros that are given tables, or a model of dbt.
Form = Literal["query", "macro", "model"]
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
    form: Form = "query",
) -> str:
    """Return one statement that computes some metrics, after the macros that it calls.

    It reads two tables: `run`, with the columns run, query_id, doc_id and score, and `qrels`, with the
    columns query_id, doc_id and relevance. With a `dataset`, it reads the current runs and qrels of
    that dataset in a warehouse, or in a replica. Its columns are metric, run and value, and with
    `by_query` also query_id. In a `dialect` it calls no macros. Its `form` may also be a table macro of
    each metric and `evaluate`, as `macros` makes them, or a model of dbt: `run` and `qrels` are then
    models, or tables of a source, as in `raw.run`. Raises UsageError for a metric that the dialect does
    not have.

    >>> print(compose("P@5").splitlines()[0])
    -- P@5: Precision, under the protocol default
    """
    rules = protocol if isinstance(protocol, Protocol) else protocols.get(protocol)
    asked = parse(*check_several("metrics", metrics), defaults=rules.defaults())
    if dataset is not None and dialect is not None:
        raise UsageError("a warehouse is a DuckDB file: leave out the dialect, or the dataset")
    check_word("form", form, get_args(Form))
    if form != "query" and dataset is not None:
        raise UsageError(f"a {form} reads tables that it is given: leave out the dataset")
    if form == "macro":
        if dialect not in (None, "duckdb") or by_query or (run, qrels) != ("run", "qrels"):
            problem = "table macros are DuckDB's, are given their tables, and return a value by run"
            raise UsageError(f"{problem}: leave out the dialect, the tables and by_query")
        return _macros(asked, rules)
    models = {"run": run, "qrels": qrels} if form == "model" else {}
    if models:
        dialect = dialect or "duckdb"
        run, qrels = "dbt_run", "dbt_qrels"
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
    for name, model in models.items():
        whole = re.sub(rf"[\"`]?dbt_{name}[\"`]?", _referred(model), whole)
    return "\n\n".join([*about, *macros, whole]) + ("\n" if models else ";\n")


def _referred(model: str) -> str:
    """Return how dbt names a model, or a table of a source.

    >>> _referred("raw.run")
    "{{ source('raw', 'run') }}"
    """
    names = model.split(".")
    if len(names) > 2 or not all(re.fullmatch(r"\w+", name) for name in names):
        raise UsageError(f"{model}: name a model of dbt, or a table of a source: as in raw.run")
    quoted = ", ".join(f"'{name}'" for name in names)
    return f"{{{{ {'source' if len(names) > 1 else 'ref'}({quoted}) }}}}"


class _Argument(int):
    """A cutoff that is an argument of a macro."""

    __eq__, __hash__ = object.__eq__, object.__hash__  # no number, whatever it stands for

    def __str__(self) -> str:
        return "k"


def macros(protocol: str = protocols.DEFAULT) -> str:
    """Return a table macro for each established metric that reads runs and judgments alone.

    `from nDCG('my_run', 'my_qrels', k := 10)` returns metric, run and value in any DuckDB, and so does
    `from evaluate('my_run', 'my_qrels', ['AP', 'nDCG@10'])` for several of them.
    """
    rules = protocols.get(protocol)
    found: list[Metric] = []
    for name, definition in sorted(catalogue().items(), key=lambda one: one[0].lower()):
        needs_more = {p.name for p in definition.parameters if p.required} - {"cutoff"}
        if definition.maturity == "established" and not definition.is_own and not needs_more:
            text = f"{name}@10" if definition.parameter("cutoff") else name
            found += parse(text, defaults=rules.defaults())
    reads_alone = [one for one in found if plan([one], rules).needs <= {"predictions"}]
    return _macros(reads_alone, rules)


def _macros(metrics: Sequence[Metric], protocol: Protocol) -> str:
    """Return a table macro for each of some metrics, and `evaluate` for several of them."""
    named: dict[str, Metric] = {}
    for metric in metrics:
        if _kind(metric) != "metric":
            raise UsageError(f"{metric}: a table macro has a metric in SQL; ask for its SQL alone")
        other = named.setdefault(metric.name.lower(), metric)
        if other is not metric:
            problem = f"{other} and {metric} would both be the macro {metric.name}"
            raise UsageError(f"{problem}: ask for one; a cutoff is its argument k")
    made = [_macro(metric, protocol) for metric in metrics]
    names = [metric.name for metric in metrics]
    several = templates.render("statements/evaluate_macro", names=names)
    return "\n\n".join([*made, several]) + "\n"


def _macro(metric: Metric, protocol: Protocol) -> str:
    """Return a table macro of a metric, with its cutoff as an argument if it has one."""
    tables = {"run": "query_table(run_table)", "qrels": "query_table(qrels_table)", "dataset": None}
    arguments = "run_table, qrels_table"
    label = None
    if metric.definition.parameter("cutoff"):
        at = metric.definition.at
        values = tuple((key, _Argument(10) if key == at else one) for key, one in metric.values)
        metric = replace(metric, values=values)
        label = f"replace({literal(str(metric))}, '@k', coalesce('@' || k, ''))"
        arguments += ", k"
        may_be_null = not metric.definition.needs_cutoff and _is_same_with_null(
            metric, protocol, tables
        )
        if may_be_null:
            arguments += " := null"
        label = templates.render("statements/checked_cutoff", label=label, may_be_null=may_be_null)
    whole = _statement([metric], protocol, tables, label=label).sql
    sql = dialects.translated(whole, "duckdb", str(metric))
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
    label: str | None = None,
) -> _Statement:
    """Return the statement alone; `tables` has SQL of the runs and of the qrels, or a dataset.

    `label` is SQL of the name of a single metric, if that is not what the metric is called.
    """
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
            label=label or literal(str(metric)), step=step, column=column, kind=_kind(metric),
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
    """Return whether a metric is in Python, or its template's definition."""
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
    """Return some tables of a plan and in scope, and their inputs, each before its readers.

    `words` are what the templates of the tables in scope ask for, apart from names of tables.
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
