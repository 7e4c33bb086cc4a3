"""Loading many runs, in batches of one transaction each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from warehouse.errors import EngineError, WarehouseError
from warehouse.ingest.runs import RunOptions, load_staged
from warehouse.ingest.steps import Loaded
from warehouse.readers import batches
from warehouse.readers.files import missing
from warehouse.store import database
from warehouse.store.engine_errors import is_ended
from warehouse.store.file import WarehouseFile

Done = Loaded | WarehouseError


def load_runs(
    file: WarehouseFile,
    sources: Sequence[object],
    dataset: str,
    options: RunOptions,
    *,
    format: str | None,
    columns: Mapping[str, str] | None,
    normalise: str | None,
    replace: bool,
    on_run: Callable[[object, Done], None],
) -> list[Done]:
    """Load runs and return the outcome of each, in order; see `Warehouse.ingest_runs`."""
    if not file.path.exists():
        absent = [error for error in map(missing, sources) if error is not None]
        if absent and len(absent) == len(sources):  # both names may be wrong: no file is made
            for source, error in zip(sources, absent, strict=True):
                on_run(source, error)
            return [*absent]
    file.ensure()

    def load(group: batches.Group) -> list[Done]:
        done: list[Done] = []
        with file.write() as connection:
            for batch in group.read(database.raw(connection)):
                if isinstance(batch, batches.Refusal):
                    done.append(batch.error)
                else:
                    of_each = [options] * len(batch.runs)
                    done += load_staged(connection, batch, dataset, of_each, replace, named)
        return done

    every: list[Done] = []
    named: dict[str, str] = {}
    for group in batches.groups(sources, format=format, columns=columns, normalise=normalise):
        try:
            done = load(group)
        except EngineError as error:
            if not is_ended(error):
                raise
            # one that cannot be read has ended the transaction of all
            done = [one for single in group.each() for one in load(single)]
        for source, one in zip(sources[len(every) :], done, strict=False):
            on_run(source, one)
        every += done
    return every
