"""Metrics that are not stored are computed when they are asked for, and are not stored then either."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from projects import command
from refusals import expect_refusal

from warehouse.analyze import stored_metrics
from warehouse.metrics import protocols
from warehouse.warehouse import Warehouse

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}}
# the relevant document stands first and second, then second and first
ONE = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"x": 2.0, "c": 1.0}}
TWO = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 1.0}}
LATE = {"q1": {"a": 1.0}}


def two_runs(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", ONE, name="one")
    wh.ingest_run("tiny", TWO, name="two")
    wh.evaluate(metrics="RR")


@pytest.fixture
def tiny(tmp_path: Path, prepared: Callable[..., Warehouse]) -> Warehouse:
    """Return a warehouse with two runs that have values of RR."""
    return prepared(tmp_path / "w.duckdb", two_runs)


@pytest.mark.slow
def test_a_board_computes_what_is_not_stored(tiny: Warehouse) -> None:
    """P@1 of one is (1 + 0) / 2, of two (0 + 1) / 2; RR of both is (1 + 1/2) / 2, and of late 1/2.

    Late has no hits yet: it was loaded after the evaluation.
    """
    before = tiny.path.read_bytes()
    board = tiny.leaderboard(metrics="P@1 P@2 RR")
    assert [(row.run, row["P@1"], row["P@2"], row.RR) for row in board] == [
        ("one", 0.5, 0.5, 0.75), ("two", 0.5, 0.5, 0.75),
    ]  # fmt: skip
    told = "computed for 2 runs and not stored: P@1, P@2; to store: "
    assert board.notes[-1] == f"{told}warehouse evaluate -d tiny -m P@1 -m P@2"
    assert tiny.path.read_bytes() == before
    assert tiny.leaderboard().columns == ["place", "run", "system", "RR", "answered", "judged"]
    tiny.ingest_run("tiny", LATE, name="late")
    board = tiny.leaderboard(metrics="P@1 RR", sort="RR")
    assert [(row.run, row["P@1"], row.RR) for row in board] == [
        ("one", 0.5, 0.75), ("two", 0.5, 0.75), ("late", 0.5, 0.5),
    ]  # fmt: skip
    assert board.notes[-1].startswith("computed and not stored: P@1 for 3 runs, RR for 1 run;")
    # stored, they are the same
    tiny.evaluate(metrics="P@1 RR")
    again = tiny.leaderboard(metrics="P@1 RR", sort="RR")
    assert again.fetchall() == board.fetchall()
    assert again.notes == board.notes[:-1]


@pytest.mark.slow
def test_queries_history_and_sorting_compute_it_too(tiny: Warehouse) -> None:
    found = tiny.queries("tiny", "two", metrics="P@1")
    assert [(row.query_id, row["P@1"]) for row in found] == [("q1", 0.0), ("q2", 1.0)]
    assert found.notes == (
        "computed for 1 run and not stored: P@1; to store: warehouse evaluate -d tiny -m P@1",
    )
    found = tiny.history("tiny", "P@2", run="one")
    assert [(row.run, row.value) for row in found] == [("one", 0.5)]
    assert "computed for 1 run and not stored: P@2" in found.notes[-1]
    # NumRet counts 4 and 3 documents
    board = tiny.leaderboard("tiny", metrics="RR", sort="NumRet")
    assert [(row.run, row.NumRet) for row in board] == [("one", 4.0), ("two", 3.0)]


@pytest.mark.slow
def test_a_comparison_computes_it_too(tiny: Warehouse) -> None:
    pytest.importorskip("scipy")
    tiny.ingest_run("tiny", LATE, name="late")
    found = tiny.compare("tiny", ["one", "two"], "P@1")
    (pair,) = found.pairs.fetchall()
    columns = found.pairs.columns
    assert [pair[columns.index(name)] for name in ("wins", "losses", "difference")] == [1, 1, 0.0]
    assert found.notes[-1].startswith("computed for 2 runs and not stored: P@1;")
    # late is compared by the metrics that the others have
    values = tiny.compare("tiny", ["one", "late"]).values
    assert {row[values.columns.index("metric")] for row in values.fetchall()} == {"RR"}


def test_the_command_says_so_once(tiny: Warehouse) -> None:
    code, out, told = command("leaderboard", "-m", "P@1,RR", "-f", "csv", "--db", str(tiny.path))
    assert (code, out.splitlines()[0]) == (0, "place,run,system,P@1,RR,answered,judged")
    assert told.splitlines()[1:] == [
        "computed for 2 runs and not stored: P@1; to store: warehouse evaluate -d tiny -m P@1"
    ]


@pytest.mark.slow
def test_the_name_that_was_asked_for_heads_the_column(tiny: Warehouse) -> None:
    """CSV has the metric's own name; --names says which it is."""
    asked = ("-m", "recip_rank", "-m", "first = P@1", "--db", str(tiny.path))
    code, out, told = command("leaderboard", *asked, "--names")
    assert (code, out.split()[:6]) == (0, ["#", "run", "recip_rank", "↑", "first", "↑"])
    assert told.splitlines()[-2:] == ["recip_rank: RR", "first: P@1"]
    assert command("leaderboard", *asked, "-f", "csv")[1].startswith("place,run,system,RR,P@1,")
    assert command("queries", "one", *asked)[1].split()[:3] == ["query", "recip_rank", "first"]
    board = tiny.leaderboard(metrics=["recip_rank", "RR", "first = P@1"])
    assert (list(board.metrics), board.labels) == (
        ["RR", "P@1"],
        {"RR": "recip_rank", "P@1": "first"},
    )
    with expect_refusal("P@ … in the notation"):
        tiny.leaderboard(metrics="first = P@")


