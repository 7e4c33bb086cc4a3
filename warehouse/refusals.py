"""What the engine refuses, in words for people; what it says otherwise is passed on as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warehouse.errors import LockedError, UsageError, WarehouseError, first_line

# What a template says by its macro `refuse`.
_REFUSED = re.compile(r"Invalid Input Error: refused: (.*)", re.DOTALL)
_DENIED = re.compile(r"Cannot open file .*(Permission denied|Read-only file system)", re.DOTALL)


@contextmanager
def in_words(path: Path | None = None) -> Iterator[None]:
    """Raise what the engine refuses inside the block in words; `path` is the file that is open."""
    try:
        yield
    except Exception as error:
        clear = worded(error, path)
        if clear is error:
            raise
        raise clear from error


def worded(error: Exception, path: Path | None = None) -> Exception:
    """Return the engine's refusal in words for people, any other error as it is.

    >>> error = worded(ValueError('Cannot open file "a.db.wal": Permission denied'), Path("a.db"))
    >>> print(str(error).split(";")[0])
    a.db: cannot be written: Permission denied
    """
    # SQLAlchemy puts its own words around those of the engine
    refusal = getattr(error, "orig", None) or error
    text = str(refusal).strip()
    if type(refusal).__name__ == "OutOfMemoryException":
        # the first line alone: the others propose settings that are not to be had
        return WarehouseError(
            "out of memory: give more with --memory-limit, or fewer --threads\n"
            + first_line(refusal)
        )
    refused = _REFUSED.match(text)
    if refused and not isinstance(error, WarehouseError):
        return UsageError(refused[1])
    denied = _DENIED.search(text)
    if denied and path is not None and not isinstance(error, WarehouseError):
        return UsageError(
            f"{path}: cannot be written: {denied[1]}; the right to write is needed there, and in its "
            "folder, where DuckDB keeps a log beside it"
        )
    return error


def not_opened(error: Exception, path: Path) -> Exception:
    """Return in words why a file cannot be opened as a database."""
    import duckdb

    text = str(error)
    if (
        "same database file with a different configuration" in text
        or "file handle conflict" in text
    ):
        return LockedError(f"{path}: this process has the file open: close that connection first")
    if path.is_dir():
        return UsageError(f"{path}: is a directory; name a file in it")
    if "not a valid DuckDB database file" in text:
        return UsageError(f"{path}: not a DuckDB database")
    if "version number" in text and "can only read" in text:
        return UsageError(
            f"{path}: written by a newer DuckDB than {duckdb.__version__}: upgrade it"
        )
    denied = _DENIED.search(text)
    return UsageError(f"{path}: cannot be opened: {denied[1]}") if denied else worded(error)
