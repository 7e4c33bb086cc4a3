"""`warehouse slices`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import completion, options, output
from warehouse.config.settings import LOCK_TIMEOUT

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
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """List the evaluated slices, or the parts of one.

    For each part: how many queries or documents are in it, and how many queries, judgments and
    relevant judgments the current qrels have in it.
    """
    from warehouse.warehouse import Warehouse

    found = Warehouse(db, lock_timeout=lock_timeout).slices(dataset, name)
    output.show(found, format, out, wide=wide)
