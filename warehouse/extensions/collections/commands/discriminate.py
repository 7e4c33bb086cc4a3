"""`warehouse discriminate`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options
from warehouse.cli.progress import Progress

SECTION, PLACE = "Compare", 7
EXAMPLES = {
    "discriminate": (
        "warehouse discriminate -d dl19 -m nDCG@10 -m AP -m RR",
        "warehouse discriminate -d dl19 -m nDCG@10 -m P@10 --test bootstrap -o levels.svg",
        "warehouse discriminate -d dl19 -m nDCG@10 --test t --by-pair -f csv",
    )
}


def discriminate(
    runs: options.SomeRuns = None,
    dataset: options.OneDataset = None,
    metric: options.ShownMetrics = None,
    test: Annotated[
        str,
        typer.Option(
            "--test",
            help="The test of a pair: tukey (all pairs together), bootstrap (Sakai 2006), or another "
            "one of 'warehouse compare'.",
        ),
    ] = "tukey",
    alpha: Annotated[
        float, typer.Option("--alpha", help="A pair whose p is below this is separated.")
    ] = 0.05,
    resamples: Annotated[
        int, typer.Option("--resamples", help="How many permutations or bootstrap samples.")
    ] = 10_000,
    seed: options.Seed = 0,
    by_pair: Annotated[
        bool, typer.Option("--by-pair", help="Show the p of every pair instead of the shares.")
    ] = False,
    *,
    choice: options.Choice,
    state: options.State,
    table: Annotated[
        options.NumberTable,
        options.format_option(
            "table, json, jsonl, csv, tsv, markdown, latex, html or parquet; svg, png or pdf for a "
            "picture of the levels (with -o).",
            ["svg", "png", "pdf"],
        ),
    ],
    database: options.File,
) -> None:
    """Show which share of the pairs of runs each metric tells apart.

    This is discriminative power (Sakai 2006): every pair of runs is tested by every metric. It says
    how stable a metric is over the queries, not whether it measures the right thing. No p is
    corrected beyond the test itself: tukey takes all pairs together, the other tests each pair alone.

    The picture has a curve for each metric: the p of all pairs, the highest first. It needs the extra
    "plot".
    """
    from warehouse.extensions import collections

    with Progress("testing", "step") as step:
        found = collections.discriminate(
            database.open(),
            dataset, runs or (), metric or (), test=test, alpha=alpha, resamples=resamples, seed=seed,
            **vars(state), **choice.asked(), on_step=step,
        )  # fmt: skip
    table.show(found.levels if by_pair else found)
