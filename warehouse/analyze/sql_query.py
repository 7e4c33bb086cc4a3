"""Ad-hoc SQL, read-only: one statement that returns rows, closed to files, network and settings."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection as Connection
from duckdb import DuckDBPyRelation as Relation

from warehouse.errors import (
    UsageError,
    WarehouseError,
    first_line,
    is_utf8,
    listing,
    nearest,
    option,
    seconds,
)
from warehouse.sql_text.quoting import literal
from warehouse.store import own_schema
from warehouse.store.database import ALIAS, Resources, find_views, keep
from warehouse.store.engine_errors import is_damaged

TIMEOUT = 60.0
_MEMORY_MB = 4096
_THREADS = 4
_CLOSE = (
    "set max_temp_directory_size = '0GB'",
    "set enable_external_access = false",
    "set allow_community_extensions = false",
    "set autoinstall_known_extensions = false",
    "set autoload_known_extensions = false",
    "set python_enable_replacements = false",
    "set lock_configuration = true",
)
_FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*(\w+)", re.DOTALL)
_PIVOTS = ("pivot", "unpivot", "from", "select", "with")
_LINE = re.compile(r"^LINE (\d+):", re.MULTILINE)
# How the engine says that a column does not exist.
_NO_COLUMN = re.compile(
    r'(?:Referenced column|a column named|Column) "(?P<name>[^"]+)"'
    r"(?: not found| does not exist| in .+ not found|$)",
    re.MULTILINE,
)
_MEANT = re.compile(r"Did you mean .*\n")
# The names of relations with ranked lists.
_LISTS = re.compile(r"\b(predictions?|prediction_versions)\b", re.IGNORECASE)
# A relation or function of the file that is named in full: its last part.
_NAME = r'(?:"(?:[^"]|"")+"|\w+)'
_IN_FULL = re.compile(
    rf'(?<![\w."])"?{ALIAS}"?\s*\.\s*(?:{_NAME}\s*\.\s*)?({_NAME})', re.IGNORECASE
)
_COMMENT = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)
_SOURCE = re.compile(r"\b(?:from|join)\s+(?:\w+\.)*(\w+)", re.IGNORECASE)


def caps(given: Resources) -> Resources:
    """Return the limits of ad-hoc SQL: those given, else modest ones; it never spills to disk."""
    machine_mb = _machine_mb()
    limit = _MEMORY_MB if machine_mb is None else min(_MEMORY_MB, machine_mb // 2)
    return replace(
        given,
        memory_limit=given.memory_limit or f"{limit}MiB",
        threads=given.threads or min(_THREADS, os.cpu_count() or 1),
        temp_directory="",
        for_one_statement=True,
    )


def _machine_mb() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    except (AttributeError, OSError, ValueError):
        return None


def close(con: Connection, sql: str, output: Path | None = None) -> None:
    """Permanently close a connection to files, network and settings, except for one output file.

    The SQL then finds the views for people by their names alone, as in any other client.
    """
    refuse_views_of_the_file(con, sql)
    find_views(con, sql)
    if output is not None:
        con.execute(f"set allowed_paths = {literal([str(output.absolute())])}")
    for setting in _CLOSE:
        con.execute(setting)


def refuse_views_of_the_file(con: Connection, sql: str) -> None:
    """Refuse SQL that names a view or macro of the file in full: it may be another than ours."""
    named = {name.strip('"').lower() for name in _IN_FULL.findall(_COMMENT.sub(" ", sql))}
    if not named:
        return
    rows = con.execute(
        "select view_name from duckdb_views() where database_name = $1 and not internal union "
        "select function_name from duckdb_functions() where database_name = $1 and not internal",
        [ALIAS],
    ).fetchall()
    for name in sorted(named & {str(name).lower() for (name,) in rows}):
        raise UsageError(
            f"{ALIAS} … {name}: views and macros of the file are not run; name this program's by its "
            f"name alone, or as store.{name}"
        )


def statement(con: Connection, sql: str, params: Mapping[str, object]) -> str:
    """Return the text of the one statement that returns rows; refuse others, and wrong values."""
    if not is_utf8(sql):
        raise UsageError("the SQL is not UTF-8: save it as UTF-8")
    with in_words():
        found = con.extract_statements(sql)
    # A pivot whose columns come from the data: DuckDB 1.5 splits it and omits the text.
    whole = [_kind(part) for part in found] == ["MULTI"]
    apart = [(_kind(part), part.query) for part in found] == [("CREATE", ""), ("SELECT", "")]
    word = _FIRST_WORD.match(sql)
    is_pivot = (whole or apart) and word is not None and word[1].lower() in _PIVOTS
    if not is_pivot and [_kind(part) for part in found] != ["SELECT"]:
        raise UsageError(
            "give one statement that returns rows (select, from, with, pivot, describe, summarize); "
            "the database is open for reading only"
        )
    _check_bound({name for part in found for name in part.named_parameters}, params)
    return (sql if is_pivot else found[0].query).strip().rstrip(";")


def _check_bound(asked: Set[str], params: Mapping[str, object]) -> None:
    """Refuse values that a statement has no parameters for, and parameters without values."""
    known = {name.lower() for name in asked}
    for name in params:
        if name.lower() not in known:
            hint = nearest(name, asked) or f"; it asks for {listing(sorted(asked)) or 'nothing'}"
            raise UsageError(f"{name}: the SQL has no ${name}{hint}")
    given = {name.lower() for name in params}
    for name in sorted(asked):
        if name.lower() not in given:
            raise UsageError(f"{name}: the SQL has ${name}, which is not given: -p {name}=VALUE")


def _kind(found: duckdb.Statement) -> str:
    try:
        return str(found.type).rpartition(".")[2]
    except ValueError:  # a kind that DuckDB's Python module has no name for
        return "unknown"


def query(
    con: Connection, sql: str, params: Mapping[str, object], timeout: float | None = None
) -> Relation:
    """Run one statement on a reading connection, within `timeout` seconds, and return its rows."""
    close(con, sql)
    text = statement(con, sql, params)
    with in_words(timeout, lines_above=1), hinted(con, text), _stopped(con, timeout):
        try:
            return keep(con, text, params)
        except duckdb.ParserException:
            # describe, show and summarize stand only inside parentheses on DuckDB 1.5
            return keep(con, f"select * from (\n{text}\n)", params)


def write_parquet(
    con: Connection, text: str, params: Mapping[str, object], path: Path, limit: int | None
) -> int:
    """Write the rows of one statement to the permitted Parquet file; return their number."""
    to = f"to {literal(str(path.absolute()))} (format parquet, use_tmp_file false)"
    inside = f"select * from (\n{text}\n)"
    with in_words(lines_above=1), hinted(con, text):
        if limit is not None:
            command = f"copy ({inside} limit {limit:d}) {to}"
            return int(con.execute(command, params).fetchall()[0][0])
        try:
            return int(con.execute(f"copy (\n{text}\n) {to}", params).fetchall()[0][0])
        except duckdb.ParserException:
            return int(con.execute(f"copy ({inside}) {to}", params).fetchall()[0][0])


def reads_lists(sql: str) -> bool:
    """Whether a statement names a relation of ranked lists."""
    return _LISTS.search(sql) is not None


def left_out(con: Connection, sql: str) -> str:
    """Say which runs a statement over ranked lists lacks; else return an empty text."""
    if not reads_lists(sql):
        return ""
    rows = con.execute(
        f"select distinct run.name from {ALIAS}.store.prediction_file "
        f"join {ALIAS}.store.run using (run_id) order by run.name"
    ).fetchall()
    if not rows:
        return ""
    names = listing([str(name) for (name,) in rows], 4)
    return f"the predictions of {names} stay in their files: SQL does not find them"


def has_more(con: Connection, text: str, params: Mapping[str, object], rows: int) -> bool:
    """Whether one statement has more than a number of rows."""
    with in_words(lines_above=1):
        return bool(
            con.execute(f"select 1 from (\n{text}\n) limit 1 offset {rows:d}", params).fetchall()
        )


@contextmanager
def _stopped(con: Connection, timeout: float | None) -> Iterator[None]:
    """Interrupt whatever runs on the connection when the time is up."""
    if timeout is None:
        yield
        return
    timer = threading.Timer(seconds("timeout", timeout), con.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def in_words(timeout: float | None = None, lines_above: int = 0) -> Iterator[None]:
    """Turn DuckDB's errors into one for people; `lines_above` precede the user's own lines."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        # only the first line: the others suggest settings that are closed
        raise out_of_memory(first_line(error)) from error
    except duckdb.InterruptException as error:
        if timeout is None:
            raise
        raise too_long(timeout) from error
    except duckdb.Error as error:
        if is_damaged(error):  # the caller knows the file
            raise
        # the rest suggests installing an extension, which is closed too
        text = str(error).partition("\n\nPlease try installing")[0].strip()
        raise WarehouseError(_LINE.sub(lambda m: _lifted(m, lines_above), text)) from error


