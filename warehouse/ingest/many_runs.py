"""Loading many runs, in batches that are staged first, and then stored in one transaction each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from warehouse.errors import WarehouseError
from warehouse.ingest.arguments import OnRun
from warehouse.ingest.runs import RunOptions, load_staged
from warehouse.ingest.steps import Loaded, Outcomes
from warehouse.readers import batches, row_rules
from warehouse.readers.arguments import Rows
from warehouse.readers.files import missing
from warehouse.store.file import WarehouseFile

Done = Loaded | WarehouseError


def load_runs(
    file: WarehouseFile,
    sources: Sequence[object],
    dataset: str,
    options: RunOptions,
    *,
    replace: bool,
    on_run: OnRun | None = None,
    **how: Unpack[Rows],
) -> Outcomes[Done]:
    """Load runs and return the outcome of each, in order; see `Warehouse.ingest_runs`."""
    on_run = on_run or (lambda source, done: None)
    if not file.path.exists():
        absent = [error for error in map(missing, sources) if error is not None]
        if absent and len(absent) == len(sources):  # both names may be wrong: no file is made
            for source, error in zip(sources, absent, strict=True):
                on_run(source, error)
            return Outcomes(absent)
    file.ensure()
    every: Outcomes[Done] = Outcomes()
    named: dict[str, str] = {}
    how["repeated"] = row_rules.best_is(how.get("repeated"), lowest=options.lower_is_better)
    for group in batches.groups(sources, **how):
        with file.staging() as staging:
            for batch in group.read(staging.con):
                if isinstance(batch, batches.Refusal):
                    done: list[Done] = [batch.error]
                else:
                    of_each = [options] * len(batch.runs)
                    with staging.transaction() as con:
                        done = load_staged(con, batch, dataset, of_each, replace, named)
                for source, one in zip(sources[len(every) :], done, strict=False):
                    on_run(source, one)
                every += done
    return every
