"""`warehouse explain`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import completion, options, output
from warehouse.config.settings import LOCK_TIMEOUT

SECTION, PLACE = "Look", 4
EXAMPLES = {
    "explain": (
        "warehouse explain bm25 AP 443396 -d dl19",
        "warehouse explain bm25 nDCG@10 443396 -d dl19 --top 5 -f csv",
    )
}


def explain(
    run: options.OneRun,
    metric: Annotated[
        str,
        typer.Argument(autocompletion=completion.metrics, help="A metric, as in nDCG@10."),
    ],
    query: Annotated[str, typer.Argument(help="Id of the query.")],
    dataset: options.OneDataset = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            min=0,
            show_default="the metric's cutoff, else 20",
            help="How many documents of the list to show.",
        ),
    ] = None,
    qrels: options.QrelsVersion = None,
    protocol: options.Protocol = "default",
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    places: options.Places = 4,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Explain a run's value for a query, document by document.

    "so far" is the value of the list cut after the document, computed by the metric's own SQL.
    "part" is the difference to the value of the list cut before it, or to 0 if that list has no
    value. The parts add up to the value; if the metric is a sum over the documents, as AP and nDCG
    are, they are its terms. A document without a relevance is not judged. The last line, without a
    document, stands for all documents that are not shown. Where the value came from goes to stderr.
    A metric that is not stored is computed.
    """
    from warehouse.warehouse import Warehouse

    wh = Warehouse(db, lock_timeout=lock_timeout)
    found = wh.explain(dataset, run, query, metric, top=top, protocol=protocol, qrels=qrels)
    output.show(found, format, out, places=places, wide=wide)
