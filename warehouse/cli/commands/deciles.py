"""`warehouse deciles`."""

from __future__ import annotations

from typing import Annotated, Literal, cast

import typer

from warehouse.cli import options, output
from warehouse.errors import counted

SECTION, PLACE = "Evaluate", 4
EXAMPLES = {
    "deciles": ("warehouse deciles -d dl19",),
    "deciles make": (
        "warehouse deciles make -d dl19",
        "warehouse deciles make -d dl19 --from qrels --by count --parts 4 --name quarter",
    ),
    "deciles show": ("warehouse deciles show -d dl19",),
}


def deciles(
    context: typer.Context,
    dataset: options.AnyDataset = None,
    *,
    table: options.Table,
    database: options.File,
) -> None:
    """List the mappings of labels (documents) to deciles.

    A decile is an attribute of the documents. To load a mapping of your own, a table with the
    columns doc_id and decile, run: warehouse ingest attributes FILE -d DATASET --of docs
    """
    if context.invoked_subcommand is not None:
        return

    found = database.open().deciles(dataset)
    table.show(found)


def make(
    dataset: options.OneDataset = None,
    origin: Annotated[
        str | None,
        "Where to count how often a label occurs; default: the training set, or without "
        "one the qrels.",
        "--from",
        {"metavar": "training|qrels|ATTRIBUTE"},
    ] = None,
    by: Annotated[
        str, "Parts of equal mass (as many occurrences each) or of equal count (labels)."
    ] = "mass",
    parts: Annotated[int, "How many parts to make."] = 10,
    name: Annotated[str, "Name of the attribute that the parts become."] = "decile",
    replace: options.Replace = False,
    *,
    database: options.LimitedFile,
) -> None:
    """Divide labels (documents) into deciles by how often they occur.

    Decile 10 has the most frequent labels, 1 the rarest. The deciles are stored as an attribute of
    the documents, and the number of occurrences as NAME_frequency.
    """
    wh = database.open()
    made = wh.make_deciles(
        dataset, origin=origin, by=cast(Literal["mass", "count"], by), parts=parts, name=name,
        replace=replace,
    )  # fmt: skip
    version = f", version {made.version}" if made.status == "replaced" else ""
    status = "made" if made.status == "loaded" else made.status
    for warning in made.warnings:
        output.warn(warning)
    output.say(f"{made.name}: {status}{version} ({counted(made.num_subjects, 'label')})")


def show(
    dataset: options.OneDataset = None,
    name: Annotated[str, "Name of the attribute that holds the deciles."] = "decile",
    *,
    table: options.NumberTable,
    database: options.File,
) -> None:
    """Show the deciles: their sizes, most and least frequent labels."""
    wh = database.open()
    found = wh.decile_sizes(dataset, name)
    table.show(found)
