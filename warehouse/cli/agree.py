"""`warehouse agree`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output
from warehouse.cli.examples import epilog
from warehouse.settings import LOCK_TIMEOUT


def agree(
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="Runs; default: all.")
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            "--dataset", "-d", help="Name of the dataset; several with --of runs compare these."
        ),
    ] = None,
    of: Annotated[
        str,
        typer.Option(
            "--of",
            metavar="documents|runs",
            help="Which rankings: runs' lists of documents, or metrics' orders of the runs.",
        ),
    ] = "documents",
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="With --of runs: a metric that orders them; may be given again. Default: all that have "
            "values.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", help="Compare all with this run, metric or dataset, not every two."
        ),
    ] = None,
    by_query: Annotated[
        bool, typer.Option("--by-query", help="Query by query, not the means.")
    ] = False,
    over: Annotated[
        str,
        typer.Option(
            "--over",
            metavar="intersection|union",
            help="tau over the documents of both lists, or of either.",
        ),
    ] = "intersection",
    depth: Annotated[
        int | None,
        typer.Option("--depth", min=1, show_default="all", help="Only the first documents."),
    ] = None,
    p: Annotated[
        float, typer.Option("--p", help="How much a rank-biased overlap looks further down.")
    ] = 0.9,
    protocol: options.Protocol = "default",
    format: options.Format = "table",
    out: options.Output = None,
    places: options.Places = 4,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Show how much rankings agree: runs about documents, or metrics about runs.

    tau_b is Kendall's. tau_ap (Yilmaz and others 2008) goes down the first ranking and takes the second
    for right; tau_ap_b (Urbano and Marrero 2017) is its mean with the other way round. rbo_ext is
    rank-biased overlap (Webber and others 2010), extrapolated; it lies between rbo_min and rbo_min +
    rbo_residual, whatever follows below the ends of the lists.

    Lists of documents are in the protocol's order, which has no ties, and need no judgments. With --over
    union, what a list lacks stands tied below its end. In orders of runs equal values are ties: tau_b
    leaves them out of its divisor, tau_ap looks at the runs above a group of ties, and to rbo_ext all of
    a group come at its first place.
    """
    from warehouse.errors import UsageError
    from warehouse.warehouse import Warehouse

    if not dataset:
        raise UsageError("name a dataset with -d")
    found = Warehouse(db, lock_timeout=lock_timeout).agree(
        dataset,
        runs or (),
        of=of,
        metrics=metric or (),
        against=against,
        depth=depth,
        p=p,
        over=over,
        protocol=protocol,
    )
    if by_query and found.queries is None:
        raise UsageError("--by-query: orders of runs are over all queries")
    shown = found.queries if by_query and found.queries is not None else found.relation
    output.show(shown, format, out, places=places)
    for note in found.notes:
        output.say(note)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=epilog("agree"))(agree)
