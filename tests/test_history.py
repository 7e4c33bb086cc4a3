"""History: boards as of past days, versions of the qrels, runs over time, and what was forgotten."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from projects import BEST, Folder, command

from warehouse.analyze import past
from warehouse.errors import UsageError
from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.core

QRELS = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"d": 1}}
ONE = {"q1": {"b": 3.0, "a": 2.0, "c": 1.0}, "q2": {"x": 1.0}}
TWO = {"q1": {"c": 3.0, "z": 2.0}, "q2": {"y": 2.0, "d": 1.0}}


def now() -> dt.datetime:
    """Return a moment that nothing else happens at."""
    time.sleep(0.002)
    found = dt.datetime.now(dt.UTC)
    time.sleep(0.002)
    return found


# --------------------------------------------------------------------------- boards of past days


def _board(*options: str) -> str:
    code, out, told = command("leaderboard", "-d", "tiny", "-f", "csv", *options)
    assert code == 0, told
    return out


def test_the_board_as_of_every_past_step_is_the_one_that_was_printed(here: Folder) -> None:
    """Loads, replacements, new qrels, a changed metric and slices; then what is forgotten is missing."""
    wh = Warehouse()
    printed: list[tuple[dt.datetime, tuple[str, ...], str]] = []

    def look(*options: str) -> None:
        printed.append((now(), options, _board(*options)))

    wh.ingest_qrels(QRELS, "tiny")
    wh.ingest_run(ONE, "tiny", name="one", run_at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    wh.evaluate(metrics="AP Best@2 MaxRank")
    look()
    look("--sort", "MaxRank")
    wh.ingest_run(TWO, "tiny", name="two", system="second")
    look()
    wh.evaluate("tiny", metrics="AP", slices="first = query_id = 'q1'")
    look()
    look("--slice", "first")
    wh.evaluate(metrics="AP nDCG@2 Best@2", protocol="top2")
    look("--protocol", "top2", "-m", "nDCG@2")
    # another content of `one`: the board has it only once it is evaluated
    wh.ingest_run({"q1": {"a": 1.0}, "q2": {"d": 1.0}}, "tiny", name="one", replace=True)
    look()
    wh.evaluate(metrics="AP RR Best@2")
    look()
    look("-m", "AP", "-m", "RR", "--sort", "RR", "--top", "1")
    # the metric means something else now, and lower is better
    here.metric(BEST.replace("max(relevance)", "sum(relevance)").replace('"higher"', '"lower"'))
    look("-m", "Best@2")
    wh.evaluate(metrics="Best@2")
    look("-m", "Best@2")
    wh.evaluate("tiny", metrics="AP", slices="first = query_id = 'q2'")
    look("--slice", "first")
    wh.ingest_qrels({"q1": {"a": 0, "b": 2}, "q2": {"x": 1}}, "tiny", replace=True)
    wh.evaluate(runs="two", metrics="AP")
    look()
    wh.evaluate(metrics="AP Best@2 nDCG@2")
    look()
    wh.evaluate("tiny", metrics="AP", qrels=1)
    look("--qrels", "1", "-m", "AP")
    wh.ingest_qrels(QRELS, "other")
    wh.ingest_run(TWO, "other", name="two")
    wh.evaluate(metrics="AP")
    look("-d", "other", "-m", "AP", "--each")
    wh.ingest_run({"q1": {"b": 1.0}}, "other", name="two", replace=True)
    wh.evaluate(metrics="AP")
    look("-d", "other", "-m", "AP", "--each")

    assert len({text for *_, text in printed}) > 10
    for at, options, text in printed:
        assert _board(*options, "--as-of", at.isoformat()) == text, options

    wh.forget("two", "tiny", reason="a mistake")
    look("-m", "AP")
    for at, options, text in printed[:-1]:
        asked = (*options, "--as-of", at.isoformat())
        if "--slice" in options or "-d" in options or "--protocol" in options:
            continue
        without = [line for line in text.splitlines() if ",two," not in line]
        code, out, told = command("leaderboard", "-d", "tiny", "-f", "csv", *asked)
        if len(without) == 1:
            assert (code, "nothing is evaluated" in told) == (2, True)
            continue
        # places may move up, values do not
        assert [line.split(",")[1:] for line in out.splitlines()] == [
            line.split(",")[1:] for line in without
        ]
        gone = "two (version 1) of tiny was there, and was forgotten on"
        assert (gone in told) == (",two," in text or at > printed[1][0]), told
    at, options, text = printed[-1]
    assert _board(*options, "--as-of", at.isoformat()) == text


def test_the_queries_as_they_were(wh: Warehouse) -> None:
    wh.ingest_qrels(QRELS, "tiny")
    wh.ingest_run(ONE, "tiny", name="one")
    wh.evaluate(metrics="RR")
    before, at = wh.queries("one", "tiny").fetchall(), now()
    wh.ingest_run(TWO, "tiny", name="one", replace=True)
    wh.ingest_qrels({"q1": {"z": 1}}, "tiny", replace=True)
    wh.evaluate(metrics="RR AP")
    assert wh.queries("one", "tiny").fetchall() != before
    assert wh.queries("one", "tiny", as_of=at).fetchall() == before
    # run two's content against the first qrels: c is first in q1, d second in q2
    wh.evaluate("tiny", metrics="RR", qrels=1)
    of_first = wh.queries("one", "tiny", qrels=1).project("query_id, RR").fetchall()
    assert of_first == [("q1", 1.0), ("q2", 0.5)]


def test_a_day_ends_at_midnight_utc() -> None:
    assert past.moment("2026-09-01").isoformat() == "2026-09-01T23:59:59.999999+00:00"
    assert past.moment(dt.date(2026, 9, 1)) == past.moment("2026-09-01")
    assert past.moment("2026-09-01T12:00").isoformat() == "2026-09-01T12:00:00+00:00"
    assert past.moment("2026-09-01 12:00+02:00") == past.moment("2026-09-01T10:00Z")
    assert past.moment(dt.datetime(2026, 9, 1, 12)) == past.moment("2026-09-01T12:00Z")
    for wrong in ("yesterday", "2026-13-01", "01.09.2026"):
        with pytest.raises(UsageError, match=f"as of {wrong}: write a day or a time as 2026-09-01"):
            past.moment(wrong)


def test_as_of_a_day_is_its_last_board(wh: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was evaluated at the last microsecond of a day belongs to it, at midnight to the next."""
    wh.ingest_qrels(QRELS, "tiny")
    wh.ingest_run(ONE, "tiny", name="one")
    wh.evaluate(metrics="RR")
    wh.ingest_run(TWO, "tiny", name="two")
    wh.evaluate(metrics="RR")
    import duckdb

    with duckdb.connect(str(wh.path)) as con:
        con.execute("set TimeZone = 'Asia/Tokyo'")
        for table, column in (
            ("dataset", "created_at"), ("qrels", "ingested_at"), ("run", "ingested_at"),
            ("evaluation", "evaluated_at"),
        ):  # fmt: skip
            con.execute(f"update {table} set {column} = '2026-08-30 12:00:00+00'")
        con.execute(
            "update evaluation set evaluated_at = "
            "case evaluation_id when 1 then '2026-09-01 23:59:59.999999+00'::timestamptz "
            "else '2026-09-02 00:00:00+00'::timestamptz end"
        )
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        names = [row[1] for row in wh.leaderboard("tiny", as_of="2026-09-01").fetchall()]
        assert names == ["one"]
        names = [row[1] for row in wh.leaderboard("tiny", as_of="2026-09-02").fetchall()]
        assert names == ["two", "one"]
        with pytest.raises(
            UsageError, match=r"nothing was evaluated yet; .* the end of 2026-09-01"
        ):
            wh.leaderboard("tiny", as_of="2026-08-31")
        with pytest.raises(UsageError, match=r"tiny: no such dataset.*as of the end of 2026-08-29"):
            wh.leaderboard("tiny", as_of="2026-08-29")
    finally:
        monkeypatch.undo()
        time.tzset()


