"""The settings, and where each comes from."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import duckdb

from warehouse.analyze.protocol_catalogue import relation
from warehouse.config import project, toml
from warehouse.config.settings import DATABASE_VARIABLE, DEFAULT_DATABASE
from warehouse.sync.declarations import SETTLE, Evaluation, read_declarations

_DEFAULT = "default"


def settings(given: Path | None = None) -> duckdb.DuckDBPyRelation:
    """Return every setting: `setting, value, origin`; `given` is the database that an option names.

    Raises DefinitionError for any error in the project's file.
    """
    read_declarations()
    here = project.current()
    named = os.environ.get(DATABASE_VARIABLE)
    rows: dict[str, tuple[object, str]] = {}
    if here.file is not None:
        rows["config"] = (project.relative(here.file), project.origin())
    rows["database"] = (DEFAULT_DATABASE, _DEFAULT)
    usual = Evaluation()
    rows["settle"] = (SETTLE, _DEFAULT)
    for key in ("metrics", "protocols", "slices"):
        rows[f"evaluate.{key}"] = (list(getattr(usual, key)), _DEFAULT)
    rows.update(_in_file(here))
    if here.database is not None:
        rows["database"] = (project.relative(here.database), rows["database"][1])
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
    for path, value in toml.leaves(here.document.record):
        if path:  # else the file sets nothing
            line = here.document.lines[here.document.inside + path]
            yield ".".join(map(str, path)), (value, f"{project.relative(here.file)}:{line}")


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
