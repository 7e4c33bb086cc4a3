"""`warehouse reusability`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from warehouse.cli import options, output
from warehouse.cli.progress import Progress
from warehouse.config.settings import LOCK_TIMEOUT

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
    run: options.Runs = None,
    system: options.Systems = None,
    tag: options.RunTags = None,
    protocol: options.Protocol = "default",
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    places: options.Places = 4,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Show whether the judgments are fair to runs that had no part in the pool.

    This is leave-out-uniques: for each run, the judgments of documents that it alone contributed are
    left out, and all runs are evaluated again. If it then loses ranks, a new run of its kind would be
    ranked too low. Runs of one team resemble each other, so leave them out together: --by team, with a
    tag. Nothing is stored.
    """
    from warehouse.extensions import collections
    from warehouse.warehouse import Warehouse

    with Progress("leaving out", "group") as step:
        found = collections.reusability(
            Warehouse(db, lock_timeout=lock_timeout),
            dataset, runs or (), metric or (), by=by, depth=depth, protocol=protocol, run=run or (),
            system=system or (), tag=tag or (), on_group=step,
        )  # fmt: skip
    shown = found if show == "groups" else getattr(found, show)
    output.show(shown, format, out, places=places, wide=wide)
