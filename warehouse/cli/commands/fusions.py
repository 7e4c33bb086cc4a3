"""`warehouse fusions`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output

SECTION, PLACE = "Catalogue", 3
EXAMPLES = {
    "fusions": ("warehouse fusions", "warehouse fusions -f markdown"),
    "fusions show": ("warehouse fusions show rrf",),
}


def fusions(context: typer.Context, table: options.Table) -> None:
    """List the methods that merge runs.

    The formats other than table also have the summaries, what --tune tries and the names in other
    programs.
    """
    if context.invoked_subcommand is not None:
        return
    from warehouse.analyze import fusion_catalogue

    table.show(fusion_catalogue.fusions_for_people(table.format))
    output.say("normalisations, of the score s and the rank i in a list of n:")
    for line in fusion_catalogue.normalisations():
        output.say(line)
    output.say("one in full: warehouse fusions show NAME")


def show(
    names: Annotated[list[str], "Methods by any of their names, as in rrf or CombMNZ."],
) -> None:
    """Show a method: formula, parameters, other names and SQL."""
    from warehouse.analyze import fusion_catalogue

    output.emit(fusion_catalogue.describe(*names), None)
