"""A lake that several push into: no lost run, no double, no half, and the values of each to the bit."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest
from clusters import needs_spark
from hostile_sql import SECRET
from lakes import needs_lake
from projects import Answer
from refusals import expect_refusal

from warehouse import Warehouse
from warehouse.analyze.gate_results import who
from warehouse.config.settings import VERSION
from warehouse.errors import DatabaseError, InputError, UsageError, WarehouseError
from warehouse.extensions.lake import collect, contents, pull, push, shared_lake, tables
from warehouse.extensions.lake.tables import TABLES, Lake
from warehouse.extensions.server.replicas import Replicas
from warehouse.store.database import Resources
from warehouse.store.file import WarehouseFile

pytestmark = [pytest.mark.slow, needs_lake]

QRELS = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1}}
NEW_QRELS = {"q1": {"d1": 2, "d2": 1}, "q2": {"d3": 1}}
RUNS = {
    "both": {"q1": {"d2": 0.9, "d1": 0.4}, "q2": {"d3": 1.0}},
    "half": {"q1": {"d1": 0.9, "d2": 0.4}},
    "last": {"q1": {"d9": 0.9, "d1": 0.4}, "q2": {"d4": 0.5, "d3": 0.25}},
}
BOARD = "select dataset, run, metric, value from score_versions where is_current order by all"
CURRENT = "select dataset, run, metric, query_id, value from query_scores order by all"
VALUES = (
    "select dataset, run, metric, protocol, query_id, value, is_current "
    "from query_score_versions order by all"
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
        collect(Warehouse(tmp_path / "team.duckdb"), lake)
    assert push(one, lake)["evaluation"] == 6
    assert not any(push(one, lake).values())  # the same twice
    team = Warehouse(tmp_path / "team.duckdb")
    collect(team, lake)
    for sql in (BOARD, VALUES, "select dataset, run, version, tags, run_at from runs order by all"):
        assert rows(team, sql) == rows(one, sql)
    assert "no value was verified" in run("verify", "--db", str(team.path)).err
    verified = team.verify()
    assert (verified.is_good, verified.num_verified, sum(verified.skipped.values())) == (True, 0, 6)
    # another file has one run in common, one of its own, and the same names in another dataset
    two = filled(tmp_path / "two.duckdb", "both", "last")
    other = filled(tmp_path / "other.duckdb", "half", dataset="other")
    push(two, lake)
    push(other, lake)
    collect(team, lake)
    assert rows(team, BOARD) == sorted({*rows(one, BOARD), *rows(two, BOARD), *rows(other, BOARD)})
    # newer qrels and a forgotten run change what is current
    one.ingest_qrels("tiny", NEW_QRELS, replace=True)
    one.evaluate("tiny", metrics=["AP"])
    one.forget("tiny", "half", reason="wrong")
    push(one, lake, make_current=True)
    collect(team, lake)
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


def test_what_stays_in_the_file(tmp_path: Path) -> None:
    """Values of slices, curves and other programs, and qrels of one judge, with values against them."""
    answers = pytest.importorskip("warehouse.extensions.answers")
    lake = tmp_path / "lake"
    wh = filled(tmp_path / "one.duckdb", "both")
    push(wh, lake, with_runs=True)
    wh.evaluate("tiny", metrics=["AP"], slices="first = case when query_id = 'q1' then 'q1' end")
    wh.curve("tiny", "ROC", store=True)
    wh.ingest_scores("tiny", [{"query_id": "q1", "metric": "M", "value": 0.5}], name="both")
    answers.ingest_judgments(wh, "tiny", {"q1": {"d1": 1}}, judge="ann")
    wh.evaluate("tiny", metrics=["AP"], qrels=2)
    assert rows(wh, "select count(*) from store.evaluation") == [(7,)]  # three, then one of each
    assert not any(push(wh, lake, with_runs=True).values())
    sides = tmp_path / "sides.prefs"
    sides.write_text("q1 g s d1 1\nq1 g s d2 0\n")
    wh.ingest_qrels("sides", sides, format="prefs")
    added = push(wh, lake, with_runs=True)
    assert (added["qrels"], added["judgment"]) == (1, 0)


FEW = {"q1": {"d1": 1}}


def test_what_is_current_for_all_is_changed_on_purpose(
    tmp_path: Path, run: Callable[..., Answer]
) -> None:
    """A colleague has qrels of one query, and other predictions under a name of the lake."""
    lake = tmp_path / "lake"
    one = filled(tmp_path / "one.duckdb", "both", "half")
    assert push(one, lake).notes == ()
    two = Warehouse(tmp_path / "two.duckdb")
    two.ingest_qrels("tiny", FEW)
    two.ingest_run("tiny", RUNS["last"], name="half")
    two.ingest_run("tiny", {"q1": {"d1": 1.0}}, name="few")
    two.evaluate("tiny", metrics=["nDCG@10", "AP"])
    said = run("push", "--lake", str(lake), "--db", str(two.path)).err
    assert f"tiny/half: the lake has other predictions under this name, pushed by {who()}" in said
    assert f"(2 queries, pushed by {who()}) than those here (1 query)" in said
    assert f"warehouse push --lake {lake} --make-current" in said
    team = Warehouse(tmp_path / "team.duckdb")
    left_out = collect(team, lake).notes
    assert "tiny: left out are qrels of 1 query" in left_out[0]
    assert "values of 2 runs" in left_out[0]
    # `few` and a new `half` have no values against the lake's qrels, and stop no board of the others
    assert rows(team, "select distinct run, num_queries from scores") == [("both", 2)]
    shown = run("leaderboard", "-d", "tiny", "-m", "AP", "--lake", str(lake), "-f", "csv")
    assert (shown.code, shown.out.splitlines()[1][:7]) == (0, "1,both,")
    assert "left out are qrels of 1 query" in shown.err
    assert "no values for this board of few, half" in shown.err
    today = ("-d", "tiny", "-m", "AP", "--as-of", f"{dt.datetime.now(dt.UTC):%Y-%m-%d}")
    shown = run("leaderboard", *today, "--lake", str(lake))
    assert "left out are qrels of 1 query" in shown.err
    assert "no values for this board of few, half" in shown.err
    shown = run("leaderboard", *today, "--db", str(team.path))
    assert "no values for this board of few, half" in shown.err
    assert not any(push(two, lake).values())
    before = dt.datetime.now(dt.UTC).isoformat()
    said = run("push", "--lake", str(lake), "--db", str(two.path), "--make-current").err
    assert (
        "its qrels here (1 query) are current in the lake now, instead of those that "
        f"{who()} pushed on {before[:10]} (2 queries)" in said
    )
    assert collect(team, lake).notes == ()
    assert rows(team, "select run, metric from scores where metric = 'AP' order by all") == [
        ("few", "AP"), ("half", "AP"),
    ]  # fmt: skip
    # a board as of before has what it had then
    then = f"select run from board_as_of('tiny', '{before}', metric_name := 'AP')"
    assert rows(team, then) == [("both",)]
    # back again, by who has the others
    assert push(one, lake, make_current=True)["made_current"] == 1
    collect(team, lake)
    assert rows(team, "select distinct run, num_queries from scores") == [("both", 2)]
    # what its author has replaced is no news, and other qrels alone are not current
    one.ingest_run("tiny", RUNS["last"], name="both", replace=True)
    assert push(one, lake).notes == ()
    one.ingest_qrels("tiny", NEW_QRELS, replace=True)
    said = run("push", "--lake", str(lake), "--db", str(one.path)).err
    assert "the current qrels of the lake are others" in said
    assert said.endswith(f"{lake}: pushed qrels\n")


def test_two_bring_a_dataset_at_once(tmp_path: Path) -> None:
    """Neither has seen the other's push: the qrels of the first are current, also by the views."""
    lake, other = tmp_path / "lake", tmp_path / "other"
    one, two = filled(tmp_path / "one.duckdb", "both"), Warehouse(tmp_path / "two.duckdb")
    two.ingest_qrels("tiny", FEW)
    two.ingest_run("tiny", RUNS["half"], name="half")
    two.evaluate("tiny", metrics=["AP"])
    push(one, lake)
    push(two, other)
    for table in TABLES:
        Lake(str(lake)).append(table, Lake(str(other)).read(table).to_table())
    team = Warehouse(tmp_path / "team.duckdb")
    (left_out,) = collect(team, lake).notes
    assert "qrels of 1 query" in left_out
    assert rows(team, BOARD) == rows(one, BOARD)
    assert by_duckdb(lake)("board", ["dataset", "run", "metric", "value"]) == rows(one, BOARD)


