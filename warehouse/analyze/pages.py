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
from warehouse.quoting import ident, literal


def _relation(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> duckdb.DuckDBPyRelation:
    values = ",\n".join("(" + ", ".join(literal(cell) for cell in row) + ")" for row in rows)
    names = ", ".join(ident(column) for column in columns)
    return keep(database.memory(), f"select * from (values {values}) as t ({names})")


def metrics() -> duckdb.DuckDBPyRelation:
    """Return every metric: `metric, better, parameters, summary`."""
    rows = [
        (_usage(found), found.direction, _parameters(found), found.summary)
        for found in catalogue().values()
    ]
    return _relation(("metric", "better", "parameters", "summary"), rows)


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
    trec = [t.name + ("_…" if t.param or t.numbers else "") for t in found.trec_names]
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
    """Return every protocol: `protocol, summary`."""
    return _relation(
        ("protocol", "summary"), [(p.name, p.summary) for p in rules.catalogue().values()]
    )


def compare_protocols(names: Sequence[str]) -> duckdb.DuckDBPyRelation:
    """Return the rules of some protocols side by side: `rule`, one column per protocol."""
    chosen = [rules.get(name) for name in dict.fromkeys(names)]
    metrics_named = sorted({name for p in chosen for name in p.params})
    rows: list[list[object]] = [
        ["ties", *(p.ties for p in chosen)],
        ["score_precision", *(p.score_precision for p in chosen)],
        ["queries", *(p.queries for p in chosen)],
        ["list_silent", *(str(p.list_silent).lower() for p in chosen)],
        ["depth", *("all" if p.depth is None else str(p.depth) for p in chosen)],
        ["judged_only", *(str(p.judged_only).lower() for p in chosen)],
    ]
    for metric in metrics_named:
        row = [", ".join(f"{k}={v}" for k, v in p.params.get(metric, {}).items()) for p in chosen]
        rows.append([metric, *row])
    for metric in sorted({name for p in chosen for name in p.undefined}):
        row = [str(p.undefined.get(metric, "")) for p in chosen]
        rows.append([f"{metric} undefined", *row])
    return _relation(["rule", *(p.name for p in chosen)], rows)
