"""`warehouse explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from warehouse.cli import options, output
from warehouse.config.settings import LOCK_TIMEOUT

if TYPE_CHECKING:
    from warehouse.analyze.explain import Explanation

SECTION, PLACE = "Look", 4
EXAMPLES = {
    "explain": (
        "warehouse explain bm25 AP 443396 -d dl19",
        "warehouse explain bm25 nDCG@10 443396 -d dl19 --top 5 -f csv",
    )
}


def explain(
    run: Annotated[str, typer.Argument(help="Name of the run.")],
    metric: Annotated[str, typer.Argument(help="A metric that has been evaluated.")],
    query: Annotated[str, typer.Argument(help="A query.")],
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
    """
    from warehouse.warehouse import Warehouse

    wh = Warehouse(db, lock_timeout=lock_timeout)
    found = wh.explain(
        run,
        metric,
        query,
        options.the_dataset(wh, dataset),
        top=top,
        protocol=protocol,
        qrels=qrels,
    )
    titles = {"doc_id": "document", "value_so_far": "so far"}
    output.show(found.relation, format, out, places=places, titles=titles)
    _say(found, places)


def _say(found: Explanation, places: int) -> None:
    """Print the value and its provenance."""
    from warehouse.errors import counted, listing

    value = "undefined" if found.value is None else f"{found.value:.{places}f}"
    output.say(f"{found.metric} of {found.run} for query {found.query}: {value}")
    retrieved = counted(found.num_retrieved, "document")
    output.say(f"list: {retrieved} retrieved, {len(found.relevant_missed)} relevant ones not")
    if found.relevant_missed:
        output.say(f"relevant and not retrieved: {listing(found.relevant_missed, 5)}")
    source = found.run_source
    source += "" if found.run_sha256 is None else f" (sha256 {found.run_sha256})"
    output.say(
        f"run: version {found.run_version}, loaded {_time(found.run_ingested_at)} from {source}"
    )
    output.say(f"qrels: version {found.qrels_version}, from {found.qrels_source}")
    output.say(
        f"computed {_time(found.evaluated_at)} under protocol {found.protocol} by warehouse "
        f"{found.program_version} with DuckDB {found.engine_version}; fingerprint {found.fingerprint}"
    )
    if not output.say_undefined([found.metric], found.protocol):
        return
    if found.is_stale:
        output.say("the value is stale: the parts are those of today's formula")
    elif found.recomputed != found.value:
        alone = "no value" if found.recomputed is None else found.recomputed
        output.say(
            f"the list of this query alone gives {alone}: the value depends on other queries, or is not "
            "what the predictions give; see: warehouse verify"
        )


def _time(moment: object) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
