"""`warehouse ingest qrels`, `warehouse ingest run` and `warehouse ingest training`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from warehouse.cli import attributes, mlflow, options
from warehouse.cli.examples import epilog
from warehouse.cli.output import Progress, say, say_loaded
from warehouse.config.settings import LOCK_TIMEOUT
from warehouse.errors import UsageError, WarehouseError

if TYPE_CHECKING:
    from warehouse.ingest import Loaded


def qrels(
    file: Annotated[
        str, typer.Argument(help="The file; - is stdin. May be .gz, .bz2, .xz or .zst.")
    ],
    dataset: options.Dataset,
    label: Annotated[
        str | None, typer.Option("--label", help="A label for this version of the qrels.")
    ] = None,
    format: options.InputFormat = None,
    column: options.Columns = None,
    normalise: options.Normalise = None,
    is_global: options.Global = False,
    queries: options.Queries = None,
    iterations: options.Iterations = False,
    replace: options.Replace = False,
    db: options.Database = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Load qrels (relevance judgments).

    The file is TREC qrels, CSV or TSV with a header, JSON Lines, Parquet or ranx JSON. With
    --iterations a document can be judged once per iteration (a subtopic or a judgment group).
    --format prefs reads preferences, with query, group, subgroup, document and level on each line.
    Loading the same judgments again does nothing ("unchanged"); other judgments need --replace and
    become a new version.
    """
    from warehouse.warehouse import Warehouse

    wh = Warehouse(db, memory_limit=memory_limit, threads=threads, lock_timeout=lock_timeout)
    columns = options.pairs(column, "--column")
    loaded = wh.ingest_qrels(
        dataset, file, label=label, format=format, columns=columns, normalise=normalise,
        is_global=is_global, queries=queries, iterations=iterations, replace=replace,
    )  # fmt: skip
    say_loaded(loaded)


def training(
    file: Annotated[
        str, typer.Argument(help="The file; - is stdin. May be .gz, .bz2, .xz or .zst.")
    ],
    dataset: options.Dataset,
    label: Annotated[
        str | None, typer.Option("--label", help="A label for this version of the training set.")
    ] = None,
    format: options.InputFormat = None,
    column: options.Columns = None,
    normalise: options.Normalise = None,
    replace: options.Replace = False,
    db: options.Database = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Load a training set.

    This is what a system was trained on, or what users had seen before. The formats are those of
    qrels. In a table without a relevance column, every relevance is 1. Loading the same examples
    again does nothing ("unchanged"); other examples need --replace and become a new version.
    """
    from warehouse.warehouse import Warehouse

    wh = Warehouse(db, memory_limit=memory_limit, threads=threads, lock_timeout=lock_timeout)
    columns = options.pairs(column, "--column")
    loaded = wh.ingest_training(
        dataset,
        file,
        label=label,
        format=format,
        columns=columns,
        normalise=normalise,
        replace=replace,
    )
    say_loaded(loaded)


def run(
    files: Annotated[
        list[str], typer.Argument(help="Files or globs; - is stdin. May be .gz, .bz2, .xz or .zst.")
    ],
    dataset: options.Dataset,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the run; default: the file's stem.")
    ] = None,
    name_from: Annotated[
        str, typer.Option("--name-from", help="Take the name from the file's stem or the TREC tag.")
    ] = "stem",
    system: options.System = None,
    tag: options.Tags = None,
    at: options.RunAt = None,
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="The scores are distances: smallest first.")
    ] = False,
    format: options.InputFormat = None,
    column: options.Columns = None,
    normalise: options.Normalise = None,
    replace: options.Replace = False,
    db: options.Database = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Load runs.

    A file is a TREC run, CSV or TSV with a header, JSON Lines, Parquet or ranx JSON. A file that
    fails is reported and makes the exit code 2; the other files are still loaded. Two files of one
    call cannot be the same run. Loading the same content again does nothing ("unchanged"). Many
    files are read at once.
    """
    from warehouse.warehouse import Warehouse

    found = options.expanded(files)
    if name is not None and len(found) > 1:
        raise UsageError(f"--name {name}: names one run, but {len(found)} files are given")
    if name_from not in ("stem", "tag"):
        raise UsageError(f"--name-from {name_from}: is stem or tag")
    wh = Warehouse(db, memory_limit=memory_limit, threads=threads, lock_timeout=lock_timeout)
    tags = options.pairs(tag, "--tag")
    columns = options.pairs(column, "--column")
    run_at = options.moment(at)
    failed: list[WarehouseError] = []
    about: dict[str, Any] = {
        "name_from": name_from, "system": system, "tags": tags, "run_at": run_at,
        "lower_is_better": lower_is_better, "format": format, "columns": columns,
        "normalise": normalise, "replace": replace,
    }  # fmt: skip
    if name is not None:
        say_loaded(wh.ingest_run(dataset, found[0], name=name, **about))
        return
    with Progress("loading", len(found)) as step:

        def tell(file: object, done: Loaded | WarehouseError) -> None:
            step(str(file))
            if isinstance(done, WarehouseError):
                failed.append(done)
                say(f"warehouse: {done}")
            else:
                say_loaded(done)

        wh.ingest_runs(dataset, found, on_run=tell, **about)
    if len(found) > 1:
        say(f"{len(found) - len(failed)} of {len(found)} files loaded or unchanged")
    if failed:
        raise typer.Exit(max(error.exit_code for error in failed))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        help="Load qrels, runs, training sets and attributes.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command(epilog=epilog("ingest qrels"))(qrels)
    group.command(epilog=epilog("ingest run"))(run)
    group.command(epilog=epilog("ingest training"))(training)
    attributes.register_ingest(group)
    mlflow.register_ingest(group)
    app.add_typer(group, name="ingest")
