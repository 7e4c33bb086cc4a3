"""Connections to DuckDB: one writer that waits for the lock, readers that hold none.

A writer is short: one transaction, then the file is free again. A reader attaches the file
read-only to a database in memory, copies what it needs and detaches it, so that no result keeps the
file locked.
"""

from __future__ import annotations

import atexit
import datetime as dt
import errno
import os
import random
import shlex
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from glob import escape
from pathlib import Path
from typing import Any

import duckdb

from warehouse.config import system_memory
from warehouse.config.settings import LOCK_TIMEOUT, SCHEMA_REVISION
from warehouse.errors import DatabaseError, UsageError, is_fault, listing
from warehouse.sql_text import functions
from warehouse.sql_text.quoting import ident, literal
from warehouse.store import interrupts, own_schema
from warehouse.store.engine_errors import (
    at_the_edge,
    in_words,
    is_broken_off,
    newer_schema,
    not_opened,
)
from warehouse.store.locks import turns, wait_for_lock
from warehouse.store.scratch_folders import ScratchFolder

STORAGE_VERSION = "v1.5.0"
ALIAS = own_schema.ALIAS
# The schema of the tables; `main` has the views for people alone.
STORE = "store"
# The table that a replica has in addition, with one row: the id of its warehouse.
PUBLICATION = "publication"
# The prefix of the source of a replica that is a lake.
LAKE = "lake "
# The default name of the temporary table of a result.
RESULT = "result"
# Where functions are: DuckDB's own, and the formulas'.
_FUNCTIONS = f"system.main,{functions.SCHEMA}"
# The views and macros of the file are not in it.
_SEARCHED = f"{_FUNCTIONS},{own_schema.STORE},{ALIAS}.{STORE},{own_schema.FOR_PEOPLE}"
_SEARCH_PATH = f"set search_path = '{_SEARCHED}'"


