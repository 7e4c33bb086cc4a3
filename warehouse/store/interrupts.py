"""Ctrl-C: it breaks off the engine's computation, and always ends as a KeyboardInterrupt.

By itself, DuckDB looks for a signal between two steps, waits for its other threads to end theirs, and
reports an error of another kind. And a signal between two lines of Python could leave a file open: it
waits while something is opened or closed.
"""

from __future__ import annotations

import _thread
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import CodeType, FrameType
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_F = TypeVar("_F", bound=Callable[..., object])
# Seconds until a signal that has to wait is tried again.
_PAUSE = 0.01
_PACKAGE = __name__.partition(".")[0]
_connections: WeakSet[DuckDBPyConnection] = WeakSet()
# The code of functions that are done as a whole, but for the functions of this program in them.
_whole: set[CodeType] = set()


class _State:
    """Whether a signal came in the outermost block."""

    came = False


def reach(con: DuckDBPyConnection) -> None:
    """Let Ctrl-C break off a connection's computation."""
    _connections.add(con)


def whole(function: _F) -> _F:
    """Let Ctrl-C wait while the lines of a function run."""
    _whole.add(function.__code__)
    return function


def break_off(_: int, frame: FrameType | None) -> None:
    """Break off the statements of all connections and raise KeyboardInterrupt, or try again soon."""
    _State.came = True
    if _must_wait(frame):
        # a thread of threading would take locks that the interrupted line may hold
        _thread.start_new_thread(_try_again, ())
        return
    for con in list(_connections):
        with suppress(Exception):  # it was closed
            con.interrupt()
    raise KeyboardInterrupt


def _try_again() -> None:
    time.sleep(_PAUSE)
    _thread.interrupt_main()


def _must_wait(frame: FrameType | None) -> bool:
    """Whether a block of this program is being left, or a line must be done with the next one."""
    nearest, above = None, frame
    while above is not None:
        name, is_ours = above.f_code.co_name, _is_ours(above)
        if nearest is None and (above.f_code in _whole if is_ours else name == "__enter__"):
            return True
        nearest = nearest or (above if is_ours else None)
        if name == "__exit__" and _is_ours(above.f_back):
            return True
        above = above.f_back
    return False


def _is_ours(frame: FrameType | None) -> bool:
    name = "" if frame is None else str(frame.f_globals.get("__name__"))
    return name.partition(".")[0] == _PACKAGE


@contextmanager
def heard() -> Iterator[None]:
    """Let Ctrl-C break off the engine in the block, unless the caller handles the signal otherwise.

    Whatever error the engine makes of it leaves the block as KeyboardInterrupt.
    """
    is_outermost = (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
        and threading.current_thread() is threading.main_thread()
    )
    if is_outermost:
        _State.came = False
        signal.signal(signal.SIGINT, break_off)
    try:
        yield
    except Exception as error:
        if _State.came or is_interrupt(error):
            raise KeyboardInterrupt from error
        raise
    finally:
        if is_outermost:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            _State.came = False


def is_interrupt(error: BaseException) -> bool:
    """Whether an error of the engine comes from a signal, or from a thread that stops a statement."""
    return type(error).__name__ == "InterruptException" or "Query interrupted" in str(error)
