"""The command that measures speed runs from end to end. Nothing here looks at a time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import (
    contenders,
    data,
    goals,
    metrics,
    plans,
    restore,
    rounds,
    stored,
    works,
)
from warehouse import Warehouse

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


@pytest.mark.long
def test_parts_are_measured_beside_the_whole(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    data.make("slices", tmp_path, 0.001)
    (parts, *_, whole), _ = works.BENCHMARKS["slices"].everybody(tmp_path, ())
    results, failed = rounds.alternate([parts, whole], tmp_path, 1, lambda _: None)
    assert not failed
    ours, beside = results
    assert (ours.contender.ours, beside.contender.ours) == (True, False)
    assert len(ours.values) == 10
    assert rounds.difference(ours.values, beside.values) == 0


@pytest.mark.slow
def test_the_program_that_trec_eval_names_takes_part(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    program = tmp_path / "trec_eval"
    program.write_text(
        "#!/bin/sh\n"
        'echo "$@" > asked\n'
        "printf 'map                   \\tall\\t0.5000\\n'\n"
        "printf 'iprec_at_recall_0.10  \\tall\\t0.2500\\n'\n"
    )
    program.chmod(0o755)
    done = benchmarks(
        *("deep", "--scale", 0.01, "--repeat", 1, "--peer", "trec_eval"),
        *("--data", tmp_path, "--json", tmp_path / "found.json"),
        trec_eval=str(program),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ((_, figure),) = [
        b["figures"] for b in json.loads((tmp_path / "found.json").read_text())["benchmarks"]
    ]
    assert (figure["contender"], figure["metrics"]) == ("trec_eval (C)", 2)
    *options, qrels, run = (tmp_path / "deep-0.01" / "asked").read_text().split()
    assert options[1::2] == [
        *("map", "ndcg", "ndcg_cut.10", "P.5,10,20,100", "recall.10,100,1000", "recip_rank"),
        *("Rprec", "bpref", "success.1,5,10", "iprec_at_recall"),
    ]
    assert (Path(qrels).name, Path(run).name) == ("qrels.txt", "run00.trec")


def test_everybody_computes_the_same_metrics() -> None:
    named = "AP nDCG nDCG@10 P@5 P@10 P@20 P@100 R@10 R@100 R@1000 RR RR@10 Rprec bpref"
    named += " Success@1 Success@5 Success@10"
    points = [f"IPrec@{tenth / 10:.1f}" for tenth in range(11)]
    assert [*named.split(), *points] == list(metrics.METRICS)
    assert len(set(stored.BOARD_METRICS)) == 30


@pytest.fixture(scope="module")
def made_history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a history of 3 runs of 4 queries, to be copied."""
    folder = tmp_path_factory.mktemp("history")
    assert stored.history(folder, queries=4, judged=10, depth=100, runs=3) == 40
    return folder


@pytest.fixture
def history(made_history: Path, tmp_path: Path) -> Path:
    """Return a folder of the test's own: what it changes there, no other sees."""
    return shutil.copytree(made_history, tmp_path / "history")


def scores(wh: Warehouse) -> dict[tuple[str, str], float]:
    rows = wh.query("select run, metric, value from scores").fetchall()
    assert len(rows) == len({row[:2] for row in rows})
    return {(run, metric): value for run, metric, value in rows}


@pytest.mark.slow
def test_a_history_is_what_many_runs_leave(history: Path) -> None:
    wh = Warehouse(history / stored.FILE)
    sizes = wh.runs().relation.project("run, queries, predictions").fetchall()
    assert sorted(sizes) == [(f"run000{n}", 4, 400) for n in range(3)]
    for line in (history / "qrels.txt").read_text().splitlines():
        query, _, _, grade = line.split(" ")
        assert (query in "1234", grade in "0123") == (True, True)
    extra = [line.split(" ") for line in (history / stored.EXTRA).read_text().splitlines()]
    assert [int(rank) for _, _, _, rank, _, _ in extra] == [*range(1, 101)] * 4
    found = scores(wh)
    assert len(found) == 3 * 28
    # the runs differ, and are neither perfect nor lost
    assert len({found[f"run000{n}", "AP"] for n in range(3)}) == 3
    assert all(0 < found[f"run000{n}", "AP"] < 1 for n in range(3))


