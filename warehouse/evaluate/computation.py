"""How an evaluation computes its values: here, in the tables of the caller's transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

import duckdb

from warehouse.evaluate import engine, stored_hits, unanswerable
from warehouse.evaluate.candidates import Candidate, in_batches
from warehouse.evaluate.plan import Plan
from warehouse.evaluate.scope import Scope


class Computation:
    """Computes values in the tables that SQL finds; a subclass can shadow them with its own."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        self.notes: dict[str, None] = {}

    def open(self) -> None:
        """Make sure that the file is open."""

    def batches(
        self, group: Sequence[Candidate], most: int | None
    ) -> Iterable[Sequence[Candidate]]:
        """Divide runs into batches of at most `most` predictions."""
        return [group] if most is None else in_batches(group, most)

    def copy_inputs(self, work: Plan, qrels_id: int) -> None:
        """Prepare for the runs in scope, before their hits are made and put in scope."""

    def keep_hits(self, made: Collection[Candidate]) -> None:
        """Store the new hits of some runs, if the tables that have them are temporary."""

    def make_hits(
        self, work: Plan, qrels_id: int, batch: Sequence[Candidate]
    ) -> dict[Candidate, int]:
        """Make the missing hits of the runs in scope; return these runs' numbers of hits."""
        return stored_hits.make(self.con, work.protocol, qrels_id, batch)

    def compute(
        self, work: Plan, listed: Sequence[int], on_metric: Callable[[str], None] | None
    ) -> None:
        """Compute pending metrics; the predictions of the runs that are listed are read."""
        if listed:
            Scope(self.con).predictions(listed)
        with self.metrics_context(work):
            engine.compute(self.con, work, stored=True, on_metric=on_metric)
            self.notes |= dict.fromkeys(unanswerable.notes(self.con, work))

    def metrics_context(self, work: Plan) -> AbstractContextManager[None]:
        """Return the context manager in which metrics are computed."""
        return nullcontext()
