"""Where an evaluation puts its values: into the file, in the caller's transaction, or beside it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

from warehouse.evaluate.candidates import Candidate
from warehouse.evaluate.plan import Plan


class Place:
    """The tables that SQL finds, whatever they are; a subclass can put others before them."""

    def open(self) -> None:
        """Make sure that the file is open."""

    def batches(self, work: Plan, group: Sequence[Candidate]) -> Iterator[Sequence[Candidate]]:
        """Divide runs into those that are computed together."""
        yield group

    def take(self, work: Plan, qrels_id: int) -> None:
        """Prepare for the runs in scope, before their hits are made and put in scope."""

    def keep(self, made: Collection[Candidate]) -> None:
        """Take care of the hits that were made for some runs."""

    def computing(self, work: Plan) -> AbstractContextManager[None]:
        """Return what surrounds the computation of metrics."""
        return nullcontext()
