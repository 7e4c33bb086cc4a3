"""`warehouse fuse`."""

from __future__ import annotations

from typing import Annotated

from warehouse.cli import completion, options, output
from warehouse.cli.progress import Progress

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
    runs: Annotated[list[str], "Two runs or more.", {"autocompletion": completion.runs}],
    name: Annotated[str, "Name of the new run.", "--name"],
    dataset: options.OneDataset = None,
    method: Annotated[
        str, "The method, as in rrf, 'rrf(k=20)' or CombSUM; see: warehouse fusions."
    ] = "rrf",
    normalise: Annotated[
        str | None,
        "Normalise the scores of each list first: none, min-max, min-max-inverted, max, "
        "sum, zmuv, rank or borda.",
        {"show_default": "min-max where the method reads scores"},
    ] = None,
    weights: Annotated[
        str | None,
        "A weight for each run, in the order of the runs, as in 0.3,0.7.",
        {"metavar": "W1,W2,…"},
    ] = None,
    queries: Annotated[
        str,
        "Merge the queries that any run has, or only those that all runs have.",
        {"metavar": "union|common"},
    ] = "union",
    train_queries: Annotated[
        str | None,
        "Train or tune on these judged queries, one id per line; - is stdin.",
        {"metavar": "FILE"},
    ] = None,
    train_share: Annotated[
        float | None,
        "Train or tune on this share of the judged queries, as in 0.5; it is always the "
        "same queries.",
        {"metavar": "SHARE"},
    ] = None,
    leave_out_training: Annotated[bool, "Leave the training queries out of the new run."] = False,
    tune: Annotated[
        str | None,
        "Try parameters or weights on the training queries, print the values and take the "
        "best by this metric.",
        {"metavar": "METRIC"},
    ] = None,
    protocol: Annotated[
        str, "The rules of the evaluation for --tune.", {"autocompletion": completion.protocols}
    ] = "default",
    *,
    about: options.About,
    replace: options.Replace = False,
    table: options.NumberTable,
    database: options.LimitedFile,
) -> None:
    """Merge runs into a new run.

    You can use the new run like any other; 'warehouse show' says how it was made. Lists are
    ranked as under the protocol default: by score, then by document id, both descending. Scores
    that are distances are first reversed. A run that lacks a query adds no documents to it.

    Some methods are trained on judged queries, and --tune tries values on them. The new run also
    has these queries and looks better on them than it is; --leave-out-training leaves them out.
    Weights are tried in tenths that add up to 1. If trials are equal, the first in the grid is
    taken.
    """
    wh = database.open()
    with Progress("fusing"):
        made = wh.fuse(
            dataset, runs, method, name=name, normalise=normalise,
            weights=options.numbers(weights, "--weights"), queries=queries,
            train_queries=train_queries, train_share=train_share,
            leave_out_training=leave_out_training, tune=tune, protocol=protocol,
            **about.asked(), replace=replace,
        )  # fmt: skip
    if made.trials is not None:
        table.show(made.trials, titles={"place": "#"})
    given = f" with weights {','.join(f'{w:g}' for w in made.weights)}" if made.weights else ""
    output.say(
        f"{name}: {made.method} of {', '.join(runs)}{given}, normalisation {made.normalisation}"
    )
    for note in made.notes:
        output.say(f"{name}: {note}")
    output.say_loaded(made.loaded)
