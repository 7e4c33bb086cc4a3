"""The times that a warehouse stores: each is later than all before it, whatever the clock says."""

from __future__ import annotations

import datetime as dt

import duckdb

from warehouse.sql_text.templates import render

_STEP = dt.timedelta(microseconds=1)


class Clock:
    """The times of one transaction.

    What is newest is decided by them, so that two loads at the same moment, or a system clock that
    was set back, must not make equal or falling times.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._last: dt.datetime = con.execute(render("statements/last_time")).fetchall()[0][0]

    def now(self) -> dt.datetime:
        """Return the time, or a microsecond after the last one that was stored or returned."""
        self._last = max(_system_time(), self._last + _STEP)
        return self._last


def _system_time() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
