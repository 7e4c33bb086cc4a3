"""Values for MLflow stores, W&B and the Hub of Hugging Face."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from refusals import expect_refusal

from warehouse import Warehouse
from warehouse.extensions.training import trackers


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Return a warehouse with two runs; by hand, first has RR 1/2, and best has 1."""
    wh = Warehouse(tmp_path_factory.mktemp("board") / "w.duckdb")
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    wh.ingest_run(
        "tiny", {"q": {"b": 2.0, "a": 1.0}}, name="first", system="BM25", tags={"k1": "0.9"}
    )
    wh.ingest_run("tiny", {"q": {"a": 2.0}}, name="best")
    wh.evaluate("tiny", metrics="RR P(rel=1)@2")
    return wh


@pytest.mark.slow
def test_values_are_logged_to_mlflow_once(
    board: Warehouse, tmp_path: Path, mlflow_database: Path
) -> None:
    from mlflow.tracking import MlflowClient

    shutil.copy(mlflow_database, tmp_path / "mlflow.db")
    where = {"uri": f"sqlite:///{tmp_path}/mlflow.db", "experiment": "ranking"}
    made = trackers.log_to_mlflow(board, "tiny", **where)
    assert trackers.log_to_mlflow(board, "tiny", "RR", **where) == made
    client = MlflowClient(tracking_uri=where["uri"])
    found = {name: client.get_run(number) for name, number in made.items()}
    assert {name: dict(run.data.metrics) for name, run in found.items()} == {
        "first": {"RR": 0.5, "P_at_2": 0.5}, "best": {"RR": 1.0, "P_at_2": 0.5},
    }  # fmt: skip
    first = found["first"]
    assert (first.info.run_name, first.info.status) == ("first", "FINISHED")
    assert first.data.params == {"dataset": "tiny", "system": "BM25", "k1": "0.9"}


def test_values_are_logged_to_wandb(board: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the place of wandb, which is not among the packages for the tests, what is called of it."""
    calls: list[Any] = []

    def init(**given: Any) -> Any:
        summary: dict[str, float] = {}
        calls.append((given, summary))
        return SimpleNamespace(summary=summary, finish=lambda: calls.append("finished"))

    module = ModuleType("wandb")
    module.init = init  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wandb", module)
    trackers.log_to_wandb(board, "tiny", "RR", project="ranking", mode="offline")
    (best, best_values), _, (first, first_values), end = calls
    assert (best_values, first_values, end) == ({"RR": 1.0}, {"RR": 0.5}, "finished")
    assert (first["project"], first["name"], first["mode"]) == ("ranking", "first", "offline")
    assert first["config"] == {
        "dataset": "tiny", "protocol": "default", "system": "BM25", "k1": "0.9",
    }  # fmt: skip
    assert first["id"] != best["id"]
    with expect_refusal("other … no stored value"):
        trackers.log_to_wandb(board, "other", project="ranking")


def test_a_value_for_the_hub(board: Warehouse, tmp_path: Path) -> None:
    """As `parse_eval_result_entries` of huggingface_hub 2.4.0 reads it."""
    yaml = pytest.importorskip("yaml")
    about = {"dataset_id": "mteb/nfcorpus", "task_id": "default", "model": tmp_path}
    path = trackers.eval_results(board, "tiny", "first", "RR", **about, source_url="https://x.y/z")
    assert path == tmp_path / ".eval_results" / "default.yaml"
    (entry,) = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert entry == json.loads(path.read_text(encoding="utf-8"))[0]
    assert entry["dataset"] == {"id": "mteb/nfcorpus", "task_id": "default"}
    assert (entry["value"], entry["source"]) == (0.5, {"url": "https://x.y/z"})
    assert entry["notes"] == "RR, protocol default of ranking-warehouse"
    with expect_refusal("frist … RR … first"):
        trackers.eval_results(board, "tiny", "frist", "RR", **about)
