"""The script that makes new files, as the migrations would: run this after a change of migrations."""

from __future__ import annotations

import re
import tempfile
from contextlib import closing
from pathlib import Path

import duckdb

from warehouse.config import settings
from warehouse.sql_text.quoting import literal
from warehouse.store import database, own_schema, schema

_DEFINITION = re.compile(
    r"^create (?:or replace )?(?P<kind>view|macro) (?P<name>[\w.]+) (?P<body>.+?)(?:;\s*(?:\n\n|\Z))",
    re.DOTALL | re.MULTILINE,
)
_COMMENT = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)


def by_migrations(folder: Path) -> Path:
    """Return a new file in which the migrations made all, and not the script."""
    path = folder / "warehouse.duckdb"
    with duckdb.connect() as con:
        con.execute(f"attach '{path}' as made (storage_version '{database.STORAGE_VERSION}')")
    alone = database.Resources(for_one_statement=True)
    with closing(database.memory(alone)) as con, database.transaction(path, staged=con):
        schema.migrate(con)
    return path


def everything(path: Path) -> dict[str, tuple[str | None, str]]:
    """Return comment and SQL, or type, of each table, view, macro and column."""
    with duckdb.connect(str(path), read_only=True) as con:
        rows = con.execute(
            """
            select format('table {}.{}', schema_name, table_name), comment, sql
            from duckdb_tables() where not internal
            union all
            select format('view {}.{}', schema_name, view_name), comment, sql
            from duckdb_views() where not internal
            union all
            select
                if(function_type = 'table_macro', 'macro table ', 'macro ')
                || schema_name || '.' || function_name,
                comment, parameters::varchar || macro_definition
            from duckdb_functions() where not internal
            union all
            select format('column {}.{}."{}"', schema_name, table_name, column_name), comment, data_type
            from duckdb_columns() where not internal
            order by all
            """
        ).fetchall()
    return {what: (comment, sql) for what, comment, sql in rows}


def script(path: Path, folder: Path, revision: str) -> str:
    """Return the script that makes such a file: a line for each table, view and macro."""
    found = everything(path)
    created = {what: sql for what, (_, sql) in found.items() if what.startswith("table ")}
    steps = [*sorted((folder / "versions").glob("*.sql")), folder / "views.sql"]
    text = "\n\n".join(step.read_text(encoding="utf-8").strip() for step in steps)
    for one in _DEFINITION.finditer(text):
        name = one["name"] if "." in one["name"] else f"main.{one['name']}"
        what = next((known for known in found if known.endswith(f" {name}")), None)
        if what is not None:
            plain = " ".join(_COMMENT.sub("", one["body"]).split())
            created[what] = f"create {one['kind']} {one['name']} {plain};"
    lines = ["create schema store;"]
    for what, sql in created.items():
        start = f"column {what.rpartition(' ')[2]}."
        said = [what, *(one for one in found if one.startswith(start))]
        comments = (f"comment on {one} is {literal(found[one][0])};" for one in said)
        lines.append(" ".join([sql, *comments]))
    lines.append(f"insert into store.alembic_version values ('{revision}');")
    return "\n".join(lines) + "\n"


def write(folder: Path, revision: str) -> None:
    """Write the script of the newest revision of a folder of migrations."""
    with tempfile.TemporaryDirectory() as place:
        text = script(by_migrations(Path(place)), folder, revision)
    (folder / "scripts" / f"{revision}.sql").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(settings.resource_folder("migrations"), settings.SCHEMA_REVISION)
    print(f"wrote {own_schema.script(settings.SCHEMA_REVISION)}")