def test_what_a_lake_does_not_have_is_not_zero(tmp_path: Path, run: Callable[..., Answer]) -> None:
    lake, file = tmp_path / "lake", ("--db", str(tmp_path / "team.duckdb"))
    push(filled(tmp_path / "one.duckdb", "both", "half"), lake)
    run("collect", "--lake", str(lake), *file)
    shown = run("queries", "both", "-d", "tiny", "-m", "AP", "-f", "csv", *file).out.splitlines()
    assert shown[1] == "q1,0.5,,,,"
    (qrels,) = json.loads(run("qrels", "-f", "json", *file).out)
    assert (qrels["judgments"], qrels["relevant"]) == (3, None)
    for words in (
        ("explain", "both", "AP", "q1", "-d", "tiny"),
        ("holes", "-d", "tiny"),
        ("fuse", "both", "half", "--name", "new", "-d", "tiny"),
        ("qrels", "diff", "1", "1", "-d", "tiny"),
    ):
        refused = run(*words, *file)
        assert (refused.code, "collected from a lake" in refused.err) == (2, True), words
    for words in (("status",), ("leaderboard", "-d", "tiny")):
        assert "warehouse evaluate" not in run(*words, *file).err


def test_a_run_is_renamed_and_described_for_all(tmp_path: Path) -> None:
    """There and back, and then it is forgotten; each time the lake has one run of it, or none."""
    lake, team = tmp_path / "lake", Warehouse(tmp_path / "team.duckdb")
    wh = filled(tmp_path / "one.duckdb", "both", "half")
    push(wh, lake)
    told = "select run, system, tags from runs where run <> 'half'"
    for name, system in (("new", "S"), ("both", "T")):
        wh.edit("tiny", "both" if name == "new" else "new", name=name, system=system)
        added = push(wh, lake)
        assert (added["run"], added["tombstone"]) == (1, 1)
        assert not any(push(wh, lake).values())
        collect(team, lake)
        assert rows(team, told) == [(name, system, {"of": "both"})]
        assert rows(team, BOARD) == rows(wh, BOARD)
    before = dt.datetime.now(dt.UTC)
    wh.forget("tiny", "both", reason="wrong")
    push(wh, lake)
    collect(team, lake)
    assert rows(team, told) == []
    wh.ingest_run("tiny", RUNS["last"], name="both")  # the name is free
    assert push(wh, lake).notes == ()
    board = team.leaderboard("tiny", metrics="AP", as_of=before)
    assert [row.run for row in board] == ["half"]
    assert "both" in " ".join(board.notes)


LOADS = "select run, version, system, tags, run_at, is_current from run_versions order by all"


def test_a_run_has_the_description_of_its_newest_load(tmp_path: Path) -> None:
    """The same predictions, each time with more to say: the lake has the versions of the file."""
    lake, team = tmp_path / "lake", Warehouse(tmp_path / "team.duckdb")
    wh = filled(tmp_path / "one.duckdb", "both", "half")

    def expect_the_same() -> None:
        push(wh, lake)
        assert not any(push(wh, lake).values())
        collect(team, lake)
        for sql in (LOADS, BOARD):
            assert rows(team, sql) == rows(wh, sql)
        systems = "select run, system from leaderboard where metric = 'AP' order by all"
        assert rows(team, systems) == rows(wh, systems)
        assert sorted(set(by_duckdb(lake)("board", ["run", "system"]))) == rows(wh, systems)

    expect_the_same()
    again = {"name": "both", "system": "B", "tags": {"k": "2"}, "replace": True}
    wh.ingest_run("tiny", RUNS["both"], **again, run_at=dt.datetime(2026, 2, 1, tzinfo=dt.UTC))
    wh.evaluate("tiny")
    expect_the_same()
    wh.ingest_run("tiny", RUNS["last"], name="half", replace=True)
    wh.ingest_run("tiny", RUNS["half"], name="half", replace=True)  # as before: the newest load
    wh.evaluate("tiny")
    wh.edit("tiny", "both", system="C", tags={"k": "3"})
    expect_the_same()
    # a colleague who loads the same, and says the same of it, makes no version
    two = Warehouse(tmp_path / "two.duckdb")
    two.ingest_qrels("tiny", QRELS)
    two.ingest_run("tiny", RUNS["half"], name="half")
    two.evaluate("tiny", metrics="AP")
    assert push(two, lake)["run"] == 1
    collect(team, lake)
    assert rows(team, LOADS) == rows(wh, LOADS)
    wh.edit("tiny", "half", system="D")  # said later than by the colleague, of an earlier load
    expect_the_same()