Watcher = Callable[[duckdb.DuckDBPyConnection], None]
# The function that gets each connection that is opened.
_watcher: ContextVar[Watcher | None] = ContextVar("_watcher", default=None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Tell a function of each connection that is opened in the block.

    The engine then knows how far its statements are: see `query_progress` of the connection.
    """
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


@dataclass(frozen=True)
class Resources:
    """The limits of a connection; None leaves a limit to DuckDB.

    A connection for one statement has no view or macro of this program until `find_views` makes those
    that the statement names.
    """

    memory_limit: str | None = None
    threads: int | None = None
    temp_directory: str | None = None
    for_one_statement: bool = False

    def apply(self, con: duckdb.DuckDBPyConnection) -> None:
        """Set the limits on a connection, and let Ctrl-C reach it."""
        interrupts.reach(con)
        con.execute("set TimeZone = 'UTC'")
        # in Jupyter without ipywidgets, DuckDB has none and refuses to set it
        watcher = _watcher.get()
        with suppress(duckdb.InvalidInputException):
            con.execute(f"set enable_progress_bar = {watcher is not None}")
            con.execute("set enable_progress_bar_print = false")
        if watcher is not None:
            watcher(con)
        # Templates name what they share; other common parts that DuckDB finds, such as two scans of
        # the predictions, would be kept in memory as a whole.
        con.execute("set disabled_optimizers = 'common_subplan'")
        if self.memory_limit is not None:
            try:
                con.execute(f"set memory_limit = {literal(self.memory_limit)}")
            except duckdb.Error as error:
                if is_fault(error):  # the database in memory takes more by itself
                    raise
                raise UsageError(
                    f"memory limit {self.memory_limit!r}: write a size such as 512MB or 4GB"
                ) from None
        if self.threads is not None:
            con.execute(f"set threads = {int(self.threads)}")
        if self.temp_directory is not None:
            con.execute(f"set temp_directory = {literal(self.temp_directory)}")


def start() -> duckdb.DuckDBPyConnection:
    """Start DuckDB, with an empty database in memory.

    Where the system limits the memory of this process, DuckDB gets half of what is left, and no
    threads of its own: one that cannot be made ends the process.
    """
    room = system_memory.room()
    if room is None:
        return duckdb.connect(":memory:")
    system_memory.check()
    system_memory.share_one_heap()
    ours = {} if duckdb.__version__.startswith("1.") else {"async_threads": 0}
    limit = f"{room // 2}B"
    return duckdb.connect(":memory:", config={"threads": 1, "memory_limit": limit, **ours})


def memory(resources: Resources | None = None) -> duckdb.DuckDBPyConnection:
    """Open a database in memory, with the functions of the formulas."""
    given = resources or Resources()
    if given.temp_directory is None:
        # Otherwise DuckDB would spill into a folder in the current directory.
        given = replace(given, temp_directory=str(_spill_folder() or ""))
    with at_the_edge():
        con = start()
        if given.for_one_statement:
            own_schema.make_schemas(con)
        else:
            functions.make(con)
        given.apply(con)
    return con


def _spill_folder() -> Path | None:
    """Return a folder for data that exceeds memory, or None if none can be made."""
    folder = shared_folder()
    return None if folder is None else folder / "spilled"


def shared_folder() -> Path | None:
    """Return a folder for files that one connection writes and another reads, or None.

    None can be made if the disk is full or read-only.
    """
    try:
        return _spilling(os.getpid()).path
    except OSError:
        return None


@cache
def _spilling(pid: int) -> ScratchFolder:
    """Return this process's folder; of an inherited one, its parent takes care."""
    made = ScratchFolder()
    atexit.register(lambda: made.remove() if os.getpid() == pid else None)
    return made


def scratch(resources: Resources) -> duckdb.DuckDBPyConnection:
    """Open a connection for temporary tables, which nobody else sees.

    Connections without limits share one database in memory, because starting one takes longer than
    scoring a small run.
    """
    if resources != Resources():
        return memory(resources)
    con = _shared(os.getpid()).cursor()
    resources.apply(con)
    return con


def open_early() -> None:
    """Start opening what `scratch` needs, which takes a while, in parallel with the caller."""
    if system_memory.room() is None:
        threading.Thread(target=_shared, args=(os.getpid(),), daemon=True).start()


def _shared(pid: int) -> duckdb.DuckDBPyConnection:
    """Return this process's database in memory; an inherited one has lost its threads."""
    with _opening:
        return _opened(pid)


_opening = threading.Lock()
_opened = cache(lambda pid: memory())


def _forget_shared() -> None:
    """Let the next connection have a new database in memory: this one is unusable."""
    with _opening:
        _opened.cache_clear()


def close() -> None:
    """Close the database in memory and remove its files on disk."""
    with _opening:
        if _opened.cache_info().currsize:
            _opened(os.getpid()).close()
            _opened.cache_clear()
    if _spilling.cache_info().currsize:
        _spilling(os.getpid()).remove()
        _spilling.cache_clear()


def leave() -> None:
    """End with the process: remove files on disk, but leave freeing memory to the system."""
    with suppress(FileNotFoundError):  # what cleans temporary folders may have been here
        if _spilling.cache_info().currsize and any(_spilling(os.getpid()).path.iterdir()):
            close()


def check_is_file(path: Path) -> None:
    """Refuse a path that is not a file and cannot become one; opening a pipe would block."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise DatabaseError(f"{path}: is a link that leads back to itself") from None
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise DatabaseError(f"{path}: is a device or a pipe: a warehouse is a file")


def check_name(path: Path) -> None:
    """Refuse a name by which DuckDB could not tell the database from the schema of its tables."""
    if path.name.partition(".")[0].lower() == STORE:
        raise UsageError(
            f"{path}: take another name: other clients would call this database {STORE!r} like the "
            "schema of its tables, and then cannot read its views"
        )


def create(path: Path) -> None:
    """Make a database file of our schema, in the storage version that older clients can open too.

    It appears complete or not at all: DuckDB could never open a partly made file.
    """
    part = path.with_name(f".{path.name}.{random.getrandbits(64):x}.part")
    try:
        with at_the_edge(path), in_words(path, made=True):
            _create(part)
        os.link(part, path)  # a rename would replace a file made by another process meanwhile
    except OSError:
        # it exists, and its maker may have removed our part; or links are not supported
        if not path.exists():
            _create(path)
    finally:
        remove_parts(path)


def remove_parts(path: Path) -> None:
    """Remove what is left next to a file of making it, also by processes that were killed."""
    for left in path.parent.glob(f".{escape(path.name)}.*.part*"):  # and its log
        left.unlink(missing_ok=True)


def _create(path: Path) -> None:
    with _connected(Resources(), kept=False) as con:
        con.execute(
            f"attach {literal(str(path))} as {ident(ALIAS)} "
            f"(type duckdb, storage_version {literal(STORAGE_VERSION)})"
        )
        try:
            con.begin()
            own_schema.make_new(con)
            con.commit()
            con.execute(f"checkpoint {ALIAS}")  # the link is of the file alone, not of its log
        except BaseException:
            with suppress(duckdb.Error):  # less specific than the first
                _detach(con)
            raise
        _detach(con)


@contextmanager
def transaction(
    path: Path,
    *,
    resources: Resources | None = None,
    lock_timeout: float = LOCK_TIMEOUT,
    staged: duckdb.DuckDBPyConnection | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the file for one transaction: committed when the block ends, rolled back on any error.

    A replica is refused: the next one would replace it with everything written to it. `staged` is a
    connection from `staging`, whose temporary tables are then there.
    """
    with _attached(path, resources or Resources(), lock_timeout, staged=staged) as con:
        _refuse_replica(con, path)
        con.begin()
        try:
            yield con
        except BaseException:
            with suppress(duckdb.Error):  # already rolled back
                con.rollback()
            raise
        con.commit()


@contextmanager
def staging(resources: Resources) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a connection for temporary tables, which a `transaction` can then store."""
    with at_the_edge(), _connected(resources, kept=False) as con:
        try:
            yield con
        except Exception as error:
            if is_broken_off(error):
                _forget_shared()
            raise


@contextmanager
def read(
    path: Path,
    *,
    resources: Resources | None = None,
    lock_timeout: float = LOCK_TIMEOUT,
    staged: duckdb.DuckDBPyConnection | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Attach the file read-only to a database in memory and make it the default.

    When the block ends the file is detached; temporary tables and relations on them remain. `staged`
    is as in `transaction`.
    """
    with _attached(
        path, resources or Resources(), lock_timeout, read_only=True, staged=staged
    ) as con:
        yield con


def attached(path: Path, resources: Resources) -> duckdb.DuckDBPyConnection:
    """Attach a file read-only to a database in memory of its own, for as long as that is open.

    Nobody can write the file meanwhile: it is for replicas, which are replaced and never written. It
    opens no other file, but those in `shared_folder`.
    """
    with at_the_edge(path):
        con = memory(resources)
        try:
            if (folder := shared_folder()) is not None:
                con.execute(f"set allowed_directories = {literal([str(folder)])}")
            con.execute(f"attach {literal(str(path))} as {ident(ALIAS)} (type duckdb, read_only)")
        except Exception as error:
            con.close()
            raise not_opened(error, path) from error
        try:
            _find_tables(con, path)
            con.execute("set enable_external_access = false")
        except BaseException:
            con.close()
            raise
        return con


def another(con: duckdb.DuckDBPyConnection, resources: Resources) -> duckdb.DuckDBPyConnection:
    """Return one more connection to what `attached` opened, with temporary tables of its own."""
    made = con.cursor()
    resources.apply(made)
    made.execute(_SEARCH_PATH)
    return made


@contextmanager
@interrupts.whole
def _connected(resources: Resources, *, kept: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to which one file can be attached, until the block ends.

    It is one to the process's own database in memory, because starting one takes as long as many
    queries. That one holds one file at a time: if it has one, or limits are requested, a separate
    database is used. The connection is closed afterwards unless it is `kept`, for results.
    """
    with ExitStack() as stack:
        is_shared = resources == Resources() and _room.acquire(blocking=False)
        if is_shared:
            stack.callback(_room.release)
        con = scratch(resources) if is_shared else memory(resources)
        if not kept:
            stack.callback(con.close)
        yield con


@contextmanager
def _attached(
    path: Path,
    resources: Resources,
    lock_timeout: float,
    *,
    read_only: bool = False,
    staged: duckdb.DuckDBPyConnection | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection with the file as its default database, until the block ends.

    It is the one where something is `staged` already, or a new one.
    """
    check_is_file(path)
    with at_the_edge(path), ExitStack() as stack:
        is_inside = stack.enter_context(turns.taken(path, lock_timeout, read_only=read_only))
        con = staged or stack.enter_context(_connected(resources, kept=read_only))
        # explicit, because the end of a name, as in runs.csv, could select another kind
        mode = "type duckdb, read_only" if read_only else "type duckdb"
        is_current = False

        def detach(kind: object, *_: object) -> None:
            with suppress(duckdb.Error) if kind else nullcontext():  # less specific than the first
                _detach(con)
            if is_current and kind is None:
                _left[os.path.realpath(path)] = _state(path)

        @interrupts.whole
        def attach() -> None:
            con.execute(f"attach {literal(str(path))} as {ident(ALIAS)} ({mode})")
            stack.push(detach)

        try:
            wait_for_lock(attach, path, lock_timeout, at_once=is_inside)
        except Exception as error:
            con.close()
            if is_broken_off(error):
                _forget_shared()
            raise not_opened(error, path) from error
        is_current = _find_tables(con, path) == SCHEMA_REVISION
        yield con


# The files that had this program's schema when this process closed them last, with their state then.
_left: dict[str, tuple[object, ...] | None] = {}


def is_as_left(path: Path) -> bool:
    """Whether a file is known to have this program's schema: it is as this process left it."""
    state = _state(path)
    return state is not None and _left.get(os.path.realpath(path)) == state


def _state(path: Path) -> tuple[object, ...] | None:
    """Return values that change with a file's content; None if it has a log, or is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    if any(Path(f"{name}.wal").exists() for name in (path, os.path.realpath(path))):
        return None
    at = (found.st_mtime_ns, found.st_ctime_ns)
    return (found.st_dev, found.st_ino, found.st_size, *at, SCHEMA_REVISION)


def _find_tables(con: duckdb.DuckDBPyConnection, path: Path) -> str:
    """Let SQL find temporary tables first, then this program's views, then the tables of the file.

    Functions come before all, so that no macro of the file can take the name of one. Returns the
    revision of the file, or an empty text; DatabaseError is raised if its tables are not those.
    """
    found = own_schema.revision(con, path)
    if found != SCHEMA_REVISION:  # as it is, to be upgraded or refused
        with suppress(duckdb.CatalogException):
            con.execute(f"set search_path = '{_FUNCTIONS},{ALIAS}.{STORE},{ALIAS}.main'")
        return found
    try:
        con.execute(_SEARCH_PATH)
    except duckdb.CatalogException:  # the first file of this database in memory
        own_schema.make(con)
        con.execute(_SEARCH_PATH)
    return found


def find_views(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Let SQL find the views for people by their names alone, and the tables as `store.run`."""
    own_schema.make_for_people(con, sql)


def _detach(con: duckdb.DuckDBPyConnection) -> None:
    """Detach the file; a database that cannot do so, after a fatal error, is not used again."""
    with suppress(duckdb.Error):  # no transaction was left open, which would hold the file
        con.rollback()
    try:
        con.execute("use memory")
        con.execute(f"detach {ident(ALIAS)}")
    except duckdb.Error as error:
        con.close()
        _forget_shared()
        # as on a full disk; what was committed is in the log and read from there
        if "CHECKPOINT during DETACH" not in str(error):
            raise


# Held while a file is attached to this process's database in memory.
_room = threading.Lock()


def keep(
    con: duckdb.DuckDBPyConnection,
    sql: str,
    params: Mapping[str, object] | None = None,
    *,
    name: str = RESULT,
) -> duckdb.DuckDBPyRelation:
    """Run a query and return its rows as a relation that outlives the file it was read from.

    They are kept in a temporary table; several on one connection need names of their own.
    """
    con.execute(f"create or replace temp table {ident(name)} as\n{sql}", params or {})
    return con.table(f"temp.main.{name}")


def bindable(value: Any) -> Any:
    """Return a value as DuckDB can bind it: NumPy's scalars as Python's, collections as lists.

    >>> bindable({"runs": {"tasb", "bm25"}, "places": range(3)})
    {'runs': ['bm25', 'tasb'], 'places': [0, 1, 2]}
    """
    if isinstance(value, Mapping):
        return {name: bindable(one) for name, one in value.items()}
    if getattr(value, "ndim", None) == 0:
        # DuckDB and NumPy read nanoseconds since 1970 as a number
        return (value.astype("M8[us]") if value.dtype.kind == "M" else value).item()
    is_one = isinstance(value, str | bytes | bytearray) or hasattr(value, "columns")
    if is_one or not isinstance(value, Iterable):
        return value
    ordered = sorted(value, key=str) if isinstance(value, set | frozenset) else value
    return [bindable(one) for one in ordered]


def records(relation: duckdb.DuckDBPyRelation) -> list[dict[str, Any]]:
    """Return the rows of a relation as dicts.

    >>> records(duckdb.sql("select 1 as place, 'bm25' as run"))
    [{'place': 1, 'run': 'bm25'}]
    """
    columns = relation.columns  # asked for once: each time costs as much as a row
    return [dict(zip(columns, row, strict=True)) for row in relation.fetchall()]


def revision(con: duckdb.DuckDBPyConnection, path: Path) -> str | None:
    """Return the revision of the attached file's schema, or None if it is empty.

    A file with other contents is refused.
    """
    found = own_schema.revision(con, path)
    if own_schema.REVISION.fullmatch(found):
        return found
    rows = con.execute(
        "select table_name from duckdb_tables() where database_name = $1 union all "
        "select view_name from duckdb_views() where database_name = $1 and not internal union all "
        "select function_name from duckdb_functions() where database_name = $1 and not internal "
        "order by 1",
        [ALIAS],
    ).fetchall()
    others = [str(name) for (name,) in rows]
    if {"alembic_version", "query_score"} <= {*others}:
        raise UsageError(
            f"{path}: was made by a program from before release 0.1.0, whose files are not carried "
            "over: load the runs and qrels again, into a new file"
        )
    if others:
        raise UsageError(
            f"{path}: not a warehouse; it holds other tables ({listing(others, 5)}); "
            "take a file of its own"
        )
    return None


def is_collected(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether the file was collected from a lake: it has no predictions."""
    return (replica_of(con) or "").startswith(LAKE)


def refuse_collected(con: duckdb.DuckDBPyConnection, what: str) -> None:
    """Refuse statements that read predictions or judgments in a file that was collected from a lake."""
    if is_collected(con):
        raise UsageError(
            f"{what}: this file was collected from a lake, which has values but no predictions or "
            "judgments; ask the file from which they were pushed"
        )


def replica_of(con: duckdb.DuckDBPyConnection) -> str | None:
    """Return the id of the warehouse that the attached file is a replica of, or None."""
    found = publication(con)
    return None if found is None else found[0]


def publication(con: duckdb.DuckDBPyConnection) -> tuple[str, dt.datetime] | None:
    """Return which warehouse the attached file is a replica of, and since when; None of another file."""
    if not own_schema.is_table(con, STORE, PUBLICATION):
        return None
    try:
        rows = con.execute(
            f"select source, published_at from {ALIAS}.{STORE}.{PUBLICATION} "
            "where source is not null and year(published_at) between 1970 and 9998"
        ).fetchall()
    except duckdb.BinderException:  # another program's
        return None
    return (str(rows[0][0]), rows[0][1]) if rows else None


def _refuse_replica(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    source = replica_of(con)
    if source is not None:
        raise DatabaseError(
            f"{path}: is a replica of {source}: the next publish would overwrite what is written "
            "into it. Write into that database instead, or make this replica writable: warehouse "
            f"init --own --db {shlex.quote(str(path))}"
        )


def disown(path: Path, *, lock_timeout: float = LOCK_TIMEOUT) -> bool:
    """Make a replica a warehouse of its own, which is never replaced; return whether it was one."""
    with _attached(path, Resources(), lock_timeout) as con:
        was_replica = replica_of(con) is not None
        if was_replica:
            con.execute(f"drop table {STORE}.{PUBLICATION}")
    return was_replica


def check_schema(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse to read a database with another schema than this program's, and say what to do."""
    if con.execute("select current_setting('search_path')").fetchall() == [(_SEARCHED,)]:
        return  # the file was checked when it was attached
    found = revision(con, path)
    if found is not None and found > SCHEMA_REVISION:
        raise newer_schema(path, found)
    if found != SCHEMA_REVISION:
        source = replica_of(con)
        if source is not None:
            words = ["publish", str(path), "--db", source]
            if source.startswith(LAKE):
                words = ["collect", "--lake", source.removeprefix(LAKE), "--db", str(path)]
            again = shlex.join(["warehouse", *words])
            raise UsageError(f"{path}: a replica with an older schema; make it anew: {again}")
        what = "not a warehouse yet" if found is None else "has an older schema"
        raise UsageError(f"{path}: {what}; run: warehouse init --db {shlex.quote(str(path))}")
