"""`warehouse ingest mlflow`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from warehouse.cli import options
from warehouse.cli.output import say, say_loaded, say_where
from warehouse.cli.progress import Progress
from warehouse.errors import WarehouseError

if TYPE_CHECKING:
    from warehouse.ingest.steps import Loaded

EXAMPLES = {
    "ingest mlflow": (
        "warehouse ingest mlflow sqlite:///mlflow.db --experiment ranking -d dl19",
        "warehouse ingest mlflow mlruns -e ranking -d dl19 --artifacts 'runs/*.run' "
        "--db mine.duckdb",
    )
}


def mlflow(
    uri: Annotated[str, "The tracking store: a URL or a path."],
    experiment: Annotated[str, "Name of the experiment.", "-e"],
    dataset: options.OneDataset = None,
    artifacts: Annotated[str, "A pattern for the paths of the artifacts."] = "**/*.run*",
    system: Annotated[str | None, "The system; default: the parameter or tag of that name."] = None,
    format: Annotated[str | None, options.input_format("run")] = None,
    column: options.Columns = None,
    normalise: options.Normalise = None,
    replace: options.Replace = False,
    *,
    database: options.LimitedFile,
) -> None:
    """Load runs from an MLflow experiment's finished runs.

    A run gets the name of the MLflow run, its parameters and tags as tags, and its start time. If
    an MLflow run has several artifacts, each run's name also has the artifact's stem, or its path
    if stems are the same. A run that was loaded before keeps its name, and a forgotten run is not
    loaded again. Needs the extra "mlflow".
    """
    from warehouse.extensions.imports.mlflow_runs import load_experiment
    from warehouse.sync.events import left_away

    wh = database.open()
    codes: list[int] = []
    datasets: set[str] = set()

    def tell(source: str, done: Loaded | WarehouseError) -> None:
        step(source)
        if isinstance(done, WarehouseError):
            say(f"warehouse: {done}")
            codes.append(done.exit_code)
            return
        codes.append(0)
        if done.status == "forgotten":
            say(left_away(done, source, "FILE"))
        else:
            say_loaded(done)
            datasets.add(done.dataset)

    with Progress("loading", "artifact") as step:
        load_experiment(
            wh, dataset, uri, experiment, artifacts=artifacts, system=system, format=format,
            columns=options.pairs(column, "--column"), normalise=normalise, replace=replace,
            on_run=tell,
        )  # fmt: skip
    if not codes:
        say(f"{experiment}: no artifact of a finished run matches {artifacts}")
    for into in datasets:
        say_where(dataset, into)
    if any(codes):
        raise typer.Exit(max(codes))
