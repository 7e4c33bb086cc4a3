"""Protocols as tables, and how any table that is not in the database is made."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from warehouse import database
from warehouse import protocols as rules
from warehouse.analyze.board import keep
from warehouse.quoting import ident, literal


def relation(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> duckdb.DuckDBPyRelation:
    """Return rows as a relation with columns of these names."""
    values = ",\n".join("(" + ", ".join(literal(cell) for cell in row) + ")" for row in rows)
    names = ", ".join(ident(column) for column in columns)
    return keep(database.memory(), f"select * from (values {values}) as t ({names})")


def protocols() -> duckdb.DuckDBPyRelation:
    """Return every protocol: `protocol, summary`."""
    return relation(
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
    return relation(["rule", *(p.name for p in chosen)], rows)