def test_versions_of_qrels_keep_their_numbers(tmp_path: Path) -> None:
    lake, team = tmp_path / "lake", Warehouse(tmp_path / "team.duckdb")
    one = filled(tmp_path / "one.duckdb", "both")
    two = Warehouse(tmp_path / "two.duckdb")
    two.ingest_qrels("tiny", FEW)
    two.ingest_run("tiny", RUNS["both"], name="both")
    two.evaluate("tiny", metrics="AP")
    sizes = (
        "select version, num_queries, is_current from store.qrels "
        "join store.qrels_version using (qrels_id)"
    )
    push(one, lake)
    push(two, lake, make_current=True)
    collect(team, lake)
    assert sorted(rows(team, sizes)) == [(1, 2, False), (2, 1, True)]
    push(one, lake, make_current=True)
    collect(team, lake)
    assert sorted(rows(team, sizes)) == [(1, 2, True), (2, 1, False)]


def test_metrics_stand_in_the_order_of_asking(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    wh = Warehouse(tmp_path / "one.duckdb")
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", RUNS["both"], name="both")
    asked = ["nDCG@10", "AP", "RR", "P@5", "bpref", "R@10", "ERR@20", "Rprec"]
    wh.evaluate("tiny", metrics=asked)
    push(wh, lake)
    team = Warehouse(tmp_path / "team.duckdb")
    collect(team, lake)
    assert [one for one in team.leaderboard("tiny").relation.columns if one in asked] == asked


def test_who_has_pushed(tmp_path: Path, run: Callable[..., Answer]) -> None:
    lake = tmp_path / "lake"
    push(filled(tmp_path / "one.duckdb", "both"), lake)
    for table in ("run", "qrels", "evaluation", "made_current"):
        found = Lake(str(lake)).read(table).to_table().column("pushed_by").to_pylist()
        assert set(found) == {who()}
    push(filled(tmp_path / "two.duckdb", "half"), lake)
    shared_lake.optimize(str(lake))
    shown = json.loads(run("lake", "versions", str(lake), "-f", "json").out)
    assert [(one["version"], one["by"]) for one in shown] == [(n, who()) for n in (2, 1, 0)]


def redefined(wh: Warehouse) -> Warehouse:
    """Give a file the values of a program that defines the metrics in another way."""
    with duckdb.connect(wh.path) as con:
        con.execute(
            "update store.evaluation set fingerprint = 'other', program_version = '0.10.0', "
            "content_hash = md5(content_hash)"
        )
        con.execute("update store.score set value = 9")
    return wh


def test_a_board_has_one_definition_of_a_metric(tmp_path: Path, run: Callable[..., Answer]) -> None:
    """That of most runs; of equals the newest. Values by another are left out by name, or the past."""
    lake, team = tmp_path / "lake", Warehouse(tmp_path / "team.duckdb")
    one = filled(tmp_path / "one.duckdb", "both", "half")
    push(one, lake)
    push(redefined(filled(tmp_path / "two.duckdb", "both", "last")), lake)
    before = dt.datetime.now(dt.UTC).isoformat()
    # two runs have values by each, so the newest counts
    shown = run("leaderboard", "-d", "tiny", "-m", "AP", "--lake", str(lake), "-f", "csv")
    assert [line.split(",")[:4] for line in shown.out.splitlines()[1:]] == [
        ["1", "both", "", "9.0"], ["1", "last", "", "9.0"],
    ]  # fmt: skip
    assert (
        f"AP, GMAP, nDCG@10 of 1 run (half), pushed by {who()} with version {VERSION}" in shown.err
    )
    # three have values by the first: the other program stops nobody's board
    three = filled(tmp_path / "three.duckdb", "both", "half", "last")
    push(three, lake)
    assert collect(team, lake).notes == ()
    assert rows(team, BOARD) == rows(three, BOARD)
    past = team.leaderboard("tiny", metrics="AP", as_of=before)
    assert [(row.run, row.AP) for row in past] == [
        ("both", 9.0),
        ("last", 9.0),
        ("half", (1 + 0) / 2),
    ]
    assert "AP: 1 value is by an older formula than the others" in " ".join(past.notes)


def test_replaced_runs_choose_no_definition(tmp_path: Path) -> None:
    """One current run has values by each definition; by the first, one that was replaced has, too."""
    lake, team = tmp_path / "lake", Warehouse(tmp_path / "team.duckdb")
    push(filled(tmp_path / "one.duckdb", "both", "half"), lake)
    two = Warehouse(tmp_path / "two.duckdb")
    two.ingest_qrels("tiny", QRELS)
    two.ingest_run("tiny", RUNS["last"], name="both")
    two.evaluate("tiny", metrics=["AP"])
    push(redefined(two), lake)
    collect(team, lake)
    assert rows(team, "select run, value from scores where metric = 'AP'") == [("both", 9.0)]


def test_runs_of_two_people_under_one_name_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Answer]
) -> None:
    """Not those that their own author has replaced, and not a run that both have."""
    lake, team = tmp_path / "lake", Warehouse(tmp_path / "team.duckdb")
    ann, bob = (filled(tmp_path / f"{name}.duckdb", "both", "half") for name in ("ann", "bob"))

    def pushed(by: str, wh: Warehouse) -> tuple[str, ...]:
        monkeypatch.setattr(shared_lake, "who", lambda: by)
        wh.evaluate("tiny", metrics=["AP"])
        push(wh, lake)
        return collect(team, lake).notes

    assert pushed("ann@here", ann) == pushed("bob@here", bob) == ()
    ann.ingest_run("tiny", RUNS["last"], name="half", replace=True)
    assert pushed("ann@here", ann) == ()
    bob.ingest_run("tiny", RUNS["last"], name="both", replace=True)
    bob.ingest_run("tiny", RUNS["half"], name="new")
    assert pushed("bob@here", bob) == ()
    before = dt.datetime.now(dt.UTC).isoformat()
    ann.ingest_run("tiny", RUNS["both"], name="new")
    (said,) = pushed("ann@here", ann)
    assert "1 run of bob@here (new): ann@here loaded" in said
    board = ("leaderboard", "-d", "tiny", "-m", "AP", "--lake", str(lake))
    assert said in run(*board).err
    assert "left out" not in run(*board, "--as-of", before).err  # there it is on the board
    bob.forget("tiny", "new", reason="renamed")
    assert pushed("bob@here", bob) == ()


