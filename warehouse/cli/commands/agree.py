"""`warehouse agree`."""

from __future__ import annotations

from typing import Annotated

from warehouse.cli import completion, options
from warehouse.cli.progress import Progress

SECTION, PLACE = "Compare", 4
EXAMPLES = {
    "agree": (
        "warehouse agree -d dl19 --against bm25",
        "warehouse agree bm25 tasb -d dl19 --depth 10 --over union --by-query -f csv",
        "warehouse agree -d dl19 --of runs -m nDCG@10 -m AP -m RR",
        "warehouse agree bm25 -d dl19 --of queries --against length -m AP",
    )
}


def agree(
    runs: options.SomeRuns = None,
    dataset: Annotated[
        list[str] | None,
        "Name of the dataset; with --of runs, repeat it to compare several.",
        "-d",
        {"autocompletion": completion.datasets, "show_default": "the only one"},
    ] = None,
    of: Annotated[
        str,
        "Compare the runs' lists of documents, the orders in which metrics rank the runs, or "
        "attributes of the queries with the runs' values.",
        {"metavar": "documents|runs|queries"},
    ] = "documents",
    metric: Annotated[
        list[str] | None,
        "With --of runs or queries: a metric; repeatable. Default: all that have values.",
        "-m",
        {"autocompletion": completion.metrics},
    ] = None,
    against: Annotated[
        str | None, "Compare all with this run, metric, dataset or attribute, instead of every two."
    ] = None,
    by_query: Annotated[bool, "Print each query's values instead of the means."] = False,
    over: Annotated[
        str,
        "Compute tau over the documents that both lists have, or that either has.",
        {"metavar": "intersection|union"},
    ] = "intersection",
    depth: Annotated[
        int | None, "Use only the first N documents.", {"min": 1, "show_default": "all"}
    ] = None,
    p: Annotated[
        float, "Persistence of rank-biased overlap: how likely the next rank is looked at."
    ] = 0.9,
    *,
    choice: options.Choice,
    protocol: options.Protocol = "default",
    table: options.NumberTable,
    database: options.File,
) -> None:
    """Show how much the rankings of runs, or of metrics, agree.

    tau_b is Kendall's tau-b. tau_ap (Yilmaz and others 2008) goes down the first ranking and takes
    the second as the truth; tau_ap_b (Urbano and Marrero 2017) is the mean of both directions.
    rbo_ext is rank-biased overlap (Webber and others 2010), extrapolated. Whatever follows below
    the ends of the lists, it lies between rbo_min and rbo_min + rbo_residual.

    With --of queries, an attribute of the queries is correlated with the values of each run
    (Pearson's, Spearman's, tau-b), as predictors of query performance are evaluated.

    Lists of documents are in the order of the protocol, which has no ties, and need no judgments.
    With --over union, documents that a list lacks are tied below its end. In orders of runs, equal
    values are ties: tau_b leaves them out of its divisor, tau_ap counts the runs above a group of
    ties, and rbo_ext puts the whole group at its first place.
    """
    from warehouse.errors import UsageError

    wh = database.open()
    with Progress("comparing"):
        found = wh.agree(
            dataset, runs or (), of=of, metrics=metric or (), against=against, depth=depth, p=p,
            over=over, protocol=protocol, **choice.asked(),
        )  # fmt: skip
    if by_query and found.queries is None:
        raise UsageError(
            "--by-query: orders of runs are over all queries; leave it out with --of runs"
        )
    table.show(found.queries if by_query else found)
