"""This program's views and macros, over the tables of an attached file.

The views and macros of a file may be made by anybody, and could read other files of the user. None of
them is ever run: this program makes its own in the database in memory, over the file's tables, and
finds them first. The tables are compared with the file's revision before one is read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

import duckdb

from warehouse.config.settings import SCHEMA_REVISION, resource_folder
from warehouse.errors import DatabaseError, listing
from warehouse.sql_text import functions
from warehouse.sql_text.quoting import ident, literal

# The name that an attached file has.
ALIAS = "warehouse"
# Where the views and macros are in the database in memory: of the schema `store`, and the ones for
# people. A query of people finds the second in `main`.
STORE = "memory.store"
FOR_PEOPLE = "memory.people"
# The views for people that commands read too. The others are made when people ask: each takes a
# millisecond.
READ_BY_COMMANDS = (
    "comparisons", "curve_point_versions", "fused_run_versions", "gate_versions",
    "imported_score_versions", "left_out_query_versions", "nugget_assignment_versions",
    "prediction_versions", "qrels_versions", "query_score_versions", "query_scores", "query_text",
    "run_versions", "runs", "score_versions", "scores", "slice_query_score_versions",
    "slice_query_scores", "slice_score_versions", "slice_scores",
)  # fmt: skip
# The names of the revisions since release 0.1.0.
REVISION = re.compile(r"v\d{4}")
# The tables of Alembic, and the additional tables of a replica.
_REVISION_TABLE = re.compile(
    r"CREATE TABLE store\.alembic_version\(version_num VARCHAR(?: NOT NULL)?"
    r"(?:, (?:CONSTRAINT \w+ )?PRIMARY KEY\(version_num\))?\);"
)
_PUBLICATION = (
    "CREATE TABLE store.publication(source VARCHAR, published_at TIMESTAMP WITH TIME ZONE, "
    "schema_revision VARCHAR, program_version VARCHAR);"
)
# A line of the script that makes the tables and views of a revision.
_LINE = re.compile(
    r'^create (table|view|macro) ([\w."]+) ?(.*?;)(?: comment on .*)?$',
    re.IGNORECASE | re.MULTILINE,
)
# Keywords are quoted, and the compression of a column is named, by some versions of DuckDB alone.
_VARYING = re.compile(r'"(?=\w+")|(?<=\w)"| USING COMPRESSION \w+')
_NAMED = re.compile(r"\bstore\.(\w+)")
_WORD = re.compile(r"\w+")
# Statements that may ask for relations without naming them.
_ANY = re.compile(
    r"\b(show|information_schema|sqlite_master|(duckdb|pg)_\w+)\b|^\s*describe\s*;?\s*$",
    re.IGNORECASE,
)
# The view that marks a connection of this program: it finds one warehouse.
_ONLY = {"store.only_warehouse": ("view", "as select true as is_only")}


def script(revision: str) -> Path:
    """Return the path of the script that makes the tables and views of a revision."""
    return resource_folder("migrations") / "scripts" / f"{revision}.sql"


@cache
def _made(path: Path) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """Return the tables that a script makes, and the views and macros, in its order."""
    tables, others = {}, dict(_ONLY)
    for kind, name, sql in _LINE.findall(path.read_text(encoding="utf-8")):
        if kind.lower() != "table":
            others.setdefault(name, (kind, sql))
        elif name != "store.alembic_version":
            plain = _VARYING.sub("", f"CREATE TABLE {name}{sql}")
            tables[name.replace('"', "").removeprefix("store.")] = plain
    return tables, others


def tables(revision: str | None = None) -> Mapping[str, str]:
    """Return the tables of a revision of the schema, by name: how DuckDB writes each.

    >>> tables()["gate_due"]
    'CREATE TABLE store.gate_due(run_id INTEGER NOT NULL);'
    """
    return _made(script(revision or SCHEMA_REVISION))[0]


def _stored(con: duckdb.DuckDBPyConnection, schema: str = "store") -> dict[str, str]:
    """Return the base tables of a schema, by name, as DuckDB writes them: nothing of them is run."""
    rows = con.execute(
        "select table_name, sql from duckdb_tables() where database_name = $1 and schema_name = $2",
        [ALIAS, schema],
    ).fetchall()
    return {str(name): _VARYING.sub("", str(sql)) for name, sql in rows}


def revision(con: duckdb.DuckDBPyConnection, path: Path) -> str:
    """Return the revision of an attached file, or an empty text if it says none.

    Raises DatabaseError if its tables do not fit the revision. Of one that this program does not
    know, nothing else is read.
    """
    found = _stored(con)
    if not _REVISION_TABLE.fullmatch(found.pop("alembic_version", "")):
        return ""
    rows = con.execute(f"select version_num from {ALIAS}.store.alembic_version limit 2").fetchall()
    named = str(rows[0][0]) if len(rows) == 1 else ""
    if not REVISION.fullmatch(named) or not script(named).exists():
        return named
    expected = tables(named)
    wrong = [name for name, sql in expected.items() if found.get(name) != sql]
    ours = definitions()
    wrong += [name for name in found if f"store.{name.lower()}" in ours]
    if "publication" in found and found["publication"] != _PUBLICATION:
        wrong.append("publication")
    if wrong:
        raise DatabaseError(
            f"{path}: its {'table' if len(wrong) == 1 else 'tables'} {listing(sorted(wrong), 5)} "
            f"{'is' if len(wrong) == 1 else 'are'} not as this program makes them, so the database is "
            "not read; make it anew from its runs and qrels"
        )
    return named


def is_table(con: duckdb.DuckDBPyConnection, schema: str, name: str) -> bool:
    """Whether a base table of an attached file, which can be read as it is, has this name."""
    sql = _stored(con, schema).get(name)
    return sql is not None and "GENERATED ALWAYS" not in sql


def definitions() -> Mapping[str, tuple[str, str]]:
    """Return the kind and the body of each view and macro, by name, after what it reads."""
    return _made(script(SCHEMA_REVISION))[1]


def for_people() -> list[str]:
    """Return the names of the views and macros for people."""
    return [name for name in definitions() if "." not in name]


def make_new(con: duckdb.DuckDBPyConnection) -> None:
    """Make all tables and views in an empty file, without the migrations."""
    # planning the hundreds of statements would take as long as running them on empty tables
    con.execute("pragma disable_optimizer")
    con.execute(f"use {ALIAS}.main")
    # one by one: DuckDB 1.5 does not tell windows of one name in two views apart
    for line in script(SCHEMA_REVISION).read_text(encoding="utf-8").splitlines():
        con.execute(line)


def make_schemas(con: duckdb.DuckDBPyConnection) -> None:
    """Make the schemas of the views and macros in the database in memory, with nothing in them."""
    con.execute(f"create schema {STORE}; create schema {FOR_PEOPLE}")


def make(con: duckdb.DuckDBPyConnection) -> None:
    """Make the views and macros that commands read, for an attached file: all of them, or none."""
    make_schemas(con)
    try:
        stored = [name for name in definitions() if "." in name]
        con.execute(f"set search_path = {literal(STORE)}")
        _make(con, stored, STORE)
        make_more(con, READ_BY_COMMANDS)
    except BaseException:
        with suppress(duckdb.Error):
            con.execute(f"drop schema {STORE} cascade; drop schema {FOR_PEOPLE} cascade")
        raise


def make_more(con: duckdb.DuckDBPyConnection, names: Collection[str]) -> None:
    """Make some views for people in `FOR_PEOPLE`, and make that the search path."""
    con.execute(f"set search_path = {literal(FOR_PEOPLE)}")
    people = set(for_people())
    wanted = [name for name in _with_what_they_read(names) if name in people]
    _make(con, wanted, FOR_PEOPLE)


def placed(name: str) -> str | None:
    """Return the full name of a table, or of what this program makes; None of what others made.

    >>> placed("store.run"), placed("runs"), placed("own")
    ('warehouse.store.run', 'memory.people.runs', None)
    """
    schema, _, relation = name.rpartition(".")
    if name in definitions():
        return f"{STORE if schema else FOR_PEOPLE}.{relation}"
    known = schema == "store" and (relation in tables() or relation == "publication")
    return f"{ALIAS}.{name}" if known else None


def make_for_people(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Let some SQL find the views for people in `main` by their names, and the tables as `store.run`.

    Those that it names are made, or all if it may ask which there are.
    """
    con.execute("set search_path = 'memory.main'")
    if _ANY.search(sql):
        make_all(con)
    else:
        _make_named(con, sql.lower())