def test_a_lake_of_another_layout_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Answer]
) -> None:
    deltalake = pytest.importorskip("deltalake")
    wh, lake = filled(tmp_path / "one.duckdb", "both"), tmp_path / "lake"
    with monkeypatch.context() as patch:  # a lake that does not say its layout has the first
        patch.setattr(tables, "_LAYOUT", None)
        push(wh, lake, with_runs=True)
    team = Warehouse(tmp_path / "team.duckdb")
    collect(team, lake)
    assert rows(team, BOARD) == rows(wh, BOARD)
    other = tables._LAYOUT.replace("1", "10")
    for table in (*TABLES, "prediction"):
        deltalake.DeltaTable(f"{lake}/{table}").alter.set_table_name(other)
        before = sorted(lake.rglob("*"))
        for words in (
            ("collect", "--db", str(team.path)),
            ("leaderboard", "-d", "tiny"),
            ("push", "--with-runs", "--db", str(wh.path)),
            ("pull", "--db", str(tmp_path / "new.duckdb")),
        ):
            if table in TABLES or words[0] in ("push", "pull"):
                answer = run(*words, "--lake", str(lake))
                assert answer.code == 2, (table, words)
                assert f"({other}; " in answer.err
                assert "upgrade it" in answer.err
        assert sorted(lake.rglob("*")) == before
        deltalake.DeltaTable(f"{lake}/{table}").alter.set_table_name(tables._LAYOUT)
    for words in ("versions", "optimize"):
        deltalake.DeltaTable(f"{lake}/evaluation").alter.set_table_name(other)
        assert "upgrade it" in run("lake", words, str(lake)).err


def test_a_push_that_is_cut_off_is_not_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the values and the row that makes them visible; pushed again, nothing is there twice."""
    wh, lake = filled(tmp_path / "one.duckdb", "both"), tmp_path / "lake"
    push(wh, lake)
    two = filled(tmp_path / "two.duckdb", "last")
    append = Lake.append

    def cut(self: Lake, table: str, some: Any, **how: Any) -> int:
        if table == "evaluation":
            raise KeyboardInterrupt
        return append(self, table, some, **how)

    team = Warehouse(tmp_path / "team.duckdb")
    with monkeypatch.context() as patch:
        patch.setattr(Lake, "append", cut)
        with pytest.raises(KeyboardInterrupt):
            push(two, lake)
    collect(team, lake)
    assert rows(team, BOARD) == rows(wh, BOARD)
    push(two, lake)
    collect(team, lake)
    assert rows(team, BOARD) == sorted([*rows(wh, BOARD), *rows(two, BOARD)])
    assert rows(team, "select count(*) from query_scores") == [(12,)]


def test_each_push_is_a_version(tmp_path: Path, run: Callable[..., Answer]) -> None:
    """What a later push adds, hides or damages changes no earlier version."""
    lake, team = tmp_path / "lake", Warehouse(tmp_path / "team.duckdb")
    one = filled(tmp_path / "one.duckdb", "both", "half")
    two = filled(tmp_path / "two.duckdb", "both", "last")
    boards = []
    for wh in (one, two):
        push(wh, lake)
        collect(team, lake)
        boards.append(rows(team, BOARD))
    assert boards == [rows(one, BOARD), sorted({*rows(one, BOARD), *rows(two, BOARD)})]
    # a writer takes a run back: a push without evaluations is a version too
    two.forget("tiny", "last", reason="wrong")
    push(two, lake)
    push(two, lake)
    collect(team, lake)
    boards.append([row for row in boards[1] if row[1] != "last"])
    assert [number for number, *_ in shared_lake.versions(str(lake))] == [2, 1, 0]
    assert rows(team, BOARD) == boards[2]
    shared_lake.optimize(str(lake))
    # who may add files may say that rows are removed: their files stay
    deltalake = pytest.importorskip("deltalake")
    for table in ("score", "query_score"):
        deltalake.DeltaTable(f"{lake}/{table}").delete()
    for number, board in enumerate(boards):
        collect(team, lake, version=number)
        assert rows(team, BOARD) == board
    said = ("--lake", str(lake), "-d", "tiny", "-m", "AP", "-f", "csv", "--as-of")
    for command in ("leaderboard", "history"):
        shown = run(command, *said, "version:0").out
        assert ("half" in shown, "last" in shown) == (True, False)
        shown = run(command, *said, "version:9")
        assert (shown.code, f"{lake}: has no version 9" in shown.err) == (2, True)
        assert run(command, *said, "version:x").code == 2
        assert "--lake" in run(command, "-d", "tiny", "--as-of", "version:0").err
    file = ("--db", str(tmp_path / "first.duckdb"))
    run("collect", "--lake", str(lake), "--as-of", "version:0", *file)
    assert rows(Warehouse(tmp_path / "first.duckdb"), VALUES) == rows(one, VALUES)
    assert run("collect", "--lake", str(lake), "--as-of", "2026-01-01", *file).code == 2


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A server of S3 on this machine, with one bucket."""
    server_of = pytest.importorskip(
        "moto.server", reason="moto not installed: pip install 'moto[server]'"
    )
    server = server_of.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ALLOW_HTTP", "true")
        patch.setenv("AWS_ACCESS_KEY_ID", "key")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patch.setenv("AWS_REGION", "us-east-1")
        boto3 = pytest.importorskip("boto3")
        boto3.client("s3", endpoint_url=f"http://{host}:{port}").create_bucket(Bucket="team")
        yield "s3://team"
    server.stop()


PUSH = """
import os, signal, sys
from warehouse import Warehouse
from warehouse.extensions.lake import push
from warehouse.extensions.lake.tables import Lake
append = Lake.append
def until_visible(self, table, rows, **how):
    if table == "evaluation":
        os.kill(os.getpid(), signal.SIGKILL)
    return append(self, table, rows, **how)
if sys.argv[3] == "killed":
    Lake.append = until_visible
push(Warehouse(sys.argv[1]), sys.argv[2])
"""