def test_it_is_computed_several_times_on_one_connection(tiny: Warehouse) -> None:
    """As pages of a report do; what was computed before is still there."""
    rules = protocols.get("default")
    with tiny.file.read() as con:
        for name in ("P@1", "P@2", "P@1"):
            stored_metrics.with_missing(con, ["tiny"], [name], rules)
        rows = con.execute(
            "select metric, run, value from score_versions where is_current order by all"
        ).fetchall()
    assert rows == [
        ("P@1", "one", 0.5), ("P@1", "two", 0.5), ("P@2", "one", 0.5), ("P@2", "two", 0.5),
        ("RR", "one", 0.75), ("RR", "two", 0.75),
    ]  # fmt: skip


@pytest.mark.slow
def test_a_slice_has_it_too(tiny: Warehouse) -> None:
    """P@1 of one is 1 for q1 and 0 for q2, that of two the other way round; RR@1 too."""
    tiny.evaluate("tiny", metrics="RR", slices="first = query_id = 'q1'")
    board = tiny.leaderboard("tiny", metrics=["P@1", "RR"], slice="first")
    assert [(row.part, row.run, row["P@1"], row.RR) for row in board] == [
        ("false", "two", 1.0, 1.0), ("false", "one", 0.0, 0.5),
        ("true", "one", 1.0, 1.0), ("true", "two", 0.0, 0.5),
    ]  # fmt: skip
    told = "computed for 2 runs and not stored: P@1; to store: "
    assert board.notes[-1] == f"{told}warehouse evaluate -d tiny -m P@1 --slice first"
    found = tiny.queries("tiny", "one", metrics="RR@1", slice="first")
    assert [(row.part, row.query_id, row["RR@1"]) for row in found] == [
        ("false", "q2", 0.0), ("true", "q1", 1.0),
    ]  # fmt: skip
    tiny.evaluate("tiny", metrics="P@1", slices="first")
    again = tiny.leaderboard("tiny", metrics=["P@1", "RR"], slice="first")
    assert again.fetchall() == board.fetchall()
    with expect_refusal("firts … first"):
        tiny.leaderboard("tiny", metrics="P@1", slice="firts")


