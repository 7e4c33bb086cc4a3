"""History and provenance: methods of the class `Warehouse`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import duckdb

from warehouse.analyze import datasets, leaderboard, past
from warehouse.config.project import request
from warehouse.config.settings import DEFAULT_METRICS
from warehouse.errors import UsageError, no_such_run
from warehouse.metrics import protocols
from warehouse.metrics.notation import Metrics, parse
from warehouse.opened import File, Texts, texts
from warehouse.sql_text.templates import render
from warehouse.store import database

if TYPE_CHECKING:
    from warehouse.analyze.explain import Explanation
    from warehouse.analyze.history import QrelsDiff, Timeline
    from warehouse.evaluate.status import Status
    from warehouse.evaluate.verify import Verified
    from warehouse.ingest.forget import Forgotten


class Remembering(File):
    """Shows past values and where values came from; verifies and forgets."""

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

        Columns: `run_at, run, version, system, value, best_so_far, is_record, gain`, oldest first.
        A record is a value that is better than all before it; `gain` is the difference. Values are
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
        """Return the result of `history` with its metric, dataset, direction and notes."""
        from warehouse.analyze.history import timeline

        wanted = past.state(as_of, qrels)
        with self._read() as con, past.put(con, [dataset], wanted) as ((name,), gone):
            rules = leaderboard.stored_rules(con, protocol)
            found = timeline(
                con, name, metric, rules, system=system, runs=texts(runs), wanted=wanted
            )
            return replace(found, notes=(*found.notes, *gone))

    def qrels(self, dataset: str | None = None) -> duckdb.DuckDBPyRelation:
        """Return the versions of the qrels of one dataset or of all.

        Columns: `dataset, version, is_current, kind, label, queries, judgments, relevant, runs,
        ingested_at, source`. `runs` is how many runs have values against this version.
        """
        with self._read() as con:
            if dataset is not None:
                datasets.check(con, dataset)
            return database.keep(con, render("analyses/qrels"), {"dataset": dataset})

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
        """Compare two versions of the qrels, and the boards under them.

        The boards are those of the metrics that have values against both versions by the same
        formula. Call `evaluate(dataset, qrels=1)` to compute values against an older version.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels({"q": {"a": 1, "b": 0}}, "tiny")
        >>> _ = wh.ingest_qrels({"q": {"a": 2, "c": 1}}, "tiny", replace=True)
        >>> wh.qrels_diff("tiny", 1, 2).rows.project("doc_id, change, before, after").fetchall()
        [('a', 'changed', 1.0, 2.0), ('b', 'removed', 0.0, None), ('c', 'added', None, 1.0)]
        """
        from warehouse.analyze.history import qrels_diff

        with self._read() as con:
            datasets.check(con, dataset)
            rules = leaderboard.stored_rules(con, protocol)
            names = leaderboard.names(con, [dataset], texts(metrics), rules)
            return qrels_diff(con, dataset, before, after, rules, names)

    @request()
    def status(self, dataset: str | None = None) -> Status:
        """Return what is missing, stale or orphaned, and what `evaluate` would read.

        A value is missing if a current run has none against the current qrels for a metric that the
        dataset has values of (for `DEFAULT_METRICS`, if the dataset has no values yet). Orphaned
        rows are searched only if no dataset is named.
        """
        from warehouse.evaluate.status import status

        usual = parse(*DEFAULT_METRICS, defaults=protocols.get(protocols.DEFAULT).defaults())
        with self._read() as con:
            if dataset is not None:
                datasets.check(con, dataset)
            return status(con, dataset, usual)

    @request()
    def verify(
        self,
        dataset: str | None = None,
        *,
        sample: int | None = None,
        seed: int = 0,
        on_group: Callable[[str], None] | None = None,
    ) -> Verified:
        """Recompute stored values from the stored predictions and compare every bit.

        It recomputes all evaluations, or a `sample` of that many, each with its queries. Nothing is
        stored. Whatever the dataset, the whole database is searched for rows that cannot be right.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels({"q": {"a": 1}}, "tiny")
        >>> _ = wh.ingest_run({"q": {"b": 2.0, "a": 1.0}}, "tiny", name="first")
        >>> _ = wh.evaluate(metrics="AP RR")
        >>> found = wh.verify("tiny")
        >>> found.is_good, found.num_verified
        (True, 2)
        """
        from warehouse.evaluate.verify import verify

        with self._read() as con:
            if dataset is not None:
                datasets.check(con, dataset)
            return verify(con, dataset, sample=sample, seed=seed, on_group=on_group)

    def show(self, run: str, dataset: str) -> duckdb.DuckDBPyRelation:
        """Return where a run came from: one row per version, newest first, forgotten ones included.

        Columns: `run, version, system, tags, source, source_sha256, content_hash, format,
        normalise, trec_tag, ranked_by, lower_is_better, queries, predictions, run_at, ingested_at,
        program_version, fusion, fused_from, metrics, forgotten_at, reason`. `fusion` and
        `fused_from` say how a run was merged and from which runs; they are null for a run that was
        not merged.
        """
        with self._read() as con:
            datasets.check(con, dataset)
            found = database.keep(
                con, render("analyses/run_versions"), {"dataset": dataset, "run": run}
            )
            if not found.fetchall():
                rows = con.execute("select run from runs where dataset = $1", [dataset]).fetchall()
                known = [str(row[0]) for row in rows]
                raise UsageError(no_such_run(run, dataset, known))
            return found

    @request()
    def explain(
        self,
        run: str,
        metric: str,
        query: str,
        dataset: str,
        *,
        top: int | None = None,
        protocol: str = protocols.DEFAULT,
        qrels: int | None = None,
    ) -> Explanation:
        """Explain a current run's value for a query: where it came from, and each document's part.

        A document's part is the value of the list cut after it, minus that of the list cut before
        it; the parts add up to the value. `top` is how many documents are shown; default: the
        metric's cutoff, or 20 without one.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels({"q": {"a": 1, "c": 1}}, "tiny")
        >>> _ = wh.ingest_run({"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, "tiny", name="first")
        >>> _ = wh.evaluate(metrics="AP")
        >>> wh.explain("first", "AP", "q", "tiny").relation.project("doc_id, part").fetchall()
        [('a', 0.5), ('b', 0.0), ('c', 0.33333333333333326)]
        """
        from warehouse.analyze.explain import explain

        with self._read() as con, past.put(con, [dataset], past.state(None, qrels)) as ((name,), _):
            rules = leaderboard.stored_rules(con, protocol)
            return explain(con, run, metric, query, name, rules, top=top)

    def forget(
        self,
        run: str,
        dataset: str,
        *,
        version: int | None = None,
        reason: str | None = None,
        dry_run: bool = False,
    ) -> Forgotten:
        """Remove a run, or one `version` of it: its predictions, hits and values.

        The table forgotten_run keeps what the run was, with `reason`. The newest version that is
        left becomes the current one. `ingest_run` can load the same content again; `sync` and
        `ingest_mlflow` do not. Raises UsageError if there is no such run or version.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_run({"q1": {"a": 1.0}}, "tiny", name="wrong")
        >>> wh.forget("wrong", "tiny", reason="trained on the test set").versions
        (1,)
        >>> wh.runs("tiny").fetchall()
        []
        """
        from warehouse.ingest.forget import forget

        with self._read() as con:
            datasets.check(con, dataset)
            found = forget(con, run, dataset, version=version, dry_run=True)
        if dry_run:
            return found
        with self._transaction() as con:
            return forget(con, run, dataset, version=version, reason=reason)
