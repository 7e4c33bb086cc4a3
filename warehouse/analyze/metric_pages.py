"""The catalogue of metrics as a list and as pages."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import replace

import duckdb

from warehouse import metrics as notation
from warehouse import protocols as rules
from warehouse.aggregates import WORDS
from warehouse.analyze.pages import origin, relation
from warehouse.catalogue import ARROWS, Definition, catalogue
from warehouse.errors import UsageError
from warehouse.evaluate.plan import plan
from warehouse.metrics import Metric
from warehouse.parameters import Parameter, Value, bound
from warehouse.quoting import literal


def metrics() -> duckdb.DuckDBPyRelation:
    """Return every metric.

    Columns: `metric, title, summary, better, parameters, undefined, elsewhere, origin`. What may be
    left out of a name or of its parameters stands in brackets; `undefined` is what a query without a
    value counts as, `elsewhere` holds the names that peers have for the metric, and `origin` is
    package or project.

    >>> metrics().filter("metric = 'AP[@k]'").project("title, better, undefined").fetchall()
    [('Average precision', 'higher', '0')]
    """
    columns = (
        "metric", "title", "summary", "better", "parameters", "undefined", "elsewhere", "origin",
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
            origin(is_own=found.is_own),
        )
        for found in catalogue().values()
    ]
    return relation(columns, rows)


def metrics_for_people(format: str) -> duckdb.DuckDBPyRelation:
    """Return the metrics with the columns that a table of a format has room for."""
    if format == "table":
        return metrics().project(
            f"metric, better, case when length(title) > {_TITLE_WIDTH} "
            f"then title[:{_TITLE_WIDTH - 1}] || '…' else title end as title"
        )
    if format in ("markdown", "latex"):
        arrow = " ".join(f"when {literal(k)} then {literal(v)}" for k, v in ARROWS.items())
        return metrics().project(
            f"metric, summary, case better {arrow} else '' end as better, parameters, undefined, "
            "elsewhere"
        )
    return metrics()


# Wide enough for most titles, narrow enough for a terminal of 80 columns.
_TITLE_WIDTH = 46


def in_short(summary: str) -> str:
    """Return what a summary says up to its first full stop, colon or semicolon, no parentheses."""
    return re.split(r"[.;:](?=\s|$)", re.sub(r" \([^()]*\)", "", summary), maxsplit=1)[0]


def _number_or_null(value: float | None) -> str:
    return "null" if value is None else f"{value:g}"


def _symbol(parameter: str) -> str:
    return "k" if parameter == "cutoff" else parameter[0]


def usage(found: Definition) -> str:
    """Return how a metric is written, what may be left out in brackets."""
    at = found.parameter(found.at)
    if at is None:
        return found.name
    at_value = f"@{_symbol(found.at)}"
    return f"{found.name}{at_value}" if at.required else f"{found.name}[{at_value}]"


def parameters(found: Definition) -> str:
    """Return a metric's own parameters with their defaults, in one line."""

    def one(p: Parameter) -> str:
        if p.required:
            return p.name
        return f"[{p.name}]" if p.default is None else f"{p.name}={p.default}"

    own = [p for p in found.parameters if not p.inherited]
    shown = (p for p in own if p.name != found.at or p.default is not None)
    return ", ".join(map(one, shown))


def elsewhere(found: Definition) -> str:
    """Return the names that peers have for a metric in one line."""
    return "; ".join(f"{peer} {', '.join(names)}" for peer, names in _elsewhere(found).items())


def _elsewhere(found: Definition, *, fixed: bool = False) -> dict[str, list[str]]:
    """Return the names that each peer has for a metric, on request with what they fix.

    One that means another metric where no protocol says whose names come first tells the protocol.
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
            told = alias.name + given(alias.fixed, alias.peer, alias.name, alias.usual)
            names.setdefault(alias.peer, {})[told] = None
    for ranx in found.ranx_names:
        decimals = f".{_symbol(ranx.fraction)}" if ranx.fraction else ""
        name = ranx.name + ("@k" if notation.wants_cutoff(found) else "")
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
    """Return a page about each metric: what it is, its parameters, its other names and its SQL.

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
    """Read a metric's name; a value that it needs and that is not there gets an example."""
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


def _example(p: Parameter, found: Definition) -> Value:
    if p.choices:
        return p.choices[0]
    if p.type == "integer":
        return 10 if p.name == found.at else 3
    return 0.5


def _facts(metric: Metric, protocol: rules.Protocol) -> dict[str, str]:
    found = metric.definition
    low, high = (f"{bound:g}" for bound in found.range)
    undefined = protocol.undefined_of(metric)
    counts = "null: no part of the mean" if undefined is None else f"{undefined:g}"
    better = {"higher": "higher values", "lower": "lower values", "none": "neither"}
    facts = {
        "formula": found.formula,
        "better": f"{better[metric.direction]} {metric.arrow}".strip(),
        "range": f"{low} to {high}",
        "over queries": WORDS[metric.aggregate] + (f" by {metric.weight}" if metric.weight else ""),
        "undefined": f"a query without a value counts as {counts}",
        "reference": found.reference,
    }
    if found.is_own:
        facts["file"] = f"{found.where}, of this project"
    return facts


def page(metric: Metric, protocol: rules.Protocol, facts: Mapping[str, str]) -> str:
    """Return a page about a metric or a curve: facts about it, its parameters, names and SQL."""
    script = plan([metric], protocol).script(metric)
    head = f"SQL of {metric} under protocol {protocol.name}"
    return "\n".join([*about(metric, facts), "", head, "", script, ""])


def about(metric: Metric, facts: Mapping[str, str]) -> list[str]:
    """Return what a page about something in the notation of metrics has beside its SQL, in lines."""
    found = metric.definition
    names = _elsewhere(found, fixed=True)
    lines = [f"{usage(found)}: {found.title}", "", *_wrapped(found.summary), ""]
    for key, text in facts.items():
        lines += _wrapped(text, key)
    if names:
        lines += ["", "names elsewhere"]
        for peer, listed in names.items():
            lines += _wrapped(", ".join(listed), f"  {peer}")
    if found.parameters:
        lines += ["", "parameters"]
    for p in found.parameters:
        at = "@" if p.name == found.at else ""
        lines += [f"  {at}{p.name}: {_kind(p)}", *_wrapped(p.summary, "    ", 4)]
    return lines


def _kind(p: Parameter) -> str:
    """Return the type, default and bounds of a parameter in words."""
    parts = ["one of " + ", ".join(p.choices) if p.choices else p.type]
    if p.required:
        parts.append("required")
    else:
        parts.append("may be left out" if p.default is None else f"default {p.default}")
    if p.minimum is not None:
        parts.append(f"at least {bound(p.minimum)}")
    if p.maximum is not None:
        parts.append(f"at most {bound(p.maximum)}")
    if p.above is not None:
        parts.append(f"above {p.above}")
    for value, other in p.needs.items():
        highest = f" of {bound(p.at_most[value])} at most" if value in p.at_most else ""
        parts.append(f"{value} needs a {other}{highest}")
    return "; ".join(parts)


def _wrapped(text: str, key: str = "", indent: int = 15) -> list[str]:
    """Return a text in lines for a terminal of 80 columns, after its key where it has one."""
    first = f"{key:<{indent}}" if key else ""
    if first.strip() and not first.endswith(" "):
        first += " "
    rest = " " * len(first)
    return textwrap.wrap(
        text, 80, initial_indent=first, subsequent_indent=rest,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
