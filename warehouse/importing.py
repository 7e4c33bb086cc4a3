"""Loading runs that other programs keep: methods of the class `Warehouse`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from warehouse.errors import DatabaseError, InputError, LockedError, WarehouseError
from warehouse.opened import File

if TYPE_CHECKING:
    from warehouse.ingest import Loaded


class Importing(File):
    """Loads runs that other programs keep."""

    def ingest_mlflow(
        self,
        uri: str,
        experiment: str,
        dataset: str,
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

        `artifacts` is a pattern for their paths. Returns the place and the outcome of each
        artifact; `on_run` is called with them as each is done. Each artifact is loaded in its own
        transaction, and one that fails does not stop the others. Parameters and tags become tags,
        the start time becomes `run_at`. An artifact that was loaded before keeps its name; one
        whose run was forgotten is not loaded again. Raises UsageError for an unknown experiment or
        if mlflow-skinny is not installed, and InputError if the store is a file or folder that does
        not exist.
        """
        from warehouse.sync.mlflow_runs import ARTIFACTS, Store, load_artifact

        store = Store(uri)
        store.experiment(experiment)  # before a file is made here
        self._ensure()
        every: list[tuple[str, Loaded | WarehouseError]] = []
        for artifact in store.artifacts(experiment, artifacts or ARTIFACTS):
            done: Loaded | WarehouseError
            file = Path(artifact.path)
            try:
                with tempfile.TemporaryDirectory(prefix="warehouse-") as folder:
                    file = store.fetch(artifact, Path(folder))
                    with self._write() as connection:
                        done = load_artifact(
                            connection, artifact, file, dataset, system=system, replace=replace,
                            format=format, columns=columns, normalise=normalise,
                        )  # fmt: skip
            except (DatabaseError, LockedError):
                raise
            except WarehouseError as error:
                # of the copy, nobody needs to know
                text = str(error).replace(str(file), artifact.source)
                named = artifact.source in text
                done = InputError(text if named else f"{artifact.source}: {text}")
            every.append((artifact.source, done))
            if on_run is not None:
                on_run(*every[-1])
        return every
