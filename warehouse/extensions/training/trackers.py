"""The values of a dataset's runs for other places: an MLflow store, W&B, the Hub of Hugging Face.

>>> metric_name("nDCG@10"), metric_name("P(rel=2)@5")
('nDCG_at_10', 'P_rel_2_at_5')
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warehouse.config import installation
from warehouse.errors import UsageError, check_several, nearest
from warehouse.metrics import notation, protocols
from warehouse.warehouse import Warehouse

# The tags by which runs are recognised that were made here, or that came from MLflow.
TAG, _FROM_MLFLOW = "warehouse_run", "mlflow_run_id"
_VALUES = """
    select
        runs.run, runs.system, runs.tags, run.content_hash, max(evaluated_at) as evaluated_at,
        map(list(metric order by metric), list(value order by metric)) as values
    from scores
    join runs using (run_id)
    join store.run using (run_id)
    where scores.dataset = $dataset
        and protocol = $protocol
        and value is not null
        and (len($metrics::varchar[]) = 0 or list_contains($metrics::varchar[], metric))
    group by all
    order by runs.run
"""


@dataclass(frozen=True)
class RunValues:
    """A run with its stored values by metric."""

    run: str
    system: str | None
    tags: Mapping[str, str]
    content_hash: str
    evaluated_at: dt.datetime
    values: Mapping[str, float]

    @property
    def named(self) -> dict[str, float]:
        """Return the values under names that trackers take. Raises UsageError if two are the same."""
        found = {metric_name(metric): value for metric, value in self.values.items()}
        if len(found) < len(self.values):
            raise UsageError(
                f"{', '.join(self.values)}: two of these would have the same name; name fewer metrics"
            )
        return found


def metric_name(metric: str) -> str:
    """Return the name of a metric in letters, digits and underscores, which every tracker takes."""
    return re.sub(r"\W+", "_", metric.replace("@", "_at_")).strip("_").replace("__", "_")


def values(
    wh: Warehouse, dataset: str, metrics: notation.Metrics = (), protocol: str = protocols.DEFAULT
) -> list[RunValues]:
    """Return the runs of a dataset with their current values, of all stored metrics or some."""
    asked = check_several("metrics", metrics) if metrics else []
    names = [
        str(one) for one in notation.parse(*asked, defaults=protocols.get(protocol).defaults())
    ]
    found = wh.query(_VALUES, dataset=dataset, protocol=protocol, metrics=names)
    runs = [RunValues(run, system, dict(tags or {}), *rest) for run, system, tags, *rest in found]
    if not runs:
        raise UsageError(
            f"{dataset}: has no stored value under the protocol {protocol}: evaluate it first"
        )
    return runs


def log_to_mlflow(
    wh: Warehouse,
    dataset: str,
    metrics: notation.Metrics = (),
    *,
    uri: str,
    experiment: str,
    protocol: str = protocols.DEFAULT,
) -> dict[str, str]:
    """Log the values of a dataset's runs into an MLflow store (extra mlflow); return run ids by name.

    What `ingest mlflow` loaded from the store gets its values there, as far as it still is in it. Other
    runs get a run of MLflow's each, with system and tags as parameters, which the next call finds
    again. A metric is named in letters, as `nDCG_at_10`.
    """
    try:
        from mlflow.entities import Metric, Param
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient
    except ImportError:
        raise UsageError(f"an MLflow store needs {installation.adding('mlflow')}") from None
    client = MlflowClient(tracking_uri=uri)
    found = client.get_experiment_by_name(experiment)
    number = client.create_experiment(experiment) if found is None else found.experiment_id
    logged: dict[str, str] = {}
    for one in values(wh, dataset, metrics, protocol):
        run_id = one.tags.get(_FROM_MLFLOW)
        try:
            run_id = None if run_id is None else client.get_run(run_id).info.run_id
        except MlflowException:
            run_id = None
        if run_id is None:
            known = client.search_runs([number], f"tags.{TAG} = '{one.content_hash}'")
            run_id = known[0].info.run_id if known else None
        if run_id is None:
            made = client.create_run(number, tags={TAG: one.content_hash}, run_name=one.run)
            run_id = made.info.run_id
            about = {
                "dataset": dataset,
                **({"system": one.system} if one.system else {}),
                **one.tags,
            }
            client.log_batch(run_id, params=[Param(key, value) for key, value in about.items()])
            client.set_terminated(run_id)
        time = round(one.evaluated_at.timestamp() * 1000)
        client.log_batch(run_id, [Metric(key, value, time, 0) for key, value in one.named.items()])
        logged[one.run] = run_id
    return logged


def log_to_wandb(
    wh: Warehouse,
    dataset: str,
    metrics: notation.Metrics = (),
    *,
    project: str,
    protocol: str = protocols.DEFAULT,
    **init: Any,
) -> None:
    """Log the values of a dataset's runs into a project of W&B: a run for each, with its summary.

    A run is known by the hash of its content, so that another call updates it. `init` is passed to
    `wandb.init`, as in `mode="offline"`.
    """
    try:
        import wandb
    except ImportError:
        raise UsageError("W&B needs its package: pip install wandb") from None
    for one in values(wh, dataset, metrics, protocol):
        about = {"dataset": dataset, "protocol": protocol, "system": one.system, **one.tags}
        given = {"id": one.content_hash[:32], "name": one.run, "config": about, "resume": "allow"}
        run = wandb.init(project=project, **{**given, **init})
        run.summary.update(one.named)
        run.finish()


def eval_results(
    wh: Warehouse,
    dataset: str,
    run: str,
    metric: str,
    *,
    dataset_id: str,
    task_id: str,
    model: str | os.PathLike[str],
    protocol: str = protocols.DEFAULT,
    source_url: str | None = None,
) -> Path:
    """Write a run's value for the Hub of Hugging Face: `.eval_results/TASK.yaml` in a model's folder.

    `dataset_id` and `task_id` name the benchmark on the Hub, as "mteb/nfcorpus". The notes of
    the entry name the metric and the protocol. A file of that name is replaced.
    """
    runs = {one.run: one for one in values(wh, dataset, metric, protocol)}
    if run not in runs:
        raise UsageError(f"{run}: has no value of {metric} on {dataset}{nearest(run, runs)}")
    ((name, value),) = runs[run].values.items()
    entry: dict[str, Any] = {
        "dataset": {"id": dataset_id, "task_id": task_id},
        "value": value,
        "date": runs[run].evaluated_at.isoformat(),
        "notes": f"{name}, protocol {protocol} of ranking-warehouse",
    }
    entry |= {} if source_url is None else {"source": {"url": source_url}}
    path = Path(model) / ".eval_results" / f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', task_id)}.yaml"
    path.parent.mkdir(exist_ok=True)
    # JSON is YAML
    path.write_text(json.dumps([entry], indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
