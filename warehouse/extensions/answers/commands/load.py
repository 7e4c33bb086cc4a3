"""`warehouse judgments load`, also `warehouse ingest judgments`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options
from warehouse.cli.output import say_loaded, say_where
from warehouse.cli.progress import Progress, sizes
from warehouse.config.settings import LOCK_TIMEOUT

EXAMPLES = {
    "judgments load": (
        "warehouse judgments load qrels.txt -d dl19 --judge gpt-4o --model gpt-4o-2024-08-06 "
        "--prompt umbrela",
        "warehouse judgments load crowd.csv -d dl19 --by worker --kind crowd",
    ),
    "ingest judgments": ("warehouse ingest judgments crowd.csv -d dl19 --by worker",),
}


def load(
    file: options.SourceFile,
    dataset: options.OneDataset = None,
    judge: Annotated[
        str | None, typer.Option("--judge", help="Name of the judge, as in gpt-4o.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="COLUMN", help="The column that names the judge of each judgment."
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            show_default="llm with --model or --prompt, else human",
            help="What the judge is: human, llm or crowd.",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="The model of a judge that is one.")
    ] = None,
    prompt: Annotated[
        str | None, typer.Option("--prompt", help="Its prompt, or the name of it.")
    ] = None,
    label: options.QrelsLabel = None,
    format: Annotated[str | None, options.input_format("qrels")] = None,
    column: options.Columns = None,
    relevance: options.Relevance = None,
    normalise: options.Normalise = None,
    where: options.Where = None,
    repeated: options.Repeated = None,
    replace: options.Replace = False,
    db: options.Database = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Load judgments of named judges.

    A judge is a person, a language model or a crowd worker. The formats are those of qrels. A file
    holds the judgments of one judge (--judge), or has a column that names the judges (--by); a document
    may have a judgment of each. They are kept as a version of the qrels for each judge, which is never
    current, so that no board changes: 'warehouse judgments' compares the judges, corrects one by
    another, and makes qrels of them. Loading the same judgments again does nothing ("unchanged"); other
    judgments of a judge need --replace.
    """
    from warehouse.extensions.answers import ingest_judgments
    from warehouse.warehouse import Warehouse

    wh = Warehouse(db, memory_limit=memory_limit, threads=threads, lock_timeout=lock_timeout)
    with Progress("loading", "file", 1, sizes([file])):
        loaded = ingest_judgments(
            wh, dataset, file, judge=judge, by=by, kind=kind, model=model, prompt=prompt, label=label,
            format=format, columns=options.pairs(column, "--column"), relevance=relevance,
            normalise=normalise, where=where, repeated=repeated, replace=replace,
        )  # fmt: skip
    for one in loaded:
        say_loaded(one)
    say_where(dataset, loaded[0].dataset)


judgments = load
