"""`warehouse forget`."""

from __future__ import annotations

from typing import Annotated, Literal, cast

import typer

from warehouse.cli import completion, options, output

SECTION, PLACE = "Load", 4
EXAMPLES = {
    "forget": (
        "warehouse forget bm25 -d dl19 --reason 'wrong index' --yes",
        "warehouse forget corpus -d dl19 --text docs --yes",
        "warehouse forget bm25 -d dl19 --scores --yes",
    )
}


def forget(
    run: Annotated[str, "Name of the run, or of texts.", {"autocompletion": completion.runs}],
    dataset: options.Dataset,
    version: Annotated[
        int | None,
        typer.Option("--version", min=1, help="Only this version of the run; default: all."),
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", help="Why it is removed; stored in forgotten_run.")
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            "--text", metavar="OF", help="Remove texts of that name instead: of docs or of queries."
        ),
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Remove only the values of the run that were imported.")
    ] = False,
    judge: Annotated[
        str | None, typer.Option("--judge", help="With --scores: only those of this judge.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Remove it; without this, only say what would be removed.")
    ] = False,
    *,
    database: options.File,
) -> None:
    """Remove a run with its predictions and values. This cannot be undone.

    The table forgotten_run keeps what the run was, and when and why it was removed. If you remove
    the current version, the newest that is left takes its place. Boards as of past days lose the
    values too. 'warehouse sync' and 'warehouse ingest mlflow' do not load a file with the same
    content again, however new it is, and say so; 'warehouse ingest run' does load it.
    """
    from warehouse.errors import UsageError, counted

    wh = database.open()
    if judge is not None and not scores:
        raise UsageError("--judge: goes with --scores")
    if scores:
        given = {"--version": version, "--reason": reason, "--text": text}
        if unfit := [option for option, value in given.items() if value is not None]:
            raise UsageError(f"--scores: leave {unfit[0]} out")
        values = wh.forget_scores(dataset, run, judge=judge, dry_run=not yes)
        what = (
            f"{run}: {counted(values.num_values, 'imported value')} of "
            f"{counted(len(values.metrics), 'metric')}"
        )
        if not yes:
            raise UsageError(f"{what} would be removed for ever; to do so, add --yes")
        output.say(f"forgotten {what}")
        return
    if text is not None:
        given = {"--version": version, "--reason": reason}
        if unfit := [option for option, value in given.items() if value is not None]:
            raise UsageError(f"--text: all versions go, without a reason; leave {unfit[0]} out")
        of = cast(Literal["docs", "queries"], text)
        found = wh.forget_text(dataset, run, of=of, dry_run=not yes)
        what = f"{run}: {counted(found.num_texts, 'text')} of {text}"
        if not yes:
            raise UsageError(f"{what} would be removed for ever; to do so, add --yes")
        output.say(f"forgotten {what}")
        return
    gone = wh.forget(dataset, run, version=version, reason=reason, dry_run=not yes)
    those = " and ".join(map(str, gone.versions))
    what = (
        f"{run}: version {those} with {counted(gone.num_predictions, 'prediction')} and "
        f"{counted(gone.num_evaluations, 'evaluation')}"
    )
    if not yes:
        raise UsageError(f"{what} would be removed for ever; to do so, add --yes")
    output.say(f"forgotten {what}")
    if gone.current is not None:
        output.say(f"{run}: the current version is {gone.current} now")
