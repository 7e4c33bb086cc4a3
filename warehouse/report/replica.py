"""Replicas of a warehouse for notebooks and BI tools: a DuckDB file, or a folder of Parquet files."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import duckdb

from warehouse.analyze import listings
from warehouse.config.settings import LOCK_TIMEOUT, SCHEMA_REVISION, VERSION
from warehouse.errors import UsageError
from warehouse.report.file_replacement import new_version, replace_file, replace_folder
from warehouse.sql_text.quoting import ident, literal
from warehouse.store import database, own_schema

# Clients of the last two years read it.
STORAGE_VERSION = "v1.4.0"
MANIFEST = "manifest.json"
# Tables with texts of queries and documents, whose licences may forbid to pass them on.
_TEXTS = ("text", "text_set")
_TEXT_VIEWS = ("query_text", "document_text")
_COMMENTS = {
    "": "One row: what this replica was made of. It is replaced, never written to.",
    "source": "Path of the warehouse.",
    "published_at": "When the replica was made.",
    "schema_revision": "Revision of the schema, as in migrations.",
    "program_version": "Version of the program that made it.",
}


@dataclass(frozen=True)
class Published:
    """A replica: its path, its numbers of tables and views, and its size in bytes.

    `notes` say what of a lake is not in it.
    """

    path: Path
    relations: int
    size: int
    notes: tuple[str, ...] = ()


def publish(
    con: duckdb.DuckDBPyConnection,
    source: Path,
    target: Path,
    *,
    with_text: bool = False,
    storage_version: str = STORAGE_VERSION,
    called: str | None = None,
    lock_timeout: float = LOCK_TIMEOUT,
) -> Published:
    """Copy what a reading connection sees to a new file, which then replaces the target.

    A link stays a link. The replica says that it is one of `source`, or of what is `called` so.
    """
    if not re.fullmatch(r"v\d+\.\d+\.\d+", storage_version):
        raise UsageError(
            f"{storage_version}: write a storage version as {STORAGE_VERSION}: the oldest DuckDB "
            "that has to read the replica"
        )
    database.check_name(target)
    place = Path(os.path.realpath(target)) if target.is_symlink() else target
    with new_version(place, lock_timeout) as part:
        _check(source, target, lock_timeout)
        try:
            con.execute(
                f"attach {literal(str(part))} as replica (storage_version {literal(storage_version)})"
            )
        except duckdb.InvalidInputException as error:
            raise UsageError(f"{storage_version}: no storage version: {error}") from None
        try:
            _copy(con, storage_version, with_text)
            con.begin()  # or each statement would be written to the disk before the next one
            own_schema.make_again(con, "replica", alone=True)
            con.commit()
            _mark_as_replica(con, called or _stored(source))
            count = con.execute(
                "select count(*) from (from duckdb_tables() select database_name, internal "
                "union all from duckdb_views() select database_name, internal) "
                "where database_name = 'replica' and not internal"
            ).fetchall()[0][0]
        finally:
            con.execute("detach replica")
        replace_file(part, place)
    return Published(target, int(count), target.stat().st_size)


def _copy(con: duckdb.DuckDBPyConnection, storage_version: str, with_text: bool) -> None:
    whole = f"copy from database {ident(database.ALIAS)} to replica"
    try:
        if with_text or not con.execute("select 1 from text_set limit 1").fetchall():
            con.execute(whole)
            return
        con.execute(f"{whole} (schema)")
        tables = con.execute(
            "select table_name from duckdb_tables() where database_name = 'replica'"
        ).fetchall()
        for (table,) in tables:
            if table not in _TEXTS:  # deleted rows would still be in the file
                stored = f"{database.STORE}.{ident(table)}"
                con.execute(
                    f"insert into replica.{stored} from {ident(database.ALIAS)}.{stored}"
                ).fetchall()
        con.execute("delete from replica.store.table_total where relation = 'text_set'").fetchall()
    except duckdb.BinderException as error:
        if "compression type" not in str(error):
            raise
        raise UsageError(
            f"{storage_version}: document ids are compressed in a way that DuckDB reads from 1.2 on; "
            "publish as v1.2.0 or newer, or as Parquet"
        ) from None


def _check(source: Path, target: Path, lock_timeout: float) -> None:
    """Refuse to replace anything but a replica."""
    if not target.exists():
        return
    if target.samefile(source):
        raise UsageError(f"{target}: is the warehouse itself; give the replica a name of its own")
    with database.read(target, lock_timeout=lock_timeout) as con:
        is_replica = database.replica_of(con) is not None
    if not is_replica:
        raise UsageError(
            f"{target}: exists and is not a replica, so it is not replaced; choose another name"
        )


def _mark_as_replica(con: duckdb.DuckDBPyConnection, source: str) -> None:
    table = f"replica.{database.STORE}.{database.PUBLICATION}"
    con.execute(
        # the warehouse may be a replica itself
        f"create or replace table {table} as select $1::varchar as source, now() as published_at, "
        "$2::varchar as schema_revision, $3::varchar as program_version",
        [source, SCHEMA_REVISION, VERSION],
    )
    for column, comment in _COMMENTS.items():
        what = f"column {table}.{column}" if column else f"table {table}"
        con.execute(f"comment on {what} is {literal(comment)}")


def _stored(source: Path) -> str:
    """Return the path of the warehouse as UTF-8; the name of a parent folder may be something else."""
    return str(source.absolute()).encode(errors="backslashreplace").decode()


def publish_parquet(
    con: duckdb.DuckDBPyConnection,
    source: Path,
    folder: Path,
    *,
    with_text: bool = False,
    lock_timeout: float = LOCK_TIMEOUT,
) -> Published:
    """Write every table and view as a Parquet file to a folder that then replaces the target."""
    if folder.exists() and not (folder.is_symlink() and (folder / MANIFEST).is_file()):
        raise UsageError(
            f"{folder}: exists and is not a replica, so it is not replaced; choose another name"
        )
    with new_version(folder, lock_timeout) as part:
        part.mkdir()
        described = _describe(con)
        places = {name: own_schema.placed(name) for name in described}
        relations = {name: described[name] for name, place in places.items() if place}
        own_schema.make_more(con, own_schema.for_people())
        for name, about in relations.items():
            table = name.removeprefix(f"{database.STORE}.")
            nothing = " where false" if table in _TEXTS + _TEXT_VIEWS and not with_text else ""
            rows = con.execute(
                f"copy (from {places[name]}{nothing}) "
                f"to {literal(str(part / (name + '.parquet')))} (format parquet, compression zstd)"
            ).fetchall()[0][0]
            about |= {"rows": rows, "file": f"{name}.parquet"}
        manifest = {
            "source": _stored(source),
            "published_at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "schema_revision": SCHEMA_REVISION,
            "program_version": VERSION,
            "relations": relations,
        }
        text = json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"
        (part / MANIFEST).write_text(text, encoding="utf-8")
        size = sum(path.stat().st_size for path in part.iterdir())
        replace_folder(part, folder)
    return Published(folder, len(relations), size)


def _describe(con: duckdb.DuckDBPyConnection) -> dict[str, dict[str, object]]:
    """Return the manifest's entry for each table and view."""
    found: dict[str, dict[str, object]] = {}
    columns: dict[str, list[dict[str, str]]] = {}
    for kind, name, column, type, comment, _ in listings.schema(con).fetchall():
        if kind == "macro":  # Parquet files have none
            continue
        if column is None:
            columns[name] = []
            found[name] = {"kind": kind, "comment": comment, "columns": columns[name]}
        else:
            columns[name].append({"name": column, "type": type, "comment": comment})
    del found[f"{database.STORE}.alembic_version"]
    return found
