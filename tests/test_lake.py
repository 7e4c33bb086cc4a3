"""A lake that several push into: no lost run, no double, no half, and the values of each to the bit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lakes import needs_lake
from projects import Answer
from refusals import expect_refusal

from warehouse import Warehouse
from warehouse.errors import DatabaseError, UsageError
from warehouse.store.lake import Lake

pytestmark = [pytest.mark.slow, needs_lake]

QRELS = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1}}
NEW_QRELS = {"q1": {"d1": 2, "d2": 1}, "q2": {"d3": 1}}
RUNS = {
    "both": {"q1": {"d2": 0.9, "d1": 0.4}, "q2": {"d3": 1.0}},
    "half": {"q1": {"d1": 0.9, "d2": 0.4}},
    "last": {"q1": {"d9": 0.9, "d1": 0.4}, "q2": {"d4": 0.5, "d3": 0.25}},
}
BOARD = "select dataset, run, metric, value from run_scores where is_current order by all"
VALUES = (
    "select dataset, run, metric, protocol, query_id, value, is_current "
    "from query_scores order by all"
)


def filled(path: Path, *runs: str, dataset: str = "tiny") -> Warehouse:
    """Make a file with some runs and their values."""
    wh = Warehouse(path)
    wh.ingest_qrels(dataset, QRELS)
    for name in runs:
        wh.ingest_run(dataset, RUNS[name], name=name, tags={"of": name})
    wh.evaluate(dataset, metrics=["AP", "nDCG@10", "GMAP"])
    return wh


def rows(wh: Warehouse, sql: str) -> list[tuple[Any, ...]]:
    return list(wh.query(sql).fetchall())


def test_what_is_pushed_is_collected(tmp_path: Path, run: Callable[..., Answer]) -> None:
    one = filled(tmp_path / "one.duckdb", "both", "half")
    lake = tmp_path / "lake"
    with expect_refusal("warehouse push"):
        Warehouse(tmp_path / "team.duckdb").collect(lake)
    assert one.push(lake)["evaluation"] == 6
    assert not any(one.push(lake).values())  # the same twice
    team = Warehouse(tmp_path / "team.duckdb")
    team.collect(lake)
    for sql in (
        BOARD,
        VALUES,
        "select dataset, run, version, tags, run_at from runs order by all",
    ):
        assert rows(team, sql) == rows(one, sql)
    verified = team.verify()
    assert (verified.is_good, verified.num_verified, sum(verified.skipped.values())) == (True, 0, 6)
    # another file has one run in common, one of its own, and the same names in another dataset
    two = filled(tmp_path / "two.duckdb", "both", "last")
    other = filled(tmp_path / "other.duckdb", "half", dataset="other")
    two.push(lake)
    other.push(lake)
    team.collect(lake)
    assert rows(team, BOARD) == sorted({*rows(one, BOARD), *rows(two, BOARD), *rows(other, BOARD)})
    # newer qrels and a forgotten run change what is current
    one.ingest_qrels("tiny", NEW_QRELS, replace=True)
    one.evaluate("tiny", metrics=["AP"])
    one.forget("tiny", "half", reason="wrong")
    one.push(lake)
    team.collect(lake)
    assert rows(team, BOARD) == [*rows(other, BOARD), *rows(one, BOARD)]
    # nothing is computed from lists that are not there
    with expect_refusal("both"):
        team.leaderboard("tiny", metrics=["P@7"])
    with expect_refusal("both … last"):
        team.evaluate("tiny", metrics=["P@7"])
    with expect_refusal(f"replica of lake {lake}", DatabaseError):
        team.ingest_run("tiny", RUNS["half"], name="new")
    shown = run("leaderboard", "-d", "other", "--lake", str(lake), "-f", "csv")
    assert shown.out.splitlines()[1].startswith("1,half,")
    assert (
        run("push", "--lake", str(lake), "--db", str(other.path)).err == f"{lake}: has all of it\n"
    )


def test_a_push_that_is_cut_off_is_not_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the values and the row that makes them visible; pushed again, nothing is there twice."""
    wh, lake = filled(tmp_path / "one.duckdb", "both"), tmp_path / "lake"
    wh.push(lake)
    two = filled(tmp_path / "two.duckdb", "last")
    append = Lake.append

    def cut(self: Lake, table: str, some: Any) -> int:
        if table == "evaluation":
            raise KeyboardInterrupt
        return append(self, table, some)

    team = Warehouse(tmp_path / "team.duckdb")
    with monkeypatch.context() as patch:
        patch.setattr(Lake, "append", cut)
        with pytest.raises(KeyboardInterrupt):
            two.push(lake)
    team.collect(lake)
    assert rows(team, BOARD) == rows(wh, BOARD)
    two.push(lake)
    team.collect(lake)
    assert rows(team, BOARD) == sorted([*rows(wh, BOARD), *rows(two, BOARD)])
    assert rows(team, "select count(*) from query_scores") == [(12,)]


@pytest.mark.parametrize("count", [2, pytest.param(8, marks=pytest.mark.long)])
def test_processes_push_at_once(tmp_path: Path, count: int) -> None:
    lake = tmp_path / "lake"
    files = [filled(tmp_path / f"{n}.duckdb", "both", dataset=f"d{n % 3}") for n in range(count)]
    code = "import sys; from warehouse import Warehouse; Warehouse(sys.argv[1]).push(sys.argv[2])"
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(wh.path), str(lake)]) for wh in files
    ]
    assert [process.wait(120) for process in started] == [0] * count
    team = Warehouse(tmp_path / "team.duckdb")
    team.collect(lake)
    assert rows(team, BOARD) == sorted({row for wh in files for row in rows(wh, BOARD)})


def test_refusals(tmp_path: Path) -> None:
    wh = filled(tmp_path / "one.duckdb", "both")
    file = tmp_path / "file"
    file.write_text("not a folder")
    with expect_refusal(str(file), DatabaseError):
        wh.push(file)
    lake = tmp_path / "lake"
    wh.push(lake)
    with expect_refusal("one.duckdb", UsageError):  # it is no replica
        wh.collect(lake)
