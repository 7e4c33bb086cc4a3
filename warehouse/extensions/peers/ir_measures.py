"""A provider for ir_measures: its users compute with the warehouse through their own API.

Importing this module registers the provider `warehouse`; `install` puts it into ir_measures' own chain
of providers, where it serves what no other one does. `measure` makes a measure of any metric here.

>>> import ir_measures
>>> from warehouse.extensions.peers.ir_measures import measure, provider
>>> qrels, run = {"q": {"a": 1, "b": -1, "c": 1}}, {"q": {"b": 3.0, "a": 2.0, "c": 1.0}}
>>> found = provider.calc_aggregate([ir_measures.RR, measure("LRAP")], qrels, run)
>>> found[ir_measures.RR], found[measure("LRAP")]
(0.5, 0.5833333333333333)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from warehouse.config import installation
from warehouse.errors import UsageError
from warehouse.evaluate import scoring
from warehouse.evaluate.file_scoring import NothingInCommonError
from warehouse.evaluate.plan import plan
from warehouse.extensions.peers.scorers import Scorers
from warehouse.metrics import notation, protocols
from warehouse.metrics.notation import Metric as OwnMetric

try:
    import ir_measures
    from ir_measures import measures as _measures
    from ir_measures import providers as _providers
except ImportError:
    raise UsageError(
        f"ir_measures is not installed: {installation.adding('ir-measures')}"
    ) from None

__all__ = ["WarehouseProvider", "install", "measure", "provider"]

_PROTOCOL = "ir_measures"
# How per-query values become the value over all queries in ir_measures' own aggregators.
_MEANS = {"mean": _measures.MeanAgg, "sum": _measures.SumAgg}


class _Ours(_measures.Measure):  # type: ignore[misc]
    """A metric of the warehouse, as a measure; its text is the metric's canonical name."""

    NAME = "warehouse"
    SUPPORTED_PARAMS = {"metric": _measures.ParamInfo(dtype=str, required=True)}  # noqa: RUF012

    def __repr__(self) -> str:
        return str(self.params["metric"])

    def aggregator(self) -> Any:
        aggregate = _own_metric(self).aggregate
        if aggregate not in _MEANS:
            raise UsageError(
                f"{self}: is no mean of the queries' values but {aggregate}; beside measures of other "
                "providers ir_measures cannot compute it, provider.calc_aggregate can"
            )
        return _MEANS[aggregate]()


def measure(name: str) -> Any:
    """Return a metric as a measure of ir_measures. Raises UsageError with the nearest name.

    >>> measure("P(rel=2)@5"), measure("LRAP")
    (P(rel=2)@5, LRAP)
    """
    return _Ours(metric=str(_parsed(name)))


def _parsed(name: str) -> OwnMetric:
    return notation.parse_one(name, defaults=protocols.get(_PROTOCOL).defaults()).metric


def _own_metric(asked: Any) -> OwnMetric:
    """Return the metric that a measure of ir_measures means."""
    if asked.NAME == "NumRet" and "rel" in asked.params:  # with a level, only the relevant ones
        level = asked.params["rel"]
        return _parsed("NumRelRet" if level == 1 else f"NumRelRet(rel={level})")
    return _parsed(repr(asked))


class WarehouseProvider(_providers.Provider):  # type: ignore[misc]
    """Computes measures with the warehouse, under the protocol `ir_measures`.

    `training` is a training set, and `attributes` are attributes of documents or queries, for metrics
    that need them, in any form that `Warehouse.score` takes.
    """

    NAME = "warehouse"

    def __init__(self, training: object = None, attributes: object = ()) -> None:
        super().__init__()
        self._sources = {"training": training, "attributes": attributes}

    def supports(self, measure: Any) -> bool:
        """Whether the warehouse has a metric of this name with these parameters."""
        measure.validate_params()
        try:
            return "preferences" not in _needs(_own_metric(measure))
        except UsageError:
            return False

    def qrel_inputs(self, measures: Iterable[Any]) -> list[str]:
        """Return the columns of judgments that some measures need."""
        needed = ["query_id", "doc_id", "relevance"]
        iterations = any(_by_iteration(_own_metric(measure)) for measure in measures)
        return [*needed, "iteration"] if iterations else needed

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> _Evaluator:
        return _Evaluator(list(measures), qrels, self._sources)


