"""`warehouse explain`."""

from __future__ import annotations

from typing import Annotated

from warehouse.cli import completion, options

SECTION, PLACE = "Look", 4
EXAMPLES = {
    "explain": (
        "warehouse explain bm25 AP 443396 -d dl19",
        "warehouse explain bm25 nDCG@10 443396 -d dl19 --top 5 -f csv",
    )
}


def explain(
    run: options.OneRun,
    metric: Annotated[str, "A metric, as in nDCG@10.", {"autocompletion": completion.metrics}],
    query: Annotated[str, "Id of the query."],
    dataset: options.OneDataset = None,
    top: Annotated[
        int | None,
        "How many documents of the list to show.",
        {"min": 0, "show_default": "the metric's cutoff, else 20"},
    ] = None,
    qrels: options.QrelsVersion = None,
    protocol: options.Protocol = "default",
    *,
    table: options.NumberTable,
    database: options.File,
) -> None:
    """Explain a run's value for a query, document by document.

    "so far" is the value of the list cut after the document, computed by the metric's own SQL.
    "part" is the difference to the value of the list cut before it, or to 0 if that list has no
    value. The parts add up to the value; if the metric is a sum over the documents, as AP and nDCG
    are, they are its terms. A document without a relevance is not judged. The last line, without a
    document, stands for all documents that are not shown. Where the value came from goes to stderr.
    A metric that is not stored is computed.
    """
    wh = database.open()
    found = wh.explain(dataset, run, query, metric, top=top, protocol=protocol, qrels=qrels)
    table.show(found)
