"""The settings, and where each comes from."""

from __future__ import annotations

import contextlib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import duckdb

from warehouse.analyze.pages import relation
from warehouse.config import project
from warehouse.config.settings import DATABASE_VARIABLE, DEFAULT_DATABASE
from warehouse.sync.declarations import SETTLE, Evaluation, declared

_DEFAULT = "default"
_Path = tuple[str, ...]


def settings(given: Path | None = None) -> duckdb.DuckDBPyRelation:
    """Return every setting: `setting, value, origin`; `given` is the database that an option names.

    Raises DefinitionError for any error in the project's file.
    """
    declared()
    here = project.current()
    named = os.environ.get(DATABASE_VARIABLE)
    rows: dict[str, tuple[object, str]] = {}
    if here.file is not None:
        rows["config"] = (project.shown(here.file), project.origin())
    rows["database"] = (DEFAULT_DATABASE, _DEFAULT)
    usual = Evaluation()
    rows["settle"] = (SETTLE, _DEFAULT)
    for key in ("metrics", "protocols", "slices"):
        rows[f"evaluate.{key}"] = (list(getattr(usual, key)), _DEFAULT)
    rows.update(_in_file(here))
    if here.database is not None:
        rows["database"] = (project.shown(here.database), rows["database"][1])
    if given is not None or named:
        rows["database"] = (
            str(given or named),
            f"environment {DATABASE_VARIABLE}" if given is None else "option --db",
        )
    return relation(
        ("setting", "value", "origin"),
        [(key, _text(value), origin) for key, (value, origin) in rows.items()],
    )


def _in_file(here: project.Project) -> Iterator[tuple[str, tuple[object, str]]]:
    """Yield the settings in the project's file, each with its line."""
    if here.file is None:
        return
    inside = project.TABLE if here.file.name == project.PYPROJECT else ()
    lines = _lines(project.read_text(here.file))
    for path, value in _leaves(here.record):
        if not path:  # the file sets nothing
            continue
        yield ".".join(path), (value, f"{project.shown(here.file)}:{lines[inside + path]}")


def _leaves(value: object, path: _Path = ()) -> Iterator[tuple[_Path, object]]:
    """Yield the values in nested tables; the tables of a list are numbered."""
    tables: Mapping[str, object] | None = value if isinstance(value, dict) else None
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        tables = {str(number): item for number, item in enumerate(value, 1)}
    if not tables:
        yield path, value
        return
    for key, inner in tables.items():
        yield from _leaves(inner, (*path, key))


def _lines(text: str) -> dict[_Path, int]:
    """Return the line on which each value of a TOML file is set.

    Each prefix of the text that is valid TOML ends a statement: its new values were set there.
    """
    found: dict[_Path, int] = {}
    lines = text.splitlines()
    first = 1
    for last in range(1, len(lines) + 1):
        with contextlib.suppress(tomllib.TOMLDecodeError):
            for path, _ in _leaves(tomllib.loads("\n".join(lines[:last]))):
                found.setdefault(path, first)
            first = last + 1
    return found


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
