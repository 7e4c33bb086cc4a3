"""`warehouse leaderboard`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from warehouse.cli import completion, lakes, options, output
from warehouse.errors import UsageError

SECTION, PLACE = "Look", 1
EXAMPLES = {
    "leaderboard": (
        "warehouse leaderboard -d dl19",
        "warehouse leaderboard -d dl19 -m AP -m nDCG@10 --sort nDCG@10 --top 3",
        "warehouse leaderboard -d dl19 -m AP --run 'bm25*' --run tasb",
        "warehouse leaderboard -d dl19 -f latex -o board.tex",
        "warehouse leaderboard -d dl19 -m AP,nDCG@10 --columns run,nDCG@10,AP --label tasb=TAS-B "
        "--percent --places 1 -f latex",
        "warehouse leaderboard -d dl19 -d dl20 -m AP --weights relevant --each",
        "warehouse leaderboard -d 'dl*' -m nDCG@10 --weights dl19=2,dl20=1",
        "warehouse leaderboard -d dl19 -d dl20 -m AP --ranks",
        "warehouse leaderboard -d dl19 -m AP --slice size --top 1",
        'warehouse leaderboard -d dl19 --as-of "$(date -u +%F)"',
        "warehouse leaderboard -d dl19 --qrels 1 -m AP",
        "warehouse leaderboard -d dl19 -m nDCG@10 --ci --ties --alpha 0.01",
        "warehouse leaderboard -d dl19 -m nDCG@10 --ranks --top 3",
        "warehouse leaderboard -d dl19 -m nDCG@10 --ranks --together",
        "warehouse leaderboard -d dl19 --lake lake",
    )
}


def leaderboard(
    dataset: Annotated[
        list[str] | None,
        "Name of the dataset; for several repeat it, or write a pattern, as in 'proj*'.",
        "-d",
        {"autocompletion": completion.datasets, "show_default": "the only one"},
    ] = None,
    metric: options.ShownMetrics = None,
    slice: options.Slice = None,
    sort: Annotated[
        str | None,
        "Order by this metric; default: the first one.",
        {"autocompletion": completion.metrics},
    ] = None,
    top: Annotated[int | None, "Only the first N.", {"min": 1}] = None,
    weights: Annotated[
        str,
        "With several datasets, weigh each by: equal, relevant (judgments), queries, or "
        "given weights, as in A=2,B=1.",
    ] = "equal",
    by: Annotated[
        Literal["run", "system"], "With several datasets, match runs by name (run) or by system."
    ] = "run",
    each: Annotated[bool, "With several datasets, also show the value in each."] = False,
    ci: Annotated[
        bool, "Show next to each mean the half-width of its t-interval at 1 - alpha."
    ] = False,
    ties: Annotated[bool, "Number the groups of runs that cannot be told apart at alpha."] = False,
    ranks: Annotated[
        bool,
        "Show the ranks that each run has if the queries are resampled, at 1 - alpha, and "
        "how often it is first; with several datasets its mean rank over them.",
    ] = False,
    together: Annotated[
        bool, "With --ranks: ranks that hold for all runs together, by Tukey's test of all pairs."
    ] = False,
    wins: Annotated[
        bool, "With --ranks over several datasets, show which run is better than which."
    ] = False,
    alpha: Annotated[float, "The level of --ci, --ties and --ranks."] = 0.05,
    resamples: Annotated[int, "How often --ranks resamples the queries."] = 2000,
    seed: options.Seed = 0,
    *,
    choice: options.Choice,
    state: options.State,
    table: Annotated[
        options.Table,
        options.format_option(
            "table, json, jsonl, csv, tsv, markdown, latex, html or parquet; with --ranks over several "
            "datasets svg, png or pdf for the critical-difference diagram (with -o).",
            ["svg", "png", "pdf"],
        ),
    ],
    names: options.Names = False,
    layout: options.Layout,
    database: lakes.LakeOrFile,
) -> None:
    """Show the runs of a dataset, or of several, best first.

    An arrow shows which direction is better. A query is answered if the run has a document for it;
    under the protocol default, the other judged queries count as 0. The number of answered ones is
    below the table, or run by run if the runs differ. A metric that is not stored is computed for
    the board; 'warehouse evaluate' stores it. --run, --system and --tag choose the runs.

    With several datasets, the board has the runs that have values in all of them, and a value is
    the mean over the datasets. --ranks then orders them by their mean rank in the datasets. With
    --slice there is a board for each part. With --as-of the board is as it was then: the run
    versions, qrels and values that had been loaded and computed by that time. A metric that was
    not, and that -m names, is computed by today's formula.

    With --ties, a group is its best run and the runs that do not differ from it significantly
    (paired t-tests, Holm correction over all pairs of the whole board, also with --top). With
    --ranks the queries are drawn again with replacement, 2,000 times, and each time the runs are
    ranked by their means; equal means share the best rank, so several runs may be first. With --lake
    the board is of all that was pushed into it, and shows stored values only; with --as-of version:N
    it is the board after that push.
    """
    from warehouse.analyze.stored_metrics import forgotten
    from warehouse.errors import command, counted
    from warehouse.metrics.notation import parse_one
    from warehouse.metrics.protocols import is_imported
    from warehouse.report import pictures

    with database.reading(state) as (wh, state):
        board = wh.leaderboard(
            dataset, metrics=metric or (), slice=slice, sort=sort, top=top,
            weights=options.weights(weights), by=by, each=each, ci=ci, ties=ties, ranks=ranks,
            together=together, alpha=alpha, resamples=resamples, seed=seed,
            **vars(state), **choice.asked(), **layout.asked(),
        )  # fmt: skip
        if wins and not (ranks and len(board.datasets) > 1):
            raise UsageError("--wins: goes with --ranks and several datasets")
        shown_board = board.wins if wins else board
        if table.format in pictures.FORMATS:
            if "diagram" not in board.tables:
                raise UsageError(
                    f"-f {table.format}: the diagram is of --ranks over several datasets"
                )
            shown_board = board.diagram
        table.show(shown_board)
        if names:
            output.say_names(board)
    if database.lake is not None or is_imported(state.protocol):
        return
    stored = list(dict.fromkeys(board.metrics.values()))
    gone = forgotten(stored, state.protocol)
    known = [name for name in stored if name not in gone and name not in board.computed]
    if not known or f"protocol {state.protocol}" in gone or state.as_of is not None:
        return
    against: dict[str, Any] = {"qrels": state.qrels, "protocol": state.protocol}
    shown = [parse_one(name).metric for name in known]
    sliced = () if slice is None else (slice,)
    for name in board.datasets:
        due = wh.evaluate(name, metrics=shown, slices=sliced, dry_run=True, **against)
        if due.computed and not wh.is_collected:
            how = command("evaluate", name, metrics=["METRIC"], slice=slice, **against)
            output.say(
                f"{counted(due.computed - due.stale, 'value')} missing, {due.stale:,} stale: {how}"
            )
