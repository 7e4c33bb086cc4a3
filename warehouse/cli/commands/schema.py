"""`warehouse schema`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output

SECTION, PLACE = "Look", 7
EXAMPLES = {"schema": ("warehouse schema", "warehouse schema predictions")}


def schema(
    relation: Annotated[
        str | None, typer.Argument(help="Only this view or table.", show_default="all")
    ] = None,
    *,
    table: options.Table,
    database: options.File,
) -> None:
    """List the views and tables, or describe one with its columns.

    Each view has an example. The formats other than table have all columns.
    """
    from warehouse.analyze import view_examples
    from warehouse.sql_text.quoting import literal

    found = database.open().schema().relation
    if relation is not None:
        name = view_examples.known_relation(found.fetchall(), relation)
        found = found.filter(f"relation = {literal(name)}")
    if table.format == "table" and relation is None:
        output.emit(view_examples.overview(found.fetchall()), table.out)
        output.say("one in full: warehouse schema NAME; all: warehouse schema -f markdown")
    elif table.format == "table":
        output.emit(view_examples.page(found.fetchall()), table.out)
    else:
        table.show(found)
