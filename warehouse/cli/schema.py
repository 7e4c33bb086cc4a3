"""`warehouse schema`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output
from warehouse.cli.examples import epilog
from warehouse.errors import UsageError, nearest


def schema(
    relation: Annotated[
        str | None, typer.Argument(help="Only this table or view.", show_default="all")
    ] = None,
    format: options.Format = "table",
    out: options.Output = None,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = 30.0,
) -> None:
    """Print every table and view with its columns and what they mean."""
    from warehouse.quoting import literal
    from warehouse.warehouse import Warehouse

    found = Warehouse(db, lock_timeout=lock_timeout).schema()
    if relation is not None:
        known = [str(row[0]) for row in found.project("relation").distinct().fetchall()]
        if relation not in known:
            raise UsageError(f"{relation}: no such table or view{nearest(relation, known)}")
        found = found.filter(f"relation = {literal(relation)}")
    output.show(found, format, out)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=epilog("schema"))(schema)