def _needs(metric: OwnMetric) -> frozenset[str]:
    """Return the needs of a metric apart from judgments and lists."""
    return frozenset(plan([metric], protocols.get(_PROTOCOL)).needs_of(metric))


def _by_iteration(metric: OwnMetric) -> bool:
    """Whether a metric reads the judgments of each iteration."""
    return "iterations" in _needs(metric)


class _Evaluator(_providers.Evaluator):  # type: ignore[misc]
    """Computes measures of runs against the same judgments."""

    def __init__(self, measures: list[Any], qrels: Any, sources: Mapping[str, Any]) -> None:
        if not isinstance(qrels, Mapping) and not hasattr(qrels, "columns"):
            qrels = list(qrels)
        super().__init__(measures, _queries(qrels))
        self._own_metrics = {one: _own_metric(one) for one in measures}
        self._scorers = []
        for by_iteration in (False, True):
            metrics = [m for m in self._own_metrics.values() if _by_iteration(m) is by_iteration]
            if metrics and self.qrel_qids:
                asked = scoring.ask(metrics, protocol=_PROTOCOL)
                self._scorers.append(Scorers(asked, qrels, iterations=by_iteration, **sources))

    def iter_calc(self, run: Any) -> Iterator[Any]:
        """Yield the value of each measure for each judged query."""
        yield from self._calc(run)[1]

    def calc_aggregate(self, run: Any) -> dict[Any, float]:
        """Return the value of each measure over all judged queries."""
        return self._calc(run)[0]

    def calc(self, run: Any) -> Any:
        """Return the values over all queries and of each query."""
        return ir_measures.CalcResults(*self._calc(run))

    def _calc(self, run: Any) -> tuple[dict[Any, float], list[Any]]:
        if not isinstance(run, Mapping) and not hasattr(run, "columns"):
            run = list(run)
        values: dict[str, list[tuple[str, float | None]]] = {}
        over_all: dict[str, float | None] = {}
        has_rows = len(run) > 0
        for scorer in self._scorers:
            try:
                of_queries, of_all = scorer(run if has_rows else {})
            except (
                NothingInCommonError
            ):  # an empty ranking for each query, as other providers have it
                of_queries, of_all = scorer({})
            for query, metric, value in of_queries:
                values.setdefault(metric, []).append((query, value))
            over_all |= of_all
        rows = [
            ir_measures.Metric(query, one, _number(one, meant, value))
            for one, meant in self._own_metrics.items()
            for query, value in values.get(str(meant), [])
        ]
        aggregated = {
            one: _number(one, meant, over_all[str(meant)]) if str(meant) in over_all else math.nan
            for one, meant in self._own_metrics.items()
        }
        return aggregated, rows


def _number(asked: Any, meant: OwnMetric, value: float | None) -> float | int:
    """Return a value as ir_measures has it: counts are whole, and an undefined one is its default."""
    if value is None:
        return float(asked.DEFAULT)
    return int(value) if meant.is_count else value


def _queries(qrels: Any) -> set[str]:
    if isinstance(qrels, Mapping):
        return {str(query) for query in qrels}
    if hasattr(qrels, "columns"):
        return {str(query) for query in qrels["query_id"]}
    return {str(row.query_id) for row in qrels}


provider = _providers.register(WarehouseProvider())


def install(*, first: bool = False) -> None:
    """Put the provider into the chain of `ir_measures.calc_aggregate` and its other functions.

    It is the last, for measures that no other provider computes, or the `first`, for all of them.
    """
    chain = ir_measures.DefaultPipeline.providers
    if provider in chain:
        chain.remove(provider)
    # after measures that are defined by a function, which no name stands for
    chain.insert(1 if first else len(chain), provider)
