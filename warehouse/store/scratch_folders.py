"""Folders for temporary files: of the caller alone, and removed even if the process is killed.

A process holds a lock on each of its folders. What nobody holds was left by a process that is gone: the
next one that makes a folder removes it.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from warehouse.config.ownership import is_own
from warehouse.errors import UsageError

try:
    import fcntl
except ImportError:  # where there is no such lock, what a killed process leaves stays
    fcntl = None  # type: ignore[assignment]

# Why a file cannot be written, whatever its name: there is no room, or the disk fails.
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NOT_WRITTEN = {*NO_ROOM, errno.EIO}
_PREFIX, _SUFFIX = "ranking-warehouse-", ".scratch"
_NAME = re.compile(rf"{_PREFIX}\w+{re.escape(_SUFFIX)}")


class ScratchFolder:
    """A new folder in the system's folder for temporary files, which only the caller can read.

    It can be in another `parent`. Whoever can read that can read it, and a group that can write to that
    can write to it: tasks on other machines may run as another user. Raises OSError if none can be made.
    """

    def __init__(self, parent: Path | None = None) -> None:
        folder = str(parent or tempfile.gettempdir())
        _remove_left(os.getpid(), folder)
        self._lock: int | None = None
        self.path = Path()
        while not self.path.name or not self.path.exists():  # another process may have removed it
            self.remove()
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, suffix=_SUFFIX, dir=folder))
            if parent is not None:
                self.path.chmod(_shared_mode(parent))
            with suppress(OSError):  # it is gone, or its file system has no locks
                self._hold()

    def _hold(self) -> None:
        if fcntl is not None:
            self._lock = os.open(self.path, os.O_RDONLY)
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        if self.path.name:
            shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _shared_mode(parent: Path) -> int:
    """Return the mode of a new folder in another; in one that is open to all, it is the caller's."""
    mode = parent.stat().st_mode
    return 0o700 if mode & stat.S_IWOTH else 0o700 | mode & (stat.S_ISGID | 0o075)


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """Yield a new folder, which is removed when the block ends.

    It is inside the one that is locked: who publishes a file into it holds a lock on it. Raises
    UsageError if there is no room for the files that are written in the block.
    """
    made = None
    try:
        made = ScratchFolder(parent)
        inner = made.path / "files"
        inner.mkdir(mode=0o700)
        inner.chmod(stat.S_IMODE(made.path.stat().st_mode))
        yield inner
    except OSError as error:
        if error.errno not in _NOT_WRITTEN:
            raise
        advice = "" if parent else "; the variable TMPDIR names another folder"
        raise UsageError(
            f"{parent or tempfile.gettempdir()}: a temporary file cannot be written: "
            f"{error.strerror}{advice}"
        ) from error
    finally:
        if made is not None:
            made.remove()


@cache
def _remove_left(pid: int, folder: str) -> None:
    """Remove the caller's folders that no process holds, once for each process."""
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(folder) as found:
        left = [entry.path for entry in found if _NAME.fullmatch(entry.name)]
        for path in left:
            with suppress(OSError):
                _remove_if_left(path)


def _remove_if_left(path: str) -> None:
    """Remove a folder of the caller that no process holds. Raises OSError if one does."""
    opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if is_own(os.fstat(opened)):
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(opened)
