"""Connections to DuckDB: one writer that waits for the lock, readers that hold none.

A writer is short: one transaction, then the file is free again. A reader attaches the file read-only to
a database in memory, takes what it needs and lets go, so that no result keeps the file locked.
"""

from __future__ import annotations

import errno
import os
import random
import re
import shlex
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from warehouse.errors import DatabaseError, UsageError, listing
from warehouse.locks import turns, wait_for_lock
from warehouse.quoting import ident, literal
from warehouse.refusals import in_words, not_opened
from warehouse.settings import LOCK_TIMEOUT, SCHEMA_REVISION

if TYPE_CHECKING:
    import sqlalchemy as sa

STORAGE_VERSION = "v1.5.0"
ALIAS = "warehouse"
# The table that a replica has beside those of its warehouse, with one row: which that is.
PUBLICATION = "publication"
# The temporary table that a result is kept in, unless it has a name of its own.
RESULT = "result"


@dataclass(frozen=True)
class Resources:
    """How much of the machine a connection may use; None leaves it to DuckDB."""

    memory_limit: str | None = None
    threads: int | None = None
    temp_directory: str | None = None

    def apply(self, con: duckdb.DuckDBPyConnection) -> None:
        """Set the limits on a connection."""
        con.execute("set TimeZone = 'UTC'")
        con.execute("set enable_progress_bar = false")
        # What the templates share is named in them; what DuckDB finds alike beyond that, such as two
        # scans of the predictions, it would keep in memory as a whole.
        con.execute("set disabled_optimizers = 'common_subplan'")
        if self.memory_limit is not None:
            try:
                con.execute(f"set memory_limit = {literal(self.memory_limit)}")
            except duckdb.Error:
                raise UsageError(
                    f"memory limit {self.memory_limit!r}: write a size such as 512MB or 4GB"
                ) from None
        if self.threads is not None:
            con.execute(f"set threads = {int(self.threads)}")
        if self.temp_directory is not None:
            con.execute(f"set temp_directory = {literal(self.temp_directory)}")


def memory(resources: Resources | None = None) -> duckdb.DuckDBPyConnection:
    """Open a database in memory."""
    con = duckdb.connect(":memory:")
    given = resources or Resources()
    if given.temp_directory is None:
        # DuckDB would otherwise spill into a folder in the current directory.
        given = replace(given, temp_directory=str(_spill_folder() or ""))
    given.apply(con)
    return con


def _spill_folder() -> Path | None:
    """Return where to put aside what memory has no room for, None where nothing can be written."""
    try:
        return Path(tempfile.gettempdir()) / f"warehouse-spill-{os.getpid()}"
    except FileNotFoundError:  # the disk is full, or can only be read
        return None


def scratch(resources: Resources) -> duckdb.DuckDBPyConnection:
    """Open a connection for temporary tables, which nobody else sees.

    Where no limits are asked for, all have one database in memory behind them, for to start one takes
    longer than to score a small run.
    """
    if resources != Resources():
        return memory(resources)
    con = _shared(os.getpid()).cursor()
    resources.apply(con)
    return con


def open_early() -> None:
    """Begin to open what `scratch` needs, which takes a while, beside what the caller goes on with."""
    threading.Thread(target=_shared, args=(os.getpid(),), daemon=True).start()


def _shared(pid: int) -> duckdb.DuckDBPyConnection:
    """Return this process's database in memory: one that was inherited has lost its threads."""
    with _opening:
        return _opened(pid)


_opening = threading.Lock()
_opened = cache(lambda pid: memory())


def close() -> None:
    """Close the database in memory, and take away what it has put aside on disk."""
    with _opening:
        if _opened.cache_info().currsize:
            _opened(os.getpid()).close()
            _opened.cache_clear()
    folder = _spill_folder()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def leave() -> None:
    """End with the process: memory goes with it, sooner than piece by piece, but not what is on disk."""
    folder = _spill_folder()
    if folder is not None and folder.exists():
        close()


