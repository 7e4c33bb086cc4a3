"""The hits of stored runs: made where they are missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb

from warehouse.errors import UsageError, listing
from warehouse.evaluate import hits
from warehouse.evaluate.candidates import Candidate, in_batches
from warehouse.evaluate.scope import Scope
from warehouse.metrics.protocols import Protocol
from warehouse.readers.checks import make_steps, walk
from warehouse.sql_text.templates import render

# The most predictions that one statement ranks; more runs go in batches, so that memory is bounded.
BATCH_PREDICTIONS = 4_000_000


def make(
    con: duckdb.DuckDBPyConnection, protocol: Protocol, qrels_id: int, runs: Sequence[Candidate]
) -> dict[Candidate, int]:
    """Make the missing hits of the runs in scope; return these runs' numbers of hits."""
    key = {"qrels_id": qrels_id, "ordering": protocol.ordering}
    lacking = missing(con, protocol, qrels_id, runs)
    for table, lower_is_better, some in _stored_alike(con, lacking):
        for batch in in_batches(some, BATCH_PREDICTIONS):
            for matched in _matched(con, protocol, batch, table, lower_is_better):
                con.execute(render("statements/hits", matched=matched), key)
                con.execute(render("statements/hit_sets"), key)
    return num_hits(con, protocol, qrels_id, lacking)


def missing(
    con: duckdb.DuckDBPyConnection, protocol: Protocol, qrels_id: int, runs: Sequence[Candidate]
) -> list[Candidate]:
    """Return the runs in scope whose hits are missing. Raises UsageError if one has no predictions."""
    rows = con.execute(
        "select run_id from scope_run anti join "
        "(select run_id from hit_set where qrels_id = $qrels_id and ordering = $ordering) "
        "using (run_id)",
        {"qrels_id": qrels_id, "ordering": protocol.ordering},
    ).fetchall()
    ids = {row[0] for row in rows}
    found = [run for run in runs if run.run_id in ids]
    if found:
        _check_lists(con, found)
    return found


def num_hits(
    con: duckdb.DuckDBPyConnection, protocol: Protocol, qrels_id: int, runs: Sequence[Candidate]
) -> dict[Candidate, int]:
    """Return the numbers of hits of some runs."""
    found = con.execute(
        "select run_id, num_hits from hit_set where qrels_id = $qrels_id and ordering = $ordering",
        {"qrels_id": qrels_id, "ordering": protocol.ordering},
    ).fetchall()
    numbers = dict(found)
    return {run: numbers[run.run_id] for run in runs}


def without_lists(con: duckdb.DuckDBPyConnection, runs: Sequence[Candidate]) -> list[Candidate]:
    """Return the runs whose predictions are not in the file, as after collecting from a lake."""
    rows = con.execute(
        "select run_id from (select unnest($ids::integer[]) as run_id) semi join ranking using (run_id)",
        {"ids": [run.run_id for run in runs]},
    ).fetchall()
    there = {run_id for (run_id,) in rows}
    return [run for run in runs if run.num_predictions and run.run_id not in there]


def _check_lists(con: duckdb.DuckDBPyConnection, runs: Sequence[Candidate]) -> None:
    without = without_lists(con, runs)
    if without:
        raise UsageError(
            f"{listing(sorted(run.run for run in without), 5)}: the file has values of the run, but no "
            "predictions, as it was made from a lake; compute what is missing in a file that has "
            "them, where it was loaded at first or by 'warehouse pull', and push that file"
        )


def _stored_alike(
    con: duckdb.DuckDBPyConnection, runs: Sequence[Candidate]
) -> Iterator[tuple[str, bool, list[Candidate]]]:
    """Yield runs grouped by their table, and by whether their lowest scores are the best."""
    if not runs:
        return
    bounds = Scope(con).batch([run.run_id for run in runs])
    rows = con.execute(render("statements/stored_in", **bounds)).fetchall()
    stored = {run_id: (table, lower_is_better) for run_id, table, lower_is_better in rows}
    for table, lower_is_better in sorted(set(stored.values())):
        alike = [run for run in runs if stored[run.run_id] == (table, lower_is_better)]
        yield table, lower_is_better, alike


def _matched(
    con: duckdb.DuckDBPyConnection,
    protocol: Protocol,
    batch: Sequence[Candidate],
    table: str,
    lower_is_better: bool,
) -> Iterator[str]:
    """Put predictions of one table in scope; yield the fastest query for their hits.

    If only some runs are in order, there are two queries, each for its own runs.
    """
    scope = Scope(con)
    if protocol.exclude is not None:  # the places of the documents are not their ranks
        scope.predictions([run.run_id for run in batch])
        yield hits.in_any_order(con, protocol)
        return
    scope.stored_lists([run.run_id for run in batch], table, lower_is_better=lower_is_better)
    make_steps(con)
    for stretch in con.execute(render("statements/stored_stretches")).fetchall():
        walk(con, table, "list_place", lowest_first=lower_is_better, stretch=stretch)
    others = hits.out_of_order(con, protocol)
    ordered = [run for run in batch if run.run_id not in others]
    if ordered:
        scope.batch([run.run_id for run in ordered])
        rows = sum(run.num_predictions for run in ordered)
        numbered = table == "prediction_by_number"
        yield hits.by_position(con, protocol, rows, numbered=numbered)
    if others:
        scope.predictions(sorted(others))
        yield hits.in_any_order(con, protocol)
