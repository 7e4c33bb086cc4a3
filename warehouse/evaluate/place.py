"""Where an evaluation puts its values: into the file, in the caller's transaction, or beside it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

import duckdb

from warehouse.evaluate import engine, stored_hits, unanswerable
from warehouse.evaluate.candidates import Candidate, in_batches
from warehouse.evaluate.plan import Plan
from warehouse.evaluate.scope import Scope


class Place:
    """The tables that SQL finds, whatever they are; a subclass can put others before them."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        self.notes: dict[str, None] = {}

    def open(self) -> None:
        """Make sure that the file is open."""

    def batches(
        self, group: Sequence[Candidate], most: int | None
    ) -> Iterable[Sequence[Candidate]]:
        """Divide runs into those that are computed together, of at most so many predictions."""
        return [group] if most is None else in_batches(group, most)

    def take(self, work: Plan, qrels_id: int) -> None:
        """Prepare for the runs in scope, before their hits are made and put in scope."""

    def keep(self, made: Collection[Candidate]) -> None:
        """Take care of the hits that were made for some runs."""

    def hits(self, work: Plan, qrels_id: int, batch: Sequence[Candidate]) -> dict[Candidate, int]:
        """Make the missing hits of the runs in scope; return these runs' numbers of hits."""
        return stored_hits.make(self.con, work.protocol, qrels_id, batch)

    def compute(
        self, work: Plan, listed: Sequence[int], on_metric: Callable[[str], None] | None
    ) -> None:
        """Compute what is pending; the predictions of the runs that are listed are read."""
        if listed:
            Scope(self.con).predictions(listed)
        with self.computing(work):
            engine.compute(self.con, work, on_metric=on_metric)
            self.notes |= dict.fromkeys(unanswerable.notes(self.con, work))

    def computing(self, work: Plan) -> AbstractContextManager[None]:
        """Return what surrounds the computation of metrics."""
        return nullcontext()
