"""Callbacks for training loops and searches: each run is written into a spool folder, and scored.

A callback calls a `Ranker`, which ranks with the model, writes the run as `log_run` does, and returns
the values of the metrics, from qrels that are read once. Nothing of PyTorch Lightning, Hugging Face's
Trainer, sentence-transformers or Optuna is imported before its function is called.

>>> import tempfile
>>> qrels = {"q1": {"d1": 1}}
>>> ranked = Ranker(lambda model: {"q1": {"d1": model, "d2": 0.5}}, dataset="dl19", system="ours",
...                 qrels=qrels, metrics="RR", spool=tempfile.mkdtemp())
>>> [ranked(weight, step=step) for step, weight in enumerate((0.1, 0.9))]
[{'RR': 0.5}, {'RR': 1.0}]
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

from warehouse.config import project
from warehouse.errors import UsageError, check_several, counted, listing
from warehouse.evaluate.scorer import Scorer, scorer
from warehouse.ingest.logged_run import log_run
from warehouse.metrics import notation, protocols
from warehouse.metrics.metric import Metric
from warehouse.sync.declarations import read_declarations


class Ranker:
    """Ranks with a model, writes the run into a spool folder, and returns the values of its metrics.

    `rank` gets the model (from Optuna the trial) and returns a run, as `{query: {document: score}}`.
    `dataset`, `system`, `tags` and `spool` are as in `log_run`. `metrics` are computed by `qrels`
    under `protocol`; without metrics, they and the protocol come from the dataset's gates in
    warehouse.toml. Without `qrels`, runs are only written.
    """

    def __init__(
        self,
        rank: Callable[[Any], Any],
        *,
        dataset: str,
        system: str,
        qrels: Any = None,
        metrics: notation.Metrics | None = None,
        protocol: str | None = None,
        tags: Mapping[str, object] | None = None,
        spool: str | os.PathLike[str] = "spool",
    ) -> None:
        self.rank = rank
        self._where: dict[str, Any] = {"dataset": dataset, "system": system, "spool": spool}
        self._tags = dict(tags or {})
        self._qrels = qrels
        self._protocol = protocol or protocols.DEFAULT
        if metrics is None and qrels is not None:
            metrics, self._protocol = _of_gates(dataset)
        defaults = protocols.get(self._protocol).defaults()
        self.metrics: tuple[Metric, ...] = ()
        if qrels is not None and metrics is not None:
            given = check_several("metrics", metrics)
            self.metrics = tuple(notation.parse(*given, defaults=defaults))
        # a scorer belongs to the thread that made it, and a search may have several
        self._scorers = threading.local()

    def __call__(
        self, model: Any, *, step: int | None = None, write: bool = True
    ) -> dict[str, float]:
        """Rank with the model, and keep the ranking."""
        return self.keep(self.rank(model), step=step, write=write)

    def keep(
        self,
        scores: Any,
        *,
        step: int | None = None,
        tags: Mapping[str, object] | None = None,
        write: bool = True,
    ) -> dict[str, float]:
        """Write the run unless `write` is false, and return its values; undefined ones are NaN."""
        if write:
            log_run(scores, step=step, tags={**self._tags, **(tags or {})}, **self._where)
        if not self.metrics:
            return {}
        means = self._scorer()(scores).means()
        found = ((str(metric), means[str(metric)]) for metric in self.metrics)
        return {name: math.nan if value is None else value for name, value in found}

    @property
    def first(self) -> Metric:
        """The metric that says which model is the best one. Raises UsageError if there is none."""
        if not self.metrics:
            raise UsageError(
                "the runs have no value: give the Ranker qrels=, and metrics= or a gate"
            )
        return self.metrics[0]

    def _scorer(self) -> Scorer:
        if not hasattr(self._scorers, "own"):
            self._scorers.own = scorer(self._qrels, self.metrics, protocol=self._protocol)
        own: Scorer = self._scorers.own
        return own


def _of_gates(dataset: str) -> tuple[list[str], str]:
    """Return the metrics and the protocol of the gates of a dataset."""
    with project.request():
        gates = [gate for gate in read_declarations().gates if gate.dataset == dataset]
        where = project.current().where
    if not gates:
        raise UsageError(f"metrics: give some; {where} has no gate for the dataset {dataset}")
    rules = list(dict.fromkeys(gate.protocol for gate in gates))
    if len(rules) > 1:
        raise UsageError(
            f"metrics: give some, and protocol=; the gates for {dataset} have "
            f"{counted(len(rules), 'protocol')}: {listing(rules)}"
        )
    return list(dict.fromkeys(gate.metric for gate in gates)), rules[0]


def lightning(ranker: Ranker) -> Any:
    """Return a callback for PyTorch Lightning's Trainer: at the end of each validation epoch.

    `rank` gets the LightningModule. The values are logged by the names of their metrics, so that a
    ModelCheckpoint can have `monitor="nDCG@10"`. A run has the global step; the check before the
    training writes none.
    """
    try:
        from pytorch_lightning import Callback
    except ImportError:
        from lightning.pytorch import Callback

    class RankerCallback(Callback):  # type: ignore[misc]
        def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            if not trainer.sanity_checking:
                values = ranker(pl_module, step=trainer.global_step, write=trainer.is_global_zero)
                pl_module.log_dict(values)

    return RankerCallback()


def hugging_face(ranker: Ranker) -> Any:
    """Return a callback for the Trainer of Hugging Face's transformers: after each evaluation.

    `rank` gets the model. The values join the evaluation's, so that
    `metric_for_best_model="nDCG@10"` can name one. A run has the global step.
    """
    from transformers import TrainerCallback

    class RankerCallback(TrainerCallback):  # type: ignore[misc]
        def on_evaluate(
            self, args: Any, state: Any, control: Any, metrics: Any = None, **given: Any
        ) -> None:
            step, write = state.global_step, state.is_world_process_zero
            values = ranker(given["model"], step=step, write=write)
            values = {f"eval_{name}": value for name, value in values.items()}
            metrics.update(values)
            state.log_history.append({"step": step, "epoch": state.epoch, **values})

    return RankerCallback()


def sentence_transformers(ranker: Ranker) -> Any:
    """Return an evaluator for sentence-transformers, whose primary metric is the first one.

    `rank` gets the model. A run has the step, or none if the evaluator is called outside a training.
    """
    try:
        from sentence_transformers.base.evaluation import BaseEvaluator
    except ImportError:  # before version 6
        from sentence_transformers.evaluation import SentenceEvaluator as BaseEvaluator

    class RankingEvaluator(BaseEvaluator):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.primary_metric = str(ranker.first)
            self.greater_is_better = ranker.first.direction != "lower"

        def __call__(
            self, model: Any, output_path: Any = None, epoch: int = -1, steps: int = -1
        ) -> dict[str, float]:
            values = ranker(model, step=None if steps < 0 else steps)
            self.store_metrics_in_model_card_data(model, values, epoch, steps)
            return values

    return RankingEvaluator()


def optuna(ranker: Ranker) -> Callable[[Any], float]:
    """Return an objective for Optuna's `study.optimize`: the value of the first metric.

    `rank` gets the trial. A run has the number of the trial as its step, and its parameters as tags.
    Which direction is better is `ranker.first.direction`: `higher` is Optuna's `maximize`.

    >>> import tempfile
    >>> class Trial:
    ...     number, params = 3, {"k": 60}
    >>> ranked = Ranker(lambda trial: {"q1": {"d1": 1.0}}, dataset="dl19", system="ours",
    ...                 qrels={"q1": {"d1": 1}}, metrics="RR", spool=tempfile.mkdtemp())
    >>> optuna(ranked)(Trial())
    1.0
    """
    name = str(ranker.first)

    def objective(trial: Any) -> float:
        scores = ranker.rank(trial)  # only now the trial has its parameters
        return ranker.keep(scores, step=trial.number, tags=trial.params)[name]

    return objective
