"""The catalogue of metrics as a list and as pages."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import replace

from duckdb import DuckDBPyRelation as Relation

from warehouse.analyze.protocol_catalogue import origin, relation
from warehouse.errors import UsageError
from warehouse.evaluate.compose import compose
from warehouse.metrics import notation
from warehouse.metrics import protocols as rules
from warehouse.metrics.aggregates import WORDS
from warehouse.metrics.catalogue import ARROWS, MATURITY, MetricTemplate, catalogue
from warehouse.metrics.notation import Metric
from warehouse.metrics.parameters import Parameter, Value, bound
from warehouse.metrics.template import Template
from warehouse.sql_text.quoting import literal


def metrics() -> Relation:
    """Return every metric.

    Columns: `metric, title, summary, better, parameters, undefined, elsewhere, origin, maturity`.
    Optional parts of a name and optional parameters are in brackets. `undefined` is the value of a
    query without one, `elsewhere` holds the names of the metric in other programs, `origin` is
    package, project or Python, and `maturity` is established, experimental or obsolete.

    >>> metrics().filter("metric = 'AP[@k]'").project("title, better, undefined").fetchall()
    [('Average precision', 'higher', '0')]
    """
    columns = (
        "metric", "title", "summary", "better", "parameters", "undefined", "elsewhere", "origin",
        "maturity",
    )  # fmt: skip
    rows = [
        (
            usage(found),
            found.title,
            in_short(found.summary),
            found.direction,
            parameters(found),
            _number_or_null(found.undefined),
            elsewhere(found),
            "Python" if found.function else origin(is_own=found.is_own),
            found.maturity,
        )
        for found in catalogue().values()
    ]
    return relation(columns, rows)


def metrics_for_people(format: str) -> Relation:
    """Return the metrics with the columns that fit the format."""
    if format == "table":
        marks = " ".join(f"when {literal(k)} then {literal(' ' + v)}" for k, v in MARKS.items())
        return metrics().project(
            f"metric, better, case when length(title) > {_TITLE_WIDTH} "
            f"then title[:{_TITLE_WIDTH - 1}] || '…' else title end || "
            f"case maturity {marks} else '' end as title"
        )
    if format in ("markdown", "latex"):
        arrow = " ".join(f"when {literal(k)} then {literal(v)}" for k, v in ARROWS.items())
        return metrics().project(
            f"metric, summary, case better {arrow} else '' end as better, parameters, undefined, "
            "elsewhere, maturity"
        )
    return metrics()


# The suffix of the titles of metrics that are not established.
MARKS = {"experimental": "°", "obsolete": "†"}
# Wide enough for most titles, narrow enough for a terminal of 80 columns.
_TITLE_WIDTH = 44
# The keys of facts on a page take so many columns.
_KEY_WIDTH = 15


def in_short(summary: str) -> str:
    """Return a summary up to its first full stop, colon or semicolon, without parentheses."""
    return re.split(r"[.;:](?=\s|$)", re.sub(r" \([^()]*\)", "", summary), maxsplit=1)[0]


def _number_or_null(value: float | None) -> str:
    return "null" if value is None else f"{value:g}"


def _symbol(parameter: str) -> str:
    return "k" if parameter == "cutoff" else parameter[0]


def usage(found: Template) -> str:
    """Return how to write a metric, with optional parts in brackets."""
    at = found.parameter(found.at)
    if at is None:
        return found.name
    at_value = f"@{_symbol(found.at)}"
    return f"{found.name}{at_value}" if at.required else f"{found.name}[{at_value}]"


def parameters(found: Template) -> str:
    """Return a metric's own parameters with their defaults, in one line."""

    def one(p: Parameter) -> str:
        if p.required:
            return p.name
        return f"[{p.name}]" if p.default is None else f"{p.name}={p.default}"

    own = [p for p in found.parameters if not p.inherited]
    shown = (p for p in own if p.name != found.at or p.default is not None)
    return ", ".join(map(one, shown))


def elsewhere(found: Template) -> str:
    """Return the names of a metric in other programs, in one line."""
    return "; ".join(f"{peer} {', '.join(names)}" for peer, names in names_elsewhere(found).items())


def names_elsewhere(found: Template, *, fixed: bool = False) -> dict[str, list[str]]:
    """Return the names of a metric in each peer, on request with the parameters that they fix.

    A name that by default means another metric is shown with the protocols under which it means
    this one.
    """

    def given(
        values: Mapping[str, Value],
        peer: str = "",
        text: str = "",
        usual: Mapping[str, Value] | None = None,
    ) -> str:
        shown = [f"{key}={value}" for key, value in values.items()] if fixed else []
        if fixed and usual:
            shown += [f"by default {key}={value}" for key, value in usual.items()]
        if text and found.kind == "metric" and notation.definition(text) is not found:
            named = [p.name for p in rules.catalogue().values() if p.names == peer]
            shown += [f"protocol {name}" for name in named]
        return f" ({', '.join(shown)})" if shown else ""

    names: dict[str, dict[str, None]] = {}
    for alias in found.names:
        if alias.peer != "ranx":
            spelled = alias.name + given(alias.fixed, alias.peer, alias.name, alias.usual)
            names.setdefault(alias.peer, {})[spelled] = None
    for ranx in found.ranx_names:
        decimals = f".{_symbol(ranx.fraction)}" if ranx.fraction else ""
        name = ranx.name + ("@k" if found.needs_cutoff else "")
        text = "" if decimals else name.replace("@k", "@10")
        names.setdefault("ranx", {})[name + decimals + given(ranx.given, "ranx", text)] = None
    for trec in found.trec_names:
        listed = ""
        if trec.numbers:
            numbers = trec.numbers[:1] if trec.first else trec.numbers
            listed = f"[_{','.join(map(_symbol, numbers))}]"
        if trec.param is not None:
            listed = f"_{_symbol(trec.param)}" if trec.values else f"[_{_symbol(trec.param)}]"
        names.setdefault("trec_eval", {})[trec.name + listed + given(trec.given)] = None
    return {peer: list(names[peer]) for peer in sorted(names)}


