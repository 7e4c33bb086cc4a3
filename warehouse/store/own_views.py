"""The views and the macro of a file: refused if they reach anything but the file's own tables.

A view of a hostile file could read other files of the user when a command reads it. Each word of those
views that commands read must be a word of this program's schema, one of the engine's own words for SQL,
or the name of a function of single values; what reads files has other names.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from warehouse.config.settings import resource_folder
from warehouse.errors import DatabaseError
from warehouse.sql_text.quoting import ident

_COMMENT = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)
_WORD = re.compile(r"\w+")
_VIEW = re.compile(r"create view (?:\w+\.)?(\w+)")
_MACRO = re.compile(r"create macro (?P<schema>\w+)\.(?P<name>\w+) (?P<rest>.*?);", re.DOTALL)
# What engines write into views besides what they read: true and false, and the order of lists.
_RENDERED = frozenset({"t", "f", "list_sort", "order_default"})
# The call of the macro whose plan tells what it computes.
_CALL = "explain select {}(to_timestamp(i), i::varchar) from range(2) as t(i)"


@cache
def _schema() -> str:
    """Return the SQL of this program's schema, without comments."""
    files = sorted(resource_folder("migrations").rglob("*.sql"))
    return "\n".join(_COMMENT.sub("", file.read_text(encoding="utf-8")) for file in files).lower()


@cache
def words() -> frozenset[str]:
    """Return the words of this program's schema."""
    return frozenset(_WORD.findall(_schema()))


@cache
def names() -> list[str]:
    """Return the names of this program's views, without their schemas."""
    return [str(name) for name in _VIEW.findall(_schema())]


def check(con: duckdb.DuckDBPyConnection, path: Path, alias: str, store: str) -> None:
    """Refuse an attached file with a view or macro that is not this program's.

    Raises DatabaseError.
    """
    views = con.execute(
        "select schema_name, view_name, sql from duckdb_views() where database_name = $alias "
        "and not internal and (schema_name = $store or list_contains($names, view_name))",
        {"alias": alias, "store": store, "names": names()},
    ).fetchall()
    unknown = [set(_WORD.findall(str(sql).lower())) - words() - _RENDERED for *_, sql in views]
    known = _harmless(con, set().union(*unknown))
    for (schema, name, _), others in zip(views, unknown, strict=True):
        if others - known:
            raise _refusal(path, f"view {schema}.{name}")
    _check_macros(con, path, alias)


# Which words the engine was asked about are its own, and the plans of the macros as they should be:
# neither changes while the program runs, and files are opened often.
_keywords: dict[str, bool] = {}
_plans: dict[str, list[Any]] = {}


def _harmless(con: duckdb.DuckDBPyConnection, found: set[str]) -> set[str]:
    """Return which words are the engine's own for SQL, or name functions that give single values."""
    if new := sorted(found - _keywords.keys()):
        rows = con.execute(
            "select keyword_name from duckdb_keywords() "
            "where list_contains($words, keyword_name) and keyword_name <> 'glob'",
            {"words": new},
        ).fetchall()
        _keywords.update(dict.fromkeys(new, False) | {str(word): True for (word,) in rows})
    known = {word for word in found if _keywords[word]}
    if found - known:  # which takes a while, and depends on the file
        rows = con.execute(
            "select function_name from duckdb_functions() where list_contains($words, function_name) "
            "group by function_name having bool_and(function_type in ('scalar', 'aggregate'))",
            {"words": sorted(found - known)},
        ).fetchall()
        known |= {str(word) for (word,) in rows}
    return known


def _check_macros(con: duckdb.DuckDBPyConnection, path: Path, alias: str) -> None:
    for found in _MACRO.finditer(_schema()):
        name = found["name"]
        if name not in _plans:
            con.execute(f"create or replace temp macro expected_{name} {found['rest']}")
            _plans[name] = con.execute(_CALL.format(f"expected_{name}")).fetchall()
        named = f"{ident(alias)}.{found['schema']}.{name}"
        try:
            is_ours = con.execute(_CALL.format(named)).fetchall() == _plans[name]
        except (duckdb.CatalogException, duckdb.BinderException, duckdb.ParserException):
            is_ours = False  # it is missing, or takes or reads something else
        if not is_ours:
            raise _refusal(path, f"macro {found['schema']}.{name}")


def _refusal(path: Path, what: str) -> DatabaseError:
    return DatabaseError(
        f"{path}: its {what} is not the one of this program and could read other files, so the "
        "database is not read; make it anew from its runs and qrels"
    )
