"""A queue next to a file: processes that wait for its lock get it in the order in which they came.

The queue is a hidden file that is there only while somebody waits. A ticket is a lock on one of its
bytes, which the system releases when a process ends, so nothing that was killed stays in the queue.
Trying again by chance would not do: readers whose times overlap leave no moment to one that writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]


class Ticket:
    """A place in the queue. Byte 0 of its file is the door, by which one process at a time goes."""

    def __init__(self, queue: Path) -> None:
        """Take the last place. Raises OSError if the queue cannot be written."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        while True:
            self._handle = os.open(queue, flags, 0o666)
            try:
                fcntl.lockf(self._handle, fcntl.LOCK_EX, 1)
                if _is_file(self._handle, queue):  # else its last process has just removed it
                    self._number = os.fstat(self._handle).st_size + 1
                    os.ftruncate(self._handle, self._number)
                    fcntl.lockf(self._handle, fcntl.LOCK_EX, 1, self._number)
                    fcntl.lockf(self._handle, fcntl.LOCK_UN, 1)
                    self._queue = queue
                    return
            except BaseException:
                os.close(self._handle)
                raise
            os.close(self._handle)

    def is_first(self) -> bool:
        """Whether all that came before are gone."""
        return self._number == 1 or self._locks(self._number - 1, 1)

    def give_back(self) -> None:
        """Leave the queue; the last one removes it."""
        try:
            with suppress(OSError):
                fcntl.lockf(self._handle, fcntl.LOCK_EX, 1)
                if _is_file(self._handle, self._queue) and self._locks(0, 1):
                    self._queue.unlink()
        finally:
            os.close(self._handle)

    def _locks(self, length: int, start: int) -> bool:
        """Lock a range, up to the end without a length; return whether nobody else has part of it."""
        try:
            fcntl.lockf(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
        except (BlockingIOError, PermissionError):
            return False
        return True


def is_open(file: str) -> bool:
    """Whether somebody waits for a file, or was killed while waiting."""
    return os.path.lexists(_queue(file))


@contextmanager
def queued(file: str) -> Iterator[Ticket | None]:
    """Hold a ticket for a file; None if there can be no queue, as in a folder that is read-only.

    One thread of a process at a time can do so, because the locks are the process's.
    """
    try:
        ticket = None if fcntl is None else Ticket(_queue(file))
    except OSError:
        ticket = None
    try:
        yield ticket
    finally:
        if ticket is not None:
            ticket.give_back()


def _queue(file: str) -> Path:
    path = Path(file)
    return path.with_name(f".{path.name}.queue")


def _is_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False