@pytest.mark.slow
def test_a_day_and_an_older_version_of_the_qrels_have_it_too(tiny: Warehouse) -> None:
    """In the new judgments b and x are relevant: P@1 of one is (0 + 1) / 2, of two (1 + 0) / 2."""
    then = dt.datetime.now(dt.UTC)
    tiny.ingest_run("tiny", {"q1": {"b": 1.0}, "q2": {"c": 1.0}}, name="late")
    tiny.ingest_qrels("tiny", {"q1": {"b": 1}, "q2": {"x": 1}}, replace=True)
    tiny.evaluate("tiny", metrics="RR P@2")
    old = [("one", 0.5), ("two", 0.5)]
    board = tiny.leaderboard("tiny", metrics="P@1", as_of=then)
    assert [(row.run, row["P@1"]) for row in board] == old
    assert "by today's formulas, from what there was then" in board.notes[-1]
    # P@2 has been stored since, for other judgments
    board = tiny.leaderboard("tiny", metrics="RR P@2", as_of=then)
    assert [(row.run, row.RR, row["P@2"]) for row in board] == [
        ("one", 0.75, 0.5), ("two", 0.75, 0.5),
    ]  # fmt: skip
    board = tiny.leaderboard("tiny", metrics="P@1", qrels=1)
    assert [(row.run, row["P@1"]) for row in board] == [("late", 0.5), *old]
    assert board.notes[-1].endswith("warehouse evaluate -d tiny -m P@1 --qrels 1")
    found = tiny.queries("tiny", "two", metrics="P@1", as_of=then)
    assert [(row.query_id, row["P@1"]) for row in found] == [("q1", 0.0), ("q2", 1.0)]
    found = tiny.history("tiny", "P@1", qrels=1)
    assert [(row.run, row.value) for row in found] == [("one", 0.5), ("two", 0.5), ("late", 0.5)]
    found = tiny.explain("tiny", "one", "q1", "P@1", qrels=1)
    assert (found.value, found.recomputed) == (1.0, 1.0)
    # a run that is gone has no values, and an empty day has none
    tiny.forget("tiny", "one")
    board = tiny.leaderboard("tiny", metrics="P@1", as_of=then)
    assert [row.run for row in board] == ["two"]
    assert any("one (version 1) of tiny was there" in note for note in board.notes)
    with expect_refusal("nothing was loaded yet … 2001-01-01"):
        tiny.leaderboard("tiny", metrics="P@1", as_of="2001-01-01")


def test_a_value_that_is_not_stored_is_explained(tiny: Warehouse) -> None:
    found = tiny.explain("tiny", "one", "q2", "P@2")
    assert [(row.doc_id, row.part) for row in found] == [("x", 0.0), ("c", 0.5)]
    assert (found.value, found.recomputed, found.is_stale) == (0.5, 0.5, False)
    told = "computed for 1 run and not stored: P@2; to store: warehouse evaluate -d tiny -m P@2"
    assert found.rounded_notes(4)[-1] == told
    for order in (("q2", "P@2"), ("P@2", "q2")):
        code, out, _ = command("explain", "one", *order, "-f", "csv", "--db", str(tiny.path))
        assert (code, [line.split(",")[1] for line in out.split()]) == (0, ["doc_id", "x", "c"])


