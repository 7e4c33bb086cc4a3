"""Callbacks for training loops and searches, as the libraries call them.

PyTorch and what is built on it take gigabytes, so that only Optuna is here; the calls were read from
PyTorch Lightning 2.6.6, transformers 5.24.0 and sentence-transformers 6.2.0.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from refusals import expect_refusal

from warehouse.extensions.training import callbacks
from warehouse.extensions.training.callbacks import Ranker

QRELS = {"q1": {"d1": 1}, "q2": {"d1": 1, "d2": 1}}


def ranked_by(weight: float) -> dict[str, dict[str, float]]:
    """Return a run in which d1 of q1 is first if the weight is above 0.5; RR is 1 or 0.75."""
    return {"q1": {"d1": weight, "d2": 0.5}, "q2": {"d1": 1.0, "d3": 0.5}}


def logged(spool: Path) -> dict[str, dict[str, str]]:
    """Return the tags of the runs in a spool folder, by their names."""
    abouts = [json.loads(file.read_text()) for file in (spool / "dl19").glob("*.json")]
    return {about["name"]: about["tags"] for about in sorted(abouts, key=lambda one: one["name"])}


@pytest.fixture
def ranker(tmp_path: Path) -> Ranker:
    """Return a ranker of models with a weight."""
    return Ranker(
        lambda model: ranked_by(float(model.weight)),
        dataset="dl19", system="ours", qrels=QRELS, metrics="RR Success@1", spool=tmp_path,
    )  # fmt: skip


def test_optuna_searches_for_the_metric_of_a_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    monkeypatch.chdir(tmp_path)
    about: dict[str, Any] = {"dataset": "dl19", "system": "ours", "qrels": QRELS}
    with expect_refusal("metrics … gate … dl19"):
        Ranker(ranked_by, **about)  # type: ignore[arg-type]
    gate = '[[gates]]\ndataset = "dl19"\nmetric = "RR"\n'
    Path("warehouse.toml").write_text(f'[datasets.dl19]\nqrels = "qrels.txt"\n{gate}')
    search = Ranker(lambda trial: ranked_by(trial.suggest_float("weight", 0, 1)), **about)
    assert (str(search.first), search.first.direction) == ("RR", "higher")
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.GridSampler({"weight": [0.1, 0.9]})
    )
    study.optimize(callbacks.optuna(search), n_jobs=2)
    assert study.best_params == {"weight": 0.9}
    # two threads may try a point twice
    assert {trial.value for trial in study.trials} == {0.75, 1.0}
    assert {"0", "1"} <= {tags["step"] for tags in logged(Path("spool")).values()}
    assert {tags["weight"] for tags in logged(Path("spool")).values()} == {"0.1", "0.9"}
    Path("warehouse.toml").write_text(
        '[evaluate]\nprotocols = ["default", "ranx"]\n[datasets.dl19]\nqrels = "qrels.txt"\n'
        f'{gate}{gate}protocol = "ranx"\n'
    )
    with expect_refusal("2 protocols … default … ranx"):
        Ranker(ranked_by, **about)  # type: ignore[arg-type]
    with expect_refusal("qrels= … metrics="):
        callbacks.optuna(Ranker(ranked_by, dataset="dl19", system="ours"))  # type: ignore[arg-type]


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, **has: object) -> None:
    """Put a module in the place of a library."""
    module = ModuleType(name)
    vars(module).update(has)
    monkeypatch.setitem(sys.modules, name, module)


def test_the_callbacks_as_they_are_called(
    ranker: Ranker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With their arguments, read from the versions above."""
    stand_in(monkeypatch, "pytorch_lightning", Callback=object)
    stand_in(monkeypatch, "transformers", TrainerCallback=object)
    evaluator = type("E", (), {"store_metrics_in_model_card_data": lambda *given: None})
    for package in ("", ".base"):
        stand_in(monkeypatch, f"sentence_transformers{package}")
    stand_in(monkeypatch, "sentence_transformers.base.evaluation", BaseEvaluator=evaluator)
    model = SimpleNamespace(weight=0.9)

    seen: dict[str, float] = {}
    module = SimpleNamespace(weight=0.1, log_dict=seen.update)
    callback = callbacks.lightning(ranker)
    trainer = SimpleNamespace(sanity_checking=True, global_step=0, is_global_zero=True)
    callback.on_validation_epoch_end(trainer, module)
    assert seen == {}
    trainer = SimpleNamespace(sanity_checking=False, global_step=5, is_global_zero=False)
    callback.on_validation_epoch_end(trainer, module)
    assert seen == {"RR": 0.75, "Success@1": 0.5}
    assert not (tmp_path / "dl19").exists()  # another process writes the run

    state = SimpleNamespace(global_step=7, is_world_process_zero=True, epoch=1.0, log_history=[])
    metrics = {"eval_loss": 0.5}
    callbacks.hugging_face(ranker).on_evaluate(None, state, None, metrics=metrics, model=model)
    assert metrics == {"eval_loss": 0.5, "eval_RR": 1.0, "eval_Success@1": 1.0}
    assert state.log_history == [{"step": 7, "epoch": 1.0, "eval_RR": 1.0, "eval_Success@1": 1.0}]

    assert callbacks.sentence_transformers(ranker)(model, None, -1, -1)["RR"] == 1.0
    assert list(logged(tmp_path)) == ["ours", "ours-7"]