@contextmanager
def hinted(con: Connection, sql: str) -> Iterator[None]:
    """Add to an error about a column that does not exist which columns there are.

    The engine suggests columns of tables, some far from what was written, and none of views.
    """
    try:
        yield
    except duckdb.CatalogException as error:
        # the engine proposes names that are there: all of them are made now
        own_schema.make_all(con)
        try:
            con.execute(f"explain {sql}")
        except duckdb.Error as again:
            proposed = _MEANT.search(str(again))
            text = _MEANT.sub("", str(error))
            raise duckdb.CatalogException(
                text.replace("\n", f"\n{proposed[0] if proposed else ''}", 1)
            ) from error
        raise
    except duckdb.BinderException as error:
        missing = _NO_COLUMN.search(str(error))
        if missing is None:
            raise
        hints = _hints(con, sql, missing["name"])
        raise duckdb.BinderException("\n".join([f"{str(error).rstrip()}\n", *hints])) from error


def _hints(con: Connection, sql: str, missing: str) -> list[str]:
    """Return how text is quoted, if that may be meant, and the columns of what the SQL reads."""
    words = [word.lower() for word in _SOURCE.findall(sql)]
    rows = con.execute(
        "select table_name, string_agg(column_name, ', ' order by column_index) "
        "from duckdb_columns() where database_name = 'memory' and schema_name <> 'people' "
        "and list_contains($words, table_name) group by table_name order by table_name",
        {"words": words},
    ).fetchall()
    quoted = f'"{missing}"' in sql
    hints = [f"Text is written between single quotes: {literal(missing)}"] if quoted else []
    return hints + [f"{relation} has {columns}" for relation, columns in rows]


def _lifted(found: re.Match[str], lines: int) -> str:
    # of the same width, so that the caret below still points at the place
    return f"LINE {max(int(found[1]) - lines, 1)}:".ljust(len(found[0]))


def out_of_memory(detail: str = "") -> WarehouseError:
    """Return the error of a statement that exceeds its memory limit."""
    text = f"out of memory: ask for less, or give more with {option('memory-limit', None)}"
    return WarehouseError(f"{text}\n{detail}".strip())


def too_long(timeout: float) -> WarehouseError:
    """Return the error of a statement that was stopped."""
    return WarehouseError(
        f"took longer than {timeout:g} s and was stopped: ask for less, or give more with "
        f"{option('timeout', None)}"
    )
