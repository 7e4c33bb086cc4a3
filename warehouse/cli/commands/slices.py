"""`warehouse slices`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import completion, options

SECTION, PLACE = "Look", 5
EXAMPLES = {"slices": ("warehouse slices -d dl19", "warehouse slices size -d dl19")}


def slices(
    name: Annotated[
        str | None,
        typer.Argument(
            autocompletion=completion.slices,
            help="List the parts of this slice; default: list all slices.",
        ),
    ] = None,
    dataset: options.AnyDataset = None,
    *,
    table: options.Table,
    database: options.File,
) -> None:
    """List the evaluated slices, or the parts of one.

    For each part: how many queries or documents are in it, and how many queries, judgments and
    relevant judgments the current qrels have in it.
    """
    found = database.open().slices(dataset, name)
    table.show(found)
