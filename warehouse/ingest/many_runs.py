"""Loading many runs, in batches that are staged first, and then stored in one transaction each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from warehouse.errors import WarehouseError
from warehouse.ingest.runs import RunOptions, load_staged
from warehouse.ingest.steps import Loaded, Outcomes
from warehouse.readers import batches, row_rules
from warehouse.readers.files import missing
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
    where: str | None,
    repeated: str | None,
    replace: bool,
    on_run: Callable[[object, Done], None],
) -> Outcomes[Done]:
    """Load runs and return the outcome of each, in order; see `Warehouse.ingest_runs`."""
    if not file.path.exists():
        absent = [error for error in map(missing, sources) if error is not None]
        if absent and len(absent) == len(sources):  # both names may be wrong: no file is made
            for source, error in zip(sources, absent, strict=True):
                on_run(source, error)
            return Outcomes(absent)
    file.ensure()
    every: Outcomes[Done] = Outcomes()
    named: dict[str, str] = {}
    for group in batches.groups(
        sources,
        format=format,
        columns=columns,
        normalise=normalise,
        where=where,
        repeated=row_rules.best_is(repeated, lowest=options.lower_is_better),
    ):
        with file.staging() as place:
            for batch in group.read(place.con):
                if isinstance(batch, batches.Refusal):
                    done: list[Done] = [batch.error]
                else:
                    of_each = [options] * len(batch.runs)
                    with place.write() as connection:
                        done = load_staged(connection, batch, dataset, of_each, replace, named)
                for source, one in zip(sources[len(every) :], done, strict=False):
                    on_run(source, one)
                every += done
    return every