def make_all(con: duckdb.DuckDBPyConnection) -> None:
    """Make the remaining views and macros, where SQL finds them."""
    every = {*definitions(), *tables(), *functions.definitions()}
    _make_named(con, " ".join(f"{name}()" for name in sorted(every)))


def _make_named(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    stored, known = tables(), definitions()
    words = set(_WORD.findall(sql))
    for table in sorted(words & stored.keys()):
        con.execute(f"create or replace view {STORE}.{table} as from {ALIAS}.store.{table}")
    wanted = _with_what_they_read(words | {f"store.{word}" for word in words})
    functions.make(con, functions.used(sql, *(known[name][1] for name in wanted)))
    _make(con, wanted, "memory.main")


def _with_what_they_read(names: Collection[str]) -> list[str]:
    """Return the views and macros with some names, and those that they read, those first."""
    known = definitions()
    wanted = new = known.keys() & set(names)
    while new:
        text = " ".join(known[name][1] for name in new)
        found = {
            *_WORD.findall(_NAMED.sub("", text)),
            *(f"store.{n}" for n in _NAMED.findall(text)),
        }
        new = known.keys() & found - wanted
        wanted = wanted | new
    return [name for name in known if name in wanted]


def _make(con: duckdb.DuckDBPyConnection, names: Collection[str], schema: str) -> None:
    """Make views and macros, those for people in a schema that is searched first.

    They are over what is named in full.
    """
    tables_now, known = tables(), definitions()
    for name in names:
        kind, body = known[name]
        store, _, bare = name.rpartition(".")
        body = _NAMED.sub(
            lambda found: f"{ALIAS if found[1] in tables_now else 'memory'}.store.{found[1]}", body
        )
        con.execute(f"create or replace {kind} {STORE if store else schema}.{bare} {body}")


def make_again(
    con: duckdb.DuckDBPyConnection, alias: str, revision: str | None = None, *, alone: bool
) -> None:
    """Make the views and macros of a revision again in a file; with `alone`, drop all others."""
    there = con.execute(
        "select 'view', schema_name, view_name from duckdb_views() "
        "where database_name = $1 and not internal union all select distinct "
        "if(function_type = 'table_macro', 'macro table', 'macro'), schema_name, function_name "
        "from duckdb_functions() where database_name = $1 and not internal",
        [alias],
    ).fetchall()
    text = script(revision or SCHEMA_REVISION).read_text(encoding="utf-8")
    ours = [line for line in text.splitlines() if line.startswith(("create view", "create macro"))]
    names = {line.split()[2].lower() for line in ours}
    ((before,),) = con.execute("select current_setting('search_path')").fetchall()
    con.execute(f"use {ident(alias)}.main")
    for kind, schema, name in there:
        if alone or f"{schema}.{name}".lower().removeprefix("main.") in names:
            con.execute(f"drop {kind} {ident(alias)}.{ident(schema)}.{ident(name)}")
    for line in ours:
        con.execute(line)
    con.execute(f"set search_path = {literal(before)}")


def refuse_macros(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse a file with a macro that SQL in the file would take for a function of DuckDB."""
    known = "select function_name from duckdb_functions() where database_name"
    taken = con.execute(
        f"{known} = $1 and not internal and function_name in ({known} = 'system')", [ALIAS]
    ).fetchall()
    if taken:
        raise DatabaseError(
            f"{path}: has a macro {taken[0][0]}, the name of a function of DuckDB; drop it first"
        )


def statements() -> list[str]:
    """Return the statements that make what commands read as temporary views.

    They are over temporary tables and views of the names of tables, where there are any. What is
    current is derived from those, and not what the file has stored as current.
    """
    known, stored = definitions(), tables()

    def found_first(found: re.Match[str]) -> str:
        is_macro = known.get(found[0], ("table",))[0] == "macro"
        return f"memory.{found[0]}" if is_macro else found[1]

    def made(names: Collection[str]) -> list[str]:
        return [
            f"create or replace temp view {name.rpartition('.')[2]} "
            f"{_NAMED.sub(found_first, known[name][1])}"
            for name in names
            if known[name][0] == "view" and name not in stored
        ]

    people = [name for name in _with_what_they_read(READ_BY_COMMANDS) if "." not in name]
    current = "create or replace temp view current_score as from derived_score"
    return [*made([name for name in known if "." in name]), current, *made(people)]
