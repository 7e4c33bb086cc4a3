"""Errors of the engine in words for people.

Inside, an error without words of its own is passed on, because who ran the statement may know more. At
the edge (`at_the_edge`), where files are opened and sources scored, none leaves as the engine's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warehouse.config import system_memory
from warehouse.config.settings import SCHEMA_REVISION
from warehouse.errors import (
    NO_MEMORY,
    DatabaseError,
    EngineError,
    LockedError,
    UsageError,
    WarehouseError,
    first_line,
    option,
)
from warehouse.store.interrupts import heard, is_interrupt

# The error of a template's macro `refuse`.
_REFUSED = re.compile(r"Invalid Input Error: refused: (.*)", re.DOTALL)
_DENIED = re.compile(r"Cannot open file .*(Permission denied|Read-only file system)", re.DOTALL)
_FULL = re.compile(
    r'Could not (?:write|truncate|fsync) (?:to )?file \\?"(?P<file>.+?)\\?".*'
    r"(?P<why>No space left on device|Disk quota exceeded|File too large|Input/output error)",
    re.DOTALL,
)
# How a commit ends that lacks memory: as an error of the transaction.
_MEMORY = re.compile(r"(failed to pin|could not allocate) block of size")
# The engine's error if the system, not its own limit, gives no more memory.
_NOT_GIVEN = re.compile(r"Allocation failure|\(bad allocation\)")
# All but the first are of files with parts of different times, as a copy made during a write.
_DAMAGED = re.compile(
    r"corrupt database file|Database file appears to be corrupted|Corrupted \w+ segment|"
    "Failed to load metadata pointer|This block was written with a mode that|"
    "Serialization Error: ",
    re.IGNORECASE,
)
_CUT = "Could not read enough bytes"
_LOG = re.compile(
    r"replaying WAL file .*(Corrupt WAL file|does not match)|This WAL was created for", re.DOTALL
)


@contextmanager
def in_words(path: Path | None = None, *, made: bool = False) -> Iterator[None]:
    """Raise errors of the engine inside the block in words; `path` is the open file.

    If that file is being `made`, damage is in another: the source.
    """
    try:
        yield
    except Exception as error:
        clear = worded(error, path, made=made)
        if clear is error:
            raise
        raise clear from error


@contextmanager
def at_the_edge(path: Path | None = None) -> Iterator[None]:
    """Raise every error of the engine inside the block as a WarehouseError; `path` is the open file.

    An interrupt is a KeyboardInterrupt.
    """
    with heard():
        try:
            yield
        except Exception as error:
            clear = _never_raw(worded(error, path), path)
            if clear is error:
                raise
            raise clear from error


def _never_raw(error: Exception, path: Path | None) -> Exception:
    """Return an error of the engine as a WarehouseError, and another one unchanged."""
    import duckdb

    refusal = getattr(error, "orig", None) or error
    if not isinstance(refusal, duckdb.Error) or is_interrupt(refusal):
        return error
    where = "" if path is None else f"{path}: "
    return EngineError(
        f"{where}DuckDB {duckdb.__version__} refuses a statement of this program, and nothing of it was "
        f"stored: {first_line(refusal)}"
    )


def worded(error: Exception, path: Path | None = None, *, made: bool = False) -> Exception:
    """Return an error of the engine in words for people, any other error unchanged.

    >>> error = worded(ValueError('Cannot open file "a.db.wal": Permission denied'), Path("a.db"))
    >>> print(str(error).split(";")[0])
    a.db: cannot be written: Permission denied
    """
    # SQLAlchemy wraps the engine's errors in its own
    refusal = getattr(error, "orig", None) or error
    text = str(refusal).strip()
    if _NOT_GIVEN.search(text):
        return UsageError(NO_MEMORY)
    if type(refusal).__name__ == "OutOfMemoryException" or _MEMORY.search(text):
        if system_memory.room() is not None:
            return UsageError(NO_MEMORY)
        # only the first line: the others suggest settings that are not available
        aside = "failed to offload" in text
        also = ", or a temporary folder with more room (the variable TMPDIR)" if aside else ""
        return WarehouseError(
            f"out of memory: give more with {option('memory-limit', None)}, or fewer "
            f"{option('threads', None)}{also}\n" + first_line(refusal)
        )
    if isinstance(error, WarehouseError):
        return error
    if "Could not get working directory" in text:
        return UsageError("the current folder is gone: change to another, or name files from / on")
    refused = _REFUSED.match(text)
    if refused:
        return UsageError(refused[1])
    full = _FULL.search(text)
    if full:
        return UsageError(f"{path if made else full['file']}: cannot be written: {full['why']}")
    denied = _DENIED.search(text)
    if denied and path is not None:
        return DatabaseError(
            f"{path}: cannot be written: {denied[1]}; the right to write is needed there, and in its "
            "folder, where DuckDB keeps a log beside it"
        )
    if path is not None and not made and is_damaged(refusal, path):
        return _damaged(path, refusal)
    if path is not None and is_broken_off(refusal):
        return WarehouseError(
            f"{path}: DuckDB failed inside: {first_line(refusal)}\nif this file was copied while it was "
            "written, or is damaged, put a good copy in its place"
        )
    return error


def is_damaged(error: Exception, path: Path | None = None) -> bool:
    """Whether an error is of a damaged database: the file `path`, or the only one that is open.

    Errors of SQL and of its values are not: they quote what may be any text.

    >>> is_damaged(OSError("Corrupt database file: computed checksum 1 does not match 2"))
    True
    """
    if {"DataError", "ProgrammingError"} & {kind.__name__ for kind in type(error).__mro__}:
        return False
    text = str(error)
    which = "" if path is None else f' from file "{path.absolute()}"'
    return bool(_DAMAGED.search(text)) or f"{_CUT}{which}" in text


def is_broken_off(error: Exception) -> bool:
    """Whether an error of the engine leaves all databases of its connection unusable."""
    return type(error).__name__ in ("InternalException", "FatalException")


def _damaged(path: Path, error: Exception) -> DatabaseError:
    return DatabaseError(
        f"{path}: is damaged or cut short, or was copied while it was written: put a good copy in its "
        "place, such as a backup or a replica of 'warehouse publish'; what can still be read of it, "
        f"'warehouse export' saves\n{first_line(error)}"
    )


def why_not_written(error: Exception, file: str) -> str | None:
    """Return why the system could not write a file, or None for other errors.

    >>> refused = 'Could not write file "/tmp/.a.parquet.7.part": No space left on device'
    >>> why_not_written(ValueError(refused), ".a.parquet.7.part")
    'No space left on device'
    """
    if isinstance(error, OSError):
        return error.strerror
    full = _FULL.search(str(error))
    return full["why"] if full and full["file"].endswith(file) else None


def not_opened(error: Exception, path: Path) -> Exception:
    """Return why a file cannot be opened as a database."""
    import duckdb

    text = str(error)
    if (
        "same database file with a different configuration" in text
        or "file handle conflict" in text
    ):
        return LockedError(f"{path}: this process has the file open: close that connection first")
    if path.is_dir():
        return DatabaseError(f"{path}: is a directory; name a file in it")
    if "not a valid DuckDB database file" in text:
        return DatabaseError(f"{path}: not a DuckDB database")
    if "version number" in text and "can only read" in text:
        return DatabaseError(
            f"{path}: written by a newer DuckDB than {duckdb.__version__}: upgrade it"
        )
    denied = _DENIED.search(text)
    if denied:
        return DatabaseError(f"{path}: cannot be opened: {denied[1]}")
    if _LOG.search(text):
        return DatabaseError(
            f"{path}.wal: this log beside the database, with what was written last, is damaged or of "
            f"another file: put copies of both in their place, or move it away\n{first_line(error)}"
        )
    if is_broken_off(error) and worded(error) is error:
        return _damaged(path, error)
    clear = worded(error, path)
    if clear is error and isinstance(error, duckdb.IOException):
        return DatabaseError(f"{path}: cannot be opened: {first_line(error)}")
    return _never_raw(clear, path)


def newer_schema(path: Path, revision: str) -> UsageError:
    """Return the error for a database that was written by a newer program."""
    return UsageError(
        f"{path}: was written by a newer version of this program (schema {revision}, this one knows "
        f"up to {SCHEMA_REVISION}); upgrade it: pip install --upgrade ranking-warehouse"
    )
