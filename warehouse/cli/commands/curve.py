"""`warehouse curve`."""

from __future__ import annotations

from typing import Annotated

from warehouse.cli import completion, options, output
from warehouse.cli.progress import Progress

SECTION, PLACE = "Look", 3
EXAMPLES = {
    "curve": (
        "warehouse curve ROC -d dl19 --run bm25 --run tasb -o roc.svg",
        "warehouse curve 'PrecisionRecall(rel=2)' -d dl19 --run bm25 --query 443396",
        "warehouse curve recall@k -d dl19 --store -f csv",
    )
}


def curve(
    name: Annotated[str, "A curve, as in ROC, 'ROC(rel=2)@100' or PrecisionRecall."],
    dataset: options.OneDataset = None,
    run: Annotated[
        list[str] | None,
        "A run; repeatable. Default: all.",
        "-r",
        {"autocompletion": completion.runs},
    ] = None,
    query: Annotated[str | None, "Show the curve of this query; default: of all queries."] = None,
    store: Annotated[bool, "Store the points; see the view curve_points."] = False,
    protocol: options.Protocol = "default",
    *,
    table: Annotated[
        options.NumberTable,
        options.format_option(
            "table, json, jsonl, csv, tsv, markdown, latex or parquet for the points; svg, png, pdf "
            "or html for a picture (with -o).",
            ["svg", "png", "pdf", "html"],
        ),
    ],
    database: options.LimitedFile,
) -> None:
    """Show a curve of some runs: its points, or a picture of it.

    What is missing or stale is computed, and not stored without --store. A picture needs the extra
    "plot".
    """
    from warehouse.report import pictures

    if table.format == "html":
        pictures.check(table.format, table.out)
    wh = database.open()
    with Progress("computing", "curve", 1) as step:
        found = wh.curve(
            dataset, name, runs=run or (), query=query, store=store, protocol=protocol,
            on_curve=step,
        )  # fmt: skip
    if table.format != "html" or table.out is None:
        table.show(found)
        return
    with output.new_file(table.out) as path:
        path.write_bytes(pictures.page(found, f"{found.metric} of {found.dataset}"))
    for note in found.notes:
        output.say(note)
