"""The verbs of history, which the class `Warehouse` has beside its own."""

from __future__ import annotations

import duckdb

from warehouse import database, protocols
from warehouse.analyze import board, past
from warehouse.analyze.history import QrelsDiff, Timeline, qrels_diff, timeline
from warehouse.ingest.forget import Forgotten, forget
from warehouse.metrics import Metrics
from warehouse.opened import File, Texts, texts
from warehouse.project import request
from warehouse.templates import render


class Remembering(File):
    """A warehouse file that can say what was, and where its numbers come from."""

    def history(
        self,
        dataset: str,
        metric: str,
        *,
        system: str | None = None,
        runs: Texts = (),
        protocol: str = protocols.DEFAULT,
        as_of: past.Moment | None = None,
        qrels: int | None = None,
    ) -> duckdb.DuckDBPyRelation:
        """Return the runs of a dataset over time, each version with its value of a metric.

        Columns: `run_at, run, version, system, value, best_so_far, is_record, gain`, oldest first. A
        record is a value that is better than all before it, and `gain` is by how much. The values are
        against the current qrels, or the version `qrels`. Raises UsageError for wrong names.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels({"q": {"a": 1}}, "tiny")
        >>> _ = wh.ingest_run({"q": {"b": 2.0, "a": 1.0}}, "tiny", name="first")
        >>> _ = wh.ingest_run({"q": {"a": 1.0}}, "tiny", name="second")
        >>> _ = wh.evaluate(metrics="RR")
        >>> wh.history("tiny", "RR").project("run, value, best_so_far, is_record, gain").fetchall()
        [('first', 0.5, 0.5, True, None), ('second', 1.0, 1.0, True, 0.5)]
        """
        return self.timeline(
            dataset, metric,
            system=system, runs=runs, protocol=protocol, as_of=as_of, qrels=qrels,
        ).relation  # fmt: skip

    @request()
    def timeline(
        self,
        dataset: str,
        metric: str,
        *,
        system: str | None = None,
        runs: Texts = (),
        protocol: str = protocols.DEFAULT,
        as_of: past.Moment | None = None,
        qrels: int | None = None,
    ) -> Timeline:
        """Return what `history` does, with what it is of."""
        with (
            self._read() as con,
            past.put(con, [dataset], past.state(as_of, qrels)) as ((name,), _),
        ):
            rules = board.stored_rules(con, protocol)
            return timeline(con, name, metric, rules, system=system, runs=texts(runs))

    def qrels(self, dataset: str | None = None) -> duckdb.DuckDBPyRelation:
        """Return the versions of the qrels, of one dataset or of all.

        Columns: `dataset, version, is_current, kind, label, queries, judgments, relevant, runs,
        ingested_at, source`; `runs` counts those that have values against it.
        """
        with self._read() as con:
            if dataset is not None:
                board.check_dataset(con, dataset)
            return board.keep(con, render("analyses/qrels"), {"dataset": dataset})

    @request()
    def qrels_diff(
        self,
        dataset: str,
        before: int,
        after: int,
        *,
        metrics: Metrics = (),
        protocol: str = protocols.DEFAULT,
    ) -> QrelsDiff:
        """Return what differs between two versions of the qrels, and what it does to the boards.

        The boards are those of the metrics that have values against both versions; of an older one they
        are made by `evaluate(dataset, qrels=1)`.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels({"q": {"a": 1, "b": 0}}, "tiny")
        >>> _ = wh.ingest_qrels({"q": {"a": 2, "c": 1}}, "tiny", replace=True)
        >>> wh.qrels_diff("tiny", 1, 2).rows.project("doc_id, change, before, after").fetchall()
        [('a', 'changed', 1.0, 2.0), ('b', 'removed', 0.0, None), ('c', 'added', None, 1.0)]
        """
        with self._read() as con:
            board.check_dataset(con, dataset)
            rules = board.stored_rules(con, protocol)
            names = board.names(con, [dataset], texts(metrics), rules)
            return qrels_diff(con, dataset, before, after, rules, names)

    def forget(
        self,
        run: str,
        dataset: str,
        *,
        version: int | None = None,
        reason: str | None = None,
        dry_run: bool = False,
    ) -> Forgotten:
        """Remove a run, all its versions or one: its predictions, hits and values.

        What the catalogue says of it stays, with `reason`, in the table forgotten_run. The newest
        version that is left is the current one; the same content may be loaded again. Raises UsageError
        where there is no such run or version.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_run({"q1": {"a": 1.0}}, "tiny", name="wrong")
        >>> wh.forget("wrong", "tiny", reason="trained on the test set").versions
        (1,)
        >>> wh.runs("tiny").fetchall()
        []
        """
        with self._read() as con:
            board.check_dataset(con, dataset)
            found = forget(con, run, dataset, version=version, dry_run=True)
        if dry_run:
            return found
        with self._write() as connection:
            return forget(database.raw(connection), run, dataset, version=version, reason=reason)
