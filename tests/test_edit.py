"""Names, systems and tags of runs that are changed without another version of the predictions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from projects import Answer
from refusals import expect_refusal

from warehouse import Warehouse
from warehouse.errors import UsageError

QRELS = {"q1": {"a": 1, "b": 0}}
OLD, NEW = {"q1": {"b": 2.0, "a": 1.0}}, {"q1": {"a": 2.0, "b": 1.0}}


@pytest.fixture
def made(tmp_path: Path) -> Warehouse:
    """A run of two versions, and another one, evaluated: RR is 1/2 and then 1, and 1/2."""
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", OLD, name="frist", tags={"seed": "1"})
    wh.evaluate("tiny", metrics="RR")
    wh.ingest_run("tiny", NEW, name="frist", tags={"seed": "1", "note": "x"}, replace=True)
    wh.ingest_run("tiny", OLD, name="other")
    wh.evaluate("tiny", metrics="RR")
    return wh


def test_a_run_has_another_name(made: Warehouse) -> None:
    """Its values, versions and history go with it, and nothing is computed again."""
    before = made.query("select * exclude (run) from score_versions order by all").fetchall()
    found = made.edit("tiny", "frist", name="first")
    assert (found.run, found.tags) == ("first", {"seed": "1", "note": "x"})
    assert (
        made.query("select * exclude (run) from score_versions order by all").fetchall() == before
    )
    assert made.query("select run, value from scores order by run").fetchall() == [
        ("first", 1.0), ("other", 0.5),
    ]  # fmt: skip
    versions = (
        "select run, run_version, value from score_versions where run <> 'other' order by all"
    )
    assert made.query(versions).fetchall() == [("first", 1, 0.5), ("first", 2, 1.0)]
    assert made.evaluate("tiny", metrics="RR").computed == 0
    assert made.verify().is_good
    assert made.ingest_run("tiny", NEW, name="first").status == "unchanged"


def test_system_and_tags_are_of_the_current_version(made: Warehouse) -> None:
    found = made.edit("tiny", "frist", system="S", tags={"seed": "2"}, without=["note"])
    assert (found.system, found.tags) == ("S", {"seed": "2"})
    sql = "select run, system, tags from run_versions where run = 'frist' order by version"
    assert made.query(sql).fetchall() == [
        ("frist", None, {"seed": "1"}), ("frist", "S", {"seed": "2"}),
    ]  # fmt: skip
    assert made.edit("tiny", "frist", system="").system is None
    assert made.verify().is_good


def test_what_is_refused_changes_nothing(made: Warehouse) -> None:
    before = made.query("select * from run_versions order by all").fetchall()
    for words, how in (
        ("tiny has a run of that name", {"name": "other"}),
        ("name of the run is empty", {"name": " "}),
        ("has no tag seeed … seed", {"name": "new", "without": ["seeed"]}),
        ("tag", {"name": "new", "tags": {"": "x"}}),
    ):
        with expect_refusal(words, UsageError):
            made.edit("tiny", "frist", **how)  # type: ignore[arg-type]
    with expect_refusal("frits … frist", UsageError):
        made.edit("tiny", "frits", name="first")
    assert made.query("select * from run_versions order by all").fetchall() == before


def test_a_row_that_was_changed_from_outside_is_still_told(made: Warehouse) -> None:
    import duckdb

    with duckdb.connect(made.path) as con:
        con.execute("update store.run set num_predictions = 7 where name = 'frist'")
    made.edit("tiny", "frist", name="first", tags={"seed": "3"})
    assert not made.verify().is_good


def test_the_command(made: Warehouse, run: Callable[..., Answer]) -> None:
    db = ("-d", "tiny", "--db", str(made.path))
    said = run("edit", "frist", "--name", "it's", "--tag", "seed=2", "--without", "note", *db)
    assert (said.code, said.err) == (0, "tiny/it's: seed=2\n")
    assert run("edit", "it's", *db).code == 2
    assert run("edit", "frist", "--name", "x", *db).code == 2
