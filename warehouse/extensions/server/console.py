"""SQL from readers: one statement, closed to everything else, in a process of its own."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from warehouse.errors import UsageError, WarehouseError, check_word
from warehouse.extensions.server.snapshot import Snapshot
from warehouse.report import query_process
from warehouse.report.pages.reference import Relation
from warehouse.store.database import Resources
from warehouse.store.scratch_folders import scratch_folder

SHOWN = 1000
MOST = 1_000_000
TIMEOUT = 10.0
MEMORY = "1GiB"
# At the same time; so many others wait, for so many seconds. Each holds one of the server's 40 threads.
_AT_ONCE, _WAITING, _PATIENCE = 2, 6, 30.0
FORMATS = {
    "cells": "application/json",
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
# Bytes of an answer that a page shows.
_MOST_SHOWN = 8 << 20


@dataclass(frozen=True)
class Found:
    """The rows of a statement, as bytes in a format."""

    content: bytes
    kind: str


class BusyError(WarehouseError):
    """Too many statements run or wait; nothing is wrong with this one."""

    def __init__(self) -> None:
        super().__init__("busy: too many statements run at the same time; try again later")


class Console:
    """Runs the statements of readers, a few at a time, each in an interpreter that is started."""

    def __init__(self) -> None:
        self._spare = query_process.Spare()
        self._turns = threading.BoundedSemaphore(_AT_ONCE)
        self._slots = threading.BoundedSemaphore(_AT_ONCE + _WAITING)

    def close(self) -> None:
        """End the process that waits."""
        self._spare.close()

    def run(self, snapshot: Snapshot, sql: str, format: str) -> Found:
        """Run a statement on a snapshot. Raises WarehouseError for a wrong or too long one."""
        check_word("format", format, FORMATS)
        if not self._slots.acquire(blocking=False):
            raise BusyError
        try:
            if not self._turns.acquire(timeout=_PATIENCE):
                raise BusyError
            try:
                return self._run(snapshot, sql, format)
            finally:
                self._turns.release()
        finally:
            self._slots.release()

    def _run(self, snapshot: Snapshot, sql: str, format: str) -> Found:
        from warehouse.store.file import WarehouseFile

        file = WarehouseFile(snapshot.file.path, Resources(MEMORY, 2))
        since = time.monotonic()
        if format == "parquet":
            with scratch_folder() as folder:
                path = Path(folder) / "rows.parquet"
                query_process.answer(
                    file, sql, {}, timeout=TIMEOUT, limit=MOST, output=path, spare=self._spare
                )
                return Found(path.read_bytes(), FORMATS[format])
        pieces: list[str] = []
        size = 0
        limit = MOST if format == "csv" else SHOWN

        def write(piece: str) -> None:
            nonlocal size
            size += len(piece)
            if limit == SHOWN and size > _MOST_SHOWN:
                raise UsageError("the rows are too many to show; select less, or download them")
            pieces.append(piece)

        answer = query_process.answer(
            file, sql, {}, write, timeout=TIMEOUT, limit=limit, format=format, spare=self._spare
        )
        if format == "csv":
            return Found("".join(pieces).encode("utf-8", "replace"), FORMATS[format])
        rows = json.loads("".join(pieces))
        reply = {
            **(rows if format == "cells" else {"rows": rows}),
            "is_cut_off": answer.truncated,
            "limit": SHOWN,
            "seconds": round(time.monotonic() - since, 3),
        }
        return Found(
            json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace"), FORMATS[format]
        )


def schema(snapshot: Snapshot) -> list[Relation]:
    """Return the views for people, in their order: name, comment, example and columns."""
    return [one for one in snapshot.state.relations if one.kind == "view" and not one.is_table]