def check_place(path: Path) -> None:
    """Refuse what is no file and none can be made at: to open a pipe would wait for its other end."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise DatabaseError(f"{path}: is a link that leads back to itself") from None
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise DatabaseError(f"{path}: is a device or a pipe: a warehouse is a file")


def create(path: Path) -> None:
    """Make an empty database file in the storage version that older clients can open too.

    It is there whole or not at all: a file that DuckDB was stopped at making could never be opened.
    """
    part = path.with_name(f".{path.name}.{random.getrandbits(64):x}.part")
    try:
        with in_words(path, made=True):
            _create(part)
        os.link(part, path)  # a rename would replace what another process has made meanwhile
    except OSError:
        # it is there already, and whoever made it may have cleared our part away; or links are unknown
        if not path.exists():
            _create(path)
    finally:
        for left in path.parent.glob(f".{escape(path.name)}.*.part"):
            left.unlink(missing_ok=True)


def _create(path: Path) -> None:
    with duckdb.connect(":memory:") as con:
        con.execute(
            f"attach {literal(str(path))} as {ident(ALIAS)} "
            f"(type duckdb, storage_version {literal(STORAGE_VERSION)})"
        )


@contextmanager
def transaction(
    path: Path, *, resources: Resources | None = None, lock_timeout: float = LOCK_TIMEOUT
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the file for one transaction as `write` does, for what needs no SQLAlchemy.

    To load that takes longer than to compute a metric for a hundred runs.
    """
    with _attached(path, resources or Resources(), lock_timeout) as con:
        _refuse_replica(con, path)
        con.begin()
        try:
            yield con
        except BaseException:
            with suppress(duckdb.Error):  # it is rolled back already
                con.rollback()
            raise
        con.commit()


@contextmanager
def write(
    path: Path, *, resources: Resources | None = None, lock_timeout: float = LOCK_TIMEOUT
) -> Iterator[sa.Connection]:
    """Open the file for one transaction: committed when the block ends, rolled back on any error.

    A replica is refused: the next one takes its place, with all that was written into it.
    """
    import duckdb_sqlalchemy
    import sqlalchemy as sa
    from sqlalchemy.pool import StaticPool

    with _attached(path, resources or Resources(), lock_timeout) as con:
        _refuse_replica(con, path)
        engine = sa.create_engine(
            "duckdb://",
            creator=lambda: duckdb_sqlalchemy.ConnectionWrapper(con),
            poolclass=StaticPool,  # the connection is not its own to close
            pool_reset_on_return=None,
        )
        with engine.connect() as connection, connection.begin():
            connection.info[ALIAS] = con
            yield connection


def raw(connection: sa.Connection) -> duckdb.DuckDBPyConnection:
    """Return the DuckDB connection below a connection that `write` gave: the same transaction."""
    below: duckdb.DuckDBPyConnection = connection.info[ALIAS]
    return below


