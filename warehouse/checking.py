"""Checking a run against earlier ones: a method of the class `Warehouse`."""

from __future__ import annotations

from warehouse.analyze import datasets, leaderboard, regressions
from warehouse.config.project import request
from warehouse.errors import UsageError
from warehouse.metrics import protocols
from warehouse.metrics.notation import Metrics
from warehouse.opened import File, texts


class Checking(File):
    """Checks whether a run is worse than one before it."""

    @request()
    def check(
        self,
        dataset: str | None,
        metrics: Metrics,
        *,
        against: str = regressions.BEST,
        run: str | None = None,
        max_drop: float | None = None,
        alpha: float | None = None,
        protocol: str = protocols.DEFAULT,
    ) -> regressions.Check:
        """Compare a run (default: the newest of the dataset) with an earlier one, on stored values.

        `against` is "best" or "last", among the current runs that were run before it and its own
        earlier versions, or the name of a run. The run regresses if the value over all queries is
        worse by more than `max_drop`, or if the queries' values are worse with p < `alpha` in a
        two-sided paired t-test (extra "stats"). Without either, any drop is a regression. `dataset`
        can be left out if there is only one. Raises UsageError for wrong names and missing values.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels({"q": {"a": 1}}, "tiny")
        >>> _ = wh.ingest_run({"q": {"a": 1.0}}, "tiny", name="first")
        >>> _ = wh.ingest_run({"q": {"b": 2.0, "a": 1.0}}, "tiny", name="second")
        >>> _ = wh.evaluate(metrics="RR")
        >>> found = wh.check("tiny", "RR", max_drop=0.1)
        >>> found.is_good, found.relation.project("against, difference, verdict").fetchall()
        (False, [('first', -0.5, 'regressed')])
        """
        asked = texts(metrics)
        if not asked:
            raise UsageError("name a metric to compare the runs by")
        with self._read() as con:
            rules = leaderboard.stored_rules(con, protocol)
            name = datasets.chosen(con, dataset)
            return regressions.check(
                con, name, leaderboard.names(con, [name], asked, rules), rules,
                regressions.Limits(max_drop, alpha), against=against, run=run,
            )  # fmt: skip
