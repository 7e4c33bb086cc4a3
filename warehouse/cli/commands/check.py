"""`warehouse check`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from warehouse.cli import completion, options, output
from warehouse.config import project

SECTION, PLACE = "Compare", 2
EXAMPLES = {
    "check": (
        "warehouse check --new --format github",
        "warehouse check -m nDCG@10 -d dl19 --against last --max-drop 0.01",
        "warehouse check -m nDCG@10 -m AP -d dl19 --run tasb --against bm25 --alpha 0.05",
    )
}


def check(
    metric: Annotated[
        list[str] | None,
        "A metric that has been evaluated, as in nDCG@10; repeatable.",
        "-m",
        {"autocompletion": completion.metrics, "show_default": "the gates of warehouse.toml"},
    ] = None,
    against: Annotated[
        str,
        "Compare with the last or the best run before it (its earlier versions included), "
        "with the baseline of its group, or with this run.",
        {"autocompletion": completion.runs, "metavar": "last|best|baseline|RUN"},
    ] = "last",
    dataset: options.OneDataset = None,
    config: options.Config = None,
    run: Annotated[
        str | None,
        "The run to check.",
        "-r",
        {"autocompletion": completion.runs, "show_default": "the newest"},
    ] = None,
    new: Annotated[
        bool,
        "Let the gates check every run whose verdict is missing or out of date, and store the "
        "verdicts.",
    ] = False,
    group: Annotated[
        str | None,
        "Compare only runs of one system, or with one value of a tag.",
        {"metavar": "system|TAG", "show_default": "all runs; in gates system"},
    ] = None,
    max_drop: Annotated[
        float | None, "The most by which the run may get worse.", {"show_default": "0"}
    ] = None,
    alpha: Annotated[
        float | None,
        "The share of the runs that are not worse that may be called worse all the same, by a "
        "one-sided paired t-test over the queries.",
        {"show_default": "0.05"},
    ] = None,
    strict: Annotated[bool, "Test nothing: any drop of more than --max-drop is worse."] = False,
    sequential: Annotated[bool, "Use a test that may be repeated as more queries come in."] = False,
    min: Annotated[float | None, "The lowest value over all queries that is good."] = None,
    max: Annotated[float | None, "The highest value over all queries that is good."] = None,
    protocol: options.Protocol = "default",
    *,
    table: Annotated[
        options.NumberTable,
        options.format_option(
            "table, json, jsonl, csv, tsv, markdown, latex, html, parquet (with -o) or github: "
            "annotations, and a summary for the page of the job.",
            more=("github",),
        ),
    ],
    database: options.File,
) -> None:
    """Check whether the newest run is worse than one before it.

    If it is, the exit code is 1. The runs before it are the dataset's that were loaded earlier,
    whatever their own times, without those that a gate has made red. The earlier versions of the
    run itself count too, if they were evaluated against the same qrels; to exclude one, use:
    warehouse forget --version.

    Stored values are compared, query by query, and the queries that lost most are listed. The run
    is worse if it has dropped by more than --max-drop and a test says at --alpha that this is not
    chance, or if its value is below --min or above --max; with one of these alone, any drop is good.
    With several metrics, all have to be good, and alpha is divided by their number. A run is
    unchecked if nothing can be said of it: no run was before it, or there are too few queries. The
    exit code is then 0, unless the file has unchecked = "fail"; with --format github, it is 1,
    unless the file says otherwise.

    Without --metric, the gates of warehouse.toml check the newest run of each group, and runs that
    are red already are listed too. With --format github, each verdict is an annotation, and a
    summary in Markdown goes to the file that GITHUB_STEP_SUMMARY names, to -o, or to stdout.
    """
    with project.using(config):
        found = database.open().check(
            dataset, metric or (), against=against, run=run, group=group, max_drop=max_drop,
            alpha=alpha, strict=strict, sequential=sequential, min=min, max=max, protocol=protocol,
            new=new, unchecked="fail" if table.format == "github" else "warn",
        )  # fmt: skip
    if table.format == "github":
        from warehouse.report import github

        output.emit(github.annotation_lines(found.verdicts), None, "json")
        summary = github.summary(found.verdicts)
        page = os.environ.get(github.SUMMARY)
        if page and table.out is None:
            with Path(page).open("a", encoding="utf-8") as file:
                file.write(summary)
        else:
            output.emit(summary, table.out, "markdown")
    else:
        table.show(found)
    if not found.is_good:
        raise typer.Exit(1)
