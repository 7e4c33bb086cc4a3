"""Users' SQL expressions: one scalar over the columns of a row, checked before it runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb

from warehouse.errors import UsageError, WarehouseError, is_fault

_REFUSED_CLASSES = {
    "SUBQUERY": "holds a subquery",
    "WINDOW": "holds a window function",
    "STAR": "holds a *",
    "PARAMETER": "holds a placeholder",
}
_PREFIX = re.compile(r"\A\w+ Error: ")


@dataclass(frozen=True)
class Expression:
    """A parsed expression: the columns it names, as written, with or without their table.

    `functions` are the names of the functions it calls, each with its text arguments as written.
    `has_window` says whether it depends on other rows.
    """

    text: str
    columns: tuple[tuple[str, ...], ...]
    functions: Mapping[str, frozenset[str]]
    has_window: bool


def read(
    con: duckdb.DuckDBPyConnection, given: str, text: str, hint: str, *, windows: bool = False
) -> Expression:
    """Read a scalar expression over a row's columns. Raises UsageError for anything else.

    `given` is what the user wrote and `hint` what to write, for the message. Window functions are
    allowed only with `windows`.

    >>> read(duckdb.connect(), "--x", "lower(docs.title)", "write one").columns
    (('docs', 'title'),)
    """
    if not text.strip():
        raise UsageError(f"{given}: is empty; {hint}")
    tree = parsed(con, f"select ({text}\n) from given")
    if tree["error"]:
        raise UsageError(f"{given}: {one_line(str(tree['error_message']))}; {hint}")
    statements = tree["statements"]
    plain = parsed(con, "select (null) from given")["statements"][0]
    if len(statements) != 1 or _rest(statements[0]) != _rest(plain):
        raise UsageError(f"{given}: is more than one expression; {hint}")
    chosen = statements[0]["node"].get("select_list", [])
    if len(chosen) != 1:
        raise UsageError(f"{given}: is more than one expression; {hint}")
    columns: dict[tuple[str, ...], None] = {}
    functions: dict[str, frozenset[str]] = {}
    has_window = False
    for part in nodes(chosen[0]):
        kind = str(part.get("class"))
        reason = _REFUSED_CLASSES.get(kind)
        if kind == "FUNCTION":
            name = str(part["function_name"]).lower()
            functions[name] = functions.get(name, frozenset()) | _texts(part)
            reason = _function_refused(con, str(part["function_name"]))
        if kind == "WINDOW" and windows:
            has_window, reason = True, None
        if kind == "COLUMN_REF":
            columns[tuple(map(str, part["column_names"]))] = None
        if reason:
            raise UsageError(f"{given}: {reason}; {hint}")
    return Expression(text, tuple(columns), functions, has_window)


def bind(
    con: duckdb.DuckDBPyConnection, given: str, text: str, hint: str, *, table: str, column: str
) -> None:
    """Raise UsageError if an expression does not fit a table, or returns a list or a record.

    `column` is any column of the table, which is SQL of a relation with a name.
    """
    with errors_of(given):
        # With a plain column next to it, an aggregate hidden in a macro does not bind.
        described = con.execute(
            f"describe select {column} as given, ({text}\n) as made from {table}"
        ).fetchall()
    kind = str(described[1][1])
    if kind.endswith("]") or ("(" in kind and not kind.startswith(("DECIMAL", "ENUM"))):
        raise UsageError(f"{given}: gives a list or a record, not one value; {hint}")


@contextmanager
def errors_of(given: str, kind: type[WarehouseError] = UsageError) -> Iterator[None]:
    """Raise what the engine says of an expression, or of its values, as an error of this kind.

    Its message has DuckDB's hint, but not the statement. Faults of the engine itself are passed on.
    """
    try:
        yield
    except duckdb.Error as error:
        if is_fault(error):
            raise
        reason = one_line(_PREFIX.sub("", str(error)).split("\n\nLINE ")[0])
        raise kind(f"{given}: {reason}") from error


def parsed(con: duckdb.DuckDBPyConnection, sql: str) -> dict[str, Any]:
    """Return a statement's tree from DuckDB's parser, or one with the key `error`."""
    ((text,),) = con.execute("select json_serialize_sql($sql)", {"sql": sql}).fetchall()
    found: dict[str, Any] = json.loads(text)
    return found


def _rest(value: Any) -> Any:
    """Return a parsed statement without its select list and without positions in the text."""
    if isinstance(value, dict):
        left_out = ("select_list", "query_location", "query_location_length", "named_param_map")
        return {key: _rest(inner) for key, inner in value.items() if key not in left_out}
    return [_rest(inner) for inner in value] if isinstance(value, list) else value


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every node of a parsed statement."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            yield from nodes(inner)


def _texts(call: Mapping[str, Any]) -> frozenset[str]:
    """Return the text arguments of a function, as DuckDB 2 or 1.5 has them in its tree."""
    given = call.get("children") or [one["expression"] for one in call.get("arguments", ())]
    literals = [one["literal"] for one in given if one.get("literal")]
    values = [one["value"] for one in given if one.get("value")]
    return frozenset(
        [str(one["text"]) for one in literals if one["kind"] == "STRING"]
        + [str(one["value"]) for one in values if one["type"]["id"] == "VARCHAR"]
    )


def _function_refused(con: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return why a function is not allowed; empty if it is, or is unknown."""
    # what + and year() give for times with a zone depends on a setting, which is UTC, but age() on today
    rows = con.execute(
        "select distinct function_type, stability from duckdb_functions() "
        "where function_name = lower($name) and (stability is distinct from 'CONSISTENT_WITHIN_QUERY' "
        "or function_name = 'age' "
        "or not list_has_any(parameter_types, ['TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ_NS']))",
        {"name": name},
    ).fetchall()
    kinds = {str(kind) for kind, _ in rows}
    if kinds & {"scalar", "macro"}:
        changes = any(kind == "scalar" and stability != "CONSISTENT" for kind, stability in rows)
        # sums of times with a zone depend on the zone of the connection, which is UTC
        if changes and name not in ("+", "-"):
            return f"{name}() does not give the same value each time"
        return ""
    if "aggregate" in kinds:
        return f"{name}() is an aggregate over many rows"
    if kinds or name.lower() in ("unnest", "unlist"):
        return f"{name}() gives a table, or reads a file"
    return ""


def one_line(text: str) -> str:
    """Return a message of the engine as one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines).rstrip(".")
