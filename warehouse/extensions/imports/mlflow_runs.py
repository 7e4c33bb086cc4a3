"""Runs that are stored as artifacts in an MLflow tracking store."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import duckdb

from warehouse import readers
from warehouse.config import installation
from warehouse.errors import (
    DatabaseError,
    InputError,
    LockedError,
    UsageError,
    WarehouseError,
    first_line,
    listing,
    nearest,
)
from warehouse.ingest.runs import RunOptions, check_names, store_run
from warehouse.ingest.steps import Loaded
from warehouse.readers.files import default_name, missing
from warehouse.store.scratch_folders import scratch_folder
from warehouse.sync.patterns import Pattern
from warehouse.warehouse import Warehouse

ARTIFACTS = "**/*.run*"
_PAGE = 1000
# The tag that holds the id of the MLflow run.
_TAG = "mlflow_run_id"
# The tag that holds the id of the MLflow run that it is nested in, here and in MLflow.
_PARENT_TAG, _PARENT = "mlflow_parent_run_id", "mlflow.parentRunId"
# Newer releases read a store of plain files only if told to. Progress bars are drawn for files too.
_SETTINGS = {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}


@dataclass(frozen=True)
class Artifact:
    """A file of a finished MLflow run, with what is known about that run.

    `apart` is its name if `name` already belongs to another run of the dataset, loaded from one of
    its `siblings`, the MLflow runs of the experiment.
    """

    run_id: str
    path: str
    source: str
    name: str
    apart: str
    siblings: frozenset[str]
    tags: Mapping[str, str]
    run_at: dt.datetime


class Store:
    """An MLflow tracking store."""

    def __init__(self, uri: str) -> None:
        try:
            from mlflow.exceptions import MlflowException
            from mlflow.tracking import MlflowClient
        except ImportError:
            raise UsageError(
                f"reading an MLflow store needs mlflow-skinny: {installation.adding('mlflow')}"
            ) from None
        _check_local(uri)
        self.uri = uri
        self._error: type[Exception] = MlflowException
        with self._asked():
            self._client: Any = MlflowClient(tracking_uri=uri)

    @contextlib.contextmanager
    def _asked(self) -> Iterator[None]:
        unsaid = {key: value for key, value in _SETTINGS.items() if not os.environ.get(key)}
        os.environ.update(unsaid)
        try:
            yield
        except self._error as error:
            raise InputError(f"{self.uri}: {first_line(error)}") from None
        finally:
            for key in unsaid:
                os.environ.pop(key, None)

    def experiment(self, name: str) -> str:
        """Return the id of an experiment. Raises UsageError if none has that name."""
        with self._asked():
            found = self._client.get_experiment_by_name(name)
            if found is None:
                names = [other.name for other in self._client.search_experiments()]
                hint = nearest(name, names) or f"; known are {listing(names) or 'none'}"
                raise UsageError(f"{self.uri}: no experiment {name!r}{hint}")
        return str(found.experiment_id)

    def artifacts(self, experiment: str, pattern: str = ARTIFACTS) -> Iterator[Artifact]:
        """Yield the files of an experiment's finished runs that match a pattern, oldest run first.

        The MLflow run gives the name. If several of its files match, the file's stem is
        appended, or its path if stems are equal. If MLflow runs share a name, the oldest keeps it,
        and the others get the beginning of their id appended.
        """
        wanted = Pattern(pattern)
        taken: set[str] = set()
        runs = list(self._runs(self.experiment(experiment)))
        by_id = {run.info.run_id: run for run in runs}
        siblings = frozenset(by_id)
        for run in runs:
            number = run.info.run_id
            name = run.info.run_name or number
            apart = f"{name}-{number[:8]}"
            name = apart if name in taken else name
            taken.add(name)
            if run.info.status != "FINISHED":
                continue
            paths = [p for p in self._files(number) if wanted.groups_of(p) is not None]
            tags = _tags(run, by_id)
            for path, ending in zip(paths, _endings(paths), strict=True):
                yield Artifact(
                    run_id=number,
                    path=path,
                    source=f"mlflow: {experiment}/{number}/{path}",
                    name=name + ending,
                    apart=apart + ending,
                    siblings=siblings,
                    tags=tags | {_TAG: number},
                    run_at=dt.datetime.fromtimestamp(run.info.start_time / 1000, dt.UTC),
                )

    def fetch(self, artifact: Artifact, folder: Path) -> Path:
        """Return a local file with the content of an artifact."""
        with self._asked():
            return Path(
                self._client.download_artifacts(artifact.run_id, artifact.path, str(folder))
            )

    def _runs(self, experiment_id: str) -> Iterator[Any]:
        token = None
        while True:
            with self._asked():
                page = self._client.search_runs(
                    [experiment_id],
                    max_results=_PAGE,
                    order_by=["attributes.start_time ASC"],
                    page_token=token,
                )
            yield from page
            token = page.token
            if not token:
                return

    def _files(self, run_id: str, folder: str | None = None) -> list[str]:
        with self._asked():
            entries = self._client.list_artifacts(run_id, folder)
        found: list[str] = []
        for entry in entries:
            found += self._files(run_id, entry.path) if entry.is_dir else [entry.path]
        return sorted(found)


def _tags(
    run: Any, by_id: Mapping[str, Any], within: frozenset[str] = frozenset()
) -> dict[str, str]:
    """Return the tags and parameters of a run: first the tags of the runs that it is nested in."""
    parent = run.data.tags.get(_PARENT)
    tags: dict[str, str] = {}
    if parent in by_id and parent not in within:
        tags = _tags(by_id[parent], by_id, within | {run.info.run_id})
    tags |= {k: v for k, v in run.data.tags.items() if not k.startswith("mlflow.")}
    tags |= dict(run.data.params)
    return tags | ({} if parent is None else {_PARENT_TAG: parent})


def _endings(paths: Sequence[str]) -> list[str]:
    """Return the distinct names of the artifacts of an MLflow run: stems, or paths if stems are equal.

    >>> _endings(["art/dev/out.run", "art/test/out.run"]), _endings(["out.run"])
    (['/art/dev/out', '/art/test/out'], [''])
    """
    if len(paths) == 1:
        return [""]
    stems = [default_name(path) for path in paths]
    bare = [str(PurePosixPath(path).with_name(default_name(path))) for path in paths]
    unique = next(names for names in (stems, bare, paths) if len(set(names)) == len(paths))
    return [f"/{name}" for name in unique]


def _check_local(uri: str) -> None:
    """Refuse a local store that does not exist: MLflow would create it and find nothing in it."""
    address = urlsplit(uri)
    if address.scheme.startswith("sqlite"):
        # sqlite:///here.db, sqlite:////tmp/there.db; without a file the store is in memory
        path = Path(unquote(address.path[1:]))
        if address.path[1:] and not address.path.startswith("/file:"):
            _check_sqlite(path)
    elif address.scheme == "file" or (not address.scheme and uri != "databricks"):
        path = Path(unquote(address.path) if address.scheme else uri)
        error = missing(path)
        if error is not None:
            raise error
        if not any(path.glob("*/meta.yaml")):
            raise InputError(f"{path}: is no MLflow store: no folder in it has a meta.yaml")


def _check_sqlite(path: Path) -> None:
    error = missing(path)
    if error is not None:
        raise error
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        ) as con:
            found = con.execute("select 1 from sqlite_master where name = 'experiments'").fetchall()
    except sqlite3.DatabaseError as error:
        raise InputError(f"{path}: cannot be read as an MLflow store: {error}") from None
    if not found:
        raise InputError(f"{path}: is no MLflow store: it has no table of experiments")


def load_experiment(
    warehouse: Warehouse,
    dataset: str | None,
    uri: str,
    experiment: str,
    *,
    artifacts: str | None = None,
    system: str | None = None,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    normalise: str | None = None,
    replace: bool = False,
    on_run: Callable[[str, Loaded | WarehouseError], None] | None = None,
) -> list[tuple[str, Loaded | WarehouseError]]:
    """Load runs from the artifacts of an MLflow experiment's finished runs.

    `artifacts` is a pattern for their paths. Returns the source and the outcome of each artifact;
    `on_run` is called with them as each is done. Each artifact is loaded in its own transaction, and
    one that fails does not stop the others. Parameters and tags become tags, also of the run
    that a run is nested in, and the start time becomes `run_at`. An artifact that was loaded before
    keeps its name; one whose run was forgotten is not loaded again. Raises UsageError for an unknown
    experiment or if mlflow-skinny is not installed, and InputError if the store is a file or folder
    that does not exist.
    """
    file, dataset = warehouse.file, warehouse.to_load(dataset, uri)
    reading: dict[str, Any] = {"format": format, "columns": columns, "normalise": normalise}
    store = Store(uri)
    store.experiment(experiment)  # before a file is made here
    file.ensure()
    every: list[tuple[str, Loaded | WarehouseError]] = []
    for artifact in store.artifacts(experiment, artifacts or ARTIFACTS):
        done: Loaded | WarehouseError
        path = Path(artifact.path)
        try:
            with scratch_folder() as folder:
                path = store.fetch(artifact, folder)
                with file.staging() as staging:
                    staged = readers.stage(staging.con, str(path), "run", **reading)
                    with staging.transaction() as con:
                        done = store_artifact(
                            con, artifact, staged, dataset, system=system, replace=replace
                        )
        except (DatabaseError, LockedError):
            raise
        except WarehouseError as error:
            # of the copy, nobody needs to know
            text = str(error).replace(str(path), artifact.source)
            named = artifact.source in text
            done = InputError(text if named else f"{artifact.source}: {text}")
        every.append((artifact.source, done))
        if on_run is not None:
            on_run(*every[-1])
    return every


def store_artifact(
    con: duckdb.DuckDBPyConnection,
    artifact: Artifact,
    staged: readers.Staged,
    dataset: str,
    *,
    system: str | None = None,
    replace: bool = False,
) -> Loaded:
    """Store a staged artifact as a run; its parameter or tag `system` names the system if none is given.

    A run that is there already keeps its name, whatever has since been removed from MLflow. A
    forgotten run is not loaded again.
    """
    tags = dict(artifact.tags)
    tagged = tags.pop("system", None)
    name, rename = _name(con, artifact, dataset)
    options = RunOptions(
        name=name, system=system or tagged, tags=tags, run_at=artifact.run_at, rename=rename,
        leave_forgotten=True,
    )  # fmt: skip
    check_names(dataset, options)
    done = store_run(con, staged, dataset, options, replace)
    if done.status in ("loaded", "replaced"):
        # not the temporary copy
        con.execute(
            "update store.run set source = $source where run_id = $run_id",
            {"source": artifact.source, "run_id": done.id},
        ).fetchall()
    return done


def _name(
    con: duckdb.DuckDBPyConnection, artifact: Artifact, dataset: str
) -> tuple[str, str | None]:
    """Return the name that an artifact has or will have in a dataset, and how to give it another."""
    found = con.execute(
        "select runs.run, run_tag.value, runs.source from runs left join run_tag "
        "on run_tag.run_id = runs.run_id and run_tag.key = $tag "
        "where dataset = $dataset and (runs.run = $name or run_tag.value = $run_id) "
        "order by runs.run_id",
        {"tag": _TAG, "dataset": dataset, "name": artifact.name, "run_id": artifact.run_id},
    ).fetchall()
    suffix = f"/{artifact.run_id}/{artifact.path}"
    for name, run_id, source in found:
        # the experiment may have been renamed since
        if run_id == artifact.run_id and source.endswith(suffix):
            return str(name), None
    is_taken = any(
        name == artifact.name and run_id in artifact.siblings for name, run_id, _ in found
    )
    return artifact.apart if is_taken else artifact.name, "by renaming its run in MLflow"
