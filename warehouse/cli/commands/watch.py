"""`warehouse watch`."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from warehouse.cli import options
from warehouse.cli.commands.sync import open_project, run
from warehouse.cli.output import say
from warehouse.config import project
from warehouse.errors import UsageError, WarehouseError, listing

if TYPE_CHECKING:
    from warehouse.sync.declarations import Declarations
    from warehouse.sync.events import Status

SECTION, PLACE = "Load", 3
EXAMPLES = {"watch": ("warehouse watch", "warehouse watch --debounce 5")}

# Seconds between looks without a reported change: not every file system reports them.
_LONGEST_WAIT = 60.0
# Seconds until files that were being written are checked again.
_SHORTEST_WAIT = 1.0
_SILENT: tuple[Status, ...] = ("unchanged", "waiting")


def watch(
    config: options.Config = None,
    debounce: Annotated[float, "Seconds to collect changes before a sync.", {"min": 0.05}] = 1.0,
    *,
    database: options.ProjectFile,
) -> None:
    """Sync now, and whenever a file of warehouse.toml changes.

    It treats files, problems and the lock as 'warehouse sync' does, but no problem ends it, and a
    problem is reported once until it changes. It also looks for changes every minute. Ctrl-C ends
    it. Needs the extra "watch".
    """
    from warehouse.config import installation

    try:
        import watchfiles
    except ImportError:
        raise UsageError(
            f"'warehouse watch' needs watchfiles: {installation.adding('watch')}; or call 'warehouse "
            "sync' from time to time"
        ) from None

    reported: set[str] = set()

    def sync() -> bool:
        """Sync; return whether files were left for the next time."""
        try:
            with project.using(config):
                wh = open_project(database)
                done = run(wh, silent=_SILENT, reported=reported)
        except WarehouseError as error:
            if str(error) not in reported:
                say(f"warehouse: {error}")
            reported.clear()
            reported.add(str(error))
            return False
        return any(event.status == "waiting" for event in done.events)

    with project.using(config):
        path = open_project(database).path.absolute()
        watched = _watched()
    say(f"watching {listing(map(project.relative, sorted(watched.paths)), 4)}; Ctrl-C ends it")
    tick = int(min(debounce, _SHORTEST_WAIT) * 1000)
    due = 0.0
    while True:
        changed: float | None = None
        # changes are watched while a sync is at work
        for changes in watchfiles.watch(
            *watched.paths,
            watch_filter=None,
            debounce=tick,
            rust_timeout=tick,
            yield_on_timeout=True,
            ignore_permission_denied=True,  # a sync reports that
        ):
            now = time.monotonic()
            if changed is None and any(watched.matters(file, path) for _, file in changes):
                changed = now
            if now >= due or (changed is not None and now >= changed + debounce):
                changed = None
                waiting = sync()
                due = time.monotonic() + (_SHORTEST_WAIT if waiting else _LONGEST_WAIT)
            before = watched
            with project.using(config):
                watched = _watched(before)
            if watched.paths != before.paths:
                due = time.monotonic() + debounce
                break


@dataclass(frozen=True)
class _Watched:
    """The watched paths, each with the inode by which a replaced file is recognised.

    Changes matter only if they concern `asked` or `file`, the project's file.
    """

    paths: dict[Path, int]
    asked: Declarations
    file: Path | None

    def matters(self, name: str, database: Path) -> bool:
        """Whether a change of this path may have an effect.

        Changes by the command itself, to the database or in its output, do not count. The files of
        a folder that is moved here are not reported.
        """
        path = Path(os.path.normpath(name))
        if path == database or name.startswith(f"{database}.") or _is_output(path):
            return False
        # unlike Path.is_dir, this passes over folders that may not be looked into
        is_folder = os.path.isdir(path)  # noqa: PTH112
        return path == self.file or is_folder or self.asked.concerns(path)


def _is_output(path: Path) -> bool:
    """Whether it is the file that the command's stdout or stderr goes to."""
    try:
        there = path.stat()
        return any(os.path.samestat(there, os.fstat(number)) for number in (1, 2))
    except OSError:
        return False


def _watched(before: _Watched | None = None) -> _Watched:
    """Return the files to watch; `before` stays while the project's file is wrong."""
    from warehouse.sync.declarations import read_declarations

    try:
        asked = read_declarations()
    except WarehouseError:
        if before is None:
            raise
        return before
    file = project.current().file
    paths = (*asked.watched, *([file] if file else ()))
    there = [path for path in paths if os.access(path, os.R_OK)]
    return _Watched({path: path.stat().st_ino for path in there}, asked, file)
