"""`warehouse curve`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import completion, options, output
from warehouse.cli.progress import Progress
from warehouse.config.settings import LOCK_TIMEOUT

SECTION, PLACE = "Look", 3
EXAMPLES = {
    "curve": (
        "warehouse curve ROC -d dl19 --run bm25 --run tasb -o roc.svg",
        "warehouse curve 'PrecisionRecall(rel=2)' -d dl19 --run bm25 --query 443396",
        "warehouse curve recall@k -d dl19 --store -f csv",
    )
}


def curve(
    name: Annotated[
        str, typer.Argument(help="A curve, as in ROC, 'ROC(rel=2)@100' or PrecisionRecall.")
    ],
    dataset: options.OneDataset = None,
    run: Annotated[
        list[str] | None,
        typer.Option(
            "--run", "-r", autocompletion=completion.runs, help="A run; repeatable. Default: all."
        ),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option("--query", help="Show the curve of this query; default: of all queries."),
    ] = None,
    store: Annotated[
        bool,
        typer.Option("--store", help="Store the points; see the view curve_points."),
    ] = False,
    protocol: options.Protocol = "default",
    format: Annotated[
        str,
        options.format_option(
            "table, json, jsonl, csv, tsv, markdown, latex or parquet for the points; svg, png, pdf "
            "or html for a picture (with -o).",
            ["svg", "png", "pdf", "html"],
        ),
    ] = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    places: options.Places = 4,
    db: options.Database = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Show a curve of some runs: its points, or a picture of it.

    What is missing or stale is computed, and not stored without --store. A picture needs the extra
    "plot".
    """
    from warehouse.report import pictures
    from warehouse.warehouse import Warehouse

    if format == "html":
        pictures.check(format, out)
    wh = Warehouse(db, memory_limit=memory_limit, threads=threads, lock_timeout=lock_timeout)
    with Progress("computing", "curve", 1) as step:
        found = wh.curve(
            dataset,
            name,
            runs=run or (),
            query=query,
            store=store,
            protocol=protocol,
            on_curve=step,
        )
    if format != "html" or out is None:
        output.show(found, format, out, places=places, wide=wide)
        return
    with output.new_file(out) as path:
        path.write_bytes(pictures.page(found, f"{found.metric} of {found.dataset}"))
    for note in found.notes:
        output.say(note)
