"""The command that measures speed runs from end to end. Nothing here looks at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import contenders, goals, works

CHECKOUT = Path(__file__).resolve().parents[1]
COST = {"wall_s", "cpu_s", "peak_mb"}


def benchmarks(*arguments: object, trec_eval: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", *map(str, arguments)],
        cwd=CHECKOUT,
        env=os.environ | {"TREC_EVAL": trec_eval},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def found_the_same(benchmark: dict[str, Any], peers: set[str]) -> None:
    """Everybody did the same work, for they found the same values."""
    ours = [f for f in benchmark["figures"] if f["ours"]]
    others = [f for f in benchmark["figures"] if not f["ours"]]
    assert {f["contender"] for f in others} == peers
    for figure in benchmark["figures"]:
        assert all(figure[key] > 0 for key in COST)
        assert [set(cost) for cost in figure["rounds"]] == [COST]
        assert figure["metrics"] == len(figure["values"]) >= 27
        assert figure["largest_difference"] < (1e-12 if figure["ours"] else 0.05)
        # trec_eval 9 reaches a recall by a formula of its own
        for name, value in figure["values"].items():
            if figure["contender"] == "polars by hand" or not name.startswith("IPrec"):
                assert value == pytest.approx(ours[0]["values"][name], abs=1e-9), name
    walls = {f["contender"]: f["wall_s"] for f in benchmark["figures"]}
    assert [(r["ours"], r["peer"]) for r in benchmark["ratios"]] == [
        (f["contender"], p["contender"]) for f in ours for p in others
    ]
    for ratio in benchmark["ratios"]:
        assert ratio["wall"] == pytest.approx(walls[ratio["ours"]] / walls[ratio["peer"]])


@pytest.mark.slow
def test_the_command_measures_and_writes_what_it_found(tmp_path: Path) -> None:
    for module in ("numpy", "pytrec_eval", "polars"):
        pytest.importorskip(module)
    done = benchmarks(
        *("help", "deep", "--scale", 0.01, "--repeat", 1),
        *("--peer", "trec_eval", "--peer", "pytrec_eval", "--peer", "polars"),
        *("--data", tmp_path / "data", "--json", tmp_path / "found.json"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "trec_eval (C) is left out" in done.stdout
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["repeat"] == 1
    assert {"system", "processor", "cores", "memory_gb"} == set(found["machine"])
    assert {"python", "warehouse", "duckdb"} <= set(found["versions"])
    helped, deep = found["benchmarks"]
    assert (helped["name"], deep["name"]) == ("help", "deep")
    assert [f["contender"] for f in helped["figures"]] == [works.HELP]
    assert deep["work"]["queries"] == 1
    found_the_same(deep, {"pytrec_eval", "polars by hand"})


def test_a_name_that_is_none_is_refused() -> None:
    done = benchmarks("msmarko")
    assert done.returncode == 2
    assert f"msmarko: is one of {', '.join(works.BENCHMARKS)}" in done.stderr
    done = benchmarks("help", "--repeat", 0)
    assert done.returncode == 2
    assert "--repeat is at least 1" in done.stderr


def test_every_goal_is_of_somebody_who_takes_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREC_EVAL", "/bin/true")
    for goal in goals.GOALS:
        everybody, missing = works.BENCHMARKS[goal.benchmark].everybody(tmp_path, contenders.PEERS)
        known = {contender.name: contender for contender in everybody}
        assert known[goal.ours].ours
        if goal.peer is not None and goal.peer not in known:
            # not installed: then a line says so
            program = goal.peer.partition(",")[0].partition(" ")[0]
            assert any(line.startswith(program) for line in missing), goal
        elif goal.peer is not None:
            assert not known[goal.peer].ours
            assert known[goal.peer].group == known[goal.ours].group
