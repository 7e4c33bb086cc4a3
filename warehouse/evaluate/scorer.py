"""Scoring one run after another against the same qrels, as in a training loop."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Unpack

import duckdb

from warehouse.config.explicit import explicit
from warehouse.config.project import request
from warehouse.errors import UsageError, check_at_least
from warehouse.evaluate import file_scoring, scoring, unanswerable
from warehouse.evaluate.arguments import Files, Rules, Scoring, part
from warehouse.evaluate.scoring import Scores, ScoringRequest, all_warnings
from warehouse.metrics import notation, protocols
from warehouse.readers.arguments import Source
from warehouse.sql_text.templates import render
from warehouse.store import database
from warehouse.store.engine_errors import at_the_edge


class Scorer:
    """Qrels and metrics that are ready to score runs: see `scorer`.

    A call scores one run and returns the `Scores` of `score`, with the same values. They are there
    until the next call, or until the scorer is closed; take the values that you need before. A scorer
    belongs to the thread that made it.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        asked: ScoringRequest,
        truth: file_scoring.Truth,
        reading: file_scoring.Reading,
    ) -> None:
        self._con = con
        self._asked = asked
        self._truth = truth
        self._reading = reading
        self._kept = file_scoring.Kept()
        self._thread = threading.get_ident()
        self._is_open = True
        self._calls = 0
        self._has_notes: bool | None = None
        self._sql = render(
            "analyses/scored",
            metrics=[str(metric) for metric in asked.work.queries],
            runs=(),
            per_query=True,
            list_silent=asked.rules.list_silent,
        )

    @request()
    @at_the_edge()
    def __call__(self, run: Source) -> Scores:
        """Score a run: a path, a dict, a data frame, an Arrow table or a DuckDB relation."""
        self._check()
        con, asked, truth = self._con, self._asked, self._truth
        self._calls += 1
        con.execute(f"set variable scored_call = {self._calls}")
        try:
            reading, kept = self._reading, self._kept
            (scored,) = file_scoring.score_runs(con, truth, [run], asked.work, reading, kept)
            database.keep(con, self._sql)
            if self._has_notes is None:
                self._has_notes = bool(unanswerable.possible_numbers(con, asked.work))
            notes = tuple(unanswerable.notes(con, asked.work)) if self._has_notes else ()
        except BaseException:
            self._kept.forget()
            con.execute(f"drop table if exists temp.{database.RESULT}")
            raise
        values = con.sql(render("analyses/scored_last", call=self._calls))
        return Scores(
            values, tuple(asked.requested), truth.qrels, scored.num_judged, scored.runs,
            lines=tuple(asked.lines), notes=notes,
            warnings=all_warnings(
                truth.qrels, [("", scored.runs[0])], scored.num_judged, asked.rules
            ),
        )  # fmt: skip

    def close(self) -> None:
        """Free the memory; the values of the last call are gone too."""
        if self._is_open:
            self._is_open = False
            self._con.close()

    def __enter__(self) -> Scorer:
        """Return the scorer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def _check(self) -> None:
        if not self._is_open:
            raise UsageError(
                "the scorer is closed: score inside its with block, or make another one"
            )
        if self._thread != threading.get_ident():
            raise UsageError("the scorer belongs to another thread: make one for each thread")


@explicit(Scoring, protocol=protocols.DEFAULT, attributes=())
@request()
@at_the_edge()
def scorer(
    qrels: Source, metrics: notation.Metrics | None = None, **how: Unpack[Scoring]
) -> Scorer:
    """Read qrels once, to score one run after another against them, as in a training loop.

    The arguments are as in `score`, and so are the values, to the bit. Qrels, ideal rankings and
    SQL are kept in memory; a call reads only its run. Use it in a `with` block, which frees the
    memory. Values are there until the next call. A scorer belongs to the thread that made it.

    >>> qrels = {"q": {"a": 1}}
    >>> with scorer(qrels, "RR P@1") as score_run:
    ...     for run in ({"q": {"b": 2.0, "a": 1.0}}, {"q": {"a": 3.0}}):
    ...         print(score_run(run).means())
    {'RR': 0.5, 'P@1': 0.0}
    {'RR': 1.0, 'P@1': 1.0}
    """
    check_at_least(1, level=how["level"], depth=how["depth"], threads=how["threads"])
    asked = scoring.ask(metrics, exclude=how["exclude"], **part(Rules, how))
    if any(isinstance(line, notation.Relstring) for line in asked.lines):
        raise UsageError("relstring: is no metric; a scorer computes metrics only")
    resources = database.Resources(how["memory_limit"], how["threads"])
    return prepare(asked, qrels, resources, **part(Files, how))


def prepare(
    asked: ScoringRequest,
    qrels: object,
    resources: database.Resources | None = None,
    **how: Unpack[Files],
) -> Scorer:
    """Read qrels for metrics that were asked for; the other arguments are as in `scorer`."""
    con = database.scratch(resources or database.Resources())
    try:
        return Scorer(con, asked, *file_scoring.opened(con, qrels, asked.work, **how))
    except BaseException:
        con.close()
        raise
