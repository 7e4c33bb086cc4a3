"""A warehouse that lasts as long as a call."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from warehouse.errors import UsageError, listing
from warehouse.extensions.peers.ranx.lists import Run
from warehouse.warehouse import Warehouse

DATASET = "compared"


def names_of(runs: Sequence[Run]) -> list[str]:
    """Return the names of runs, `run_1` and so on for those without; each must have its own."""
    names = [f"run_{n}" if run.name is None else run.name for n, run in enumerate(runs, start=1)]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise UsageError(f"{listing(twice)}: is the name of two runs; give each its own")
    return names


@contextmanager
def warehouse(runs: Sequence[Run], threads: int = 0) -> Iterator[Warehouse]:
    """Open a warehouse with some runs, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="warehouse-") as folder:
        wh = Warehouse(Path(folder) / "scratch.duckdb", threads=threads or None)
        for name, run in zip(names_of(runs), runs, strict=True):
            wh.ingest_run(DATASET, run.to_dict(), name=name)
        yield wh
