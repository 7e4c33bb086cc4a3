"""The command that measures speed runs from end to end. Nothing here looks at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks import contenders, data, rounds

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


def test_the_command_measures_and_writes_what_it_found(tmp_path: Path) -> None:
    for module in ("numpy", "pytrec_eval", "polars"):
        pytest.importorskip(module)
    done = benchmarks(
        *("help", "deep", "many", "--scale", 0.01, "--repeat", 1),
        *("--peer", "trec_eval", "--peer", "pytrec_eval", "--peer", "polars"),
        *("--data", tmp_path / "data", "--json", tmp_path / "found.json"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "trec_eval (C) is left out" in done.stdout
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["repeat"] == 1
    assert {"system", "processor", "cores", "memory_gb"} == set(found["machine"])
    assert {"python", "warehouse", "duckdb"} <= set(found["versions"])
    helped, deep, many = found["benchmarks"]
    assert [b["name"] for b in (helped, deep, many)] == ["help", "deep", "many"]
    assert [f["contender"] for f in helped["figures"]] == ["warehouse --help"]
    assert (deep["work"]["queries"], many["work"]["queries"], many["work"]["runs"]) == (1, 2, 2)
    for benchmark in (deep, many):
        ours, *peers = benchmark["figures"]
        assert ours["ours"]
        assert ours["metrics"] == 28
        assert {f["contender"] for f in peers} == {"pytrec_eval", "polars by hand"}
        for figure in benchmark["figures"]:
            assert all(figure[key] > 0 for key in COST)
            assert [set(cost) for cost in figure["rounds"]] == [COST]
            assert figure["metrics"] == len(figure["values"]) >= 27
            assert figure["largest_difference"] < 0.05
            # all did the same work, for they found the same; trec_eval 9 reaches a recall by a
            # formula of its own
            for name, value in figure["values"].items():
                if figure["contender"] == "polars by hand" or not name.startswith("IPrec"):
                    assert value == pytest.approx(ours["values"][name], abs=1e-9), name
        assert {(r["ours"], r["peer"]) for r in benchmark["ratios"]} == {
            (ours["contender"], f["contender"]) for f in peers
        }
        for ratio, peer in zip(benchmark["ratios"], peers, strict=True):
            assert ratio["wall"] == pytest.approx(ours["wall_s"] / peer["wall_s"])
    assert many["figures"][0]["bytes_per_prediction"] > 0


def test_a_name_that_is_none_is_refused() -> None:
    done = benchmarks("msmarko")
    assert done.returncode == 2
    assert "msmarko: is one of msmarco, deep, many, slices, help" in done.stderr
    done = benchmarks("help", "--repeat", 0)
    assert done.returncode == 2
    assert "--repeat is at least 1" in done.stderr


@pytest.mark.slow
def test_parts_are_measured_beside_the_whole(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    data.make("slices", tmp_path, 0.001)
    parts, *_, whole = contenders.OURS["slices"](tmp_path)
    results, failed = rounds.alternate([parts, whole], tmp_path, 1, lambda _: None)
    assert not failed
    ours, beside = results
    assert (ours.contender.ours, beside.contender.ours) == (True, False)
    assert len(ours.values) == 10
    assert rounds.difference(ours.values, beside.values) == 0


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
