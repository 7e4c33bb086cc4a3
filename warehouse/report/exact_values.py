"""Values exactly as in the database: those that Python cannot represent are fetched as text."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from warehouse.sql_text.quoting import ident

# Fetched as Python values, a month would become 30 days, a nanosecond would be lost, and bytes
# would be printed in Python's notation.
_AS_TEXT = frozenset({"INTERVAL", "TIMESTAMP_NS", "TIME_NS", "BLOB"})
# DuckDB returns exactly these objects for infinite times; an equal finite time is another object.
_INFINITE = {
    id(dt.datetime.max): "infinity",
    id(dt.datetime.min): "-infinity",
    id(dt.date.max): "infinity",
    id(dt.date.min): "-infinity",
}


def moment(value: dt.date) -> str:
    """Return a date or a time that was fetched as text.

    >>> import duckdb
    >>> con = duckdb.connect()
    >>> (row,) = con.execute("select date 'infinity', date '9999-12-31'").fetchall()
    >>> [moment(value) for value in row]
    ['infinity', '9999-12-31']
    """
    return _INFINITE.get(id(value)) or value.isoformat()


def is_infinite(value: dt.date) -> bool:
    """Whether a fetched date or time is infinite."""
    return id(value) in _INFINITE


def select_list(columns: Sequence[str], types: Sequence[Any]) -> str | None:
    """Return the select list that keeps all values of a query exact, or None if all are.

    >>> import duckdb
    >>> found = duckdb.sql("select 1 as a, {'b': interval '1 month'} as c")
    >>> select_list(found.columns, found.types)
    '#1 as "a", cast(#2 as STRUCT("b" VARCHAR)) as "c"'
    """
    wanted = [_exact_type(kind) for kind in types]
    if not any(wanted):
        return None
    return ", ".join(
        f"{f'cast(#{number} as {kind})' if kind else f'#{number}'} as {ident(column)}"
        for number, (column, kind) in enumerate(zip(columns, wanted, strict=True), start=1)
    )


def _exact_type(kind: Any) -> str | None:
    """Return the type to cast to, or None if Python represents every value of this type."""
    if str(kind) in _AS_TEXT:
        return "VARCHAR"
    if kind.id not in ("list", "array", "struct", "tuple", "map", "union"):
        return None
    parts: list[tuple[str, Any]] = kind.children
    if kind.id == "array":  # the second part is its size
        parts = parts[:1]
    if kind.id == "union":  # the first part is the tag
        parts = parts[1:]
    if not any(_exact_type(part) for _, part in parts):
        return None
    inner = [_exact_type(part) or str(part) for _, part in parts]
    if kind.id in ("list", "array"):
        return inner[0] + str(kind)[len(str(parts[0][1])) :]
    if kind.id == "map":
        return f"MAP({', '.join(inner)})"
    if not all(name for name, _ in parts):  # a type without names cannot be written
        return "VARCHAR"
    named = ", ".join(f"{ident(name)} {of}" for (name, _), of in zip(parts, inner, strict=True))
    return f"{kind.id.upper()}({named})"
