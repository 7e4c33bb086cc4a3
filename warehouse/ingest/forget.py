"""Removing runs, or a whole dataset, with everything computed from them; a row records each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from warehouse.errors import UsageError, listing, no_such_run
from warehouse.sql_text.templates import render
from warehouse.store import checksums
from warehouse.store.clock import Clock


@dataclass(frozen=True)
class Forgotten:
    """A removal, done or planned: versions of a run, with counts of the rows removed with them.

    `current` is the version of the run that counts afterwards, or None if none is left.
    """

    dataset: str
    run: str
    versions: tuple[int, ...]
    num_predictions: int
    num_evaluations: int
    current: int | None


@dataclass(frozen=True)
class ForgottenDataset:
    """How much was removed, or would be, of a whole dataset: versions of runs and of qrels, and rows."""

    dataset: str
    num_runs: int
    num_predictions: int
    num_evaluations: int
    num_qrels: int
    num_judgments: int
    num_texts: int


def forget(
    con: duckdb.DuckDBPyConnection,
    run: str,
    dataset: str,
    *,
    version: int | None = None,
    reason: str | None = None,
    dry_run: bool = False,
) -> Forgotten:
    """Remove all versions of a run, or one, inside the caller's transaction.

    Raises UsageError if there is no such run or version.
    """
    rows = con.execute(
        "select run.name, run.version, run_id, num_predictions "
        "from run join dataset using (dataset_id) where dataset.name = $dataset "
        "order by recency(ingested_at, content_hash)",
        {"dataset": dataset},
    ).fetchall()
    names = {str(name) for name, *_ in rows}
    if run not in names:
        raise UsageError(no_such_run(run, dataset, names))
    versions = {number: (run_id, count) for name, number, run_id, count in rows if name == run}
    if version is not None and version not in versions:
        raise UsageError(f"{run}: has no version {version}; it has {listing(map(str, versions))}")
    chosen = {n: found for n, found in versions.items() if version in (None, n)}
    ids = [run_id for run_id, _ in chosen.values()]
    ((num_evaluations,),) = con.execute(
        "select count(*) from evaluation where list_contains($ids, run_id)", {"ids": ids}
    ).fetchall()
    if not dry_run:
        _remove(con, ids, reason)
    return Forgotten(
        dataset=dataset,
        run=run,
        versions=tuple(chosen),
        num_predictions=sum(count for _, count in chosen.values()),
        num_evaluations=num_evaluations,
        current=next((n for n in reversed(versions) if n not in chosen), None),
    )


def forget_dataset(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    *,
    reason: str | None = None,
    dry_run: bool = False,
) -> ForgottenDataset:
    """Remove all that a dataset has, inside the caller's transaction."""
    given = {"dataset": dataset}
    counts = con.execute(render("statements/dataset_counts"), given).fetchall()[0]
    if not dry_run:
        ((number,),) = con.execute(
            "select dataset_id from dataset where name = $dataset", given
        ).fetchall()
        rows = con.execute("select run_id from run where dataset_id = $1", [number]).fetchall()
        if rows:
            _remove(con, [run_id for (run_id,) in rows], reason)
        con.execute(render("statements/forget_dataset", dataset_id=number))
    return ForgottenDataset(dataset, *map(int, counts))


def _remove(con: duckdb.DuckDBPyConnection, ids: Sequence[int], reason: str | None) -> None:
    """Remove versions of runs."""
    compared = (
        "comparison_id in (select comparison_id from store.comparison_pair where "
        "list_contains($ids, run_id) or list_contains($ids, base_id))"
    )
    checksums.change(con, "comparison", {}, compared, {"ids": ids})
    con.execute(render("statements/forget", run_ids=ids, reason=reason, now=Clock(con).now()))
