"""Runs that a training loop writes into a spool folder, and sync loads."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from refusals import expect_refusal

from warehouse import Warehouse, log_run
from warehouse.errors import InputError

PROJECT = """
[evaluate]
metrics = ["RR"]
[datasets.dl19]
qrels = "qrels.txt"
[[runs]]
files = "spool/{dataset}/*.run.gz"
sidecar = true
"""


def test_a_logged_run_is_loaded_by_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The relevant d1 of q1 is second, then first; q2 is answered with nothing, which counts as 0."""
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text("q1 0 d1 1\nq2 0 d1 1\n")
    Path("warehouse.toml").write_text('settle = "0s"' + PROJECT)
    about = {"dataset": "dl19", "system": "ours"}
    first = log_run({"q1": {"d2": 0.9, "d1": 0.5}, "q2": {}}, step=1, tags={"lr": 0.1}, **about)
    best = {"q1": {"d1": 2.0}}
    at = dt.datetime(2026, 9, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    other = log_run(best, name="best one", run_at=at, **about)
    before = first.stat().st_mtime_ns
    assert log_run({"q1": {"d2": 0.9, "d1": 0.5}, "q2": {}}, step=1, **about) == first
    assert first.stat().st_mtime_ns == before
    files = {path for run in (first, other) for path in (run, run.with_suffix(".json"))}
    assert set(Path("spool/dl19").iterdir()) == files
    wh = Warehouse("w.duckdb")
    assert wh.sync().exit_code == 0
    assert [(row.run, row.system, row.RR) for row in wh.leaderboard()] == [
        ("best one", "ours", 0.5),
        ("ours-1", "ours", 0.25),
    ]
    times = dict(wh.query("select run, run_at from runs").fetchall())
    assert times["best one"] == at
    tags = {row.run: row.tags for row in wh.runs()}
    assert "lr=0.1" in tags["ours-1"]
    assert "step=1" in tags["ours-1"]


def test_what_cannot_be_logged(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    with expect_refusal("score 'nan' is not a finite number", InputError):
        log_run({"q": {"d": float("nan")}}, dataset="dl19", system="ours", spool=spool)
    with expect_refusal("system= … name="):
        log_run({"q": {"d": 1}}, dataset="dl19", step=3, spool=spool)
    with expect_refusal("'../x'"):
        log_run({"q": {"d": 1}}, dataset="../x", system="ours", spool=spool)
    assert not spool.exists()
