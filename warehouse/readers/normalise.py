"""Normalising ids: one SQL expression over the columns of a staged row becomes its document id."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb

from warehouse import templates
from warehouse.errors import InputError, UsageError, counted
from warehouse.readers import checks

_REFUSED_CLASSES = {
    "SUBQUERY": "holds a subquery",
    "WINDOW": "holds a window function",
    "STAR": "holds a *",
    "PARAMETER": "holds a placeholder",
}
_PREFIX = re.compile(r"\A\w+ Error: ")
_ONE = "write one expression over the columns of a row, as in lower(trim(doc_id))"


def normalise(
    con: duckdb.DuckDBPyConnection,
    source: str,
    expression: str,
    *,
    id: str = "doc_id",
    within: Sequence[str] = ("query_id",),
) -> None:
    """Replace the column `id` of the table `staged` by the value of an SQL expression of each row.

    Raises UsageError for what is not one scalar expression over the table's columns, and InputError
    where a result is empty or two rows that agree in `within` get the same id; `staged` is spent then.

    >>> con = duckdb.connect()
    >>> con.execute("create temp table staged as select 'q' as query_id, ' D1' as doc_id").fetchall()
    [(1,)]
    >>> normalise(con, "a.run", "lower(trim(doc_id))")
    >>> con.execute("select doc_id from staged").fetchall()
    [('d1',)]
    """
    _check(con, expression, id)
    rows = checks.row_count(con)
    sql = templates.render("ingest/normalised", expression=expression, id=id)
    try:
        con.execute(sql).fetchall()
    except duckdb.Error as error:
        raise InputError(f"{source}: --normalise {expression}: {_words(error)}") from error
    con.execute("drop table staged")
    con.execute("alter table staged_normalised rename to staged")
    if checks.row_count(con) != rows:
        raise UsageError(f"--normalise {expression}: gives several values for a row; {_ONE}")
    words = {"id": id, "within": list(within), "limit": checks.LIMIT}
    _refuse_empty(con, source, expression, templates.render("checks/normalised_empty", **words))
    _refuse_same(con, source, expression, templates.render("checks/normalised_same", **words))
    con.execute("alter table staged drop column given_id")


def _refuse_empty(con: duckdb.DuckDBPyConnection, source: str, expression: str, sql: str) -> None:
    found = con.execute(sql).fetchall()
    if found:
        total = int(found[0][2])
        raise InputError(
            f"{source}: --normalise {expression}: leaves nothing of {counted(total, 'id')}; "
            "change the expression so that every row keeps an id, or take these rows out",
            problems=[
                (None, f"{given!r} becomes {'null' if new is None else repr(new)}")
                for given, new, _ in found
            ],
            total=total,
        )


def _refuse_same(con: duckdb.DuckDBPyConnection, source: str, expression: str, sql: str) -> None:
    found = con.execute(sql).fetchall()
    if found:
        total = int(found[0][4])
        become = "becomes" if total == 1 else "become"
        raise InputError(
            f"{source}: --normalise {expression}: {counted(total, 'id')} {become} the same as another; "
            "change the expression so that they differ, or keep one row of each",
            problems=[
                (
                    None,
                    f"{f'query {query!r}: ' if query is not None else ''}"
                    f"{given!r} becomes {new!r}, as {first!r} does",
                )
                for query, given, new, first, _ in found
            ],
            total=total,
        )


def _check(con: duckdb.DuckDBPyConnection, expression: str, id: str) -> None:
    """Raise UsageError unless the text is one scalar expression over the columns of `staged`."""
    given = f"--normalise {expression}"
    if not expression.strip():
        raise UsageError(f"--normalise: is empty; {_ONE}")
    parsed = _parsed(con, f"select ({expression}\n) from staged")
    if parsed["error"]:
        raise UsageError(f"{given}: {_one_line(str(parsed['error_message']))}; {_ONE}")
    statements = parsed["statements"]
    plain = _parsed(con, "select (null) from staged")["statements"][0]
    if len(statements) != 1 or _rest(statements[0]) != _rest(plain):
        raise UsageError(f"{given}: is more than one expression; {_ONE}")
    chosen = statements[0]["node"].get("select_list", [])
    if len(chosen) != 1:
        raise UsageError(f"{given}: is more than one expression; {_ONE}")
    for part in _parts(chosen[0]):
        reason = _REFUSED_CLASSES.get(str(part.get("class")))
        if part.get("class") == "FUNCTION":
            reason = _function_refused(con, str(part["function_name"]))
        if reason:
            raise UsageError(f"{given}: {reason}; {_ONE}")
    try:
        # A plain column beside it: then an aggregate that hides in a macro does not bind.
        described = con.execute(
            f"describe select staged.{id} as given, ({expression}\n) as made from staged"
        ).fetchall()
    except duckdb.Error as error:
        raise UsageError(f"{given}: {_words(error)}") from error
    kind = str(described[1][1])
    if kind.endswith("]") or ("(" in kind and not kind.startswith(("DECIMAL", "ENUM"))):
        raise UsageError(f"{given}: gives a list or a record, not one id; {_ONE}")


def _parsed(con: duckdb.DuckDBPyConnection, sql: str) -> dict[str, Any]:
    ((text,),) = con.execute("select json_serialize_sql($sql)", {"sql": sql}).fetchall()
    found: dict[str, Any] = json.loads(text)
    return found


def _rest(value: Any) -> Any:
    """Return a parsed statement without what is selected and without places in the text."""
    if isinstance(value, dict):
        left_out = ("select_list", "query_location", "query_location_length", "named_param_map")
        return {key: _rest(inner) for key, inner in value.items() if key not in left_out}
    return [_rest(inner) for inner in value] if isinstance(value, list) else value


def _parts(value: Any) -> Iterator[dict[str, Any]]:
    """Give every node of a parsed expression."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            yield from _parts(inner)


def _function_refused(con: duckdb.DuckDBPyConnection, name: str) -> str:
    """Say why a function has no place in the expression; empty for one that is fit or unknown."""
    rows = con.execute(
        "select distinct function_type, stability from duckdb_functions() "
        "where function_name = lower($name)",
        {"name": name},
    ).fetchall()
    kinds = {str(kind) for kind, _ in rows}
    if kinds & {"scalar", "macro"}:
        if any(kind == "scalar" and stability != "CONSISTENT" for kind, stability in rows):
            return f"{name}() does not give the same value each time"
        return ""
    if "aggregate" in kinds:
        return f"{name}() is an aggregate over many rows"
    if kinds or name.lower() in ("unnest", "unlist"):
        return f"{name}() gives a table, or reads a file"
    return ""


def _words(error: Exception) -> str:
    """Return DuckDB's message, with its hint, without the echo of the statement, as one line."""
    return _one_line(_PREFIX.sub("", str(error)).split("\n\nLINE ")[0])


def _one_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines).rstrip(".")
