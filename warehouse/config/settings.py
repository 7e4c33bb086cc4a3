"""Locations: the database file and the folders that ship with the package."""

from __future__ import annotations

import os
from pathlib import Path

from warehouse.config import project
from warehouse.errors import UsageError, is_utf8

VERSION = "0.1.0"

DATABASE_VARIABLE = "WAREHOUSE_DB"
DEFAULT_DATABASE = "warehouse.duckdb"

# The default metrics.
# The metrics of a dataset if none is asked for and none is stored.
SHOWN_METRICS = ("nDCG@10", "AP", "P@10", "RR")
DEFAULT_METRICS = ("nDCG@10", "AP", "RR", "P@10", "R@100", "R@1000")

# The newest migration; a test compares it with the folder migrations.
SCHEMA_REVISION = "v0001"
# Seconds to wait for a file that another process has open.
LOCK_TIMEOUT = 30.0
# A folder with both is a bundle.
BUNDLE_FILES = ("manifest.json", "statement.json")


def resource_folder(name: str) -> Path:
    """Return the folder `sql` or `migrations`.

    An installed wheel has it inside the package; in a checkout it is next to the package.
    """
    package = Path(__file__).parents[1]
    for folder in (package / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise UsageError(
        f"the folder {name!r} is missing from this installation: reinstall the package"
    )


def database_path(given: str | os.PathLike[str] | None = None) -> Path:
    """Return the database file.

    It is the given one, else the one of WAREHOUSE_DB, else the one of the project's `warehouse.toml`,
    else `warehouse.duckdb` in the current folder.
    """
    named = given or os.environ.get(DATABASE_VARIABLE)
    if named and not str(named).strip():
        raise UsageError(f"the name of the database is blank: see --db and {DATABASE_VARIABLE}")
    path = Path(named or project.current().database or DEFAULT_DATABASE)
    if not is_utf8(str(path)):
        raise UsageError(
            f"{path}: is not UTF-8: give the database, and the folders above it, another name"
        )
    if str(path).startswith(":"):
        raise UsageError(
            f"{path}: a warehouse is a file; to compute without storing, use 'warehouse score'"
        )
    return path
