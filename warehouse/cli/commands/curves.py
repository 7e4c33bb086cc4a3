"""`warehouse curves`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output

SECTION, PLACE = "Catalogue", 2
EXAMPLES = {
    "curves": ("warehouse curves", "warehouse curves -f markdown"),
    "curves show": ("warehouse curves show ROC",),
}


def curves(context: typer.Context, table: options.Table) -> None:
    """List the curves with their titles.

    The formats other than table also have the summaries, parameters and the names in other
    programs.
    """
    if context.invoked_subcommand is not None:
        return
    from warehouse.analyze import curve_catalogue

    table.show(curve_catalogue.curves_for_people(table.format))
    output.say(
        "one in full: warehouse curves show NAME; its points: warehouse curve NAME -d DATASET"
    )


def show(
    names: Annotated[list[str], "Curves by any of their names, as in ROC or recall@k."],
    protocol: options.Protocol = "default",
) -> None:
    """Show a curve: formula, axes, parameters, other names and SQL."""
    from warehouse.analyze import curve_catalogue

    output.emit(curve_catalogue.describe(*names, protocol=protocol), None)
