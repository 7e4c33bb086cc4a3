"""Several `warehouse sync` at once, and one that is killed: nothing twice, nothing lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import duckdb
import pytest
from syncs import RUN, Project

RUNS = 10


def start(program, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(program.folder / "warehouse"), "sync", "--config", str(folder / "warehouse.toml")],
        env=program.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def held(path: Path) -> dict[str, int]:
    """Return how many rows there are of each thing, and of how many different ones."""
    with duckdb.connect(str(path), read_only=True) as con:
        row = con.execute("""
            select
                (select count(*) from store.run),
                (select count(distinct name) from store.run),
                (select count(distinct run_id) from store.prediction),
                (select count(*) from store.qrels),
                (select count(*) from store.source_file),
                (select count(distinct (path, kind)) from store.source_file),
                (select count(*) from store.evaluation),
                (select count(distinct (run_id, metric)) from store.evaluation),
                (select count(*) from store.score)
        """).fetchone()
    names = whole(0)
    return dict(zip(names, row, strict=True))


def whole(runs: int) -> dict[str, int]:
    return {
        "runs": runs, "names": runs, "predictions": runs, "qrels": 1, "files": runs + 1,
        "paths": runs + 1, "evaluations": runs, "evaluated": runs, "scores": runs,
    }  # fmt: skip


@pytest.fixture
def many(synced: Project) -> Project:
    for number in range(1, RUNS):
        synced.write(f"runs/bm25/{number:02}.run", RUN + f"q1 Q0 d{number} 3 0 t\n")
    return synced


@pytest.mark.long
def test_four_at_once_on_one_folder(many: Project, program) -> None:
    working = [start(program, many.path) for _ in range(4)]
    said = [process.communicate(timeout=100) for process in working]
    assert [process.returncode for process in working] == [0] * 4
    assert "".join(err for _, err in said) == ""
    lines = [line for out, _ in said for line in out.splitlines() if " loaded from " in line]
    # each file by one of them, and each once
    assert len(lines) == len(set(lines)) == RUNS + 1
    assert held(many.path / "w.duckdb") == whole(RUNS)
    assert many.told() == []


@pytest.mark.slow
def test_an_interrupt_ends_it_with_130(many: Project, program) -> None:
    process = program.python(
        "import sys; sys.argv = ['warehouse', 'sync']\nfrom warehouse.cli import main; main()",
        cwd=many.path,
    )
    process.stdout.readline()
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in err) == (130, False)
    assert many.warehouse.sync().exit_code == 0
    assert held(many.path / "w.duckdb") == whole(RUNS)


@pytest.mark.long
def test_what_is_killed_is_finished_by_the_next(many: Project, program) -> None:
    chance = random.Random(7)
    database = many.path / "w.duckdb"
    seen = 0
    for _ in range(4):
        process = start(program, many.path)
        acknowledged = 0
        for line in process.stdout:
            acknowledged += " loaded from runs" in line
            if acknowledged == 2:
                break
        time.sleep(chance.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate(timeout=30)
        seen += acknowledged + rest.count(" loaded from runs")
        found = held(database)
        # what was told is there, and nothing is there by half
        assert found["runs"] >= seen
        assert found["runs"] == found["names"] == found["predictions"] == found["files"] - 1
        assert found["evaluations"] == found["scores"]
        seen = found["runs"]
    assert many.warehouse.sync().exit_code == 0
    assert held(database) == whole(RUNS)
    assert many.told() == []
