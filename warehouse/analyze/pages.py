"""The catalogue of metrics and protocols as tables and pages."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from warehouse import database
from warehouse import metrics as notation
from warehouse import protocols as rules
from warehouse.analyze.board import keep
from warehouse.catalogue import Definition, catalogue
from warehouse.evaluate.plan import plan
from warehouse.protocols import Protocol
from warehouse.quoting import ident, literal


def _relation(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> duckdb.DuckDBPyRelation:
    values = ",\n".join("(" + ", ".join(literal(cell) for cell in row) + ")" for row in rows)
    names = ", ".join(ident(column) for column in columns)
    return keep(database.memory(), f"select * from (values {values}) as t ({names})")


def metrics() -> duckdb.DuckDBPyRelation:
    """Return every metric: `metric, better, parameters, origin, summary`."""
    rows = [
        (
            _usage(found),
            found.direction,
            _parameters(found),
            _origin(found.is_own),
            found.summary,
        )
        for found in catalogue().values()
    ]
    return _relation(("metric", "better", "parameters", "origin", "summary"), rows)


def _origin(is_own: bool) -> str:
    return "project" if is_own else "package"


def _usage(found: Definition) -> str:
    at = found.parameter(found.at)
    if at is None:
        return found.name
    symbol = "k" if found.at == "cutoff" else found.at[0]
    return f"{found.name}@{symbol}" if at.required else f"{found.name}[@{symbol}]"


def _parameters(found: Definition) -> str:
    own = [p for p in found.parameters if p.name != found.at]
    return ", ".join(p.name if p.default is None else f"{p.name}={p.default}" for p in own)


def describe(name: str, protocol: str) -> str:
    """Return a page about one metric: what it is, its parameters, its other names and its SQL."""
    found = notation.definition(name)
    chosen = rules.get(protocol)
    at = found.parameter(found.at)
    required = [f"{p.name}=3" for p in found.parameters if p.required and p != at]
    example = f"{found.name}({', '.join(required)})" if required else name
    if at and at.required:
        example = (example if required else found.name) + (
            "@10" if at.type == "integer" else "@0.5"
        )
    metric = notation.parse_one(example, defaults=chosen.defaults()).metric
    given = chosen.undefined_of(metric)
    undefined = "null" if given is None else f"{given:g}"
    lines = [
        f"{_usage(found)}: {found.title}",
        "",
        found.summary,
        "",
        f"formula      {found.formula}",
        f"better       {found.direction}",
        f"range        {found.range[0]:g} to {found.range[1]:g}",
        f"over queries {metric.aggregate}",
        f"undefined    a query without relevant documents gets {undefined}",
        f"reference    {found.reference}",
    ]
    if found.is_own:
        lines.append(f"file         {found.where}, of this project")
    trec = [t.name + ("_…" if t.param else "") for t in found.trec_names]
    elsewhere = {"trec_eval": trec, **found.aliases}
    for peer, names in elsewhere.items():
        if names:
            lines.append(f"{peer:<12} {', '.join(names)}")
    if found.parameters:
        lines += ["", "parameters"]
    for p in found.parameters:
        default = (
            "required" if p.required else f"default {'none' if p.default is None else p.default}"
        )
        symbol = "@" if p.name == found.at else ""
        choices = f"; one of {', '.join(p.choices)}" if p.choices else ""
        lines.append(f"  {symbol}{p.name} ({p.type}, {default}{choices}): {p.summary}")
    script = plan([metric], chosen).script(metric)
    return "\n".join(lines) + f"\n\nSQL of {metric} under protocol {protocol}\n\n{script}\n"


def protocols() -> duckdb.DuckDBPyRelation:
    """Return every protocol: `protocol, origin, summary`."""
    rows = [(p.name, _origin(rules.is_own(p.name)), p.summary) for p in rules.catalogue().values()]
    return _relation(("protocol", "origin", "summary"), rows)


def compare_protocols(names: Sequence[str]) -> duckdb.DuckDBPyRelation:
    """Return the rules of some protocols side by side: `rule, differs`, one column per protocol.

    `differs` holds ≠ where the protocols do not say the same.
    """
    chosen = [rules.get(name) for name in dict.fromkeys(names)]
    said = [_said(p) for p in chosen]
    rows = []
    # the rules that all have, then what is said of metrics, by name
    for rule in [*_RULES, *sorted({rule for one in said for rule in one} - set(_RULES))]:
        cells = [one.get(rule, "") for one in said]
        rows.append([rule, "≠" if len(set(cells)) > 1 else "", *cells])
    return _relation([*_COLUMNS, *(p.name for p in chosen)], rows)


_COLUMNS = ("rule", "differs")
_RULES = ("ties", "score_precision", "queries", "list_silent", "depth", "judged_only", "lacks")


def _said(protocol: Protocol) -> dict[str, str]:
    """Return what a protocol says, rule by rule, in words."""
    said = {
        "ties": protocol.ties,
        "score_precision": protocol.score_precision,
        "queries": protocol.queries,
        "list_silent": str(protocol.list_silent).lower(),
        "depth": "all" if protocol.depth is None else str(protocol.depth),
        "judged_only": str(protocol.judged_only).lower(),
        "lacks": ", ".join(protocol.lacks),
    }
    for metric, params in protocol.params.items():
        said[metric] = ", ".join(f"{key}={value}" for key, value in params.items())
    for metric, value in protocol.undefined.items():
        said[f"{metric} undefined"] = str(value)
    return said
