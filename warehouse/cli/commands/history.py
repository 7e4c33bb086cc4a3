"""`warehouse history`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import completion, lakes, options, output
from warehouse.config.settings import LOCK_TIMEOUT

SECTION, PLACE = "History", 1
EXAMPLES = {
    "history": (
        "warehouse history -d dl19 -m nDCG@10",
        "warehouse history -d dl19 -m AP --run 'bm25*'",
        "warehouse history -d dl19 -m AP --run bm25 --run tasb -o history.svg",
    )
}


def history(
    dataset: options.OneDataset = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            "-m",
            autocompletion=completion.metrics,
            show_default=f"the first of {options.SHOWN_BY_DEFAULT}",
            help="A metric, as in nDCG@10.",
        ),
    ] = None,
    run: options.Runs = None,
    system: options.Systems = None,
    tag: options.RunTags = None,
    as_of: options.AsOf = None,
    qrels: options.QrelsVersion = None,
    protocol: options.Protocol = "default",
    format: Annotated[
        str,
        options.format_option(
            "table, json, jsonl, csv, tsv, markdown, latex, html or parquet; svg, png or pdf for a "
            "picture (with -o).",
            ["svg", "png", "pdf"],
        ),
    ] = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    places: options.Places = 4,
    lake: lakes.Lake = None,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Show the values of runs over time, the best so far and the records.

    The time is that of the experiment (--at when the run was loaded), else that of the load. A metric
    that is not stored is computed for the current versions of the runs. The history also has their
    replaced versions that were evaluated against these qrels; how many were not goes to stderr. After
    new judgments only current versions are evaluated; --qrels shows the others. A
    picture needs the extra "plot".
    """
    from warehouse.warehouse import Warehouse

    with lakes.reading(db, lake, as_of) as (path, as_of):
        found = Warehouse(path, lock_timeout=lock_timeout).history(
            dataset, metric, run=run or (), system=system or (), tag=tag or (), protocol=protocol,
            as_of=as_of, qrels=qrels,
        )  # fmt: skip
        output.show(found, format, out, places=places, wide=wide)
