"""`warehouse reusability`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from warehouse.cli import options
from warehouse.cli.progress import Progress

SECTION, PLACE = "Compare", 8
EXAMPLES = {
    "reusability": (
        "warehouse reusability -d dl19 -m nDCG@10 --depth 10",
        "warehouse reusability -d dl19 -m nDCG@10 -m AP --depth 20 --show boards -f csv",
    )
}


def reusability(
    runs: options.SomeRuns = None,
    dataset: options.OneDataset = None,
    metric: options.ShownMetrics = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            help="What is left out at a time: a run, a system, or the runs of one value of a tag.",
        ),
    ] = "run",
    depth: Annotated[
        int,
        typer.Option("--depth", min=1, help="The depth of the pool: what counts as contributed."),
    ] = 100,
    show: Annotated[
        Literal["groups", "boards", "documents"],
        typer.Option(
            "--show", help="Show a line for each group, every run's values, or what was left out."
        ),
    ] = "groups",
    *,
    choice: options.Choice,
    protocol: options.Protocol = "default",
    table: options.NumberTable,
    database: options.File,
) -> None:
    """Show whether the judgments are fair to runs that had no part in the pool.

    This is leave-out-uniques: for each run, the judgments of documents that it alone contributed are
    left out, and all runs are evaluated again. If it then loses ranks, a new run of its kind would be
    ranked too low. Runs of one team resemble each other, so leave them out together: --by team, with a
    tag. Nothing is stored.
    """
    from warehouse.extensions import collections

    with Progress("leaving out", "group") as step:
        found = collections.reusability(
            database.open(),
            dataset, runs or (), metric or (), by=by, depth=depth, protocol=protocol,
            **choice.asked(), on_group=step,
        )  # fmt: skip
    shown = found if show == "groups" else getattr(found, show)
    table.show(shown)