def describe(*names: str, protocol: str = rules.DEFAULT) -> str:
    """Return a page about each metric: summary, facts, other names, parameters and SQL.

    All wrong names are reported at once.

    >>> print(describe("map").splitlines()[0])
    AP[@k]: Average precision
    """
    chosen = rules.get(protocol)
    found: list[Metric] = []
    problems: list[str] = []
    for name in names:
        try:
            found.append(_with_examples(name, chosen))
        except UsageError as error:
            problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    return "\n\n".join(page(one, chosen, _facts(one, chosen)) for one in dict.fromkeys(found))


def _with_examples(name: str, protocol: rules.Protocol) -> Metric:
    """Read a metric's name; fill a required value that is missing with an example."""
    if name in notation.TREC_SETS:
        raise UsageError(f"{name}: a set of metrics, not one; see: warehouse metrics")
    metric = notation.parse_one(name, defaults=protocol.defaults(), settle=False).metric
    values = metric.params
    for p in metric.definition.parameters:
        needed = p.needs.get(str(values[p.name]))
        if p.required and values[p.name] is None:
            values[p.name] = _example(p, metric.definition)
        if needed is not None and values[needed] is None:
            values[needed] = 10
    return replace(metric, values=tuple(values.items()))


def _example(p: Parameter, found: Template) -> Value:
    if p.choices:
        return p.choices[0]
    if p.type in ("integer", "grade"):
        return 10 if p.name == found.at else 3
    return 0.5


def _facts(metric: Metric, protocol: rules.Protocol) -> dict[str, str]:
    found = metric.definition
    assert isinstance(found, MetricTemplate), f"{metric} is no metric"
    low, high = (f"{bound:g}" for bound in found.range)
    undefined = protocol.usual_undefined_of(metric)
    counts = "null: left out of the mean" if undefined is None else f"{undefined:g}"
    better = {"higher": "higher values", "lower": "lower values", "none": "neither"}
    facts = {
        "formula": found.formula,
        "better": f"{better[metric.direction]} {metric.arrow}".strip(),
        "range": f"{low} to {high}",
        "over queries": WORDS[metric.aggregate] + (f" by {metric.weight}" if metric.weight else ""),
        "undefined": f"a query without a value counts as {counts}",
        "reference": found.reference,
        "maturity": f"{found.maturity}: {MATURITY[found.maturity]}",
    }
    if found.function is not None:
        facts["computed"] = f"by {found.where}, in Python"
    elif found.is_own:
        facts["file"] = f"{found.where}, of this project"
    return facts


def page(metric: Metric, protocol: rules.Protocol, facts: Mapping[str, str]) -> str:
    """Return a page about a metric or a curve: summary, facts, other names, parameters and SQL."""
    script = compose([metric], protocol)
    head = f"SQL of {metric} under protocol {protocol.name}"
    return "\n".join([*about(metric, facts), "", head, "", script, ""])


def about(metric: Metric, facts: Mapping[str, str]) -> list[str]:
    """Return the lines of a page above the SQL, for anything in the notation of metrics."""
    found = metric.definition
    names = names_elsewhere(found, fixed=True)
    lines = [f"{usage(found)}: {found.title}", "", *wrapped(found.summary), ""]
    for key, text in facts.items():
        lines += wrapped(text, f"{key:<{_KEY_WIDTH}}")
    if names:
        lines += ["", "names elsewhere"]
        width = max(_KEY_WIDTH - 2, *(len(f"{peer} ") for peer in names))
        for peer, listed in names.items():
            lines += wrapped(", ".join(listed), f"  {peer:<{width}}")
    if found.parameters:
        lines += ["", "parameters"]
    for p in found.parameters:
        at = "@" if p.name == found.at else ""
        lines += wrapped(kind(p), f"  {at}{p.name}: ", 6)
        lines += wrapped(p.summary, " " * 4)
    return lines


def kind(p: Parameter) -> str:
    """Return the type, default and bounds of a parameter in words."""
    choices = ", ".join(p.choices)
    parts = [f"one of {choices}" if p.type == "choice" else " or ".join([p.type, *p.choices])]
    if p.required:
        parts.append("required")
    else:
        parts.append("optional" if p.default is None else f"default {p.default}")
    if p.minimum is not None:
        parts.append(f"at least {bound(p.minimum)}")
    if p.maximum is not None:
        parts.append(f"at most {bound(p.maximum)}")
    if p.above is not None:
        parts.append(f"above {p.above}")
    for value, other in p.needs.items():
        highest = f" of {bound(p.at_most[value])} at most" if value in p.at_most else ""
        parts.append(f"{value} needs a {other}{highest}")
    for value, others in p.excludes.items():
        listed = " or ".join(f"{other}={excluded}" for other, excluded in others.items())
        parts.append(f"{value} does not go with {listed}")
    return "; ".join(parts)


def wrapped(text: str, first: str = "", indent: int | None = None) -> list[str]:
    """Return a text in lines for a terminal of 80 columns.

    The first line starts with `first`, and the others are indented as far, or by `indent`.
    """
    rest = " " * (len(first) if indent is None else indent)
    return textwrap.wrap(
        text, 80, initial_indent=first, subsequent_indent=rest,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