@pytest.mark.long
def test_what_is_measured_is_taken_out_again(history: Path) -> None:
    path = history / stored.FILE
    wh = Warehouse(path)
    before = scores(wh)
    wh.ingest_run(stored.DATASET, history / stored.EXTRA)
    wh.evaluate(stored.DATASET, metrics="AP P@7")
    assert len(scores(wh)) == len(before) + 1 + 4
    restore.restore(str(path), "extra", ["P@7", "nDCG@10"])
    kept = {key: value for key, value in before.items() if key[1] != "nDCG@10"}
    assert scores(wh) == kept
    counts = "select count(*), count(distinct run_id) from"
    assert wh.query(f"{counts} store.prediction").fetchall() == [(1200, 3)]
    assert wh.query(f"{counts} store.hit_set").fetchall() == [(3, 3)]
    ((values,),) = wh.query("select count(*) from store.query_score").fetchall()
    assert values == len(kept) * 4
    # and is computed again to the same
    wh.evaluate(stored.DATASET, metrics="nDCG@10")
    assert scores(wh) == before


@pytest.mark.slow
def test_the_plans_say_whether_predictions_are_read(history: Path) -> None:
    path = str(history / stored.FILE)
    restore.restore(path, "", ["nDCG@10"])
    tables = plans.scanned(path, stored.DATASET, "nDCG@10")
    assert {"hit", "judgment"} <= tables
    assert not tables & plans.FORBIDDEN
    # without hits they are
    restore.restore(path, "run0000", [])
    wh = Warehouse(path)
    wh.ingest_run(stored.DATASET, history / stored.EXTRA, name="run0000")
    assert plans.FORBIDDEN & plans.scanned(path, stored.DATASET, "nDCG@10")


@pytest.mark.slow
def test_the_board_shows_copies_that_are_values_like_any_other(tmp_path: Path) -> None:
    stored.leaderboard(tmp_path, queries=3, judged=4, depth=20, runs=120)
    wh = Warehouse(tmp_path / stored.FILE)
    board = wh.leaderboard(stored.DATASET)
    assert set(stored.BOARD_METRICS) < set(board.columns)
    assert len(board) == 120
    assert len(board.relation.project("AP").distinct().fetchall()) > 60
    apart = """
        select max(abs(scores.value - mean))
        from scores
        join (select evaluation_id, avg(value) as mean from store.query_score group by all)
            using (evaluation_id)
    """
    assert wh.query(apart).fetchall()[0][0] < 1e-12
    assert wh.query("select count(*) from store.query_score").fetchall() == [(3 * 30 * 120,)]
    # none of them is stale or missing
    assert wh.evaluate(stored.DATASET, metrics=stored.BOARD_METRICS, dry_run=True).computed == 0


