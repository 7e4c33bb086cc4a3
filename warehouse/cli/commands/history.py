"""`warehouse history`."""

from __future__ import annotations

from typing import Annotated

from warehouse.cli import completion, lakes, options

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
        "A metric, as in nDCG@10.",
        "-m",
        {
            "autocompletion": completion.metrics,
            "show_default": f"the first of {options.SHOWN_BY_DEFAULT}",
        },
    ] = None,
    *,
    choice: options.Choice,
    state: options.State,
    table: Annotated[
        options.NumberTable,
        options.format_option(
            "table, json, jsonl, csv, tsv, markdown, latex, html or parquet; svg, png or pdf for a "
            "picture (with -o).",
            ["svg", "png", "pdf"],
        ),
    ],
    database: lakes.LakeOrFile,
) -> None:
    """Show the values of runs over time, the best so far and the records.

    The time is the experiment's (--at when the run was loaded), else the load's. A metric
    that is not stored is computed for the current versions of the runs. The history also has their
    replaced versions that were evaluated against these qrels; how many were not goes to stderr. After
    new judgments only current versions are evaluated; --qrels shows the others. A
    picture needs the extra "plot".
    """
    with database.reading(state) as (wh, state):
        table.show(wh.history(dataset, metric, **choice.asked(), **vars(state)))
