"""Curves: methods of the class `Warehouse`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import duckdb

from warehouse.analyze.curves import Trace, trace
from warehouse.config.project import request
from warehouse.errors import UsageError, none_yet
from warehouse.evaluate.plan import plan
from warehouse.metrics import curves, protocols
from warehouse.opened import File, Texts, texts


class Tracing(File):
    """Computes curves."""

    def curve(
        self,
        curve: str,
        dataset: str,
        *,
        runs: Texts = (),
        query: str | None = None,
        protocol: str = protocols.DEFAULT,
    ) -> duckdb.DuckDBPyRelation:
        """Return the points of a curve over all queries or of one; missing curves are computed first.

        Columns: `run, position, x, y`, with the runs in the given order, else by name. If not every
        query has a point at every x, a column `queries` says how many have one. Raises UsageError
        for wrong names.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels({"q": {"a": 1, "b": 0}}, "tiny")
        >>> _ = wh.ingest_run({"q": {"b": 2.0, "a": 1.0}}, "tiny", name="first")
        >>> wh.curve("ROC", "tiny").fetchall()
        [('first', 0, 0.0, 0.0), ('first', 1, 1.0, 0.0), ('first', 2, 1.0, 1.0)]
        """
        return self.trace(curve, dataset, runs=runs, query=query, protocol=protocol).relation

    @request()
    def trace(
        self,
        curve: str,
        dataset: str,
        *,
        runs: Texts = (),
        query: str | None = None,
        protocol: str = protocols.DEFAULT,
        on_curve: Callable[[str], None] | None = None,
    ) -> Trace:
        """Return the result of `curve` with its areas and notes."""
        from warehouse.evaluate.stored_runs import Job

        rules = protocols.get(protocol)
        metric = curves.parse(curve, defaults=rules.defaults())
        names = list(dict.fromkeys(texts(runs)))
        done = self._evaluate([Job(plan([metric], rules))], dataset, names, on_metric=on_curve)
        if dataset in done.without_qrels:
            raise UsageError(none_yet("qrels", dataset))
        with self._read() as con:
            if not names:
                rows = con.execute(
                    "select distinct run from curve_points where is_current and dataset = $dataset "
                    "and curve = $curve and protocol = $protocol order by run",
                    {"dataset": dataset, "curve": str(metric), "protocol": rules.name},
                ).fetchall()
                names = [str(row[0]) for row in rows]
            found = trace(con, metric, dataset, names, rules, query)
        return replace(found, computed=done.computed, stale=done.stale)
