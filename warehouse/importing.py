"""Taking in runs from where other programs keep them: verbs of the class `Warehouse`."""

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
    """A warehouse file that can take in what other programs keep."""

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
        """Load the artifacts of an MLflow experiment's finished runs that match a pattern of paths.

        Returns each artifact's place with what became of it, of which `on_run` is told as it is done;
        each is a transaction of its own, and one that fails stops no other. Parameters and tags become
        tags, the start time `run_at`. An artifact that was loaded before keeps the name that it has;
        one whose run was forgotten is not loaded again. Raises UsageError for an unknown experiment, or
        where mlflow-skinny is not installed, and InputError where the store is a file or folder that is
        not there.
        """
        from warehouse import schema
        from warehouse.ingest.mlflow_runs import ARTIFACTS, Store, load_artifact

        store = Store(uri)
        store.experiment(experiment)  # before a file is made here
        schema.ensure(self.path, lock_timeout=self.lock_timeout)
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