def measured(folder: Path, *names: str) -> list[dict[str, Any]]:
    """Return what the command finds of some benchmarks when all is small."""
    for module in ("numpy", "pandas", "polars", "pyarrow", "pytrec_eval", "scipy"):
        pytest.importorskip(module)
    done = benchmarks(
        *(*names, "--scale", 0.01, "--repeat", 1, "--peer", "pytrec_eval"),
        *("--data", folder / "data", "--json", folder / "found.json"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: list[dict[str, Any]] = json.loads((folder / "found.json").read_text())["benchmarks"]
    assert [one["name"] for one in found] == list(names)
    return found


@pytest.mark.long
def test_the_large_benchmarks_run(tmp_path: Path) -> None:
    history, msmarco = measured(tmp_path, "history", "msmarco")
    one, all_, extra, first = history["figures"]
    assert (one["metrics"], all_["metrics"], extra["metrics"], first["metrics"]) == (1, 28, 28, 28)
    assert (all_["largest_difference"], first["largest_difference"]) == (0, 0)
    assert "no prediction among them" in one["notes"][0]
    assert [(r["ours"], r["peer"]) for r in history["ratios"]] == [
        (works.ONE_MORE, works.THE_FIRST)
    ]
    found_the_same(msmarco, {"pytrec_eval"})
    assert works.LIMITED in {f["contender"] for f in msmarco["figures"]}
    assert msmarco["figures"][-2]["bytes_per_prediction"] > 0
    printed = benchmarks("--markdown", tmp_path / "found.json")
    assert printed.returncode == 0, printed.stderr
    assert "a new metric for 1,000 stored runs" in printed.stdout


@pytest.mark.long
def test_the_other_benchmarks_run(tmp_path: Path) -> None:
    names = ("leaderboard", "objects-deep", "many", "compare", "nights")
    board, objects, many, compared, nights = measured(tmp_path, *names)
    assert [(r["ours"], r["peer"]) for r in nights["ratios"]] == [
        (works.gated(against), works.NO_GATE) for against in ("last", "best")
    ]
    # the board has the metrics that only it has, too
    assert [f["metrics"] for f in board["figures"]] == [28] * 3
    assert all(f["largest_difference"] < 1e-12 for f in board["figures"])
    found_the_same(objects, {works.PYTREC_CALL})
    kinds = [f["contender"] for f in objects["figures"] if f["ours"]]
    prepared = [works.prepared(kind) for kind in works.PREPARED]
    assert kinds == [works.called(kind) for kind in works.KINDS] + prepared
    assert many["work"]["runs"] == 2
    found_the_same(many, {"pytrec_eval"})
    assert many["figures"][-2]["bytes_per_prediction"] > 0
    pairs, scipys, *_ = compared["figures"]
    assert len(pairs["values"]) == 5
    assert pairs["values"] == pytest.approx(scipys["values"], rel=1e-9)


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


def test_the_table_of_goals_has_what_was_measured(tmp_path: Path) -> None:
    def figure(name: str, wall: float, peak: float = 100.0, cpu: float = 2.0) -> dict[str, object]:
        return {"contender": name, "wall_s": wall, "peak_mb": peak, "cpu_s": cpu}

    measured = {
        "date": "2026-01-02",
        "machine": {"processor": "P", "cores": 2, "memory_gb": 8, "system": "S"},
        "versions": {"python": "3"},
        "repeat": 5,
        "scale": 0.5,
        "load": [0.1, 0.2],
        "benchmarks": [
            {
                "name": "msmarco",
                "figures": [figure(works.TREC, 1.0, 451), figure("ranx", 40.0, cpu=40.0)],
            },
            {"name": "help", "figures": [figure(works.HELP, 0.05)]},
        ],
    }
    older = tmp_path / "older.json"
    helped = {"name": "help", "figures": [figure(works.HELP, 9.0)]}
    older.write_text(json.dumps(measured | {"date": "2025-01-02", "benchmarks": [helped]}))
    newer = tmp_path / "newer.json"
    newer.write_text(json.dumps(measured))
    lines = goals.markdown([older, newer]).splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:5]]
    assert rows == [
        ["`score`, TREC text, msmarco", "1.00 s", "ranx", "40.00 s", "0.03", "0.05", "≤ 0.05", ""],
        ["`warehouse --help`", "50 ms", "", "", "", "", "≤ 0.20 s", ""],
        ["peak memory of `score`, msmarco", "451 MB", "", "", "", "", "≤ 450 MB", "missed"],
    ]
    assert (
        "2026-01-02, median of 5 round(s), at 0.5 of the size; load of the machine 0.1 to 0.2"
        in lines
    )
