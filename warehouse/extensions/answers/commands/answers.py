"""`warehouse ingest nuggets`, `assignments` and `citations`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from warehouse.cli import options
from warehouse.cli.output import say, say_where, warn
from warehouse.cli.progress import Progress, sizes
from warehouse.errors import command, counted, listing

if TYPE_CHECKING:
    from warehouse.extensions.answers.assessments import LoadedAssessments

EXAMPLES = {
    "ingest nuggets": (
        "warehouse ingest nuggets nuggets.jsonl -d dl19",
        "warehouse ingest nuggets rubric.json -d dl19 --replace",
    ),
    "ingest assignments": (
        "warehouse ingest assignments assignments.jsonl -d dl19 --judge gpt-4o",
        "warehouse ingest assignments bm25.csv -d dl19 --name bm25",
    ),
    "ingest citations": ("warehouse ingest citations support.jsonl -d dl19 --judge gpt-4o",),
}

_Judge = Annotated[
    str | None,
    typer.Option("--judge", help="Who or what judged, as in gpt-4o; judges are kept apart."),
]
_RunOfAnswers = Annotated[
    str | None,
    typer.Option(
        "--name",
        show_default="the file's stem, unless the file names its runs",
        help="The run that the answers are of.",
    ),
]


def nuggets(
    file: options.SourceFile,
    dataset: options.OneDataset = None,
    replace: options.Replace = False,
    *,
    database: options.LimitedFile,
) -> None:
    """Load nuggets of queries: facts that answers should state.

    The file is JSON Lines as nuggetizer writes them (qid and nuggets, each with text and importance:
    vital or okay), a rubric of TREC DRAGUN, or a table with the columns query_id, text, importance, and
    perhaps nugget_id, weight and part. 'ingest assignments' loads which of them the answers state.
    """
    from warehouse.extensions.answers import ingest_nuggets

    wh = database.open()
    with Progress("loading", "file", 1, sizes([file])):
        loaded = ingest_nuggets(wh, dataset, file, replace=replace)
    version = f", version {loaded.version}" if loaded.status == "replaced" else ""
    say(
        f"nuggets: {loaded.status}{version} ({counted(loaded.num_nuggets, 'nugget')} of "
        f"{counted(loaded.num_queries, 'query')})"
    )
    for text in loaded.warnings:
        warn(text)
    say_where(dataset, loaded.dataset)


def assignments(
    file: options.SourceFile,
    dataset: options.OneDataset = None,
    name: _RunOfAnswers = None,
    judge: _Judge = None,
    replace: options.Replace = False,
    *,
    database: options.LimitedFile,
) -> None:
    """Load which nuggets the answers of runs state.

    The file is JSON Lines as nuggetizer writes them, or a table with the columns query_id, nugget_id or
    text, assignment (support, partial_support, not_support, contradict), and perhaps run. Runs and
    nuggets must be loaded, and an answer is assigned every nugget of its query. Metrics such as
    'NuggetScore(judge=JUDGE)' read this.
    """
    from warehouse.extensions.answers import ingest_assignments

    wh = database.open()
    with Progress("loading", "file", 1, sizes([file])):
        loaded = ingest_assignments(wh, dataset, file, name=name, judge=judge, replace=replace)
    _say_assessed(loaded, "assignment", "NuggetScore")
    say_where(dataset, loaded.dataset)


def citations(
    file: options.SourceFile,
    dataset: options.OneDataset = None,
    name: _RunOfAnswers = None,
    judge: _Judge = None,
    replace: options.Replace = False,
    *,
    database: options.LimitedFile,
) -> None:
    """Load whether what answers cite supports their sentences.

    The file is JSON Lines as TREC RAG's support evaluation writes them, or a table with the columns
    query_id, sentence (its number), doc_id, support (support, partial_support, not_support), and
    perhaps run. A sentence that cites nothing has a row without a document. Metrics such as
    'CitationPrecision(judge=JUDGE)' read this.
    """
    from warehouse.extensions.answers import ingest_citations

    wh = database.open()
    with Progress("loading", "file", 1, sizes([file])):
        loaded = ingest_citations(wh, dataset, file, name=name, judge=judge, replace=replace)
    _say_assessed(loaded, "citation", "CitationPrecision")
    say_where(dataset, loaded.dataset)


def _say_assessed(loaded: LoadedAssessments, what: str, metric: str) -> None:
    states = list(loaded.status.values())
    counts = ", ".join(f"{states.count(state):,} {state}" for state in dict.fromkeys(states))
    judge = "" if loaded.judge is None else f" by {loaded.judge}"
    say(
        f"{listing(loaded.status, 4)}: {counted(loaded.num_rows, what)}{judge}, of "
        f"{counted(loaded.num_queries, 'query')} ({counts})"
    )
    shown = metric if loaded.judge is None else f"{metric}(judge={loaded.judge})"
    say(f"see: {command('leaderboard', loaded.dataset, metrics=[shown])}")
