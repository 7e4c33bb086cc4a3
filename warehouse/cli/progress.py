"""How far a command is: shown on stderr while it takes longer than a second, only on a terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warehouse.errors import counted, visible

if TYPE_CHECKING:
    import duckdb

# Seconds until something is shown, and between two looks at the engine.
_QUIET = 1.0
_PAUSE = 0.2
# The share from which on the time left is told.
_KNOWN = 0.02
_UNITS = ("kB", "MB", "GB", "TB")


class Progress:
    """Counts the steps of a command and draws a bar, with the time that is left if it can be known.

    `what` names the work, `unit` is the word for a step, if there are any, and `total` their
    number; 0 is unknown.
    `sizes` has the bytes of each source by the label of its step: then the bar shows how many are
    read. Within a step it moves with the statement that the engine runs.

    >>> with Progress("loading", "run", 2) as step:  # nothing is drawn here: stderr is no terminal
    ...     step("bm25")
    """

    def __init__(
        self, what: str, unit: str = "", total: int = 0, sizes: Mapping[str, int] | None = None
    ) -> None:
        self.what = what
        self.unit = unit
        self.total = total
        self.sizes = dict(sizes or {})
        self.done = 0
        self.label = ""
        self._read = 0
        self._within = 0.0
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._ended = threading.Event()
        self._drawing: threading.Thread | None = None
        self._stack = ExitStack()

    def step(self, label: str) -> None:
        """Count one more: the labelled step is done."""
        self.done += 1
        self.label = label
        self._read += self.sizes.get(label, 0)
        self._within = 0.0

    def __enter__(self) -> Callable[[str], None]:
        if sys.stderr.isatty():
            from warehouse.store import database  # help does without the engine

            self._stack.enter_context(database.watched(self._follow))
            self._drawing = threading.Thread(target=self._draw, daemon=True)
            self._drawing.start()
        return self.step

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the bar."""
        self._stack.close()
        self._ended.set()
        if self._drawing is not None:
            self._drawing.join()
            self._drawing = None

    def share(self) -> float | None:
        """Return how much is done, from 0 to 1, or None if that is unknown."""
        if self.sizes:
            now = max((size for size in self.sizes.values()), default=0)
            now = min(now, sum(self.sizes.values()) - self._read)
            return (self._read + self._within * now) / max(1, sum(self.sizes.values()))
        if self.total and self.done <= self.total:
            return min(1.0, (self.done + self._within) / self.total)
        return None

    def count(self) -> str:
        """Return how much is done, in words."""
        if not self.unit:
            return ""
        of_all = f" of {counted(self.total, self.unit)}"
        known = self.total > 1 and self.done <= self.total
        steps = f"{self.done:,}{of_all}" if known else counted(self.done, self.unit)
        if not self.sizes:
            return steps
        total = sum(self.sizes.values())
        read = _bytes(round(total * (self.share() or 0.0)))
        return f"{read} of {_bytes(total)}" + (f", {steps}" if self.total > 1 else "")

    def _follow(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def _look(self) -> None:
        """Ask the engine how far its statement is; one that reads a source is the longest."""
        try:
            percent = -1.0 if self._connection is None else self._connection.query_progress()
        except Exception:
            percent = -1.0  # the connection was closed meanwhile
        if percent > 0:
            self._within = max(self._within, min(1.0, percent / 100))

    def _draw(self) -> None:
        if self._ended.wait(_QUIET):
            return
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        columns: list[Any] = [
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[count]}", markup=False),
            TextColumn("{task.fields[times]}", markup=False),
        ]
        bars = Bars(
            *columns,
            console=Console(stderr=True, highlight=False),
            transient=True,
            redirect_stdout=sys.stdout.isatty(),
        )
        with bars:
            begun = time.monotonic()
            task = bars.add_task(visible(self.what), total=None, count=self.count(), times="")
            while not self._ended.wait(_PAUSE):
                self._look()
                share = self.share()
                bars.update(
                    task, total=None if share is None else 1.0,
                    completed=time.monotonic() - begun if share is None else share,
                    count=self.count(), times=_times(time.monotonic() - begun + _QUIET, share),
                )  # fmt: skip


def _times(passed: float, share: float | None) -> str:
    """Return the time that has passed, and the time left if enough is done to know it.

    >>> _times(20, 0.25), _times(75, None)
    ('0:20, 1:00 left', '1:15')
    """

    def clock(seconds: float) -> str:
        return f"{int(seconds) // 60}:{int(seconds) % 60:02}"

    if share is None or share < _KNOWN or share >= 1:
        return clock(passed)
    return f"{clock(passed)}, {clock(passed / share - passed)} left"


def sizes(sources: Sequence[object]) -> dict[str, int]:
    """Return the bytes of those sources that are files, by their paths.

    >>> sizes(["no such file", 5])
    {}
    """
    found: dict[str, int] = {}
    for source in sources:
        try:
            found[str(source)] = Path(str(source)).stat().st_size
        except (OSError, ValueError):
            continue
    return found


def _bytes(number: int) -> str:
    """Return a number of bytes as people read it.

    >>> _bytes(999), _bytes(1_234_567)
    ('1 kB', '1.2 MB')
    """
    value, unit = number / 1000, 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return (
        f"{value:.0f} {_UNITS[unit]}"
        if unit == 0 or value >= 100
        else f"{value:.1f} {_UNITS[unit]}"
    )
