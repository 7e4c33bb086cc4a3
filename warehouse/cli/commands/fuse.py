"""`warehouse fuse`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import completion, options, output
from warehouse.cli.progress import Progress
from warehouse.config.settings import LOCK_TIMEOUT

SECTION, PLACE = "Evaluate", 3
EXAMPLES = {
    "fuse": (
        "warehouse fuse bm25 tasb -d dl19 --name both",
        "warehouse fuse bm25 tasb -d dl19 --method wsum --weights 0.3,0.7 --name weighted",
        "warehouse fuse bm25 tasb -d dl19 --method wsum --tune nDCG@10 --train-share 0.5 "
        "--leave-out-training --name tuned",
        "warehouse fuse bm25 tasb -d dl19 --method 'probfuse(segments=10)' "
        "--train-queries train.txt --name trained",
    )
}


def fuse(
    runs: Annotated[
        list[str], typer.Argument(autocompletion=completion.runs, help="Two runs or more.")
    ],
    name: Annotated[str, typer.Option("--name", help="Name of the new run.")],
    dataset: options.OneDataset = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="The method, as in rrf, 'rrf(k=20)' or CombSUM; see: warehouse fusions.",
        ),
    ] = "rrf",
    normalise: Annotated[
        str | None,
        typer.Option(
            "--normalise",
            show_default="min-max where the method reads scores",
            help="Normalise the scores of each list first: none, min-max, min-max-inverted, max, "
            "sum, zmuv, rank or borda.",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights",
            metavar="W1,W2,…",
            help="A weight for each run, in the order of the runs, as in 0.3,0.7.",
        ),
    ] = None,
    queries: Annotated[
        str,
        typer.Option(
            "--queries",
            metavar="union|common",
            help="Merge the queries that any run has, or only those that all runs have.",
        ),
    ] = "union",
    train_queries: Annotated[
        str | None,
        typer.Option(
            "--train-queries",
            metavar="FILE",
            help="Train or tune on these judged queries, one id per line; - is stdin.",
        ),
    ] = None,
    train_share: Annotated[
        float | None,
        typer.Option(
            "--train-share",
            metavar="SHARE",
            help="Train or tune on this share of the judged queries, as in 0.5; it is always the "
            "same queries.",
        ),
    ] = None,
    leave_out_training: Annotated[
        bool,
        typer.Option("--leave-out-training", help="Leave the training queries out of the new run."),
    ] = False,
    tune: Annotated[
        str | None,
        typer.Option(
            "--tune",
            metavar="METRIC",
            help="Try parameters or weights on the training queries, print the values and take the "
            "best by this metric.",
        ),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            autocompletion=completion.protocols,
            help="The rules of the evaluation for --tune.",
        ),
    ] = "default",
    system: options.System = None,
    tag: options.Tags = None,
    at: options.RunAt = None,
    replace: options.Replace = False,
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    places: options.Places = 4,
    db: options.Database = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Merge runs into a new run.

    You can use the new run like any other; 'warehouse show' says what it was made of. Lists are
    ranked as under the protocol default: by score, then by document id, both descending. Scores
    that are distances are first reversed. A run that lacks a query adds no documents to it.

    Some methods are trained on judged queries, and --tune tries values on them. The new run also
    has these queries and looks better on them than it is; --leave-out-training leaves them out.
    Weights are tried in tenths that add up to 1. If trials are equal, the first in the grid is
    taken.
    """
    from warehouse.warehouse import Warehouse

    wh = Warehouse(db, memory_limit=memory_limit, threads=threads, lock_timeout=lock_timeout)
    with Progress("fusing"):
        made = wh.fuse(
            dataset,
            runs,
            method,
            name=name,
            normalise=normalise,
            weights=options.numbers(weights, "--weights"),
            queries=queries,
            train_queries=train_queries,
            train_share=train_share,
            leave_out_training=leave_out_training,
            tune=tune,
            protocol=protocol,
            system=system,
            tags=options.pairs(tag, "--tag"),
            run_at=options.moment(at),
            replace=replace,
        )
    if made.trials is not None:
        output.show(made.trials, format, out, places=places, titles={"place": "#"}, wide=wide)
    given = f" with weights {','.join(f'{w:g}' for w in made.weights)}" if made.weights else ""
    output.say(
        f"{name}: {made.method} of {', '.join(runs)}{given}, normalisation {made.normalisation}"
    )
    for note in made.notes:
        output.say(f"{name}: {note}")
    output.say_loaded(made.loaded)
