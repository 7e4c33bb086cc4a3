"""The SQL of a project's metric: one SELECT that reaches no file, no network and no setting.

What it may hold is listed, by the words of DuckDB's own syntax tree; what is not listed is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import duckdb

from warehouse.sql_text import functions
from warehouse.sql_text.expressions import one_line, parsed

# Classes of expressions.
_EXPRESSIONS = frozenset({
    "BETWEEN", "CASE", "CAST", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION",
    "LAMBDA", "OPERATOR", "POSITIONAL_REFERENCE", "STAR", "SUBQUERY", "WINDOW",
})  # fmt: skip
# Nodes of queries, of their inputs, and of their ends.
_PARTS = frozenset({
    "SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE",
    "BASE_TABLE", "EMPTY", "EXPRESSION_LIST", "JOIN", "SUBQUERY", "TABLE_FUNCTION",
    "DISTINCT_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "ORDER_MODIFIER",
    "ASCENDING", "DESCENDING", "ORDER_DEFAULT",
})  # fmt: skip
_IN_WORDS = {
    "PARAMETER": "a placeholder", "COLLATE": "a collation", "SHOW_REF": "describe or summarize",
    "PIVOT": "a pivot",
}  # fmt: skip
# Functions that give rows.
_TABLES = frozenset({"generate_series", "range", "unnest"})
# Functions that DuckDB has not in its list, and one that ends a statement with an error.
_MORE = frozenset({"error", "unnest", "unlist"})
# These bind any SQL, which reads files, and make a type by its name, which can load an extension; the
# others read settings, and DuckDB 1.5 does not say so.
_LESS = frozenset({"json_serialize_plan", "make_type", "current_setting", "getvariable"})


def problem(con: duckdb.DuckDBPyConnection, sql: str, tables: Collection[str]) -> str | None:
    """Return the problem of the SQL of a project's metric, or None.

    `tables` are the names of those that it may read, apart from its own steps.

    >>> con = duckdb.connect()
    >>> problem(con, "with best as (from hits) select max(relevance) from best", {"hits"})
    >>> problem(con, "from read_text('/etc/passwd')", {"hits"})
    'calls read_text(), which is not among the functions that a metric may call'
    >>> problem(con, "select 1); copy (select 2) to 'x'; select * from (select 3", set())
    'is not one SELECT: syntax error at or near ")"'
    """
    tree = parsed(con, sql)
    if tree["error"]:
        return f"is not one SELECT: {one_line(str(tree['error_message']))}"
    if len(tree["statements"]) != 1:
        return f"is {len(tree['statements'])} statements, not one SELECT"
    known = frozenset(name.lower() for name in tables)
    _engine.ask(con)
    return next(_problems(tree["statements"][0], known), None)


class _Engine:
    """DuckDB's own functions and types, asked for once: that takes as long as many metrics."""

    def __init__(self) -> None:
        self.functions: frozenset[str] = frozenset()
        self.types: frozenset[str] = frozenset()

    def ask(self, con: duckdb.DuckDBPyConnection) -> None:
        """Look up the functions that give the same for the same arguments, and the types."""
        if self.functions:
            return
        functions_of = con.execute(
            "select distinct lower(function_name) from duckdb_functions() "
            "where database_name = 'system' and schema_name = 'main' and case function_type "
            "when 'macro' then macro_definition not ilike '%select%' "
            "and macro_definition not ilike '%current%' "
            "else function_type in ('scalar', 'aggregate', 'window') and stability = 'CONSISTENT' end"
        ).fetchall()
        types = con.execute(
            "select distinct lower(type_name) from duckdb_types() where database_name = 'system'"
        ).fetchall()
        self.types = frozenset(str(name) for (name,) in types)
        names = frozenset(str(name) for (name,) in functions_of)
        self.functions = (names | functions.definitions().keys() | _MORE) - _LESS


_engine = _Engine()


def _problems(value: Any, steps: frozenset[str]) -> Iterator[str]:
    """Yield the forbidden nodes of a part of a syntax tree; `steps` are the tables that it may read."""
    if isinstance(value, list):
        for inner in value:
            yield from _problems(inner, steps)
    if not isinstance(value, dict):
        return
    kind = value.get("class", value.get("type"))
    if kind in ("TYPE", "UNBOUND_TYPE_INFO"):
        yield from _type_problem(str(value.get("type_name") or value.get("name")))
    elif isinstance(kind, str) and not _is_known(kind, "class" in value):
        yield f"holds {_IN_WORDS.get(kind, kind)}"
    if kind == "BASE_TABLE":
        yield from _table_problem(value, steps)
    if kind in ("FUNCTION", "WINDOW"):
        yield from _function_problem(value)
    if value.get("type") == "TABLE_FUNCTION":
        name = str(value["function"].get("function_name", "")).lower()
        if name not in _TABLES:
            yield _no_function(name)
    for entry in (value.get("cte_map") or {}).get("map", ()):
        name = str(entry["key"]).lower()
        # only a recursive step reads itself; the others can read what was before them
        is_recursive = _is_recursive(entry["value"])
        yield from _problems(entry["value"], steps | {name} if is_recursive else steps)
        steps |= {name}
    for key, inner in value.items():
        if key != "cte_map":
            yield from _problems(inner, steps)


def _is_recursive(step: Mapping[str, Any]) -> bool:
    """Whether a step is recursive, as DuckDB 2 or 1.5 has it in its tree."""
    node = step.get("query_node") or step["query"]["node"]
    return bool(node["type"] == "RECURSIVE_CTE_NODE")


def _is_known(kind: str, is_expression: bool) -> bool:
    # DuckDB 1.5 has what it knows of a type in its tree
    return kind in (_EXPRESSIONS if is_expression else _PARTS) or kind.endswith("_TYPE_INFO")


def _type_problem(name: str) -> Iterator[str]:
    if name.lower() not in _engine.types:
        yield f"names a type {name}, which DuckDB does not have by itself"


def _table_problem(value: Mapping[str, Any], steps: frozenset[str]) -> Iterator[str]:
    name = str(value["table_name"])
    if value["schema_name"] or value["catalog_name"] or name.lower() not in steps:
        yield (
            f"reads {name}, which is none of its relations or steps; it must read relations, as in "
            "from {{ hits }}"
        )
    if value.get("at_clause"):
        yield f"reads {name} at another time"


def _function_problem(value: Mapping[str, Any]) -> Iterator[str]:
    name = str(value["function_name"]).lower()
    # DuckDB 1.5 writes operators on lists and records as functions of the schema main
    qualifiers = value.get("catalog"), value.get("schema")
    if name not in _engine.functions or qualifiers not in (("", ""), ("", "main")):
        yield _no_function(name)


def _no_function(name: str) -> str:
    return f"calls {name}(), which is not among the functions that a metric may call"
