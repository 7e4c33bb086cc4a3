"""The verb that holds a run against others, which the class `Warehouse` has beside its own."""

from __future__ import annotations

from warehouse import protocols
from warehouse.analyze import board, regressions
from warehouse.errors import UsageError
from warehouse.metrics import Metrics
from warehouse.opened import File, texts
from warehouse.project import request


class Checking(File):
    """A warehouse file that can say whether a run is worse than one before it."""

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
        """Hold a run, else the newest of the dataset, against another, over stored values.

        `against` is "best" or "last", of the current runs that were run before it and of its own earlier
        versions, or the name of a run. It regresses where the value over all queries is worse by more
        than `max_drop`, or where the queries' values are worse with p < `alpha` in a two-sided paired
        t-test (extra "stats"). Without either any drop is too much. Without a dataset it is the only
        one there is. Raises UsageError for wrong names and missing values.

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
            raise UsageError("name a metric that the run is held against others by")
        with self._read() as con:
            rules = board.stored_rules(con, protocol)
            name = regressions.dataset_of(con, dataset)
            return regressions.check(
                con, name, board.names(con, [name], asked, rules), rules,
                regressions.Limits(max_drop, alpha), against=against, run=run,
            )  # fmt: skip
