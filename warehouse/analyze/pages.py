"""Protocols as tables, and how any table that is not in the database is made."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from warehouse import database
from warehouse import protocols as rules
from warehouse.database import keep
from warehouse.protocols import Protocol
from warehouse.quoting import ident, literal


def relation(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> duckdb.DuckDBPyRelation:
    """Return rows as a relation with columns of these names."""
    values = ",\n".join("(" + ", ".join(literal(cell) for cell in row) + ")" for row in rows)
    names = ", ".join(ident(column) for column in columns)
    return keep(database.memory(), f"select * from (values {values}) as t ({names})")


def origin(*, is_own: bool) -> str:
    """Return where a metric or protocol is defined: in the project or in the package."""
    return "project" if is_own else "package"


def protocols() -> duckdb.DuckDBPyRelation:
    """Return every protocol: `protocol, origin, summary`."""
    rows = [
        (p.name, origin(is_own=rules.is_own(p.name)), p.summary) for p in rules.catalogue().values()
    ]
    return relation(("protocol", "origin", "summary"), rows)


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
    return relation([*_COLUMNS, *(p.name for p in chosen)], rows)


_COLUMNS = ("rule", "differs")
_RULES = (
    "ties",
    "score_precision",
    "queries",
    "list_silent",
    "depth",
    "judged_only",
    "judged_only_first",
    "relevant_only",
    "lacks",
    "names",
)


def _said(protocol: Protocol) -> dict[str, str]:
    """Return what a protocol says, rule by rule, in words."""
    said = {
        "ties": protocol.ties,
        "score_precision": protocol.score_precision,
        "queries": protocol.queries,
        "list_silent": str(protocol.list_silent).lower(),
        "depth": "all" if protocol.depth is None else str(protocol.depth),
        "judged_only": str(protocol.judged_only).lower(),
        "judged_only_first": str(protocol.judged_only_first).lower(),
        "relevant_only": str(protocol.relevant_only).lower(),
        "lacks": ", ".join(protocol.lacks),
        "names": protocol.names or "",
    }
    for metric, params in protocol.params.items():
        said[metric] = ", ".join(f"{key}={value}" for key, value in params.items())
    for metric, value in protocol.undefined.items():
        said[f"{metric} undefined"] = str(value)
    return said
