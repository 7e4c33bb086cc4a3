"""Load qrels, runs, training sets, attributes and texts: each from its file, or a whole folder."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from warehouse.cli import options
from warehouse.cli.output import say, say_loaded, say_where, warn
from warehouse.cli.progress import Progress, sizes
from warehouse.errors import UsageError, WarehouseError, command, counted, listing

if TYPE_CHECKING:
    from warehouse.ingest.attributes import LoadedAttributes
    from warehouse.ingest.folder import Folder
    from warehouse.ingest.steps import Loaded

SECTION, PLACE = "Load", 1
ALSO = {"runs": "run"}
EXAMPLES = {
    "ingest folder": (
        "warehouse ingest folder . -d mine",
        "warehouse ingest folder runs -d dl19 -m nDCG@10",
    ),
    "ingest qrels": (
        "warehouse ingest qrels qrels.txt --dataset dl19",
        "warehouse ingest qrels ratings.csv -d films --column query_id=user "
        "--column doc_id=item --column relevance=stars",
        "warehouse ingest qrels subtopics.txt -d web --iterations",
        "warehouse ingest qrels prefs.txt -d choices --format prefs",
        "warehouse ingest qrels qrels.txt -d dl19 --normalise 'lower(trim(doc_id))'",
        "warehouse ingest qrels ratings.csv -d films --column query_id=user "
        "--column doc_id=item --relevance 'stars >= 4'",
        "warehouse ingest qrels links.txt -d links --global --queries queries.txt",
        "warehouse ingest qrels ratings.csv -d films --column query_id=user "
        "--column doc_id=item --column relevance=stars --where 'stars >= 4'",
    ),
    "ingest run": (
        "warehouse ingest run runs/*.run.gz --dataset dl19 --tag stage=first",
        "warehouse ingest run distances.csv -d films --name ann --lower-is-better "
        "--column query_id=user --column doc_id=item --column score=distance",
        "gzip -dc runs/bm25.run.gz | warehouse ingest run - -d dl19 --name bm25 --at 2026-09-01",
        "warehouse ingest run runs/*.run.gz -d dl19 --where-it-lies",
    ),
    "ingest training": (
        "warehouse ingest training seen.csv -d films --column query_id=user --column doc_id=item",
    ),
    "ingest attributes": (
        "warehouse ingest attributes movies.csv -d films --of docs --id movie --split genres='|'",
        "warehouse ingest attributes users.jsonl -d films --of queries --name people",
    ),
    "ingest text": (
        "warehouse ingest text queries.jsonl -d dl19 --of queries",
        "warehouse ingest text collection.tsv -d dl19 --of docs",
    ),
    "ingest scores": (
        "warehouse ingest scores bm25.eval -d dl19",
        "warehouse ingest scores grades.jsonl -d dl19 --judge gpt-4o",
    ),
}

# The other files of a folder with qrels and runs; in one of BEIR or of ratings, also other splits.
_OTHERS = ("neither qrels nor runs", "other splits or neither qrels nor runs")


def folder(
    folder: Annotated[Path, "The folder; the folders in it are searched too."],
    dataset: options.OneDataset = None,
    metric: options.Metrics = None,
    replace: options.Replace = False,
    *,
    database: options.LimitedFile,
) -> None:
    """Load the qrels and the runs of a folder, and evaluate them.

    'warehouse ingest FOLDER' is short for this. Files are recognised by their first lines; files that
    are neither qrels nor runs are skipped. Runs are named after their files. Of several qrels none is
    taken: load the right ones with 'ingest qrels'. Of ratings, test.csv has the qrels and train.csv the
    training set. Links to folders are followed; bundles of 'warehouse export' are left alone. Of a
    folder of BEIR, the qrels of the test and the texts of the queries are loaded. A file that fails is
    reported and makes the exit code 2; the others are still loaded. Without -m, 'warehouse evaluate'
    says which metrics are computed.
    """
    from warehouse.cli.commands.evaluate import narrate
    from warehouse.ingest.steps import Loaded

    wh = database.open()
    failed: list[WarehouseError] = []
    progress = Progress("loading", "file")

    def tell_found(files: Folder) -> None:
        sources = [*filter(None, (files.qrels, files.training, files.queries)), *files.runs]
        progress.total, progress.sizes = len(sources), sizes(sources)
        say(f"qrels: {files.qrels or 'none'}")
        if files.training is not None:
            say(f"training set: {files.training}")
        say(f"{counted(len(files.runs), 'run')}: {listing(map(str, files.runs), 6) or 'none'}")
        if files.others:
            splits = files.queries is not None or any(
                "rating" in path.name for path in files.others
            )
            words = shlex.join(["ingest", "run", str(files.others[0])])
            why = "" if splits else f"; it says why: {command(words, dataset or 'D')}"
            say(f"left alone, {_OTHERS[splits]}: {listing(map(str, files.others), 6)}{why}")
        if files.corpus:
            words = shlex.join(["ingest", "text", str(files.corpus), "--of", "docs"])
            how = command(words, dataset or "D")
            say(f"left alone, the texts of the documents; to load them: {how}")

    def tell(file: object, done: Loaded | LoadedAttributes | WarehouseError) -> None:
        progress.step(str(file))
        if isinstance(done, WarehouseError):
            failed.append(done)
            say(f"warehouse: {done}")
            if " --" in str(done):
                alone = command(shlex.join(["ingest", "run", str(file)]), dataset or "D")
                say(f"options go with: {alone}")
        elif isinstance(done, Loaded):
            say_loaded(done)
        else:
            _say_attributes(done)

    with progress:
        outcomes = wh.ingest_folder(
            dataset, folder, replace=replace, on_found=tell_found, on_file=tell
        )
    into = next((one.dataset for one in outcomes if not isinstance(one, WarehouseError)), dataset)
    if into is not None:
        say_where(dataset, into)
        with Progress("evaluating", "metric") as step:
            done = wh.evaluate(into, metrics=metric or (), on_metric=step)
        narrate(done)
        if done.computed or done.up_to_date:
            say(f"see: {command('leaderboard', into)}")
    if failed:
        raise typer.Exit(max(error.exit_code for error in failed))


def _say_attributes(loaded: LoadedAttributes) -> None:
    version = f", version {loaded.version}" if loaded.status == "replaced" else ""
    subject = "document" if loaded.of == "docs" else "query"
    columns = ", ".join(f"{column} {kind}" for column, kind in loaded.columns.items())
    say(
        f"{loaded.name}: {loaded.status}{version} ({counted(loaded.num_values, 'value')} of "
        f"{counted(loaded.num_subjects, subject)}: {columns})"
    )


def qrels(
    file: options.SourceFile,
    dataset: options.OneDataset = None,
    label: options.QrelsLabel = None,
    format: Annotated[str | None, options.input_format("qrels")] = None,
    *,
    rows: options.JudgmentRows,
    is_global: options.Global = False,
    queries: options.Queries = None,
    iterations: options.Iterations = False,
    replace: options.Replace = False,
    database: options.LimitedFile,
) -> None:
    """Load qrels (relevance judgments).

    With --iterations a document can be judged once per iteration (a subtopic or a judgment group).
    --format prefs reads preferences, with query, group, subgroup, document and level on each line.
    ir_datasets:NAME in the place of a file is a public collection (extra ir), as in
    ir_datasets:msmarco-passage/trec-dl-2019/judged. Loading the same judgments again does nothing
    ("unchanged"); other judgments need --replace and become a new version.
    """
    wh = database.open()
    with Progress("loading", "file", 1, sizes([file])):
        loaded = wh.ingest_qrels(
            dataset, file, label=label, format=format, **rows.asked(), is_global=is_global,
            queries=queries, iterations=iterations, replace=replace,
        )  # fmt: skip
    say_loaded(loaded)
    say_where(dataset, loaded.dataset)


def training(
    file: options.SourceFile,
    dataset: options.OneDataset = None,
    label: Annotated[str | None, "A label for this version of the training set."] = None,
    format: Annotated[str | None, options.input_format("training")] = None,
    *,
    rows: options.JudgmentRows,
    replace: options.Replace = False,
    database: options.LimitedFile,
) -> None:
    """Load a training set.

    These are items that a system was trained on, or that users had seen before. The formats are as for
    qrels. In a table without a relevance column, every relevance is 1. Loading the same examples
    again does nothing ("unchanged"); other examples need --replace and become a new version.
    """
    wh = database.open()
    with Progress("loading", "file", 1, sizes([file])):
        loaded = wh.ingest_training(
            dataset, file, label=label, format=format, **rows.asked(), replace=replace
        )
    say_loaded(loaded)
    say_where(dataset, loaded.dataset)


def run(
    files: Annotated[list[str], "Files or globs; - is stdin. May be .gz, .bz2, .xz or .zst."],
    dataset: options.OneDataset = None,
    name: Annotated[str | None, "Name of the run; default: the file's stem."] = None,
    name_from: Annotated[str, "Take the name from the file's stem or the TREC tag."] = "stem",
    *,
    about: options.About,
    lower_is_better: Annotated[bool, "The scores are distances: smallest first."] = False,
    format: Annotated[str | None, options.input_format("run")] = None,
    rows: options.Rows,
    replace: options.Replace = False,
    where_it_lies: Annotated[
        bool, "Leave the predictions in their files, which must stay as they are."
    ] = False,
    database: options.LimitedFile,
) -> None:
    """Load runs.

    A file that fails is reported and makes the exit code 2; the other files are still loaded. Two
    files of one call cannot be the same run. Loading the same content again does nothing
    ("unchanged"). Many files are read at once. ir_datasets:NAME in the place of a file is what a
    public collection (extra ir) gives to rerank. With --where-it-lies, hits and values are stored, and
    a file is read again, after its hash is checked, for metrics that need whole lists.
    """
    found = options.expand_globs(files)
    if name is not None and len(found) > 1:
        raise UsageError(f"--name {name}: names one run, but {len(found)} files are given")
    if name_from not in ("stem", "tag"):
        raise UsageError(f"--name-from {name_from}: is stem or tag")
    wh = database.open()
    failed: list[WarehouseError] = []
    how: dict[str, Any] = {
        "name_from": name_from, **about.asked(), "lower_is_better": lower_is_better,
        "format": format, **rows.asked(), "replace": replace, "where_it_lies": where_it_lies,
    }  # fmt: skip
    if name is not None:
        with Progress("loading", "file", 1, sizes(found)):
            loaded = wh.ingest_run(dataset, found[0], name=name, **how)
        say_loaded(loaded)
        say_where(dataset, loaded.dataset)
        return
    with Progress("loading", "run", len(found), sizes(found)) as step:

        def tell(file: object, done: Loaded | WarehouseError) -> None:
            step(str(file))
            if isinstance(done, WarehouseError):
                failed.append(done)
                say(f"warehouse: {done}")
            else:
                say_loaded(done)

        outcomes = wh.ingest_runs(dataset, found, on_run=tell, **how)
    if len(found) > 1:
        say(f"{len(found) - len(failed)} of {len(found)} files loaded or unchanged")
    for into in {one.dataset for one in outcomes if not isinstance(one, WarehouseError)}:
        say_where(dataset, into)
    if failed:
        raise typer.Exit(max(error.exit_code for error in failed))


def attributes(
    file: options.SourceFile,
    of: Annotated[str, "What the rows describe: docs or queries.", "--of"],
    dataset: options.OneDataset = None,
    name: Annotated[
        str | None, "Name of the table of attributes; default: the file's stem."
    ] = None,
    id: Annotated[str | None, "The column that holds the ids; default: doc_id or query_id."] = None,
    split: Annotated[
        list[str] | None,
        "Split the text of a column into lists, as in genres='|'; repeatable.",
        {"metavar": "COLUMN=SEP"},
    ] = None,
    leave_out: Annotated[
        list[str] | None, "Do not read this column; repeatable.", {"metavar": "COLUMN"}
    ] = None,
    format: Annotated[str | None, options.input_format("attributes")] = None,
    normalise: options.Normalise = None,
    replace: options.Replace = False,
    *,
    database: options.LimitedFile,
) -> None:
    """Load attributes of documents or queries.

    The file is CSV or TSV with a header, JSON Lines or Parquet. There is one row per id; each other
    column is an attribute: numbers, text, booleans, dates, or lists of them. An empty cell means no
    value. Loading the same content again does nothing ("unchanged").
    """
    wh = database.open()
    with Progress("loading", "file", 1, sizes([file])):
        loaded = wh.ingest_attributes(
            dataset, file, of=cast(Literal["docs", "queries"], of), name=name, id=id,
            split=options.pairs(split, "--split"), leave_out=leave_out or (), format=format,
            normalise=normalise, replace=replace,
        )  # fmt: skip
    _say_attributes(loaded)
    say_where(dataset, loaded.dataset)


def text(
    file: options.SourceFile,
    of: Annotated[str, "What the texts are of: docs or queries.", "--of"],
    dataset: options.OneDataset = None,
    name: Annotated[str | None, "Name of the table of texts; default: the file's stem."] = None,
    id: Annotated[str | None, "The column that holds the ids.", {"metavar": "COLUMN"}] = None,
    title: Annotated[str | None, "The column that holds the titles.", {"metavar": "COLUMN"}] = None,
    text: Annotated[str | None, "The column that holds the texts.", {"metavar": "COLUMN"}] = None,
    format: Annotated[str | None, options.input_format("attributes")] = None,
    normalise: options.Normalise = None,
    replace: options.Replace = False,
    *,
    database: options.LimitedFile,
) -> None:
    """Load texts of queries or documents, to be shown with them.

    The file is JSON Lines or Parquet with the columns of BEIR (_id, title, text), MS MARCO or
    others; or CSV or TSV with a header; or TSV without one: id and text, or for documents also id,
    title and text, or id, URL, title and text; or ir_datasets:NAME, a public collection.
    'queries', 'explain' and 'compare --queries' show the texts; 'publish' leaves them out without
    --with-text, and 'forget --text' removes them.
    """
    wh = database.open()
    with Progress("loading", "file", 1, sizes([file])):
        loaded = wh.ingest_text(
            dataset, file, of=cast(Literal["docs", "queries"], of), name=name, id=id, title=title,
            text=text, format=format, normalise=normalise, replace=replace,
        )  # fmt: skip
    version = f", version {loaded.version}" if loaded.status == "replaced" else ""
    subject = "document" if of == "docs" else "query"
    say(f"{loaded.name}: {loaded.status}{version} (texts of {counted(loaded.num_texts, subject)})")
    say_where(dataset, loaded.dataset)


def scores(
    file: options.SourceFile,
    dataset: options.OneDataset = None,
    name: Annotated[
        str | None,
        "The run that the values are of.",
        {"show_default": "the file's stem, unless the file has a column of runs"},
    ] = None,
    judge: Annotated[str | None, "Who or what judged, as in gpt-4o; judges are kept apart."] = None,
    metric: Annotated[
        list[str] | None, "Load this metric alone; repeatable. Default: all.", "-m"
    ] = None,
    lower_is_better: Annotated[
        list[str] | None, "Low values are good; repeatable.", {"metavar": "METRIC"}
    ] = None,
    format: Annotated[
        str | None,
        "trec_eval, ir_measures, csv, tsv, jsonl, parquet, mteb, inspect or lm_eval; default: "
        "guessed from the file.",
    ] = None,
    column: options.Columns = None,
    replace: options.Replace = False,
    *,
    database: options.LimitedFile,
) -> None:
    """Load values by query that another program computed.

    The file holds what 'trec_eval -q' or 'ir_measures -q' prints, or is a table with the columns run,
    query_id, metric and value, or a result of MTEB, a log of Inspect or the samples of
    lm-evaluation-harness. The run must be loaded, and its queries judged. The values stand under
    the protocol 'imported', or 'imported:JUDGE', and under the names that the other program gave them;
    they are read with --protocol, and never stand in a column with values that are computed here.
    Loading the same values again does nothing ("unchanged").
    """
    wh = database.open()
    with Progress("loading", "file", 1, sizes([file])):
        loaded = wh.ingest_scores(
            dataset, file, name=name, judge=judge, metrics=metric or (),
            lower_is_better=lower_is_better or (), format=format,
            columns=options.pairs(column, "--column"), replace=replace,
        )  # fmt: skip
    states = list(loaded.status.values())
    counts = ", ".join(f"{states.count(state):,} {state}" for state in dict.fromkeys(states))
    say(
        f"{listing(loaded.runs, 4)}: {counted(len(loaded.metrics), 'metric')} under "
        f"{loaded.protocol} ({counted(loaded.num_values, 'value')}; {counts})"
    )
    for text in loaded.warnings:
        warn(text)
    say_where(dataset, loaded.dataset)
    see = command("leaderboard", loaded.dataset, protocol=loaded.protocol)
    say(f"see: {see}")
