"""Eight processes at work on one file: nothing is lost, and nobody waits in vain.

Two load runs, one evaluates, two sync a folder of their own, one asks, one publishes and one serves, as
fast as they can. At the end everything that was acknowledged is there once, and the values are those of
one process that loads the same runs one after the other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from operations import METRICS, fill, qrels, qrels_lines, run, run_lines

from tests.survival.outcome import Outcome
from warehouse.errors import WarehouseError
from warehouse.extensions.server.replicas import Replicas
from warehouse.sql_text import templates
from warehouse.store.database import Resources
from warehouse.warehouse import Warehouse

ROLES = ("ingest", "ingest", "evaluate", "sync", "sync", "ask", "publish", "serve")
BOARD = "select dataset, run, metric, value from score_versions where is_current order by all"
PROJECT = """\
database = "../w.duckdb"
settle = 0

[datasets.synced]
qrels = "qrels.txt"
metrics = ["RR"]

[[runs]]
files = "*.run"
dataset = "synced"
"""


def survive(outcome: Outcome, seconds: int, seed: int) -> None:
    """Let the processes work for so long, and look at what they leave."""
    outcome.notes.append(f"{len(ROLES)} processes for {seconds} s")
    with tempfile.TemporaryDirectory(prefix="survival-") as place:
        folder = Path(place)
        wh = Warehouse(folder / "w.duckdb")
        fill(wh)
        paths = [str(Path(templates.__file__).parents[2]), str(Path(__file__).parents[1])]
        paths.append(str(Path(__file__).parent))
        working = [
            subprocess.Popen(
                [sys.executable, __file__, str(number), role, str(folder), str(seconds)],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for number, role in enumerate(ROLES)
        ]
        names: list[str] = []
        for role, process in zip(ROLES, working, strict=True):
            out, err = process.communicate()
            with outcome.case(role):
                assert (process.returncode, err) == (0, ""), err or process.returncode
                told = json.loads(out)
                names += told["names"]
                outcome.add("done", role, len(told["times"]))
                outcome.failures += [(role, text) for text in told["errors"]]
                times = sorted(told["times"])
                outcome.notes.append(
                    f"{role}: {len(times):,} times, median {median(times):.2f} s, "
                    f"longest {times[-1]:.2f} s"
                )
        with outcome.case("what is left"):
            _check(wh, folder, names)


def _check(wh: Warehouse, folder: Path, names: list[str]) -> None:
    found = Counter(row[0] for row in wh.query("select name from store.run").fetchall())
    lost = [name for name in names if found[name] != 1]
    assert not lost, f"lost or doubled: {lost[:5]}"
    more = set(found) - {*names, "one", "two", "three"}
    assert not more, f"never acknowledged: {sorted(more)[:5]}"
    wh.evaluate(metrics=METRICS)
    verified = wh.verify()
    assert verified.is_good
    assert verified.num_verified == verified.num_stored
    assert _board(wh) == _board(_replayed(folder / "replayed.duckdb", names))
    left = [path.name for path in folder.iterdir() if path.name.startswith(".")]
    assert not left, left


def _board(wh: Warehouse) -> list[tuple[Any, ...]]:
    with wh.file.read() as con:
        return con.execute(BOARD).fetchall()


def _replayed(path: Path, names: list[str]) -> Warehouse:
    """Do in one process, one after the other, what the others have acknowledged."""
    wh = Warehouse(path)
    fill(wh)
    wh.ingest_qrels("synced", qrels(1))
    for name in names:
        number, _, turn = name.removeprefix("p").partition("n")
        dataset = "synced" if ROLES[int(number)] == "sync" else "tiny"
        wh.ingest_run(dataset, run(int(turn)), name=name)
    wh.evaluate(metrics=METRICS)
    return wh


def _served(found: Replicas, before: int) -> int:
    """Look at what the server would show, and return how many runs: never fewer than before."""
    found.refresh()
    with found.snapshot.file.read() as con:
        ((runs,),) = con.execute("select count(*) from runs").fetchall()
    assert runs >= before
    return int(runs)


def work(number: int, role: str, folder: Path, seconds: float) -> dict[str, Any]:
    """Do one thing again and again; return how long each took and the runs that are there."""
    wh = Warehouse(folder / "w.duckdb", lock_timeout=600 if role == "sync" else 30)
    mine = folder / f"project{number}"
    if role == "sync":
        mine.mkdir()
        (folder / "qrels.txt").write_text(qrels_lines(qrels(1)))
        (mine / "warehouse.toml").write_text(PROJECT.replace('"qrels', '"../qrels'))
    times, names, errors, seen = [], [], [], 0
    if role == "serve":
        mine.mkdir()
        replicas = Replicas(wh.file, mine, Resources())
    deadline = time.monotonic() + seconds
    turn = 0
    while time.monotonic() < deadline:
        turn += 1
        name = f"p{number}n{turn}"
        started = time.monotonic()
        try:
            if role == "ingest":
                wh.ingest_run("tiny", run(turn), name=name)
                names.append(name)
            elif role == "evaluate":
                wh.evaluate("tiny", metrics=METRICS)
            elif role == "sync":
                (mine / f"{name}.run").write_text(run_lines(run(turn)))
                done = wh.sync(mine / "warehouse.toml")
                errors += [event.text for event in done.events if event.exit_code]
                names.append(name)
            elif role == "ask":
                wh.leaderboard("tiny", metrics=METRICS).fetchall()
            elif role == "serve":
                seen = _served(replicas, seen)
            else:
                wh.publish(folder / "replica.duckdb")
        except WarehouseError as error:
            errors.append(str(error))
        times.append(time.monotonic() - started)
    return {"times": times, "names": names, "errors": errors}


if __name__ == "__main__":
    number, role, folder, seconds = sys.argv[1:]
    print(json.dumps(work(int(number), role, Path(folder), float(seconds))))
