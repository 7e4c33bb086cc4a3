"""Waiting for a file's lock: held by other processes, or by this process's own threads."""

from __future__ import annotations

import os
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from warehouse.errors import LockedError

_T = TypeVar("_T")
# The engine's words for the holder of the lock, if it knows.
_HOLDER = re.compile(r"is held in (?P<program>\S.*) \(PID (?P<pid>\d+)\)")


def wait_for_lock(open_it: Callable[[], _T], path: Path, timeout: float) -> _T:
    """Call `open_it` until the file's lock is free, with growing pauses, up to `timeout` seconds."""
    deadline = time.monotonic() + timeout
    pause = 0.02
    while True:
        try:
            return open_it()
        except Exception as error:
            if "Could not set lock" not in str(error):
                raise
            if time.monotonic() >= deadline:
                held = _HOLDER.search(str(error))
                holder = (
                    "" if held is None else f"{Path(held['program']).name}, PID {held['pid']}; "
                )
                raise _still_open(path, "another process", timeout, holder) from None
        time.sleep(pause * (0.5 + random.random()))
        pause = min(pause * 1.6, 1.0)


def _still_open(path: Path, who: str, timeout: float, holder: str = "") -> LockedError:
    return LockedError(
        f"{path}: {who} has the database open ({holder}waited {timeout:g} s); "
        "close it, or wait longer with --lock-timeout"
    )


class _Turns:
    """Which threads of this process have which file open: one that writes, or any that read.

    Other processes can wait for DuckDB's lock, but it refuses a thread of the same process at once.
    """

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget all threads: a new process does not have those of its parent."""
        self._change = threading.Condition()
        self._readers: Counter[tuple[str, int]] = Counter()
        self._writers: dict[str, int] = {}
        self._waiting: Counter[str] = Counter()

    @contextmanager
    def taken(self, path: Path, timeout: float, *, read_only: bool) -> Iterator[None]:
        """Wait for this thread's turn, which lasts until the block ends. Raises LockedError."""
        file, me = os.path.realpath(path), threading.get_ident()
        with self._change:
            if self._writers.get(file) == me or (self._readers[file, me] and not read_only):
                raise LockedError(
                    f"{path}: this thread is at work on it: a callback cannot use the warehouse"
                )
            self._waiting[file] += not read_only
            try:
                free = self._change.wait_for(lambda: self._is_free(file, me, read_only), timeout)
            finally:
                self._waiting[file] -= not read_only
                self._change.notify_all()
            if not free:
                raise _still_open(path, "another thread", timeout)
            if read_only:
                self._readers[file, me] += 1
            else:
                self._writers[file] = me
        try:
            yield
        finally:
            with self._change:
                if read_only:
                    self._readers[file, me] -= 1
                else:
                    self._writers.pop(file, None)  # a new process may end a block of the old one
                self._readers, self._waiting = +self._readers, +self._waiting
                self._change.notify_all()

    def _is_free(self, file: str, me: int, read_only: bool) -> bool:
        if file in self._writers:
            return False
        if not read_only:
            return not any(one == file for one, _ in self._readers)
        # readers let waiting writers go first, unless these wait for them
        return not self._waiting[file] or self._readers[file, me] > 0


turns = _Turns()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=turns.begin_anew)
