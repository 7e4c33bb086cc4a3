"""This program's views and macros, over the tables of an attached file.

The views and macros of a file may be made by anybody, and could read other files of the user. None of
them is ever run: this program makes its own in the database in memory, over the file's tables, and
finds them first. The tables are compared with those of the file's revision before one is read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

import duckdb

from warehouse.config.settings import resource_folder
from warehouse.errors import DatabaseError, listing
from warehouse.sql_text import functions
from warehouse.sql_text.quoting import ident, literal

# Where the views and macros are in the database in memory: those of the schema `store`, and those for
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
# What Alembic makes, and what a replica has in addition.
_REVISION = re.compile(
    r"CREATE TABLE store\.alembic_version\(version_num VARCHAR(?: NOT NULL)?"
    r"(?:, (?:CONSTRAINT \w+ )?PRIMARY KEY\(version_num\))?\);"
)
_PUBLICATION = (
    "CREATE TABLE store.publication(source VARCHAR, published_at TIMESTAMP WITH TIME ZONE, "
    "schema_revision VARCHAR, program_version VARCHAR);"
)
_DEFINITION = re.compile(
    r"^create (?:or replace )?(?P<kind>view|macro) (?P<name>[\w.]+) (?P<body>.+?)(?:;\s*(?:\n\n|\Z))",
    re.DOTALL | re.MULTILINE,
)
_COMMENT = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)
# Keywords are quoted, and how a column is compressed is said, by some versions of DuckDB alone.
_VARYING = re.compile(r'"(?=\w+")|(?<=\w)"| USING COMPRESSION \w+')
_NAMED = re.compile(r"\bstore\.(\w+)")
_WORD = re.compile(r"\w+")
_TABLES = "tables.json"
# The script that makes what all migrations make.
NEW = "new.sql"
# What may ask for relations that it does not name.
_ANY = re.compile(
    r"\b(show|information_schema|sqlite_master|(duckdb|pg)_\w+)\b|^\s*describe\s*;?\s*$",
    re.IGNORECASE,
)
# What is true of a connection of this program: it finds one warehouse.
_ONLY = {"store.only_warehouse": ("view", "as select true as is_only")}


def _folder() -> Path:
    return resource_folder("migrations")


@cache
def _tables(folder: Path) -> Mapping[str, Mapping[str, str | None]]:
    found: dict[str, dict[str, str | None]] = json.loads(
        (folder / _TABLES).read_text(encoding="utf-8")
    )
    return found


def tables(revision: str) -> dict[str, str]:
    """Return the tables of a revision of the schema, by name: how DuckDB writes each.

    >>> tables("r0001")["gate_due"]
    'CREATE TABLE store.gate_due(run_id INTEGER NOT NULL);'
    """
    known = _tables(_folder())
    return _sum([changes for name, changes in known.items() if name <= revision])


def _sum(changes: Collection[Mapping[str, str | None]]) -> dict[str, str]:
    found: dict[str, str | None] = {}
    for one in changes:
        found |= one
    return {name: sql for name, sql in found.items() if sql is not None}


def write_tables(folder: Path) -> None:
    """Write down which tables the SQL of each migration in a folder makes, changes and drops."""
    known: dict[str, dict[str, str | None]] = {}
    with duckdb.connect() as con:
        con.execute("attach ':memory:' as made; create schema made.store; use made.main")
        for path in sorted((folder / "versions").glob("*.sql")):
            for statement in _COMMENT.sub("", path.read_text(encoding="utf-8")).split(";\n"):
                con.execute(statement)
            before, after = _sum(known.values()), _stored(con, "made")
            changed: dict[str, str | None] = dict(sorted(set(after.items()) - set(before.items())))
            gone: dict[str, str | None] = dict.fromkeys(sorted(before.keys() - after.keys()))
            known["r" + path.name[:4]] = changed | gone
    text = json.dumps(known, indent=1) + "\n"
    (folder / _TABLES).write_text(text, encoding="utf-8")


def _stored(con: duckdb.DuckDBPyConnection, database: str, schema: str = "store") -> dict[str, str]:
    """Return the base tables of a schema, by name, as DuckDB writes them: nothing of them is run."""
    rows = con.execute(
        "select table_name, sql from duckdb_tables() where database_name = $1 and schema_name = $2",
        [database, schema],
    ).fetchall()
    return {str(name): _VARYING.sub("", str(sql)) for name, sql in rows}


def revision(con: duckdb.DuckDBPyConnection, path: Path, alias: str) -> str:
    """Return the revision of an attached file, or an empty text if it says none.

    Raises DatabaseError if its tables are not those of the revision. Of one that this program does not
    know, nothing else is read.
    """
    found = _stored(con, alias)
    if not _REVISION.fullmatch(found.pop("alembic_version", "")):
        return ""
    rows = con.execute(
        f"select version_num from {ident(alias)}.store.alembic_version limit 2"
    ).fetchall()
    named = str(rows[0][0]) if len(rows) == 1 else ""
    if named not in _tables(_folder()):
        return named
    expected = tables(named)
    wrong = [name for name, sql in expected.items() if found.get(name) != sql]
    ours = definitions(_folder())
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


def is_table(con: duckdb.DuckDBPyConnection, alias: str, schema: str, name: str) -> bool:
    """Whether a name is that of a base table of an attached file, which can be read as it is."""
    sql = _stored(con, alias, schema).get(name)
    return sql is not None and "GENERATED ALWAYS" not in sql


@cache
def definitions(folder: Path) -> Mapping[str, tuple[str, str]]:
    """Return the kind and the body of each view and macro, by name, after what it reads."""
    return _written(folder) | _ONLY


def _written(folder: Path) -> dict[str, tuple[str, str]]:
    steps = [*sorted((folder / "versions").glob("*.sql")), folder / "views.sql"]
    text = "\n\n".join(path.read_text(encoding="utf-8").strip() for path in steps)
    return {one["name"]: (one["kind"], one["body"]) for one in _DEFINITION.finditer(text)}


def for_people() -> list[str]:
    """Return the names of the views and macros for people."""
    return [name for name in definitions(_folder()) if "." not in name]


def history(folder: Path) -> str:
    """Return the first line of the script that makes what the migrations of a folder make."""
    steps = [*sorted((folder / "versions").glob("*.*")), folder / "views.sql", folder / "env.py"]
    text = "\n".join(step.read_text(encoding="utf-8") for step in steps)
    return f"-- Made from migrations {hashlib.sha256(text.encode()).hexdigest()}."


def make_new(con: duckdb.DuckDBPyConnection, alias: str) -> bool:
    """Make all tables and views in an empty file, without the migrations; return whether it did.

    It does not if other migrations are there than the script was made of.
    """
    script = (_folder() / NEW).read_text(encoding="utf-8")
    if script.partition("\n")[0] != history(_folder()):
        return False
    con.execute(f"use {ident(alias)}.main")
    # one by one: DuckDB 1.5 does not tell windows of one name in two views apart
    for line in script.splitlines():
        con.execute(line)
    return True


def make_schemas(con: duckdb.DuckDBPyConnection) -> None:
    """Make the schemas of the views and macros in the database in memory, with nothing in them."""
    con.execute(f"create schema {STORE}; create schema {FOR_PEOPLE}")


def put(con: duckdb.DuckDBPyConnection, alias: str, revision: str) -> None:
    """Make the views and macros that commands read, beside an attached file: all of them, or none."""
    make_schemas(con)
    try:
        stored = [name for name in definitions(_folder()) if "." in name]
        con.execute(f"set search_path = {literal(STORE)}")
        _make(con, stored, STORE, alias, revision)
        put_more(con, READ_BY_COMMANDS, alias, revision)
    except BaseException:
        with suppress(duckdb.Error):
            con.execute(f"drop schema {STORE} cascade; drop schema {FOR_PEOPLE} cascade")
        raise


def put_more(
    con: duckdb.DuckDBPyConnection, names: Collection[str], alias: str, revision: str
) -> None:
    """Make some views for people in `FOR_PEOPLE`, and make that the search path."""
    con.execute(f"set search_path = {literal(FOR_PEOPLE)}")
    people = set(for_people())
    wanted = [name for name in _with_what_they_read(names) if name in people]
    _make(con, wanted, FOR_PEOPLE, alias, revision)


def placed(name: str, alias: str) -> str | None:
    """Return the full name of a table, or of what this program makes; None of what others made.

    >>> placed("store.run", "warehouse"), placed("runs", "warehouse"), placed("own", "warehouse")
    ('warehouse.store.run', 'memory.people.runs', None)
    """
    schema, _, relation = name.rpartition(".")
    if name in definitions(_folder()):
        return f"{STORE if schema else FOR_PEOPLE}.{relation}"
    known = schema == "store" and (relation in tables("r9999") or relation == "publication")
    return f"{alias}.{name}" if known else None


def put_for_people(con: duckdb.DuckDBPyConnection, sql: str, alias: str, revision: str) -> None:
    """Let some SQL find the views for people in `main` by their names, and the tables as `store.run`.

    Those that it names are made, or all if it may ask which there are.
    """
    con.execute("set search_path = 'memory.main'")
    if _ANY.search(sql):
        make_all(con, alias, revision)
    else:
        _make_named(con, sql.lower(), alias, revision)


def make_all(con: duckdb.DuckDBPyConnection, alias: str, revision: str) -> None:
    """Make what is left of the views and macros, where SQL finds them."""
    every = {*definitions(_folder()), *tables(revision), *functions.definitions()}
    _make_named(con, " ".join(f"{name}()" for name in sorted(every)), alias, revision)


def _make_named(con: duckdb.DuckDBPyConnection, sql: str, alias: str, revision: str) -> None:
    stored, known = tables(revision), definitions(_folder())
    words = set(_WORD.findall(sql))
    for table in sorted(words & stored.keys()):
        con.execute(f"create or replace view {STORE}.{table} as from {alias}.store.{table}")
    wanted = _with_what_they_read(words | {f"store.{word}" for word in words})
    functions.make(con, functions.used(sql, *(known[name][1] for name in wanted)))
    _make(con, wanted, "memory.main", alias, revision)


def _with_what_they_read(names: Collection[str]) -> list[str]:
    """Return the views and macros with some names, and those that they read, those first."""
    known = definitions(_folder())
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


def _make(
    con: duckdb.DuckDBPyConnection,
    names: Collection[str],
    schema: str,
    alias: str,
    revision: str,
) -> None:
    """Make views and macros, those for people in a schema that is searched first.

    They are over what is named in full.
    """
    tables_now, known = tables(revision), definitions(_folder())
    for name in names:
        kind, body = known[name]
        store, _, bare = name.rpartition(".")
        body = _NAMED.sub(
            lambda found: f"{alias if found[1] in tables_now else 'memory'}.store.{found[1]}",
            body,
        )
        con.execute(f"create or replace {kind} {STORE if store else schema}.{bare} {body}")


def replace(con: duckdb.DuckDBPyConnection, path: Path, alias: str, revision: str) -> None:
    """Make the views and macros in the schema `store` of a file anew, as those of its revision.

    A migration then reads none that somebody else made. Raises DatabaseError if a macro of the file has
    the name of a function of DuckDB, which would be found in its place.
    """
    known = "select function_name from duckdb_functions() where database_name"
    taken = con.execute(
        f"{known} = $1 and not internal and function_name in ({known} = 'system')", [alias]
    ).fetchall()
    if taken:
        raise DatabaseError(
            f"{path}: has a macro {taken[0][0]}, the name of a function of DuckDB; drop it first"
        )
    comments = _comments(con, alias)
    con.execute(f"use {ident(alias)}.main")
    made = set()
    for step in sorted((_folder() / "versions").glob("*.sql")):
        if step.name[:4] > revision[1:]:
            break
        for one in _DEFINITION.finditer(f"{step.read_text(encoding='utf-8').strip()}\n\n"):
            if one["name"] not in made and one["kind"] == "macro":
                con.execute(f"drop macro table if exists {one['name']}")
                con.execute(f"drop macro if exists {one['name']}")
            con.execute(f"create or replace {one['kind']} {one['name']} {one['body']}")
            made.add(one["name"])
    _comment(con, comments, made)


def make_anew(con: duckdb.DuckDBPyConnection, alias: str) -> None:
    """Replace the views and macros of a copy of a file by ours; others have none in it."""
    comments = _comments(con, alias)
    there = con.execute(
        "select 'view', schema_name, view_name from duckdb_views() "
        "where database_name = $1 and not internal union all select distinct "
        "if(function_type = 'table_macro', 'macro table', 'macro'), schema_name, function_name "
        "from duckdb_functions() where database_name = $1 and not internal",
        [alias],
    ).fetchall()
    ((before,),) = con.execute("select current_setting('search_path')").fetchall()
    con.execute(f"use {ident(alias)}.main")
    con.begin()  # or each statement would be written to the disk before the next one
    try:
        for kind, schema, name in there:
            con.execute(f"drop {kind} {ident(alias)}.{ident(schema)}.{ident(name)}")
        ours = _written(_folder())
        for name, (kind, body) in ours.items():
            con.execute(f"create {kind} {name} {body}")
        _comment(con, comments, ours)
    except BaseException:
        con.rollback()
        raise
    con.commit()
    con.execute(f"set search_path = {literal(before)}")


def _comments(con: duckdb.DuckDBPyConnection, alias: str) -> list[tuple[str, str]]:
    """Return which view, column of one, or macro has which comment."""
    return con.execute(
        "select format('view {}.{}', schema_name, view_name), comment from duckdb_views() "
        "where database_name = $alias and comment is not null union all "
        "select format('column {}.{}.{}', schema_name, table_name, column_name), comment "
        "from duckdb_columns() where database_name = $alias and comment is not null "
        "and (schema_name, table_name) not in "
        "(select (schema_name, table_name) from duckdb_tables() where database_name = $alias) "
        "union all select distinct if(function_type = 'table_macro', 'macro table ', 'macro ') "
        "|| schema_name || '.' || function_name, comment from duckdb_functions() "
        "where database_name = $alias and comment is not null",
        {"alias": alias},
    ).fetchall()


def _comment(
    con: duckdb.DuckDBPyConnection, comments: Collection[tuple[str, str]], made: Collection[str]
) -> None:
    """Comment on those views that were made."""
    for what, comment in comments:
        name = ".".join(what.rpartition(" ")[2].split(".")[:2]).removeprefix("main.")
        if name in made:
            con.execute(f"comment on {what} is {literal(comment)}")


def statements(revision: str) -> list[str]:
    """Return the statements that make what commands read as temporary views.

    They are over temporary tables and views of the names of tables, where there are any. What is
    current is derived from those, and not what the file has stored as current.
    """
    known = definitions(_folder())
    stored = tables(revision)

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
