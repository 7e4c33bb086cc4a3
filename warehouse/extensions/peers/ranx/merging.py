"""ranx's `fuse` and `optimize_fusion`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tabulate import tabulate

from warehouse.errors import UsageError
from warehouse.extensions.peers.ranx.evaluation import PROTOCOL, check_queries
from warehouse.extensions.peers.ranx.lists import Qrels, Run
from warehouse.extensions.peers.ranx.scratch import DATASET, names_of, warehouse
from warehouse.fuse.fused_run import Fused
from warehouse.metrics import fusion

_FUSED = "fused"
_TRAINED = "trained"
# So that the same query may be one to train on and one to merge.
_TRAIN, _MERGE = "train ", "merge "


@dataclass(frozen=True)
class Trained:
    """The judged queries that a method is trained on: what ranx keeps as a table of probabilities."""

    qrels: Qrels
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class OptimizationReport:
    """The trials of `optimize_fusion`, best first: `configs`, and the value of each in `results`."""

    method: str
    configs: Sequence[Any]
    results: Sequence[float]
    metric: str
    rounding_digits: int = 3
    show_percentages: bool = False

    def __str__(self) -> str:
        """Return a table with a row for each trial."""
        shown = [(config, self.format_score(value)) for config, value in self._trials]
        return str(tabulate(shown, headers=(self.method, self.metric), disable_numparse=True))

    __repr__ = __str__

    @property
    def _trials(self) -> list[tuple[Any, float]]:
        return list(zip(self.configs, self.results, strict=True))

    def format_score(self, score: float) -> str:
        """Return a value with its digits, or as a percentage."""
        if self.show_percentages:
            return f"{score * 100:.{max(0, self.rounding_digits - 2)}f}"
        return f"{score:.{self.rounding_digits}f}"


def fuse(
    runs: Sequence[Run],
    norm: str | None = "min-max",
    method: str = "wsum",
    params: Mapping[str, Any] | None = None,
) -> Run:
    """Merge runs, which must have the same queries; the answer is named as by ranx.

    `norm` and `method` are ranx's names, and `params` what the method takes: `weights`, one for each
    run, numbers such as the `k` of rrf, or what `optimize_fusion` has returned.

    >>> one, two = Run({"q": {"x": 3, "y": 2}}, name="one"), Run({"q": {"x": 1, "z": 2}}, name="two")
    >>> fuse([one, two], norm=None, method="sum")
    {'q': {'x': 4.0, 'z': 2.0, 'y': 2.0}}
    """
    given = dict(params or {})
    trained = given.pop(_TRAINED, None)
    weights = given.pop("weights", None)
    parsed = fusion.of(fusion.parse(method))
    if fusion.TRAINING in parsed.needs and trained is None:
        raise UsageError(
            f"{method}: is trained on judgments: pass the params that optimize_fusion returns"
        )
    called = method
    if given:
        called = f"{method}({','.join(f'{name}={value}' for name, value in given.items())})"
    merged, _ = _merge(
        runs, trained, called, norm,
        weights=None if weights is None else [float(weight) for weight in weights],
    )  # fmt: skip
    names = [alias.name for alias in parsed.names if alias.peer == "ranx"]
    return Run(merged, name=(names or [parsed.name])[0])


def optimize_fusion(
    qrels: Qrels,
    runs: Sequence[Run],
    norm: str | None = "min-max",
    method: str = "wsum",
    metric: str = "ndcg",
    return_optimization_report: bool = False,
    rounding_digits: int = 3,
    show_percentages: bool = False,
) -> Any:
    """Return the `params` with which `fuse` gives the highest value of a metric on judged queries.

    What is tried is what ranx tries: weights in steps of 0.1, and the values of each parameter that
    `warehouse fusions` lists. A method that is trained gets the judged queries, too. With
    `return_optimization_report` the answer is a pair with the report.

    >>> qrels = Qrels({"q": {"x": 1}})
    >>> one, two = Run({"q": {"x": 2, "y": 1}}, name="one"), Run({"q": {"y": 2, "x": 1}}, name="two")
    >>> optimize_fusion(qrels, [one, two], method="wsum", metric="mrr")
    {'weights': (0.6, 0.4)}
    """
    parsed = fusion.of(fusion.parse(method))
    tuned = bool(parsed.grid) or fusion.WEIGHTS in parsed.needs
    is_trained = fusion.TRAINING in parsed.needs
    if not tuned and not is_trained:
        raise UsageError(f"{method}: has nothing to choose; fuse takes it as it is")
    if not tuned and return_optimization_report:
        raise UsageError(f"{method}: is trained, and nothing is tried; ask for no report")
    trained = Trained(qrels, tuple(runs))
    best: dict[str, Any] = {_TRAINED: trained} if is_trained else {}
    if not tuned:
        for name, run in zip(names_of(runs), runs, strict=True):
            check_queries(qrels.to_dict(), run.to_dict(), name)
        return best
    _, made = _merge(runs, trained, method, norm, tune=metric)
    best |= dict(fusion.parse(made.method).values) if parsed.grid else {}
    best.pop("rel", None)
    best |= {"weights": made.weights} if made.weights else {}
    if not return_optimization_report:
        return best
    assert made.trials is not None, "nothing was tried"
    # place, method, weights if it has any, value
    rows = made.trials.fetchall()
    configs = [row[-2] for row in rows]
    report = OptimizationReport(
        method, configs, [row[-1] for row in rows], metric, rounding_digits, show_percentages
    )
    return best, report


def _merge(
    runs: Sequence[Run],
    trained: Trained | None,
    method: str,
    norm: str | None,
    *,
    weights: Sequence[float] | None = None,
    tune: str | None = None,
) -> tuple[dict[str, dict[str, float]], Fused]:
    """Merge runs, trained on other lists of the same systems if these are given."""
    if len(runs) < 2:
        raise UsageError("runs: give two or more to merge")
    names = names_of(runs)
    for name, run in zip(names[1:], runs[1:], strict=True):
        if run.keys() != runs[0].keys():
            raise UsageError(f"{names[0]} and {name}: do not have the same queries")
    if _FUSED in names:
        raise UsageError(f"{_FUSED}: is the name of the result; give the run another")
    whole = [_with_prefix(run.to_dict(), _MERGE) for run in runs]
    train: list[str] | None = None
    if trained is not None:
        if len(trained.runs) != len(runs):
            raise UsageError(
                f"runs: {len(runs)} are to be merged, but the params are of {len(trained.runs)}"
            )
        judged = trained.qrels.to_dict()
        for name, lists, run in zip(names, whole, trained.runs, strict=True):
            check_queries(judged, run.to_dict(), name)
            lists.update(_with_prefix(run.to_dict(), _TRAIN))
        train = [_TRAIN + query for query in judged]
    named = [Run(lists, name) for name, lists in zip(names, whole, strict=True)]
    with warehouse(named) as wh:
        if trained is not None:
            wh.ingest_qrels(DATASET, _with_prefix(trained.qrels.to_dict(), _TRAIN))
        made = wh.fuse(
            DATASET, names, method, name=_FUSED, normalise=norm or "none", weights=weights,
            train_queries=train, leave_out_training=train is not None, tune=tune, protocol=PROTOCOL,
        )  # fmt: skip
        with wh.file.read() as con:
            rows = con.execute(
                "select query_id, doc_id, score from prediction_versions where run = $1", [_FUSED]
            ).fetchall()
    merged: dict[str, dict[str, float]] = {query: {} for query in runs[0].keys()}  # noqa: SIM118
    for query, doc, score in rows:
        merged[query.removeprefix(_MERGE)][doc] = score
    return merged, made


def _with_prefix(lists: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {prefix + query: docs for query, docs in lists.items()}