@pytest.mark.parametrize("count", [2, pytest.param(8, marks=pytest.mark.long)])
@pytest.mark.parametrize("place", ["folder", "bucket"])
def test_processes_push_at_once(
    tmp_path: Path, request: pytest.FixtureRequest, place: str, count: int
) -> None:
    """Another one is killed before its values are visible, and pushes again."""
    where = request.getfixturevalue("bucket") if place == "bucket" else tmp_path
    lake = f"{where}/lake-{count}"
    files = [filled(tmp_path / f"{n}.duckdb", "both", dataset=f"d{n % 3}") for n in range(count)]
    killed = filled(tmp_path / "killed.duckdb", "last", dataset="d0")
    started = [
        subprocess.Popen([sys.executable, "-c", PUSH, str(wh.path), lake, wh.path.stem])
        for wh in (*files, killed)
    ]
    ends = [process.wait(240) for process in started]
    assert ends == [0] * count + [-signal.SIGKILL]
    team = Warehouse(tmp_path / "team.duckdb")
    collect(team, lake)
    whole = {row for wh in files for row in rows(wh, BOARD)}
    assert rows(team, BOARD) == sorted(whole)
    push(killed, lake)
    collect(team, lake)
    assert rows(team, BOARD) == sorted(whole | set(rows(killed, BOARD)))
    values = {row for wh in (*files, killed) for row in rows(wh, CURRENT)}
    assert rows(team, CURRENT) == sorted(values)


def test_files_on_an_object_store(tmp_path: Path, bucket: str) -> None:
    fs = pytest.importorskip("pyarrow.fs")
    store, path = fs.FileSystem.from_uri(f"{bucket}/runs")
    for name, text in (("qrels.txt", b"q1 0 a 1\n"), ("bm25.run", b"q1 Q0 a 1 2 t\n")):
        with store.open_output_stream(f"{path}/{name}") as out:
            out.write(text)
    wh = Warehouse(tmp_path / "one.duckdb")
    wh.ingest_qrels("d", f"{bucket}/runs/qrels.txt")
    wh.ingest_run("d", f"{bucket}/runs/bm25.run")
    assert rows(wh, "select run, source from runs") == [("bm25", f"{bucket}/runs/bm25.run")]
    with expect_refusal(f"{bucket}/runs/no.run: no such file", InputError):
        wh.ingest_run("d", f"{bucket}/runs/no.run")
    wh.ingest_run("d", f"{bucket}/runs/bm25.run", name="lying", where_it_lies=True)
    wh.evaluate("d", metrics="AP")
    first, other = (
        wh.explain("d", run, "q1", "AP").relation.fetchall() for run in ("bm25", "lying")
    )
    assert first == other != []
    with store.open_output_stream(f"{path}/bm25.run") as out:
        out.write(b"q1 Q0 b 1 2 t\n")
    with expect_refusal(f"{bucket}/runs/bm25.run: has other content", InputError):
        wh.explain("d", "lying", "q1", "AP")


PROJECT = """
database = "warehouse.duckdb"
lake = "{lake}"
settle = 0

[evaluate]
metrics = ["AP", "P@1"]

[datasets.tiny]
qrels = "qrels.txt"

[[runs]]
files = "*.run"
dataset = "tiny"

[[gates]]
dataset = "tiny"
metric = "AP"
min = 0.7
"""


