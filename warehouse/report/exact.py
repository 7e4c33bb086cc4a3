"""Values as they stand in the database: what Python has no value for is fetched as DuckDB's text."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from warehouse.quoting import ident

# A month would become 30 days, a nanosecond be lost, and bytes become Python's own notation.
_AS_TEXT = frozenset({"INTERVAL", "TIMESTAMP_NS", "TIME_NS", "BLOB"})
# DuckDB gives these very objects for infinite times; a finite time that is equal is another object.
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
    """Whether a date or a time that was fetched is infinite."""
    return id(value) in _INFINITE


def select_list(columns: Sequence[str], types: Sequence[Any]) -> str | None:
    """Return what to select of a query for its values to stay what they are; None where all do.

    >>> import duckdb
    >>> found = duckdb.sql("select 1 as a, {'b': interval '1 month'} as c")
    >>> select_list(found.columns, found.types)
    '#1 as "a", cast(#2 as STRUCT("b" VARCHAR)) as "c"'
    """
    wanted = [_fetched_as(kind) for kind in types]
    if not any(wanted):
        return None
    return ", ".join(
        f"{f'cast(#{place} as {kind})' if kind else f'#{place}'} as {ident(column)}"
        for place, (column, kind) in enumerate(zip(columns, wanted, strict=True), start=1)
    )


def _fetched_as(kind: Any) -> str | None:
    """Return the type to cast to, None where Python has a value for each of this type."""
    if str(kind) in _AS_TEXT:
        return "VARCHAR"
    if kind.id not in ("list", "array", "struct", "tuple", "map", "union"):
        return None
    parts: list[tuple[str, Any]] = kind.children
    if kind.id == "array":  # the other part is its size
        parts = parts[:1]
    if kind.id == "union":  # the first part says which of the others it is
        parts = parts[1:]
    if not any(_fetched_as(part) for _, part in parts):
        return None
    inner = [_fetched_as(part) or str(part) for _, part in parts]
    if kind.id in ("list", "array"):
        return inner[0] + str(kind)[len(str(parts[0][1])) :]
    if kind.id == "map":
        return f"MAP({', '.join(inner)})"
    if not all(name for name, _ in parts):  # a type without names cannot be written
        return "VARCHAR"
    named = ", ".join(f"{ident(name)} {of}" for (name, _), of in zip(parts, inner, strict=True))
    return f"{kind.id.upper()}({named})"
