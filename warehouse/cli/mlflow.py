"""`warehouse ingest mlflow`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from warehouse.cli import options
from warehouse.cli.examples import epilog
from warehouse.cli.output import say, say_loaded
from warehouse.config.settings import LOCK_TIMEOUT
from warehouse.errors import WarehouseError

if TYPE_CHECKING:
    from warehouse.ingest import Loaded


def mlflow(
    uri: Annotated[str, typer.Argument(help="The tracking store: a URL or a path.")],
    experiment: Annotated[str, typer.Option("--experiment", "-e", help="Name of the experiment.")],
    dataset: options.Dataset,
    artifacts: Annotated[
        str,
        typer.Option("--artifacts", help="A pattern for the paths of the artifacts."),
    ] = "**/*.run*",
    system: Annotated[
        str | None,
        typer.Option("--system", help="The system; default: the parameter or tag of that name."),
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
    """Load runs from an MLflow experiment's finished runs.

    A run gets the name of the MLflow run, its parameters and tags as tags, and its start time. If
    an MLflow run has several artifacts, each run's name also has the artifact's stem, or its path
    if stems are the same. A run that was loaded before keeps its name, and a forgotten run is not
    loaded again. Needs mlflow-skinny: pip install 'ranking-warehouse[mlflow]'.
    """
    from warehouse.sync.events import left_away
    from warehouse.warehouse import Warehouse

    wh = Warehouse(db, memory_limit=memory_limit, threads=threads, lock_timeout=lock_timeout)
    codes: list[int] = []

    def tell(source: str, done: Loaded | WarehouseError) -> None:
        if isinstance(done, WarehouseError):
            say(f"warehouse: {done}")
            codes.append(done.exit_code)
            return
        codes.append(0)
        if done.status == "forgotten":
            say(left_away(done, source, "FILE"))
        else:
            say_loaded(done)

    wh.ingest_mlflow(
        dataset, uri, experiment, artifacts=artifacts, system=system, format=format,
        columns=options.pairs(column, "--column"), normalise=normalise, replace=replace,
        on_run=tell,
    )  # fmt: skip
    if not codes:
        say(f"{experiment}: no artifact of a finished run matches {artifacts}")
    if any(codes):
        raise typer.Exit(max(codes))


def register_ingest(group: typer.Typer) -> None:
    """Add the command to the group `ingest`."""
    group.command(epilog=epilog("ingest mlflow"))(mlflow)