def test_people_sync_into_one_lake(
    tmp_path: Path, run: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    scores = {"ann": "q1 Q0 d1 1 2 t\nq2 Q0 d3 1 1 t\n", "bob": "q1 Q0 d9 1 2 t\nq2 Q0 d3 1 1 t\n"}
    for person, text in scores.items():
        folder = tmp_path / person
        folder.mkdir()
        (folder / "warehouse.toml").write_text(PROJECT.format(lake="../lake"))
        (folder / "qrels.txt").write_text("q1 0 d1 2\nq1 0 d2 0\nq2 0 d3 1\n")
        (folder / f"{person}.run").write_text(text)
        monkeypatch.chdir(folder)
        shown = run("sync")
        assert f"{lake}: pushed 1 run, 2 evaluations with 6 values, 1 verdict\n" in shown.out
        again = run("sync")
        assert "pushed" not in again.out
        assert shown.code == again.code == (1 if person == "bob" else 0)
    with monkeypatch.context() as patch:  # what fails is said, stops nothing, and is made up for
        patch.setattr(Lake, "read", lambda *_: (_ for _ in ()).throw(UsageError("no way there")))
        assert "no way there" in run("sync").err
    Warehouse("warehouse.duckdb").accept("tiny", ["bob"], why="on purpose")
    assert "pushed" in run("sync").out
    team = Warehouse(tmp_path / "team.duckdb")
    collect(team, lake)
    assert rows(team, "select run, metric, value from leaderboard order by all") == [
        ("ann", "AP", 1.0), ("ann", "P@1", 1.0), ("bob", "AP", 0.5), ("bob", "P@1", 0.5),
    ]  # fmt: skip
    gates = "select run, value, verdict, is_red, accepted_why from gates order by run"
    assert rows(team, gates) == [
        ("ann", 1.0, "good", False, None),
        ("bob", 0.5, "worse", False, "on purpose"),
    ]


def test_a_file_moves_to_another_system(
    tmp_path: Path, run: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict and its acceptance stay with the version that was there then."""
    monkeypatch.chdir(tmp_path)
    text = PROJECT.format(lake="lake").replace("*.run", "runs/{system}/{name}.run")
    (tmp_path / "warehouse.toml").write_text(text)
    (tmp_path / "qrels.txt").write_text("q1 0 d1 2\nq1 0 d2 0\nq2 0 d3 1\n")
    files = [tmp_path / "runs" / system / "two.run" for system in ("A", "B")]
    for file in files:
        file.parent.mkdir(parents=True)
    files[0].write_text("q1 Q0 d9 1 2 t\nq2 Q0 d3 1 1 t\n")
    run("sync")
    wh, team = Warehouse("warehouse.duckdb"), Warehouse("team.duckdb")
    wh.accept("tiny", ["two"], why="on purpose")
    files[0].rename(files[1])
    assert "replaced as version 2" in run("sync").out
    collect(team, "lake")
    assert rows(team, "select system, value from leaderboard where metric = 'AP'") == [("B", 0.5)]
    verdicts = "select run_id, verdict, checked_at from store.gate_result order by all"
    for sql in (verdicts, "select run_id, why from store.gate_acceptance", LOADS):
        assert rows(team, sql) == rows(wh, sql) != []


@pytest.mark.parametrize("engine", ["duckdb", "polars", pytest.param("spark", marks=[needs_spark])])
def test_other_engines_read_the_tables(tmp_path: Path, engine: str) -> None:
    """The SQL of the views gives the board and the values of a collected file."""
    lake = tmp_path / "lake"
    one = filled(tmp_path / "one.duckdb", "both", "half")
    push(one, lake)
    two = filled(tmp_path / "two.duckdb", "both", "last", dataset="other")
    push(two, lake)
    push(redefined(filled(tmp_path / "three.duckdb", "both", "half", dataset="other")), lake)
    push(filled(tmp_path / "four.duckdb", "last", dataset="other"), lake)
    one.ingest_qrels("tiny", NEW_QRELS, replace=True)
    one.ingest_run("tiny", RUNS["last"], name="half", replace=True)
    one.evaluate("tiny", metrics=["AP"])
    one.forget("tiny", "both", reason="wrong")
    push(one, lake, make_current=True)
    before = {table: len(list((lake / table).rglob("*.parquet"))) for table in ("run", "score")}
    counts = shared_lake.optimize(str(lake))
    assert [files.count for files in counts["run"]] == [5, 2]  # a file for each dataset
    assert {table: was.count for table, (was, _) in counts.items() if table in before} == before
    team = Warehouse(tmp_path / "team.duckdb")
    collect(team, lake)
    found = {"duckdb": by_duckdb, "polars": by_polars, "spark": by_spark}[engine](lake)
    for view, wanted in (("board", BOARD), ("query_values", CURRENT)):
        some = ["dataset", "run", "metric"] + (["query_id"] if view == "query_values" else [])
        assert found(view, [*some, "value"]) == rows(team, wanted) != []


Reader = Callable[[str, list[str]], list[tuple[Any, ...]]]


def tables_of(lake: Path) -> dict[str, Any]:
    """Return the tables of a lake, each row twice, as after two equal pushes."""
    import pyarrow

    found = {table: Lake(str(lake)).read(table).to_table() for table in TABLES}
    return {table: pyarrow.concat_tables([rows, rows]) for table, rows in found.items()}


def statements() -> list[str]:
    """Return the statements of the views, without the comment."""
    text = shared_lake.views().partition("*/")[2]
    return [one.strip() for one in text.split(";") if one.strip()]


def by_duckdb(lake: Path) -> Reader:
    con = duckdb.connect()
    for table, found in tables_of(lake).items():
        con.register(table, found)
    con.execute(shared_lake.views())
    return lambda view, names: con.sql(
        f"select {', '.join(names)} from {view} order by all"
    ).fetchall()


def by_polars(lake: Path) -> Reader:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    context = polars.SQLContext()
    for table, found in tables_of(lake).items():
        context.register(table, polars.from_arrow(found).lazy())
    for one in statements():
        name, _, query = one.removeprefix("create view ").partition(" as\n")
        context.register(name, context.execute(query))
    return lambda view, names: sorted(
        context.execute(f"from {view}").select(names).collect().rows()
    )


def by_spark(lake: Path) -> Reader:
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    folder = str(lake.parent / "spark")
    builder = sql.SparkSession.builder.master("local[1]")
    session = builder.config("spark.sql.warehouse.dir", folder).getOrCreate()
    for table, found in tables_of(lake).items():
        session.createDataFrame(found).createOrReplaceTempView(table)
    for one in statements():
        session.sql(one.replace("create view", "create temporary view", 1))

    def read(view: str, names: list[str]) -> list[tuple[Any, ...]]:
        return sorted(tuple(row) for row in session.table(view).select(*names).collect())

    return read


def test_pages_of_a_lake_follow_it(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    push(filled(tmp_path / "one.duckdb", "both"), lake)
    nowhere = WarehouseFile(tmp_path / "no.duckdb")
    found = Replicas(nowhere, tmp_path, Resources(), lake=str(lake))
    assert [row["dataset"] for row in found.snapshot.state.datasets] == ["tiny"]
    assert not found.refresh()
    push(filled(tmp_path / "two.duckdb", "last", dataset="other"), lake)
    assert found.refresh()
    assert [row["dataset"] for row in found.snapshot.state.datasets] == ["other", "tiny"]
    assert not nowhere.path.exists()


def test_refusals(tmp_path: Path) -> None:
    wh = filled(tmp_path / "one.duckdb", "both")
    file = tmp_path / "file"
    file.write_text("not a folder")
    with expect_refusal(str(file), UsageError):
        push(wh, file)
    lake = tmp_path / "lake"
    push(wh, lake)
    with expect_refusal("one.duckdb", UsageError):  # it is no replica
        collect(wh, lake)


def test_a_tombstone_removes_one_load_whatever_the_clock_says(tmp_path: Path) -> None:
    """A colleague loads the same run later, by a clock that is an hour behind."""
    lake = tmp_path / "lake"
    one, two = (filled(tmp_path / f"{name}.duckdb", "both") for name in ("one", "two"))
    push(one, lake)
    one.forget("tiny", "both", reason="wrong")
    with duckdb.connect(two.path) as con:
        con.execute("update store.run set ingested_at = ingested_at - interval 1 hour")
    push(one, lake)
    team = Warehouse(tmp_path / "team.duckdb")
    collect(team, lake)
    assert rows(team, "select run from runs") == []
    push(two, lake)
    collect(team, lake)
    assert rows(team, "select run from runs") == [("both",)]
    assert rows(team, BOARD) == rows(two, BOARD)


@pytest.mark.parametrize("table", ["score", "query_score", "run"])
def test_a_row_that_contradicts_another_is_named(tmp_path: Path, table: str) -> None:
    pa = pytest.importorskip("pyarrow")
    wh, lake = filled(tmp_path / "one.duckdb", "both"), tmp_path / "lake"
    push(wh, lake)
    column, value = ("system", "better") if table == "run" else ("value", 0.99)
    there = Lake(str(lake)).read(table).to_table().slice(0, 1)
    place = there.schema.get_field_index(column)
    kind = there.schema.field(column)
    Lake(str(lake)).append(table, there.set_column(place, kind, pa.array([value], kind.type)))
    with expect_refusal("both is in it with two contents", UsageError):
        collect(Warehouse(tmp_path / "team.duckdb"), lake)


@pytest.mark.parametrize("harm", ["a missing file", "another schema"])
def test_a_lake_that_is_not_whole(tmp_path: Path, harm: str) -> None:
    pa = pytest.importorskip("pyarrow")
    wh, lake = filled(tmp_path / "one.duckdb", "both"), tmp_path / "lake"
    push(wh, lake)
    if harm == "a missing file":
        next((lake / "score").rglob("*.parquet")).unlink()
    else:
        import deltalake

        other = pa.table({"dataset": ["tiny"], "evaluation_hash": ["x"]})
        deltalake.write_deltalake(
            str(lake / "score"), other, mode="overwrite", schema_mode="overwrite"
        )
    with expect_refusal(f"{lake}: its tables are not as … or lack a file", UsageError):
        collect(Warehouse(tmp_path / "team.duckdb"), lake)


def _commit(lake: Path, table: str, *entries: object) -> None:
    """Add a commit to a table as somebody may write it."""
    log = lake / table / "_delta_log"
    path = log / f"{len(list(log.glob('*.json'))):020}.json"
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))


def _parquet(lake: Path, table: str = "score") -> Path:
    return next((lake / table).rglob("*.parquet"))


def _add(lake: Path, name: Callable[[str], str]) -> None:
    """Let the tables name the files of a private lake near it, whose run nobody may see."""
    for table in ("query_score", "score", "run", "qrels", "evaluation"):
        path = _parquet(lake.with_name("private"), table)
        file = {"partitionValues": {"dataset": "tiny"}, "modificationTime": 0, "dataChange": True}
        file |= {"path": name(str(path)), "size": path.stat().st_size}
        _commit(lake, table, {"add": file})


def _schema(lake: Path, change: Callable[[dict[str, Any]], object]) -> None:
    log = next((lake / "score" / "_delta_log").glob("*.json"))
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    for entry in entries:
        if "metaData" in entry:
            schema = json.loads(entry["metaData"]["schemaString"])
            change(schema)
            entry["metaData"]["schemaString"] = json.dumps(schema)
    log.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))


def _said(**said: object) -> Callable[[Path, int], object]:
    said = {"timestamp": 0, "operation": "WRITE"} | said
    known = {key: value for key, value in said.items() if value is not None}
    return lambda lake, _: _commit(lake, "evaluation", {"commitInfo": known})


def _link(path: Path, to: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.symlink_to(to)


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


_ARRAY = {"type": "array", "elementType": "string", "containsNull": True}
HARMS: dict[str, Callable[[Path, int], object]] = {
    "an absolute path": lambda lake, _: _add(lake, str),
    "a path that leads up": lambda lake, _: _add(
        lake, lambda path: f"../../{Path(path).relative_to(lake.parent)}"
    ),
    "a path in other letters": lambda lake, _: _add(lake, lambda path: path.replace("/", "%2F")),
    "a URL of a file": lambda lake, _: _add(lake, lambda path: f"file://{path}"),
    "a URL": lambda lake, port: _add(lake, lambda _: f"http://127.0.0.1:{port}/a.parquet"),
    "a bucket": lambda lake, _: _add(lake, lambda _: "s3://bucket/a.parquet"),
    "a linked file": lambda lake, _: [
        _link(_parquet(lake, table), _parquet(lake.with_name("private"), table))
        for table in ("run", "score")
    ],
    "a linked table": lambda lake, _: _link(lake / "run", lake / "../private/run"),
    "a linked log": lambda lake, _: _link(lake / "run/_delta_log", lake / "../private/run/_delta_log"),
    "a pipe": lambda lake, _: _pipe(_parquet(lake)),
    "a pipe as log": lambda lake, _: os.mkfifo(lake / "score/_delta_log" / f"{1:020}.json"),
    "no JSON": lambda lake, _: _commit(lake, "evaluation", ["{"]),
    "versions that are a text": _said(versions="nonsense"),
    "versions that are a list": _said(versions="[1]"),
    "versions without numbers": _said(versions='{"score": "x"}'),
    "versions too high": _said(versions='{"score": 1e300}'),
    "no time": _said(timestamp=None),
    "a time that is none": _said(timestamp="x"),
    "a time too late": _said(timestamp=2**62),
    "a protocol": lambda lake, _: _commit(
        lake, "score", {"protocol": {"minReaderVersion": 99, "minWriterVersion": 99}}
    ),
    "a column of another type": lambda lake, _: _schema(
        lake, lambda schema: [f.update(type=_ARRAY) for f in schema["fields"] if f["name"] == "value"]
    ),
    "a generated column": lambda lake, _: _schema(
        lake, lambda schema: schema["fields"].append({
            "name": "more", "type": "string", "nullable": True,
            "metadata": {"delta.generationExpression": "content from read_text('../../secret')"},
        }),
    ),
    "no schema": lambda lake, _: _schema(lake, dict.clear),
    "a text as Parquet": lambda lake, _: _parquet(lake).write_text(SECRET),
    "a view as Parquet": lambda lake, _: _parquet(lake, "run").write_text("create view a as from 'x'"),
    "a checkpoint": lambda lake, _: (lake / "score/_delta_log/_last_checkpoint").write_text(
        '{"version": 5, "size": 1}'
    ),
    "no table": lambda lake, _: shutil.rmtree(lake / "run"),
}  # fmt: skip


@pytest.fixture(scope="module")
def lakes_of_others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lakes")
    for name, run_name in (("lake", "both"), ("private", SECRET)):
        wh = Warehouse(folder / f"{name}.duckdb")
        wh.ingest_qrels("tiny", QRELS)
        wh.ingest_run("tiny", RUNS["both"], name=run_name)
        wh.evaluate("tiny", metrics="AP")
        push(wh, folder / name)
    return folder


@pytest.mark.parametrize("harm", HARMS)
def test_a_lake_of_others(
    lakes_of_others: Path, tmp_path: Path, unasked_port: int, run: Callable[..., Answer], harm: str
) -> None:
    """It is refused in words, or shows its own rows: nothing near it is read, nobody is asked."""
    folder = Path(shutil.copytree(lakes_of_others, tmp_path / "all"))
    lake = str(folder / "lake")
    HARMS[harm](folder / "lake", unasked_port)
    said = ("--lake", lake, "-d", "tiny", "-m", "AP")
    team = str(folder / "team.duckdb")
    for words in (
        ("collect", "--lake", lake, "--db", team),
        ("leaderboard", *said),
        ("history", *said, "--as-of", "version:1"),
        ("lake", "versions", lake),
        ("push", "--lake", lake, "--db", str(folder / "lake.duckdb")),
        ("lake", "optimize", lake),
    ):
        shown = run(*words)
        assert shown.code in (0, 2), (words, shown)
        assert SECRET not in shown.out + shown.err, words
        if shown.code:
            assert lake in shown.err or "tiny" in shown.err, words
    with suppress(WarehouseError):
        found = Replicas(WarehouseFile(folder / "no.duckdb"), folder, Resources(), lake=lake)
        assert [row["dataset"] for row in found.snapshot.state.datasets] in ([], ["tiny"])
    for made in (team, folder / "replica.duckdb"):
        assert not Path(made).exists() or SECRET.encode() not in Path(made).read_bytes()


def test_a_colleague_computes_another_metric(tmp_path: Path, run: Callable[..., Answer]) -> None:
    """Runs are pushed whole, pulled into another file, evaluated there, and their values pushed."""
    one, lake = filled(tmp_path / "one.duckdb", "both", "half"), tmp_path / "lake"
    one.ingest_run(
        "tiny", {"q1": {"d1": 0.1, "d2": 0.9}, "q2": {}}, name="low", lower_is_better=True
    )
    push(one, lake)
    two = Warehouse(tmp_path / "two.duckdb")
    with expect_refusal("nobody has pushed the judgments … tiny … --with-runs"):
        pull(two, lake)
    answer = run("push", "--lake", str(lake), "--with-runs", "--db", str(one.path))
    assert "predictions of 3 runs, judgments of 1 qrels" in answer.err
    assert (
        "has all of it"
        in run("push", "--lake", str(lake), "--with-runs", "--db", str(one.path)).err
    )
    # a push of them alone is a version, too
    assert [number for number, *_ in shared_lake.versions(str(lake))] == [1, 0]
    assert {"judgment", "prediction"} < shared_lake.optimize(str(lake)).keys()
    new = Warehouse(tmp_path / "new.duckdb")
    with expect_refusal("no run zz* … tiny/both"):
        pull(new, lake, run="zz*")
    with expect_refusal("no current qrels of tinny; did you mean tiny?"):
        pull(new, lake, "tinny")
    assert not new.path.exists()
    assert [done.name for done in pull(two, lake, run="ha*")] == ["tiny", "half"]
    assert run("pull", "--lake", str(lake), "--db", str(two.path)).code == 0
    for sql in (
        "select dataset, run, system, tags, run_at from runs order by all",
        "select run, query_id, doc_id, score, rank from predictions order by all",
        "select query_id, doc_id, relevance, iteration from qrels order by all",
        "select name, content_hash, lower_is_better from store.run order by all",
        "select content_hash from store.qrels",
    ):
        assert rows(two, sql) == rows(one, sql)
    for wh in (one, two):
        wh.evaluate("tiny", metrics=["RR"])
    assert push(two, lake)["evaluation"] == 3
    team = Warehouse(tmp_path / "team.duckdb")
    collect(team, lake)
    one.evaluate("tiny")
    assert [r for r in rows(team, BOARD) if r[2] == "RR"] == [
        r for r in rows(one, BOARD) if r[2] == "RR"
    ]
    # a run that nobody has pushed whole is named, and the others are loaded
    one.ingest_run("tiny", RUNS["last"], name="last")
    push(one, lake)
    with expect_refusal("predictions of tiny/last … --with-runs"):
        pull(Warehouse(tmp_path / "three.duckdb"), lake)
    with expect_refusal("no run nope … tiny/both"):
        pull(two, lake, run="nope")
    # others are current now, and their judgments were not pushed
    one.ingest_qrels("tiny", NEW_QRELS, replace=True)
    push(one, lake, make_current=True)
    with expect_refusal("nobody has pushed the judgments … tiny … --with-runs"):
        pull(two, lake)


def test_contents_are_pushed_and_pulled_once(tmp_path: Path) -> None:
    """The current ones, of one dataset if asked; two runs or two pushes may have the same."""
    one, lake = filled(tmp_path / "one.duckdb", "both", "half"), tmp_path / "lake"
    filled(tmp_path / "one.duckdb", "last", dataset="sides")
    one.ingest_qrels("tiny", NEW_QRELS, replace=True)
    one.ingest_run("tiny", RUNS["last"], name="both", replace=True)
    one.ingest_run("tiny", RUNS["last"], name="same")
    push(one, lake, with_runs=True)
    for table, kind in (("judgment", "qrels"), ("prediction", "run")):
        found = (
            Lake(str(lake)).read(table).to_table(columns=["dataset", "content_hash"]).to_pylist()
        )
        assert sorted({(row["dataset"], row["content_hash"]) for row in found}) == rows(
            one,
            f"select distinct dataset, content_hash from store.{kind}_version "
            f"join store.{kind} using ({kind}_id) "
            "where is_current order by all",
        )
        again = Lake(str(lake)).read(table).to_table()
        Lake(str(lake)).append(table, again)
    two = Warehouse(tmp_path / "two.duckdb")
    assert [done.name for done in pull(two, lake, dataset="sides")] == ["sides", "last"]
    names = {done.name for done in pull(two, lake)}
    assert names == {"sides", "last", "tiny", "both", "half", "same"}
    every = "select dataset, run, query_id, doc_id, score, rank from predictions order by all"
    assert rows(two, every) == rows(one, every)


def test_runs_are_pushed_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """One with more predictions than fit is a batch of its own."""
    monkeypatch.setattr(contents, "_PREDICTIONS", 3)
    sizes = [(1, 2), (2, 2), (3, 1), (4, 9), (5, 1), (6, 2), (7, 1)]
    assert list(contents._batches(sizes)) == [[1], [2, 3], [4], [5, 6], [7]]


@pytest.mark.parametrize("table", ["prediction", "judgment"])
def test_what_is_forged_is_not_pulled(tmp_path: Path, table: str) -> None:
    one, lake = filled(tmp_path / "one.duckdb", "both", "half"), tmp_path / "lake"
    push(one, lake, with_runs=True)
    forged = Lake(str(lake)).read(table).to_table()
    again = forged.to_pylist()
    again[0] |= (
        {"score": [9.0 for _ in again[0]["score"]]} if "score" in again[0] else {"relevance": 9}
    )
    shutil.rmtree(lake / table)
    Lake(str(lake)).append(table, type(forged).from_pylist(again, forged.schema))
    two = Warehouse(tmp_path / "two.duckdb")
    with expect_refusal(
        "run … tiny … forged" if table == "prediction" else "qrels of tiny … forged"
    ):
        pull(two, lake)
    # the run before it may have been loaded
    assert not two.path.exists() or rows(two, "select count(*) from runs") in ([(0,)], [(1,)])


def test_pages_do_not_count_what_a_lake_does_not_have(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    push(filled(tmp_path / "one.duckdb", "both"), lake)
    team = Warehouse(tmp_path / "team.duckdb")
    collect(team, lake)
    team.report(tmp_path / "pages")
    page = (tmp_path / "pages/tiny/queries/q1.html").read_text()
    assert "made from a lake" in page
    assert "judged document" not in page
    assert "Lists side by side" not in page
