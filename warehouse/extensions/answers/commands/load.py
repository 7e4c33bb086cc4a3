"""`warehouse judgments load`, also `warehouse ingest judgments`."""

from __future__ import annotations

from typing import Annotated

from warehouse.cli import options
from warehouse.cli.output import say_loaded, say_where
from warehouse.cli.progress import Progress, sizes

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
    judge: Annotated[str | None, "Name of the judge, as in gpt-4o."] = None,
    by: Annotated[
        str | None, "The column that names the judge of each judgment.", {"metavar": "COLUMN"}
    ] = None,
    kind: Annotated[
        str | None,
        "What the judge is: human, llm or crowd.",
        {"show_default": "llm with --model or --prompt, else human"},
    ] = None,
    model: Annotated[str | None, "The language model, if the judge is one."] = None,
    prompt: Annotated[str | None, "Its prompt, or the name of it."] = None,
    label: options.QrelsLabel = None,
    format: Annotated[str | None, options.input_format("qrels")] = None,
    *,
    rows: options.JudgmentRows,
    replace: options.Replace = False,
    database: options.LimitedFile,
) -> None:
    """Load judgments of named judges.

    A judge is a person, a language model or a crowd worker. Formats are as for qrels. A file
    holds the judgments of one judge (--judge), or has a column that names the judges (--by); a document
    may have a judgment of each. They are kept as a version of the qrels for each judge, which is never
    current, so that no board changes: 'warehouse judgments' compares the judges, corrects one by
    another, and makes qrels of them. Loading the same judgments again does nothing ("unchanged"); other
    judgments of a judge need --replace.
    """
    from warehouse.extensions.answers import ingest_judgments

    wh = database.open()
    with Progress("loading", "file", 1, sizes([file])):
        loaded = ingest_judgments(
            wh, dataset, file, judge=judge, by=by, kind=kind, model=model, prompt=prompt, label=label,
            format=format, **rows.asked(), replace=replace,
        )  # fmt: skip
    for one in loaded:
        say_loaded(one)
    say_where(dataset, loaded[0].dataset)


judgments = load
