"""`warehouse watch`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warehouse import project
from warehouse.cli import options
from warehouse.cli.examples import epilog
from warehouse.cli.output import say
from warehouse.cli.sync import LOCK_TIMEOUT, opened, run
from warehouse.errors import UsageError, WarehouseError, listing

if TYPE_CHECKING:
    from warehouse.syncing import Status

# Without a change it is looked all the same: not every file system tells of changes.
_AT_LEAST_EVERY = 60.0
_UNSAID: tuple[Status, ...] = ("unchanged", "waiting")


def watch(
    config: options.Config = None,
    debounce: Annotated[
        float, typer.Option("--debounce", min=0.05, help="Seconds to gather changes before a sync.")
    ] = 1.0,
    db: options.Database = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Sync now, and again whenever files change that warehouse.toml names; Ctrl-C ends it.

    What 'warehouse sync' says of files, problems and the lock holds here too, but no problem ends it.
    Needs watchfiles: pip install 'ranking-warehouse[watch]'.
    """
    try:
        import watchfiles
    except ImportError:
        raise UsageError(
            "'warehouse watch' needs watchfiles: pip install 'ranking-warehouse[watch]'; or call "
            "'warehouse sync' from time to time"
        ) from None

    def sync() -> bool:
        """Sync; tell whether files were left for the next time."""
        try:
            with project.using(config):
                wh = opened(
                    db, memory_limit=memory_limit, threads=threads, lock_timeout=lock_timeout
                )
                return any(event.status == "waiting" for event in run(wh, unsaid=_UNSAID).events)
        except WarehouseError as error:
            say(f"warehouse: {error}")
            return False

    with project.using(config):
        database = str(opened(db).path.absolute())
        paths = _watched()
    say(f"watching {listing(map(project.shown, sorted(paths)), 4)}; Ctrl-C ends it")
    while True:
        waiting, due = False, 0.0
        # the watching goes on while a sync is at work
        for changes in watchfiles.watch(
            *paths,
            watch_filter=lambda _, path: not path.startswith(database),
            debounce=int(debounce * 1000),
            rust_timeout=1000,
            yield_on_timeout=True,
        ):
            if changes or waiting or time.monotonic() >= due:
                waiting = sync()
                due = time.monotonic() + _AT_LEAST_EVERY
            with project.using(config):
                now = _watched(paths)
            if now != paths:
                paths = now
                break


def _watched(before: dict[Path, int] | None = None) -> dict[Path, int]:
    """Return what is watched, each with the number by which a file that was replaced is told.

    `before` is what stays while the project's file is wrong.
    """
    from warehouse.declared import declared

    try:
        paths = declared().watched
    except WarehouseError:
        if before is None:
            raise
        return before
    file = project.current().file
    return {
        path: path.stat().st_ino for path in (*paths, *([file] if file else ())) if path.exists()
    }


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=epilog("watch"))(watch)
