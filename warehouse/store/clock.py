"""The times that a warehouse stores: each is later than all before it, whatever the clock says."""

from __future__ import annotations

import datetime as dt
import warnings

import duckdb

from warehouse.sql_text.templates import render

_STEP = dt.timedelta(microseconds=1)
# What is stored in one go may be so far ahead of the clock, and two clocks may differ so much.
_MARGIN = dt.timedelta(minutes=1)


class Clock:
    """The times of one transaction.

    What is newest is decided by them, so that two loads at the same moment, or a system clock that
    was set back, must not make equal or falling times. If the clock is behind what is stored, its
    time is kept in the table `clock_behind` and there is a warning.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._last: dt.datetime = con.execute(render("statements/last_time")).fetchall()[0][0]
        read = _system_time()
        if read < self._last - _MARGIN:
            con.execute(
                "insert into clock_behind (stored_at, clock_at) values ($stored_at, $clock_at)",
                {"stored_at": self._last + _STEP, "clock_at": read},
            ).fetchall()
            warnings.warn(
                f"the clock says {_text(read)}, and the file has something of {_text(self._last)}: "
                "what is stored now is dated just after that, so that past boards stay as they were; "
                "correct the clock if it is wrong",
                stacklevel=2,
            )

    def now(self) -> dt.datetime:
        """Return the time, or a microsecond after the last one that was stored or returned."""
        self._last = max(_system_time(), self._last + _STEP)
        return self._last


def _text(moment: dt.datetime) -> str:
    return f"{moment.astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC"


def _system_time() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
