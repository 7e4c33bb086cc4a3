"""`warehouse ingest mlflow`, on real tracking stores in a folder."""

from __future__ import annotations

import datetime as dt
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from projects import command
from refusals import expect_refusal
from syncs import BETTER, RUN

from warehouse.extensions.imports.mlflow_runs import load_experiment
from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.slow


@pytest.fixture(
    params=["sqlite:///{}/mlflow.db", pytest.param("{}/mlruns", marks=pytest.mark.long)]
)
def store(request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlflow_database: Path) -> str:
    """Return the address of a store with an experiment of five runs."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(mlflow_database, "mlflow.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        # MLflow keeps stores by their address for as long as the process lives
        uri = request.param.format(tmp_path)
        fill(uri, tmp_path)
    return uri


def fill(uri: str, folder: Path) -> None:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    experiment = client.create_experiment("ranking", (folder / "kept").as_uri())

    def run(name: str, start: int, status: str | None, **files: str) -> Any:
        made = client.create_run(experiment, start * 1000, {"team": "ir"}, name)
        client.log_param(made.info.run_id, "k1", 0.9)
        for file, text in files.items():
            path = folder / f"{file}.run"
            path.write_text(text)
            client.log_artifact(made.info.run_id, str(path), "runs")
        if status:
            client.set_terminated(made.info.run_id, status)
        return made

    run("bm25", 1, "FINISHED", dev=RUN)
    run("bm25", 2, "FINISHED", dev=BETTER)
    both = run("two", 3, "FINISHED", dev=RUN, test=BETTER)
    client.set_tag(both.info.run_id, "system", "Dense")
    run("going", 4, None, dev=RUN)
    run("failed", 5, "FAILED", dev=RUN)


def rows(wh: Warehouse) -> list[tuple]:
    return wh.query(
        "select run.name, system, epoch(run.run_at), run.source from store.run order by run_id"
    ).fetchall()


def test_a_nested_run_has_the_parameters_and_tags_of_its_parent(store: str, tmp_path: Path) -> None:
    """Its own take precedence; the parent's artifacts are a run of its own."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=store)
    experiment = client.create_experiment("nested", (tmp_path / "nested").as_uri())
    parent = client.create_run(experiment, 1000, {"team": "ir", "fold": "all"}, "sweep").info.run_id
    client.log_param(parent, "index", "v2")
    client.log_param(parent, "k1", 0.9)
    tags = {"mlflow.parentRunId": parent, "fold": "1"}
    child = client.create_run(experiment, 2000, tags, "first").info.run_id
    client.log_param(child, "k1", 1.2)
    (tmp_path / "x.run").write_text(RUN)
    client.log_artifact(child, str(tmp_path / "x.run"))
    client.set_terminated(child, "FINISHED")
    wh = Warehouse("w.duckdb")
    load_experiment(wh, "tiny", store, "nested")
    ((name, found),) = wh.query("select run, tags from runs").fetchall()
    assert (name, found) == (
        "first",
        {
            "team": "ir", "fold": "1", "index": "v2", "k1": "1.2",
            "mlflow_run_id": child, "mlflow_parent_run_id": parent,
        },
    )  # fmt: skip


def test_the_artifacts_of_finished_runs(store: str) -> None:
    options = ("--experiment", "ranking", "-d", "tiny", "--db", "w.duckdb")
    code, out, err = command("ingest", "mlflow", store, *options)
    assert (code, out) == (0, "")
    assert "Downloading" not in err
    assert sum(": loaded (" in line for line in err.splitlines()) == 4
    found = rows(Warehouse("w.duckdb"))
    names = [row[0] for row in found]
    assert names[0] == "bm25"
    assert names[1].startswith("bm25-")
    assert names[2:] == ["two/dev", "two/test"]
    assert [row[1:3] for row in found] == [
        (None, 1), (None, 2), ("Dense", 3), ("Dense", 3),
    ]  # fmt: skip
    assert [row[3].split("/")[0] for row in found] == ["mlflow: ranking"] * 4
    assert found[3][3].endswith("/runs/test.run")
    runs = (
        Warehouse("w.duckdb").query("select tags, run_at from runs where run = 'bm25'").fetchall()
    )
    ((tags, at),) = runs
    assert {**tags, "mlflow_run_id": ""} == {"k1": "0.9", "team": "ir", "mlflow_run_id": ""}
    assert at == dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)
    code, _, err = command("ingest", "mlflow", store, *options)
    assert [line.split("(")[0] for line in err.splitlines() if "unchanged" in line] == [
        f"{name}: unchanged " for name in names
    ]
    assert rows(Warehouse("w.duckdb")) == found
    Warehouse("w.duckdb").forget("tiny", "bm25", reason="trained on test")
    code, _, err = command("ingest", "mlflow", store, *options, "--replace")
    assert (code, len(rows(Warehouse("w.duckdb")))) == (0, 3)
    assert err.startswith("tiny: run bm25 was forgotten (trained on test): mlflow: ranking/")
    load = "warehouse ingest run FILE --name bm25 -d tiny --db w.duckdb"
    assert f"is not loaded again; to load it: {load}\n" in err
    # the only one that matches has the run's own name, unless it is there already
    only = ("--artifacts", "runs/test.*")
    code, _, err = command("ingest", "mlflow", store, *options, *only)
    assert (code, err.split("(")[0]) == (0, "two/test: unchanged ")
    assert [line.split("(")[0] for line in told(store, *only, dataset="new")] == ["two: loaded "]