@contextmanager
def read(
    path: Path, *, resources: Resources | None = None, lock_timeout: float = LOCK_TIMEOUT
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Attach the file read-only to a database in memory and make it the default.

    When the block ends the file is detached; temporary tables and the relations on them live on.
    """
    with _attached(path, resources or Resources(), lock_timeout, read_only=True) as con:
        yield con


@contextmanager
def _attached(
    path: Path, resources: Resources, lock_timeout: float, *, read_only: bool = False
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection with the file as its default database, until the block ends.

    The database in memory that it is attached to is the process's own, for to start one takes as long as
    many a question. That has room for one file at a time: where another is attached, or limits are asked
    for, it is one by itself.
    """
    check_place(path)
    with ExitStack() as stack:
        stack.enter_context(turns.taken(path, lock_timeout, read_only=read_only))
        is_shared = resources == Resources() and _room.acquire(blocking=False)
        if is_shared:
            stack.callback(_room.release)
        con = scratch(resources) if is_shared else memory(resources)
        # said, for else the end of a name, as in runs.csv, may be taken for another kind
        mode = "type duckdb, read_only" if read_only else "type duckdb"
        try:
            wait_for_lock(
                lambda: con.execute(f"attach {literal(str(path))} as {ident(ALIAS)} ({mode})"),
                path,
                lock_timeout,
            )
        except Exception as error:
            con.close()
            raise not_opened(error, path) from error
        try:
            with in_words(path):
                con.execute(f"use {ident(ALIAS)}")
                yield con
        except BaseException:
            with suppress(duckdb.Error):  # it says less than what was raised before
                _detach(con)
            raise
        _detach(con)
        if not read_only:  # there are no results to live on
            con.close()


def _detach(con: duckdb.DuckDBPyConnection) -> None:
    """Give the file free; a database that cannot, after an error that ends it, is not used again."""
    try:
        con.execute("use memory")
        con.execute(f"detach {ident(ALIAS)}")
    except duckdb.Error as error:
        con.close()
        with _opening:
            _opened.cache_clear()
        # as on a full disk; what was committed is in the log beside the file, and read from there
        if "CHECKPOINT during DETACH" not in str(error):
            raise


# Held by who has a file attached to this process's database in memory.
_room = threading.Lock()


def keep(
    con: duckdb.DuckDBPyConnection,
    sql: str,
    params: Mapping[str, object] | None = None,
    *,
    name: str = RESULT,
) -> duckdb.DuckDBPyRelation:
    """Run a query and return its rows as a relation that outlives the file it was read from.

    They are kept in a temporary table; where one connection has several, each has a name of its own.
    """
    con.execute(f"create or replace temp table {ident(name)} as\n{sql}", params or {})
    return con.table(f"temp.main.{name}")


def records(relation: duckdb.DuckDBPyRelation) -> list[dict[str, Any]]:
    """Return the rows of a relation by the names of its columns.

    >>> records(duckdb.sql("select 1 as place, 'bm25' as run"))
    [{'place': 1, 'run': 'bm25'}]
    """
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def revision(con: duckdb.DuckDBPyConnection, path: Path) -> str | None:
    """Return the revision of the attached file's schema, None where it holds nothing yet.

    A file that holds something else is refused.
    """
    try:
        found = con.execute(f"select version_num from {ident(ALIAS)}.alembic_version").fetchall()
    except duckdb.CatalogException:  # no such table
        found = []
    except duckdb.BinderException:  # another program's, with other columns
        found = [(None,)]
    # other programs that keep such a table have hexadecimal numbers in it
    if found and re.fullmatch(r"\d{4}", str(found[0][0])):
        return str(found[0][0])
    rows = con.execute(
        "select table_name from duckdb_tables() where database_name = $1 union all "
        "select view_name from duckdb_views() where database_name = $1 and not internal order by 1",
        [ALIAS],
    ).fetchall()
    others = [str(name) for (name,) in rows if found or name != "alembic_version"]
    if others:
        raise UsageError(
            f"{path}: not a warehouse; it holds other tables ({listing(others, 5)}); "
            "take a file of its own"
        )
    return None


def replica_of(con: duckdb.DuckDBPyConnection) -> str | None:
    """Return the warehouse that the attached file is a replica of, None where it is none."""
    try:
        rows = con.execute(f"select source from {ident(ALIAS)}.{ident(PUBLICATION)}").fetchall()
    except (duckdb.CatalogException, duckdb.BinderException):  # no such table, or another program's
        return None
    return str(rows[0][0]) if rows else None


def _refuse_replica(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    source = replica_of(con)
    if source is not None:
        raise DatabaseError(
            f"{path}: is a replica of {source}: the next publish would overwrite what is written "
            "into it. Write into that database instead, or make this replica writable: warehouse "
            f"init --own --db {shlex.quote(str(path))}"
        )


def disown(path: Path, *, lock_timeout: float = LOCK_TIMEOUT) -> bool:
    """Make a replica a warehouse of its own, which none replaces; tell whether it was a replica."""
    with _attached(path, Resources(), lock_timeout) as con:
        was_replica = replica_of(con) is not None
        if was_replica:
            con.execute(f"drop table {ident(PUBLICATION)}")
    return was_replica


def check_schema(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse to read a database whose schema is not this program's, saying what to do."""
    found = revision(con, path)
    if found is not None and found > SCHEMA_REVISION:
        raise newer_schema(path, found)
    if found != SCHEMA_REVISION:
        source = replica_of(con)
        if source is not None:
            again = shlex.join(["warehouse", "publish", str(path), "--db", source])
            raise UsageError(f"{path}: a replica with an older schema; make it anew: {again}")
        what = "not a warehouse yet" if found is None else "has an older schema"
        raise UsageError(f"{path}: {what}; run: warehouse init --db {shlex.quote(str(path))}")


def newer_schema(path: Path, revision: str) -> UsageError:
    """Return the refusal of a database that a newer program wrote."""
    return UsageError(
        f"{path}: was written by a newer version of this program (schema {revision}, this one knows "
        f"up to {SCHEMA_REVISION}); upgrade it: pip install --upgrade ranking-warehouse"
    )
