"""The replica that the pages are read from: the given one, or a temporary one that is kept fresh."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from warehouse import extending
from warehouse.errors import LockedError, WarehouseError
from warehouse.extensions.server import live_board
from warehouse.extensions.server.snapshot import Snapshot
from warehouse.report import replica
from warehouse.store import database
from warehouse.store.database import Resources
from warehouse.store.file import WarehouseFile
from warehouse.store.scratch_folders import scratch_folder

# Seconds between two looks, and the most of the time that copying and reading may take.
_BETWEEN_LOOKS = 1.0
_BETWEEN_LOOKS_AT_LAKES = 10.0
_SHARE_OF_TIME = 0.25
_Stamp = tuple[int, ...]


def _stamp(path: Path) -> _Stamp | None:
    """Return values that change when a file is written or replaced; None without a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class Replicas:
    """The newest state of a warehouse or of a lake, for many readers.

    A replica is opened again when another one takes its place. Of a warehouse or a lake, a replica
    is made in a temporary folder, and again when its source has changed, so that nobody who writes
    there waits for a reader.
    """

    def __init__(
        self,
        file: WarehouseFile,
        folder: Path,
        resources: Resources,
        depth: int = 20,
        lake: str | None = None,
    ) -> None:
        self._file, self._resources, self._depth, self._lake = file, resources, depth, lake
        self._name = lake or file.path.name
        self.is_own = lake is not None
        if not self.is_own:
            with file.read() as con:
                self.is_own = database.replica_of(con) is None
        self._path = folder / "replica.duckdb" if self.is_own else file.path
        self._between_looks = _BETWEEN_LOOKS if lake is None else _BETWEEN_LOOKS_AT_LAKES
        self._seen: tuple[object, ...] = ()
        self._opened: _Stamp | None = None
        self._snapshot: Snapshot | None = None
        self._refreshing = threading.Lock()
        self.refresh()

    @property
    def snapshot(self) -> Snapshot:
        """The newest state that is ready."""
        assert self._snapshot is not None
        return self._snapshot

    def refresh(self) -> bool:
        """Copy and open a new state, and return whether there is one. Readers do not wait for it."""
        with self._refreshing:
            if self._lake is not None:
                self._collect(self._lake)
            elif self.is_own:
                self._publish()
            stamp = _stamp(self._path)
            if stamp is None or stamp == self._opened:
                return False
            made = Snapshot(self._path, self._name, stamp, self._resources, self._depth)
            made.warm()
            self._snapshot, self._opened = made, stamp
        return True

    def _publish(self) -> None:
        path = self._file.path
        seen = _stamp(path), _stamp(path.with_name(path.name + ".wal"))
        if seen == self._seen or seen[0] is None:
            return
        with self._file.read() as con:
            replica.publish(con, path, self._path, lock_timeout=self._file.lock_timeout)
        self._seen = seen

    def _collect(self, lake: str) -> None:
        shared = extending.first("lakes", "lake")
        seen = shared.version(lake)
        if seen != self._seen:
            shared.collect(lake, self._path, lock_timeout=self._file.lock_timeout)
            self._seen = seen

    def follow(self, until: threading.Event, say: Callable[[str], object]) -> None:
        """Refresh again and again; report a problem once, and show the last good state meanwhile."""
        last_problem = ""
        live_board.read_ahead(self.snapshot)
        pause = self._between_looks
        while not until.wait(pause):
            since = time.monotonic()
            try:
                if self.refresh():
                    live_board.read_ahead(self.snapshot)
                last_problem = ""
            except LockedError:
                pass  # somebody writes for long: next time
            except WarehouseError as error:
                if str(error) != last_problem:
                    last_problem = str(error)
                    say(f"the pages stay as they are: {last_problem}")
            pause = max(self._between_looks, (time.monotonic() - since) / _SHARE_OF_TIME)


@contextmanager
def followed(
    file: WarehouseFile,
    resources: Resources,
    depth: int,
    say: Callable[[str], object],
    lake: str | None = None,
) -> Iterator[Replicas]:
    """Yield the newest state of a warehouse or a lake, which is kept fresh until the block ends."""
    with scratch_folder() as folder:
        found = Replicas(file, folder, resources, depth, lake)
        over = threading.Event()
        thread = threading.Thread(target=found.follow, args=(over, say), daemon=True)
        thread.start()
        try:
            yield found
        finally:
            over.set()
            thread.join(timeout=5)
