"""`warehouse runs` and `warehouse datasets`."""

from __future__ import annotations

import typer

from warehouse.cli import options, output
from warehouse.cli.examples import epilog
from warehouse.config.settings import LOCK_TIMEOUT


def runs(
    dataset: options.AnyDataset = None,
    format: options.Format = "table",
    out: options.Output = None,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """List the current runs with their systems, tags and sizes."""
    from warehouse.warehouse import Warehouse

    found = Warehouse(db, lock_timeout=lock_timeout).runs(dataset)
    output.show(found, format, out)


def datasets(
    format: options.Format = "table",
    out: options.Output = None,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """List the datasets with their qrels and number of runs."""
    from warehouse.warehouse import Warehouse

    found = Warehouse(db, lock_timeout=lock_timeout).datasets()
    output.show(found, format, out)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog=epilog("runs"))(runs)
    app.command(epilog=epilog("datasets"))(datasets)