# --------------------------------------------------------------------------- forgetting


def test_forgetting_leaves_a_tombstone_and_nothing_else(
    wh: Warehouse, counts: Callable[[Path], dict[str, int]]
) -> None:
    wh.ingest_qrels(QRELS, "tiny")
    wh.ingest_run(ONE, "tiny", name="one")
    wh.evaluate(metrics="AP AUC(ties=half)", slices="first = query_id = 'q1'")
    before = counts(wh.path)
    wh.ingest_run(TWO, "tiny", name="two", tags={"stage": "first"})
    wh.evaluate(metrics="AP AUC(ties=half)", slices="first = query_id = 'q1'")
    wh.curve("ROC", "tiny", runs="two")
    gone = wh.forget("two", "tiny", reason="trained on the test set")
    assert (gone.versions, gone.num_predictions, gone.num_evaluations) == ((1,), 4, 5)
    assert gone.current is None
    assert counts(wh.path) == before | {"forgotten_run": 1, "run_tag": 1}
    kept = wh.query("select name, version, reason, forgotten_at is not null from forgotten_run")
    assert kept.fetchall() == [("two", 1, "trained on the test set", True)]
    assert [row[1] for row in wh.leaderboard("tiny").fetchall()] == ["one"]
    again = wh.ingest_run(TWO, "tiny", name="two")
    assert (again.status, again.version) == ("loaded", 2)
    # its number is not that of the forgotten one, whose tags it does not have
    assert wh.query("select run_id, tags from runs where run = 'two'").fetchall() == [(3, None)]


