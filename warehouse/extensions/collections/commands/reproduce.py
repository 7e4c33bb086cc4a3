"""`warehouse reproduce`."""

from __future__ import annotations

from typing import Annotated

from warehouse.cli import options
from warehouse.cli.progress import Progress

SECTION, PLACE = "Compare", 5
EXAMPLES = {
    "reproduce": (
        "warehouse reproduce tasb bm25 -d dl19 -m nDCG@10 -m AP --depth 100",
        "warehouse reproduce tasb tasb -d dl19 -m nDCG@10 --base bm25 bm25",
        "warehouse reproduce bm25 bm25 -d dl19 --in dl20 -m nDCG@10",
    )
}


def reproduce(
    original: Annotated[str, "The run to reproduce.", {"metavar": "ORIGINAL"}],
    reproduced: Annotated[str, "The run that reproduces it.", {"metavar": "REPRODUCED"}],
    dataset: options.OneDataset = None,
    base: Annotated[
        tuple[str, str] | None,
        "The base runs that the two runs improve on, for er and dri.",
        {"metavar": "ORIGINAL REPRODUCED"},
    ] = None,
    other: Annotated[
        str | None,
        "The dataset of the reproduced runs, if it is another one (a replication).",
        "--in",
        {"metavar": "DATASET"},
    ] = None,
    metric: options.Metrics = None,
    by_query: Annotated[bool, "Print ktu and rbo of each query instead of the means."] = False,
    depth: Annotated[int, "Compute ktu and rbo down to this rank.", {"min": 1}] = 1000,
    p: Annotated[float, "Persistence of rbo: how likely the next rank is looked at."] = 0.95,
    protocol: options.Protocol = "default",
    *,
    table: options.NumberTable,
    database: options.File,
) -> None:
    """Measure how well a run reproduces another.

    The measures come from repro_eval (Breuer and others, SIGIR 2020). arp is the mean over a
    run's queries. rmse is the root mean square error over the queries of both runs, and nrmse its
    share of the largest error that the original's values allow. p is from a two-sided paired t-test
    and empty if nothing differs. ktu is Kendall's tau on the union: at each rank, the places by id
    of the two documents are compared. rbo is rank-biased overlap down to the depth, divided by that
    of equal lists of this depth.

    With --base: er is the mean improvement of the reproduced runs divided by that of the original
    ones (1 is best). dri is the relative improvement of the original runs minus the value of the
    reproduced ones (0 is best).

    With --in DATASET the two sides have different queries: p is from an unpaired t-test with equal
    variances, and there is no rmse, nrmse, ktu or rbo.
    """
    from warehouse.errors import UsageError
    from warehouse.extensions import collections

    wh = database.open()
    with Progress("comparing"):
        found = collections.reproduce(
            wh, dataset, original, reproduced, base=base, replicated_in=other, metrics=metric or (),
            depth=depth, p=p, protocol=protocol,
        )  # fmt: skip
    if by_query and found.queries is None:
        raise UsageError(
            "--by-query: a replication has other queries, so there are no lists to compare"
        )
    table.show(found.queries if by_query else found)
