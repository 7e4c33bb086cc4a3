"""`warehouse schema`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output
from warehouse.config.settings import LOCK_TIMEOUT

SECTION, PLACE = "Look", 7
EXAMPLES = {"schema": ("warehouse schema", "warehouse schema predictions")}


def schema(
    relation: Annotated[
        str | None, typer.Argument(help="Only this view or table.", show_default="all")
    ] = None,
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """List the views and tables, or describe one with its columns.

    Each view has an example. The formats other than table have all columns.
    """
    from warehouse.analyze import view_examples
    from warehouse.sql_text.quoting import literal
    from warehouse.warehouse import Warehouse

    found = Warehouse(db, lock_timeout=lock_timeout).schema().relation
    if relation is not None:
        name = view_examples.known_relation(found.fetchall(), relation)
        found = found.filter(f"relation = {literal(name)}")
    if format == "table" and relation is None:
        output.emit(view_examples.overview(found.fetchall()), out)
        output.say("one in full: warehouse schema NAME; all: warehouse schema -f markdown")
    elif format == "table":
        output.emit(view_examples.page(found.fetchall()), out)
    else:
        output.show(found, format, out, wide=wide)