@pytest.mark.slow
def test_runs_are_chosen_by_name_system_and_tag(tmp_path: Path) -> None:
    """Three runs: of the systems S, S and T, with the stages first, second and first."""
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_qrels("tiny", QRELS)
    for name, source, system, stage in (
        ("s_one", ONE, "S", "first"), ("s_two", TWO, "S", "second"), ("t", LATE, "T", "first"),
    ):  # fmt: skip
        wh.ingest_run("tiny", source, name=name, system=system, tags={"stage": stage})
    for options, expected in (
        ({"run": "s_*"}, ["s_one", "s_two"]), ({"run": ["t", "s_t*"]}, ["s_two", "t"]),
        ({"system": "S"}, ["s_one", "s_two"]), ({"tag": {"stage": "f*"}}, ["s_one", "t"]),
        ({"system": "S", "tag": "stage=first"}, ["s_one"]),
        ({"tag": ["stage=first", "stage=second"], "run": "s_*"}, ["s_one", "s_two"]),
    ):  # fmt: skip
        board = wh.leaderboard("tiny", metrics="P@1", **options)
        assert sorted(row.run for row in board) == expected
        assert sorted(row.run for row in wh.history("tiny", "P@1", **options)) == expected
    assert len(wh.agree("tiny", run="s_*")) == 1
    assert [(row.run, row.other) for row in wh.agree("tiny", "t", system="S")] == [
        ("t", "s_one"), ("t", "s_two"), ("s_one", "s_two"),
    ]  # fmt: skip
    # x is unjudged, and s_one alone has it
    assert [row.doc_id for row in wh.holes("tiny", tag={"stage": "first"})] == ["x"]
    assert len(wh.holes("tiny", "s_t*")) == 0
    for words, options in (
        ("s_on … s_one", {"run": "s_on"}), ("X* … S, T", {"system": "X*"}),
        ("stage=frist … stage=first", {"tag": {"stage": "frist"}}),
        ("no run fits all of run t, system S", {"run": "t", "system": "S"}),
    ):  # fmt: skip
        with expect_refusal(words):
            wh.leaderboard("tiny", metrics="P@1", **options)
    pytest.importorskip("scipy")
    for found in (
        wh.compare("tiny", "t", "P@1", system="S"), wh.compare("tiny", ["t", "s_*"], "P@1"),
    ):  # fmt: skip
        assert [(row.base, row.run) for row in found] == [
            ("t", "s_one"), ("t", "s_two"), ("s_one", "s_two"),
        ]  # fmt: skip
    code, out, _ = command(
        "compare", "--tag", "stage=first", "-m", "P@1", "-f", "csv", "--db", str(wh.path)
    )
    assert (code, len(out.splitlines())) == (0, 2)


@pytest.fixture
def half(wh: Warehouse) -> Warehouse:
    """Two runs with values, and one that was loaded later: by hand, its RR is (1/2 + 1) / 2 = 3/4."""
    wh.ingest_qrels("tiny", {"q": {"a": 1}, "p": {"b": 1}})
    for name in ("one", "two"):
        wh.ingest_run("tiny", {"q": {"a": 2.0, "b": 1.0}, "p": {"a": 2.0}}, name=name)
    wh.evaluate(metrics="RR")
    wh.ingest_run("tiny", {"q": {"b": 2.0, "a": 1.0}, "p": {"b": 3.0}}, name="late")
    return wh


@pytest.mark.slow
def test_a_loaded_run_is_everywhere_without_being_named(half: Warehouse, tmp_path: Path) -> None:
    board = half.leaderboard("tiny")
    assert [(row.run, row.RR) for row in board] == [("late", 0.75), ("one", 0.5), ("two", 0.5)]
    assert any("not stored: RR" in note for note in board.notes)
    assert {row.run for row in half.history("tiny")} == {"one", "two", "late"}
    assert {row.run for row in half.compare("tiny", ["one"])} == {"two", "late"}
    assert [(row.query_id, row.RR) for row in half.queries("tiny", "late")] == [
        ("p", 1.0),
        ("q", 0.5),
    ]
    made = half.export(tmp_path / "bundle", "tiny")
    assert made.num_runs == 3
    assert Warehouse.verify_bundle(tmp_path / "bundle").is_good
    # nothing of it is stored
    assert half.query("select distinct run from scores order by run").fetchall() == [
        ("one",),
        ("two",),
    ]


def test_printed_sql_of_a_run_that_is_not_evaluated_is_an_error(half: Warehouse) -> None:
    told = "not evaluated under this protocol: late"
    with (
        duckdb.connect(str(half.path), read_only=True) as con,
        pytest.raises(duckdb.Error, match=told),
    ):
        con.execute(Warehouse.sql("RR", dataset="tiny"))
    half.evaluate(metrics="AP")
    with duckdb.connect(str(half.path), read_only=True) as con:
        values = [
            value
            for *_, value in con.execute(
                Warehouse.sql("RR", dataset="tiny", by_query=True)
            ).fetchall()
        ]
    assert sorted(values) == [0, 0, 0.5, 1, 1, 1]
