"""A prepared scorer for each thread, made when the thread first asks."""

from __future__ import annotations

import threading
from typing import Any

from warehouse.evaluate.scorer import Scorer, prepare
from warehouse.evaluate.scoring import ScoringRequest


class Scorers:
    """Judgments and metrics that score runs in any thread."""

    def __init__(self, asked: ScoringRequest, qrels: object, **how: Any) -> None:
        self._asked, self._qrels, self._how = asked, qrels, how
        self._here = threading.local()

    def __call__(
        self, run: Any
    ) -> tuple[list[tuple[str, str, float | None]], dict[str, float | None]]:
        """Return the values of the queries as `(query_id, metric, value)`, and those over all."""
        scorer: Scorer | None = getattr(self._here, "scorer", None)
        if scorer is None:
            scorer = self._here.scorer = prepare(self._asked, self._qrels, **self._how)
        rows = scorer(run).relation.fetchall()
        num_metrics = len({str(one.metric) for one in self._asked.requested})
        cut = (
            len(rows) - num_metrics
        )  # the last ones are over all queries, whatever a query is called
        return rows[:cut], {metric: value for _, metric, value in rows[cut:]}
