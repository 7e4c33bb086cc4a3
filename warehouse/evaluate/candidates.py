"""The stored runs to evaluate, with the qrels to evaluate them against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import duckdb

from warehouse.errors import UsageError, command, listing, nearest
from warehouse.sql_text.templates import render
from warehouse.store import datasets


class Candidate(NamedTuple):
    """A current run and qrels of its dataset: the current version, or a requested one."""

    dataset: str
    qrels_id: int | None
    run: str
    run_id: int
    num_predictions: int


def find(
    con: duckdb.DuckDBPyConnection,
    dataset: str | None,
    runs: Sequence[str],
    qrels: int | None = None,
) -> list[Candidate]:
    """Return the requested runs. Wrong names are refused with the nearest right one.

    They are evaluated against the current qrels of their datasets, or against a version of one
    dataset's.
    """
    if qrels is not None and dataset is None:
        known = datasets.names(con)
        hint = f"; known are {listing(known) or 'none yet'}"
        if len(known) == 1:
            hint = f": {command('evaluate', known[0], qrels=qrels)}"
        raise UsageError(f"a version of the qrels belongs to one dataset; name the dataset{hint}")
    datasets.check(con, dataset)
    asked = {"dataset": dataset, "qrels_version": None if qrels is None else int(qrels)}
    rows = con.execute(render("statements/candidates"), asked).fetchall()
    found = list(map(Candidate._make, [row for row in rows if row[2] in runs] if runs else rows))
    if qrels is not None and any(candidate.qrels_id is None for candidate in found):
        name = found[0].dataset
        raise UsageError(
            f"{name}: has no version {qrels} of its qrels; see: {command('qrels', name)}"
        )
    if runs:
        names = {run for _, _, run, *_ in rows}
        wrong = [
            f"{run}: no such run{nearest(run, names) or '; see: warehouse runs'}"
            for run in runs
            if run not in names
        ]
        if wrong:
            raise UsageError("\n".join(wrong))
    return found


def in_batches(runs: Sequence[Candidate], size: int) -> Iterator[list[Candidate]]:
    """Divide a list of runs into batches of at most so many predictions; a run is never divided."""
    batch: list[Candidate] = []
    filled = 0
    for run in runs:
        if batch and filled + run.num_predictions > size:
            yield batch
            batch, filled = [], 0
        batch.append(run)
        filled += run.num_predictions
    if batch:
        yield batch