def test_the_newest_version_that_is_left_counts(wh: Warehouse) -> None:
    wh.ingest_qrels(QRELS, "tiny")
    wh.ingest_run(ONE, "tiny", name="one")
    wh.evaluate(metrics="RR")
    board = wh.leaderboard("tiny").fetchall()
    wh.ingest_run(TWO, "tiny", name="one", replace=True)
    wh.evaluate(metrics="RR")
    assert wh.leaderboard("tiny").fetchall() != board
    assert wh.forget("one", "tiny", version=2).current == 1
    assert wh.leaderboard("tiny").fetchall() == board
    assert wh.ingest_run(ONE, "tiny", name="one").status == "unchanged"
    third = wh.ingest_run(TWO, "tiny", name="one", replace=True)
    assert (third.status, third.version) == ("replaced", 3)


def test_forgetting_asks_first_and_names_the_nearest(here: Folder, loaded: Warehouse) -> None:
    code, _, told = command("forget", "one", "-d", "tiny")
    assert (code, "would be removed for ever; to do so, add --yes" in told) == (2, True)
    assert len(loaded.runs("tiny").fetchall()) == 2
    for words, message in (
        (("forget", "onee", "-d", "tiny"), "did you mean one?"),
        (("forget", "one", "-d", "tinny"), "did you mean tiny?"),
        (("forget", "one", "-d", "tiny", "--version", "2"), "has no version 2; it has 1"),
    ):
        code, _, told = command(*words)
        assert (code, message in told) == (2, True), told
    code, _, told = command("forget", "one", "-d", "tiny", "--yes", "--reason", "twice")
    assert code == 0
    assert told == "forgotten one: version 1 with 4 predictions and 0 evaluations\n"


def test_a_failure_while_forgetting_changes_nothing(
    wh: Warehouse, counts: Callable[[Path], dict[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    wh.ingest_run(ONE, "tiny", name="one")
    before = counts(wh.path)
    from warehouse.ingest import forget

    render = forget.render
    monkeypatch.setattr(forget, "render", lambda *a, **k: render(*a, **k) + "; drop table nothing")
    with pytest.raises(Exception, match="nothing"):
        wh.forget("one", "tiny")
    assert counts(wh.path) == before
