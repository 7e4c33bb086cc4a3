"""Waiting for a file's lock: held by other processes, or by this process's own threads.

Both wait in the order in which they came, so that none is passed by for ever.
"""

from __future__ import annotations

import os
import random
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TypeVar

from warehouse.errors import LockedError, option
from warehouse.store import interrupts, tickets

_T = TypeVar("_T")
# Seconds between two looks.
_PAUSE = 0.02
# The engine's words for the holder of the lock, if it knows.
_HOLDER = re.compile(r"is held in (?P<program>\S.*) \(PID (?P<pid>\d+)\)")


def wait_for_lock(
    open_it: Callable[[], _T], path: Path, timeout: float, *, at_once: bool = False
) -> _T:
    """Call `open_it` when those that came before have had their turn and the file's lock is free.

    `timeout` is how many seconds to wait at the head of the queue; 0 does not wait for others
    either. With `at_once`, the queue is passed by: others may wait for what this process holds.
    """
    file = os.path.realpath(path)
    if at_once or not tickets.is_open(file):
        try:
            return open_it()
        except Exception as error:
            if not _is_locked(error):
                raise
    waiting = nullcontext() if at_once else turns.in_queue(file)
    with waiting as ticket:
        if timeout > 0:
            while not (ticket is None or ticket.is_first()):
                time.sleep(_PAUSE * (0.5 + random.random()))
        elif not (ticket is None or ticket.is_first()):
            raise _still_open(path, "another process", timeout)
        return _retried(open_it, path, timeout, alone=ticket is not None)


def _retried(open_it: Callable[[], _T], path: Path, timeout: float, *, alone: bool) -> _T:
    """Call `open_it` until the lock is free; the pauses grow, unless this process waits `alone`."""
    deadline = time.monotonic() + timeout
    pause = _PAUSE
    while True:
        try:
            return open_it()
        except Exception as error:
            if not _is_locked(error):
                raise
            if time.monotonic() >= deadline:
                held = _HOLDER.search(str(error))
                holder = (
                    "" if held is None else f"{Path(held['program']).name}, PID {held['pid']}; "
                )
                raise _still_open(path, "another process", timeout, holder) from None
        time.sleep(pause * (0.5 + random.random()))
        pause = min(pause * 1.6, 0.1 if alone else 1.0)


def _is_locked(error: Exception) -> bool:
    return "Could not set lock" in str(error)


def _still_open(path: Path, who: str, timeout: float, holder: str = "") -> LockedError:
    return LockedError(
        f"{path}: {who} has the database open ({holder}waited {timeout:g} s); "
        f"close it, or wait longer with {option('lock-timeout', None)}"
    )


class _Turns:
    """Which threads of this process have which file open: one that writes, or any that read.

    Other processes can wait for DuckDB's lock, but it refuses a thread of the same process at once.
    """

    def __init__(self) -> None:
        self.begin_again()

    def begin_again(self) -> None:
        """Forget all threads: a new process does not have its parent's."""
        self._change = threading.Condition()
        self._readers: Counter[tuple[str, int]] = Counter()
        self._writers: dict[str, int] = {}
        # by file, in the order in which they came
        self._waiting: dict[str, list[object]] = {}
        self._asking: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    @contextmanager
    def in_queue(self, file: str) -> Iterator[tickets.Ticket | None]:
        """Stand in the queue of a file, one thread at a time."""
        with self._asking[file], tickets.queued(file) as ticket:
            yield ticket

    @contextmanager
    @interrupts.whole
    def taken(self, path: Path, timeout: float, *, read_only: bool) -> Iterator[bool]:
        """Wait for this thread's turn, which lasts until the block ends. Raises LockedError.

        `timeout` is as in `wait_for_lock`. Yields whether the thread reads the file already.
        """
        file, me = os.path.realpath(path), threading.get_ident()
        with self._change:
            is_inside = self._readers[file, me] > 0
            if self._writers.get(file) == me or (is_inside and not read_only):
                raise LockedError(
                    f"{path}: this thread is at work on it: a callback cannot use the warehouse"
                )
            if not is_inside and not self._is_let_in(file, timeout, read_only):
                raise _still_open(path, "another thread", timeout)
            if read_only:
                self._readers[file, me] += 1
            else:
                self._writers[file] = me
        try:
            yield is_inside
        finally:
            with self._change:
                if read_only:
                    self._readers[file, me] -= 1
                else:
                    self._writers.pop(file, None)  # a new process may end a block of the old one
                self._readers = +self._readers
                self._change.notify_all()

    def _is_let_in(self, file: str, timeout: float, read_only: bool) -> bool:
        """Wait behind the threads that came before, then for those that have the file open."""
        line, me = self._waiting.setdefault(file, []), object()
        line.append(me)
        try:
            if timeout > 0:
                self._change.wait_for(lambda: line[0] is me)
            return self._change.wait_for(
                lambda: line[0] is me and self._is_free(file, read_only), timeout
            )
        finally:
            line.remove(me)
            if not line:
                del self._waiting[file]
            self._change.notify_all()

    def _is_free(self, file: str, read_only: bool) -> bool:
        return file not in self._writers and (
            read_only or not any(one == file for one, _ in self._readers)
        )


turns = _Turns()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=turns.begin_again)
