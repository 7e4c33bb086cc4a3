"""`warehouse check`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import completion, options, output
from warehouse.config.settings import LOCK_TIMEOUT

SECTION, PLACE = "Compare", 2
EXAMPLES = {
    "check": (
        "warehouse check -m nDCG@10 -d dl19 --against last --max-drop 0.01",
        "warehouse check -m nDCG@10 -m AP -d dl19 --run tasb --against bm25 --alpha 0.05",
    )
}


def check(
    metric: Annotated[
        list[str],
        typer.Option(
            "--metric",
            "-m",
            autocompletion=completion.metrics,
            help="A metric that has been evaluated, as in nDCG@10; repeatable.",
        ),
    ],
    against: Annotated[
        str,
        typer.Option(
            "--against",
            autocompletion=completion.runs,
            metavar="best|last|RUN",
            help="Compare with the best or the last run before it (its earlier versions included), "
            "or with this run.",
        ),
    ] = "best",
    dataset: options.OneDataset = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            "-r",
            autocompletion=completion.runs,
            show_default="the newest",
            help="The run to check.",
        ),
    ] = None,
    max_drop: Annotated[
        float | None,
        typer.Option(
            "--max-drop",
            show_default="0; with --alpha any",
            help="The most by which the value over all queries may get worse.",
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            "--alpha",
            help="Fail if the run is worse with p below this in a two-sided paired t-test over the "
            "queries. "
            'Needs the extra "stats".',
        ),
    ] = None,
    protocol: options.Protocol = "default",
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    places: options.Places = 4,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Check whether the newest run is worse than those before it.

    The exit code is then 1. The runs before it are the current runs of the dataset with
    an earlier time: that of the experiment (--at when the run was loaded), else that of the load.
    The earlier versions of the run itself count too, if they were evaluated against the same qrels;
    to exclude one, use: warehouse forget --version.

    Stored values are compared, query by query, and the queries that lost most are listed. With both
    --max-drop and --alpha, either one makes the run worse. With several metrics, all have to be
    good. The first run is good: there is nothing to compare it with.
    """
    from warehouse.warehouse import Warehouse

    found = Warehouse(db, lock_timeout=lock_timeout).check(
        dataset, metric, against=against, run=run, max_drop=max_drop, alpha=alpha, protocol=protocol
    )
    output.show(found, format, out, places=places, wide=wide)
    if not found.is_good:
        raise typer.Exit(1)
