"""`warehouse collection`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import completion, options
from warehouse.cli.progress import Progress
from warehouse.errors import UsageError

SECTION, PLACE = "Compare", 9
EXAMPLES = {
    "collection": (
        "warehouse collection -d dl19 -m nDCG@10 --depth 10",
        "warehouse collection -d dl19 -m nDCG@10 -m 'AP(rel=2)' -f markdown -o collection.md",
        "warehouse collection -d dl19 -m nDCG@10 --only pool -f csv",
    )
}


def collection(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            autocompletion=completion.runs,
            metavar="RUN",
            help="The runs to see it by, or patterns, as in 'tas*'; default: all.",
        ),
    ] = None,
    dataset: options.OneDataset = None,
    metric: options.ShownMetrics = None,
    test: Annotated[
        str, typer.Option("--test", help="The test of pairs of runs; see: warehouse discriminate.")
    ] = "tukey",
    alpha: Annotated[
        float, typer.Option("--alpha", help="A p below this separates; intervals are at 1 - alpha.")
    ] = 0.05,
    difference: Annotated[
        float,
        typer.Option(
            "--difference", help="The difference of two runs that you want the queries to detect."
        ),
    ] = 0.05,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            help="What is left out at a time: a run, a system, or the runs of one value of a tag.",
        ),
    ] = "run",
    depth: Annotated[int, typer.Option("--depth", min=1, help="The depth of the pool.")] = 100,
    resamples: Annotated[
        int, typer.Option("--resamples", help="How many permutations and bootstrap samples.")
    ] = 2000,
    seed: options.Seed = 0,
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            help="Show one section: topics, grades, pool, tied, ties, power, resolution, uniques or "
            "condensed.",
        ),
    ] = None,
    *,
    choice: options.Choice,
    protocol: options.Protocol = "default",
    table: options.NumberTable,
    database: options.File,
) -> None:
    """Report on a test collection: queries, pool, ties, resolution and reusability.

    The report has the judgments by query and grade; the pool by depth; tied scores, and how far they
    can move values; which share of the pairs of runs each metric separates; how certain the first
    place is, which difference the queries detect, and how many queries --difference needs;
    leave-out-uniques; and the agreement with condensed lists. What to do about it goes to stderr, in
    documents below the tables. Nothing is stored.
    """
    from warehouse.errors import check_word, listing
    from warehouse.extensions import collections
    from warehouse.extensions.collections.report import SECTIONS

    if only is not None:
        check_word("section", only, SECTIONS)
    elif table.format in ("csv", "tsv", "safe-csv", "safe-tsv"):
        raise UsageError(f"-f {table.format}: name a section: --only {listing(SECTIONS)}")
    with Progress("reporting", "step") as step:
        found = collections.collection(
            database.open(),
            dataset, runs or (), metric or (), test=test, alpha=alpha, difference=difference, by=by,
            depth=depth, resamples=resamples, seed=seed, protocol=protocol, on_step=step,
            **choice.asked(),
        )  # fmt: skip
    if only is not None and only not in found.sections:
        raise UsageError(f"{only}: there is nothing to say about it in {found.dataset}")
    shown = found if only is None else getattr(found, only)
    table.show(shown)
