"""Protocols as tables, and a helper for tables that are not in the database."""

from __future__ import annotations

from collections.abc import Sequence

from duckdb import DuckDBPyRelation as Relation

from warehouse.metrics import protocols as rules
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.quoting import ident, literal
from warehouse.store import database
from warehouse.store.database import keep


def relation(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Relation:
    """Return rows as a relation with columns of these names."""
    every = rows or [[None] * len(columns)]
    values = ",\n".join("(" + ", ".join(literal(cell) for cell in row) + ")" for row in every)
    names = ", ".join(ident(column) for column in columns)
    found = f"select * from (values {values}) as t ({names})"
    return keep(database.memory(), found if rows else f"{found} where false")


def origin(*, is_own: bool) -> str:
    """Return the origin of a metric or protocol: project or package."""
    return "project" if is_own else "package"


def protocols() -> Relation:
    """Return every protocol: `protocol, origin, summary`."""
    rows = [
        (p.name, origin(is_own=rules.is_own(p.name)), p.summary) for p in rules.catalogue().values()
    ]
    return relation(("protocol", "origin", "summary"), rows)


def protocols_for_people(format: str) -> Relation:
    """Return the protocols with what fits the format: a table has the first sentence of summaries."""
    if format == "table":
        return protocols().project(
            "protocol, origin, regexp_replace(summary, '(\\.)\\s.*', '\\1', 's') as summary"
        )
    return protocols()


def summaries(names: Sequence[str]) -> list[str]:
    """Return the summary of each protocol after its name.

    >>> summaries(["trec_eval_10"])[0].partition(";")[0]
    'trec_eval_10: trec_eval 10: double scores'
    """
    return [f"{name}: {rules.get(name).summary}" for name in dict.fromkeys(names)]


def compare_protocols(names: Sequence[str]) -> Relation:
    """Return the rules of some protocols side by side: `rule, differs`, one column per protocol.

    `differs` holds ≠ for rules that are not the same in all of them.
    """
    chosen = list(dict.fromkeys(names))
    return relation([*_COLUMNS, *chosen], protocol_rules(chosen))


def protocol_rules(names: Sequence[str]) -> list[list[str]]:
    """Return the rows of `compare_protocols` for different names."""
    columns = [_rules_of(rules.get(name)) for name in names]
    rows = []
    # the rules that every protocol has, then those for single metrics
    for rule in [*_RULES, *sorted({rule for one in columns for rule in one} - set(_RULES))]:
        cells = [one.get(rule, "") for one in columns]
        rows.append([rule, "≠" if len(set(cells)) > 1 else "", *cells])
    return rows


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
    "grades",
    "lacks",
    "names",
    "metrics",
)


def _rules_of(protocol: Protocol) -> dict[str, str]:
    """Return the rules of a protocol, each as a text."""
    found = {
        "ties": protocol.ties,
        "score_precision": protocol.score_precision,
        "queries": protocol.queries,
        "list_silent": str(protocol.list_silent).lower(),
        "depth": "all" if protocol.depth is None else str(protocol.depth),
        "judged_only": str(protocol.judged_only).lower(),
        "judged_only_first": str(protocol.judged_only_first).lower(),
        "relevant_only": str(protocol.relevant_only).lower(),
        "grades": protocol.grades,
        "lacks": ", ".join(protocol.lacks),
        "names": protocol.names or "",
        "metrics": ", ".join(protocol.metrics),
    }
    if protocol.exclude is not None:
        found["exclude"] = protocol.exclude
    for metric, params in protocol.params.items():
        found[metric] = ", ".join(f"{key}={value}" for key, value in params.items())
    for metric, value in protocol.undefined.items():
        found[f"{metric} undefined"] = str(value)
    return found
