"""`warehouse holes`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output
from warehouse.cli.progress import Progress

SECTION, PLACE = "Compare", 6
EXAMPLES = {
    "holes": (
        "warehouse holes -d dl19 --top 20",
        "warehouse holes bm25 tasb -d dl19 --depth 5 --top 2 --per-query -f trec -o to_judge.txt",
        "warehouse holes -d dl19 --by-run -f csv",
        "warehouse holes -d dl19 --depth 20 --order average-error --top 10",
    )
}


def holes(
    dataset: options.OneDataset = None,
    runs: options.SomeRuns = None,
    depth: Annotated[
        int, typer.Option("--depth", min=1, help="Look at the documents down to this rank.")
    ] = 10,
    top: Annotated[
        int | None,
        typer.Option("--top", min=1, show_default="all", help="List at most N documents."),
    ] = None,
    per_query: Annotated[
        bool, typer.Option("--per-query", help="Apply --top to each query, not to the whole list.")
    ] = False,
    order: Annotated[
        str,
        typer.Option(
            "--order",
            help="What is wanted most: popularity, average-error, greatest-error or move-to-front.",
        ),
    ] = "popularity",
    p: Annotated[
        float, typer.Option("--p", help="Persistence of RBP, whose error two of the orders lower.")
    ] = 0.95,
    by_run: Annotated[
        bool,
        typer.Option(
            "--by-run",
            help="Show the effect of judging them on each run, instead of the documents.",
        ),
    ] = False,
    *,
    choice: options.Choice,
    protocol: options.Protocol = "default",
    table: Annotated[
        options.NumberTable,
        options.format_option(
            "table, json, jsonl, csv, tsv, markdown, latex, html, parquet (with -o), or trec: qrels to "
            "fill in.",
            ["trec"],
        ),
    ],
    database: options.File,
) -> None:
    """List the unjudged documents that runs rank high.

    The first document to judge is the one that most runs have among their first documents; among
    equals, the one with the higher mean of 1/rank over the runs. With --order average-error it is the
    one whose judgment takes most off the mean error of rank-biased precision, the part of it that
    belongs to unjudged documents; with greatest-error the first one of the run whose error is
    greatest, time after time (Moffat, Webber and Zobel 2007); with move-to-front one that has the
    fewest documents judged as not relevant above it in some run (Cormack and others 1998).

    The queries are those that count under the protocol. A judgment below 0 counts as not judged (the
    metric Judged@k counts it, as in ir_measures). What judging the documents would fill goes to
    stderr, for each run.

    -f trec writes qrels with relevance -1, which TREC's tools read as "not judged", so that a line
    that nobody fills in does no harm. They are sorted by query and document, so that they tell
    assessors nothing about the runs.
    """
    from warehouse.errors import UsageError
    from warehouse.report import trec

    if by_run and table.format == "trec":
        raise UsageError(
            "--by-run: lists runs, but -f trec writes documents; leave out one of the two"
        )
    wh = database.open()
    with Progress("looking"):
        found = wh.holes(
            dataset, runs or (), depth=depth, top=top, per_query=per_query, order=order, p=p,
            protocol=protocol,
            **choice.asked(),
        )  # fmt: skip
    if table.format != "trec":
        table.show(found.filled if by_run else found)
        return
    output.emit(
        trec.qrels_to_fill((row.query_id, row.doc_id) for row in found), table.out, table.format
    )
    for note in found.rounded_notes(table.places):
        output.say(note)