def told(store: str, *more: str, dataset: str = "tiny") -> list[str]:
    _, _, err = command(
        "ingest", "mlflow", store, "-e", "ranking", "-d", dataset, "--db", "w.duckdb", *more
    )
    return [line for line in err.splitlines() if not line.startswith("warning")]


def log(store: str, run: Any, **files: str) -> None:
    """Keep files of folders as artifacts of a run."""
    from mlflow.tracking import MlflowClient

    for folder, text in files.items():
        Path("out.run").write_text(text)
        MlflowClient(tracking_uri=store).log_artifact(run, "out.run", f"art/{folder}")


@pytest.fixture
def client(store: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    from mlflow.tracking import MlflowClient

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    return MlflowClient(tracking_uri=store)


def test_stems_that_are_alike_are_told_apart_by_their_paths(store: str, client: Any) -> None:
    experiment = client.get_experiment_by_name("ranking").experiment_id
    twin = client.create_run(experiment, 6000, {}, "twin").info.run_id
    log(store, twin, dev=RUN, test=BETTER)
    client.set_terminated(twin)
    ways = ("twin/art/dev/out", "twin/art/test/out")
    assert {line.split(" (")[0] for line in told(store)} >= {f"{name}: loaded" for name in ways}
    for more in ((), ("--replace",)):
        again = {line.split(" (")[0] for line in told(store, *more)}
        assert again >= {f"{name}: unchanged" for name in ways}


def test_a_run_keeps_its_name_when_its_namesake_is_gone(store: str, client: Any) -> None:
    first = told(store)
    names = [line.split(":")[0] for line in first]
    wh = Warehouse("w.duckdb")
    older, newer = (
        row[0] for row in wh.query(
            "select tags['mlflow_run_id'] from runs where starts_with(run, 'bm25') order by run_id"
        ).fetchall()
    )  # fmt: skip
    client.delete_run(older)
    assert told(store) == [line.replace("loaded", "unchanged") for line in first[1:]]
    # its content may be another, under that name
    Path("dev.run").write_text(RUN)
    client.log_artifact(newer, "dev.run", "runs")
    (problem,) = [line for line in told(store) if "another run" in line]
    assert f"dataset tiny has another run named {names[1]} already" in problem
    assert problem.endswith(
        "load this one as its new version with --replace (the old one stays readable)"
    )
    # MLflow gives the older one back: each is itself
    client.restore_run(older)
    assert [line.split(" (")[0] for line in told(store, "--replace")][:2] == [
        "bm25: unchanged", f"{names[1]}: replaced, version 2",
    ]  # fmt: skip


def test_a_namesake_that_is_new_is_another_run(store: str, client: Any) -> None:
    """Where it began before the one that has the name, and where that one is gone."""
    command("ingest", "mlflow", store, "-e", "ranking", "-d", "tiny", "--db", "w.duckdb")
    experiment = client.get_experiment_by_name("ranking").experiment_id
    early = client.create_run(experiment, 1, {}, "bm25").info.run_id
    log(store, early, any="q1 Q0 z 1 1 t\n")
    client.set_terminated(early)
    assert told(store, "--replace")[0].startswith(f"bm25-{early[:8]}: loaded")
    both = Warehouse("w.duckdb").query(
        "select tags['mlflow_run_id'] from runs where run in ('bm25', 'two/dev')"
    )
    for row in both.fetchall():
        client.delete_run(row[0])
    late = client.create_run(experiment, 9000, {}, "two/dev").info.run_id
    log(store, late, any="q1 Q0 y 1 1 t\n")
    client.set_terminated(late)
    (problem,) = [line for line in told(store) if "another run" in line]
    assert "load this one under another name by renaming its run in MLflow, or as" in problem
    assert any(line.startswith("two/dev: replaced") for line in told(store, "--replace"))


def test_problems(store: str) -> None:
    wh = Warehouse("w.duckdb")
    with expect_refusal("rankin … ranking"):
        load_experiment(wh, "tiny", store, "rankin")
    assert not wh.path.exists()
    code, _, err = command(
        "ingest", "mlflow", store, "-e", "ranking", "-d", "tiny", "--format", "csv"
    )
    assert code == 2
    assert err.count("warehouse: mlflow: ranking/") == 4
    code, _, err = command(
        "ingest", "mlflow", store, "-e", "ranking", "-d", "tiny", "--artifacts", "*.x"
    )
    assert (code, err) == (0, "ranking: no artifact of a finished run matches *.x\n")


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("sqlite:///nope.db", "nope.db: no such file; did you mean note.db?"),
        ("sqlite:////nowhere/nope.db", "/nowhere/nope.db: no such file"),
        ("sqlite:///empty", "empty: is no MLflow store: it has no table of experiments"),
        ("sqlite:///note.db", "note.db: cannot be read as an MLflow store: file is not a database"),
        ("nodir", "nodir: no such file"),
        ("file:nodir", "nodir: no such file"),
        ("file:///nowhere/nodir", "/nowhere/nodir: no such file"),
        (".", ".: is no MLflow store: no folder in it has a meta.yaml"),
    ],
)
def test_a_store_that_is_not_there_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uri: str, told: str
) -> None:
    pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").touch()
    (tmp_path / "note.db").write_text("a text")
    assert command("ingest", "mlflow", uri, "-e", "x", "-d", "y") == (2, "", told)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["empty", "note.db"]


def test_without_mlflow_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "mlflow.exceptions", None)
    code, _, err = command("ingest", "mlflow", "mlruns", "-e", "x", "-d", "y")
    assert code == 2
    assert "[mlflow]'" in err
    assert list(tmp_path.iterdir()) == []
