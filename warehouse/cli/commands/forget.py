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
        "warehouse forget -d dl19 --everything --reason 'a trial' --yes",
    )
}


def forget(
    dataset: options.Dataset,
    run: Annotated[
        str | None,
        typer.Argument(autocompletion=completion.runs, help="Name of the run, or of texts."),
    ] = None,
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
        str | None, typer.Option("--judge", help="With --scores: only this judge's scores.")
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--everything", help="Remove the dataset whole: runs, qrels, values, texts …"),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Remove it; without this, only list the removals.")
    ] = False,
    *,
    database: options.File,
) -> None:
    """Remove a run with its predictions and values, or a whole dataset. This cannot be undone.

    The table forgotten_run keeps the run's description, and when and why it was removed. If you remove
    the current version, the newest that is left takes its place. Boards as of past days lose the
    values too. 'warehouse sync' and 'warehouse ingest mlflow' do not load a file with the same
    content again, however new it is, and say so; 'warehouse ingest run' does load it. A dataset
    that is removed with --everything is no longer listed; take it out of warehouse.toml first, or
    'warehouse sync' loads its qrels again.
    """
    from warehouse.errors import UsageError, counted

    wh = database.open()
    given = {
        "RUN": run, "--version": version, "--reason": reason, "--text": text,
        "--scores": scores or None, "--judge": judge,
    }  # fmt: skip

    def only(reason: str, *fitting: str) -> None:
        unfit = [one for one, value in given.items() if value is not None and one not in fitting]
        if unfit:
            raise UsageError(f"{reason}; leave {unfit[0]} out")

    then = None
    if everything:
        only("--everything: removes the whole dataset", "--reason")
        whole = wh.forget_dataset(dataset, reason=reason, dry_run=not yes)
        removed = (
            f"{dataset}: {counted(whole.num_runs, 'run')} with "
            f"{counted(whole.num_predictions, 'prediction')} and "
            f"{counted(whole.num_evaluations, 'evaluation')}, {counted(whole.num_qrels, 'version')} "
            f"of qrels with {counted(whole.num_judgments, 'judgment')}, and "
            f"{counted(whole.num_texts, 'text')}"
        )
    elif run is None:
        raise UsageError("name the run to forget, or remove the whole dataset with --everything")
    elif scores:
        only("--scores: removes the imported values of a run", "RUN", "--scores", "--judge")
        values = wh.forget_scores(dataset, run, judge=judge, dry_run=not yes)
        removed = (
            f"{run}: {counted(values.num_values, 'imported value')} of "
            f"{counted(len(values.metrics), 'metric')}"
        )
    elif text is not None:
        only("--text: all versions go, without a reason", "RUN", "--text")
        of = cast(Literal["docs", "queries"], text)
        found = wh.forget_text(dataset, run, of=of, dry_run=not yes)
        removed = f"{run}: {counted(found.num_texts, 'text')} of {text}"
    else:
        only("--judge: goes with --scores", "RUN", "--version", "--reason")
        gone = wh.forget(dataset, run, version=version, reason=reason, dry_run=not yes)
        removed = (
            f"{run}: version {' and '.join(map(str, gone.versions))} with "
            f"{counted(gone.num_predictions, 'prediction')} and "
            f"{counted(gone.num_evaluations, 'evaluation')}"
        )
        then = None if gone.current is None else f"{run}: the current version is {gone.current} now"
    if not yes:
        raise UsageError(f"{removed} would be removed for ever; to do so, add --yes")
    output.say(f"forgotten {removed}")
    if then is not None:
        output.say(then)
