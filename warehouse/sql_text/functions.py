"""The functions of the formulas: the DuckDB macros of `sql/functions.sql`, on every connection."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import duckdb

from warehouse.config.settings import resource_folder

# Where connections have the macros: in the database in memory, to which files are attached.
SCHEMA = "memory.main"
_STATEMENT = re.compile(r"^create temp macro (\w+)(\(.*?\) as\n.*?);$", re.DOTALL | re.MULTILINE)
_CALL = re.compile(r"\b(\w+)\(")


@cache
def definitions() -> Mapping[str, str]:
    """Return each macro's parameters and expression, as SQL, by its name.

    >>> print(definitions()["ratio"])
    (numerator, denominator) as
        numerator / nullif(denominator, 0)
    """
    text = (resource_folder("sql") / "functions.sql").read_text(encoding="utf-8")
    return dict(_STATEMENT.findall(text))


def make(con: duckdb.DuckDBPyConnection, macros: Mapping[str, str] | None = None) -> None:
    """Make the macros, or some of them, in a database in memory; all connections to it have them."""
    chosen = definitions() if macros is None else macros
    made = (f"create or replace macro {SCHEMA}.{name}{text}" for name, text in chosen.items())
    con.execute(";\n".join(made))


def used(*sql: str) -> dict[str, str]:
    """Return the definitions of the macros that some SQL calls, and of those that they call.

    A macro comes after those that it calls.

    >>> list(used("select information(1, 8)"))
    ['ratio', 'information']
    """
    known = definitions()
    found: dict[str, str] = {}

    def follow(text: str) -> None:
        for name in _CALL.findall(text):
            if name in known and name not in found:
                follow(known[name])
                found[name] = known[name]

    for text in sql:
        follow(text)
    return found


def script(*sql: str) -> list[str]:
    """Return the statements that make the macros that some SQL calls, on any connection."""
    return [f"create or replace temp macro {name}{text};" for name, text in used(*sql).items()]
