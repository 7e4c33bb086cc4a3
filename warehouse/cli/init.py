"""`warehouse init`."""

from __future__ import annotations

import typer

from warehouse.cli import options
from warehouse.cli.examples import epilog
from warehouse.cli.output import say


def init(db: options.Database = None, lock_timeout: options.LockTimeout = 30.0) -> None:
    """Make the database file, or bring an older one to this program's schema.

    The first load does it by itself; running it again changes nothing.
    """
    from warehouse.warehouse import Warehouse

    wh = Warehouse(db, lock_timeout=lock_timeout)
    existed = wh.path.exists()
    changed = wh.init()
    state = "is up to date" if not changed else "brought up to date" if existed else "made"
    say(f"{wh.path}: {state}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=epilog("init"))(init)
