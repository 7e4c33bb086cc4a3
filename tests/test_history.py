"""History: boards as of past days, versions of the qrels, runs over time, and what was forgotten."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from conftest import Prepared
from projects import BEST, Folder, command
from refusals import expect_refusal, tells

from warehouse.analyze import past_state
from warehouse.errors import UsageError
from warehouse.sql_text.templates import render
from warehouse.warehouse import Warehouse

QRELS = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"d": 1}}
ONE = {"q1": {"b": 3.0, "a": 2.0, "c": 1.0}, "q2": {"x": 1.0}}
TWO = {"q1": {"c": 3.0, "z": 2.0}, "q2": {"y": 2.0, "d": 1.0}}


def now() -> dt.datetime:
    """Return a moment that nothing else happens at."""
    time.sleep(0.002)
    found = dt.datetime.now(dt.UTC)
    time.sleep(0.002)
    return found


def _board(**options: object) -> tuple[list[str], list[tuple]]:
    """Return columns and rows of a board, of the dataset tiny unless it is said otherwise."""
    found = Warehouse().leaderboard(**{"dataset": "tiny", **options})
    return found.columns, found.fetchall()


@pytest.mark.slow
def test_the_board_as_of_every_past_step_is_the_one_that_was_shown(here: Folder) -> None:
    """Loads, replacements, new qrels, a changed metric and slices; then what is forgotten is missing."""
    wh = Warehouse()
    shown: list[tuple[dt.datetime, dict[str, object], tuple[list[str], list[tuple]]]] = []

    def look(**options: object) -> None:
        at = now()
        board = Warehouse().leaderboard(**{"dataset": "tiny", **options})
        if "metrics" not in options and any("computed for" in note for note in board.notes):
            # what is computed is no part of the day's board, which names a run without values
            live, board = board, Warehouse().leaderboard("tiny", **options, as_of=at)
            is_named = any("no values were stored yet of" in note for note in board.notes)
            assert is_named == (len(board) < len(live))
        shown.append((at, options, (board.columns, board.fetchall())))

    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", ONE, name="one", run_at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    wh.evaluate(metrics="AP Best@2 MaxRank")
    look()
    look(sort="MaxRank")
    wh.ingest_run("tiny", TWO, name="two", system="second")
    look()
    wh.evaluate("tiny", metrics="AP", slices="first = query_id = 'q1'")
    look()
    look(slice="first")
    wh.evaluate(metrics="AP nDCG@2 Best@2", protocol="top2")
    look(protocol="top2", metrics="nDCG@2")
    # another content of `one`: the board has it only once it is evaluated
    wh.ingest_run("tiny", {"q1": {"a": 1.0}, "q2": {"d": 1.0}}, name="one", replace=True)
    look()
    wh.evaluate(metrics="AP RR Best@2")
    look()
    look(metrics="AP RR", sort="RR", top=1)
    # the metric means something else now, and lower is better
    here.metric(BEST.replace("max(relevance)", "sum(relevance)").replace('"higher"', '"lower"'))
    look(metrics="Best@2")
    wh.evaluate(metrics="Best@2")
    look(metrics="Best@2")
    wh.evaluate("tiny", metrics="AP", slices="first = query_id = 'q2'")
    look(slice="first")
    wh.ingest_qrels("tiny", {"q1": {"a": 0, "b": 2}, "q2": {"x": 1}}, replace=True)
    wh.evaluate(runs="two", metrics="AP")
    look()
    wh.evaluate(metrics="AP Best@2 nDCG@2")
    look()
    wh.evaluate("tiny", metrics="AP", qrels=1)
    look(qrels=1, metrics="AP")
    wh.ingest_qrels("other", QRELS)
    wh.ingest_run("other", TWO, name="two")
    wh.evaluate(metrics="AP")
    look(dataset="other", metrics="AP")
    wh.ingest_run("other", {"q1": {"b": 1.0}}, name="two", replace=True)
    wh.evaluate(metrics="AP")
    look(dataset="other", metrics="AP")

    assert len({str(found) for *_, found in shown}) > 10
    for at, options, found in shown:
        assert _board(**options, as_of=at) == found, options

    wh.forget("tiny", "two", reason="a mistake")
    look(metrics="AP")
    gone = "two (version 1) of tiny was there, and was forgotten on"
    for at, options, (columns, rows) in shown[:-1]:
        if options.keys() & {"slice", "dataset", "protocol"}:
            continue
        without = [row for row in rows if row[1] != "two"]
        board = wh.leaderboard("tiny", **options, as_of=at)
        if not without:  # what is left had no values then, and is computed
            assert [row[1] for row in board.relation.fetchall()] == ["one"]
            assert any(gone in note for note in board.notes)
            continue
        assert board.relation.columns == columns
        # places may move up, values do not
        assert [row[1:] for row in board.relation.fetchall()] == [row[1:] for row in without]
        is_told = any(gone in note for note in board.notes)
        assert is_told == (without != rows or at > shown[1][0]), board.notes
    at, options, found = shown[-1]
    assert _board(**options, as_of=at) == found
    # as the command shows it, too
    text = command("leaderboard", "-d", "tiny", "-m", "AP", "-f", "csv")[1]
    asked = ("-d", "tiny", "-m", "AP", "-f", "csv", "--as-of", at.isoformat())
    assert command("leaderboard", *asked)[1] == text
    assert len(text.splitlines()) == 1 + len(found[1])


@pytest.mark.slow
@pytest.mark.core
def test_the_queries_as_they_were(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", ONE, name="one")
    wh.evaluate(metrics="RR")
    before, at = wh.queries("tiny", "one").fetchall(), now()
    wh.ingest_run("tiny", TWO, name="one", replace=True)
    wh.ingest_qrels("tiny", {"q1": {"z": 1}}, replace=True)
    wh.evaluate(metrics="RR AP")
    assert wh.queries("tiny", "one").fetchall() != before
    assert wh.queries("tiny", "one", as_of=at).fetchall() == before
    # run two's content against the first qrels: c is first in q1, d second in q2
    wh.evaluate("tiny", metrics="RR", qrels=1)
    of_first = wh.queries("tiny", "one", qrels=1).relation.project("query_id, RR").fetchall()
    assert of_first == [("q1", 1.0), ("q2", 0.5)]


def test_a_day_ends_at_midnight_utc() -> None:
    for day in ("2026-09-06", "2026-W36-7", "2026W36"):
        assert past_state.moment(day).isoformat() == "2026-09-06T23:59:59.999999+00:00"
    assert past_state.moment("9999-W52").isoformat() == "9999-12-31T23:59:59.999999+00:00"
    assert past_state.moment(dt.date(2026, 9, 1)) == past_state.moment("2026-09-01")
    assert past_state.moment("2026-09-01T12:00").isoformat() == "2026-09-01T12:00:00+00:00"
    assert past_state.moment("2026-09-01 12:00+02:00") == past_state.moment("2026-09-01T10:00Z")
    assert past_state.moment(dt.datetime(2026, 9, 1, 12)) == past_state.moment("2026-09-01T12:00Z")
    for wrong in ("yesterday", "2026-13-01", "01.09.2026"):
        with pytest.raises(UsageError, match=f"as of {wrong}: write it as 2026-09-01"):
            past_state.moment(wrong)


@pytest.mark.slow
@pytest.mark.core
def test_forgetting_leaves_a_tombstone_and_nothing_else(
    wh: Warehouse, counts: Callable[[Path], dict[str, int]]
) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", ONE, name="one")
    wh.evaluate(metrics="AP AUC(ties=half)", slices="first = query_id = 'q1'")
    before = counts(wh.path)
    wh.ingest_run("tiny", TWO, name="two", tags={"stage": "first"})
    wh.evaluate(metrics="AP AUC(ties=half)", slices="first = query_id = 'q1'")
    wh.curve("tiny", "ROC", runs="two", store=True)
    gone = wh.forget("tiny", "two", reason="trained on the test set")
    assert (gone.versions, gone.num_predictions, gone.num_evaluations) == ((1,), 4, 5)
    assert gone.current is None
    more = {"forgotten_run": 1, "run_tag": 1, "table_total": before["table_total"] + 1}
    assert counts(wh.path) == before | more
    kept = wh.query(
        "select name, version, reason, forgotten_at is not null from store.forgotten_run"
    )
    assert kept.fetchall() == [("two", 1, "trained on the test set", True)]
    assert [row[1] for row in wh.leaderboard("tiny").fetchall()] == ["one"]
    again = wh.ingest_run("tiny", TWO, name="two")
    assert (again.status, again.version) == ("loaded", 2)
    # its number is not that of the forgotten one, whose tags it does not have
    assert wh.query("select run_id, tags from runs where run = 'two'").fetchall() == [(3, None)]
    # of another dataset nothing was forgotten
    assert wh.ingest_run("other", TWO, name="two").version == 1


@pytest.mark.slow
def test_the_newest_version_that_is_left_counts(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", ONE, name="one")
    wh.evaluate(metrics="RR")
    board = wh.leaderboard("tiny").fetchall()
    wh.ingest_run("tiny", TWO, name="one", replace=True)
    wh.evaluate(metrics="RR")
    assert wh.leaderboard("tiny").fetchall() != board
    assert wh.forget("tiny", "one", version=2).current == 1
    assert wh.leaderboard("tiny").fetchall() == board
    # at a moment after it was forgotten, version 2 counts as little as it does at present
    assert wh.leaderboard("tiny", as_of=now()).fetchall() == board
    assert wh.ingest_run("tiny", ONE, name="one").status == "unchanged"
    third = wh.ingest_run("tiny", TWO, name="one", replace=True)
    assert (third.status, third.version) == ("replaced", 3)


def test_forgetting_asks_first_and_names_the_nearest(here: Folder, loaded: Warehouse) -> None:
    code, _, told = command("forget", "one", "-d", "tiny")
    assert (code, "would be removed for ever; to do so, add --yes" in told) == (2, True)
    assert len(loaded.runs("tiny").fetchall()) == 2
    for words, message in (
        (("forget", "onee", "-d", "tiny"), "onee … one"),
        (("forget", "one", "-d", "tinny"), "tinny … tiny"),
        (("forget", "one", "-d", "tiny", "--version", "2"), "has no version 2; it has 1"),
    ):
        code, _, told = command(*words)
        assert (code, tells(told, message)) == (2, True), told
    code, _, told = command("forget", "one", "-d", "tiny", "--yes", "--reason", "twice")
    assert code == 0
    assert told == "forgotten one: version 1 with 4 predictions and 0 evaluations\n"


def _day(number: int) -> dt.datetime:
    return dt.datetime(2026, 9, number, tzinfo=dt.UTC)


def _timed(wh: Warehouse) -> None:
    """Load runs whose RR is 1/2, 1/3, 1/2, 1 and 1/3 in the order of their days, which is not theirs.

    MaxRank, of which the lower is better, is 2, 3, 2, 1 and 3.
    """
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    above = {1: {}, 2: {"x": 9.0}, 3: {"x": 9.0, "y": 8.0}}
    for name, day, rank, system in (
        ("late", 5, 1, "new"), ("early", 1, 2, "old"), ("same", 3, 2, "old"), ("worse", 2, 3, "new"),
    ):  # fmt: skip
        wh.ingest_run(
            "tiny", {"q": above[rank] | {"a": 1.0}}, name=name, system=system, run_at=_day(day)
        )
    wh.ingest_run(
        "tiny",
        {"q": above[3] | {"a": 2.0}},
        name="late",
        system="new",
        run_at=_day(7),
        replace=True,
    )
    wh.evaluate(metrics="RR MaxRank NumRet")


@pytest.fixture
def timed(wh: Warehouse, prepared: Prepared) -> Warehouse:
    """Return a warehouse with what `_timed` loads."""
    return prepared(wh.path, _timed)


@pytest.mark.slow
@pytest.mark.core
def test_the_best_so_far_and_the_records(timed: Warehouse) -> None:
    wh = timed
    # the first version of `late` has no value: only current runs are evaluated
    found = wh.history("tiny", "RR")
    assert found.columns == [
        "run_at", "run", "version", "system", "value", "best_so_far", "is_record", "gain",
    ]  # fmt: skip
    assert found.relation.project(
        "day(run_at), run, version, value, best_so_far, is_record, gain"
    ).fetchall() == [
        (1, "early", 1, 1 / 2, 1 / 2, True, None),
        (2, "worse", 1, 1 / 3, 1 / 2, False, None),
        (3, "same", 1, 1 / 2, 1 / 2, False, None),
        (7, "late", 2, 1 / 3, 1 / 2, False, None),
    ]
    wh.forget("tiny", "late", version=2)
    wh.evaluate(metrics="RR MaxRank")
    wh.ingest_run("tiny", {"q": {"b": 1.0}}, name="late", run_at=_day(9), replace=True)
    wh.evaluate(metrics="RR MaxRank")
    short = "run || version, value, best_so_far, is_record, gain"
    assert wh.history("tiny", "RR").relation.project(short).fetchall()[2:] == [
        ("same1", 1 / 2, 1 / 2, False, None),
        ("late1", 1.0, 1.0, True, 1 / 2),
        ("late3", 0.0, 1.0, False, None),
    ]
    # MaxRank of a run without the document: one below the end of its list, 2
    assert wh.history("tiny", "MaxRank").relation.project(short).fetchall() == [
        ("early1", 2.0, 2.0, True, None),
        ("worse1", 3.0, 2.0, False, None),
        ("same1", 2.0, 2.0, False, None),
        ("late1", 1.0, 1.0, True, -1.0),
        ("late3", 2.0, 1.0, False, None),
    ]
    of_system = wh.history("tiny", "RR", system="old", run=["same"])
    assert of_system.relation.project("run, is_record").fetchall() == [("same", True)]
    # neither more nor fewer documents is better
    assert {row[-3:] for row in wh.history("tiny", "NumRet").fetchall()} == {(None, False, None)}


@pytest.mark.slow
def test_no_record_and_no_place_by_the_last_bits(wh: Warehouse) -> None:
    """P@10 is 1/5 of both: in doubles (0.3 + 0.2 + 0.1) / 3, and a bit more, (0.1 + 0.2 + 0.3) / 3."""
    queries = ("q1", "q2", "q3")
    wh.ingest_qrels("tiny", {q: {f"r{n}": 1 for n in range(3)} for q in queries})
    for name, found in (("down", (3, 2, 1)), ("up", (1, 2, 3))):
        lists = {q: {f"r{n}": 1.0 for n in range(k)} for q, k in zip(queries, found, strict=True)}
        wh.ingest_run("tiny", lists, name=name)
    wh.evaluate("tiny", metrics="P@10")
    columns = "run, value, is_record"
    wanted = [("down", 0.6 / 3, True), ("up", (0.1 + 0.2 + 0.3) / 3, False)]
    assert wanted[0][1] < wanted[1][1]
    found = wh.history("tiny", "P@10")
    assert found.relation.project(columns).fetchall() == wanted
    assert found.relation.project("gain").fetchall() == [(None,), (None,)]
    assert wh.query(f"select {columns} from history order by step").fetchall() == wanted
    sql = "select run, place, direction, run_id from leaderboard order by run"
    assert wh.query(sql).fetchall() == [("down", 1, "higher", 1), ("up", 1, "higher", 2)]


@pytest.mark.slow
def test_a_history_says_what_it_leaves_out(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    for document in "abc":
        wh.ingest_run("tiny", {"q": {document: 1.0}}, name="nightly", replace=True)
        wh.evaluate(metrics="RR")
    wh.ingest_run("tiny", {"q": {"d": 1.0}}, name="nightly", replace=True)
    wh.ingest_run("tiny", {"q": {"d": 1.0}}, name="other", system="S")
    wh.evaluate(metrics="RR", runs="nightly")
    wh.ingest_qrels("tiny", {"q": {"a": 1, "b": 1}}, replace=True)
    at = now()

    def told(*more: str) -> tuple[int, list[str]]:
        _, out, err = command("history", "-d", "tiny", "-m", "RR", "--db", str(wh.path), *more)
        return len(out.splitlines()) - 2, err.splitlines()[1:]

    replaced = "RR: 3 replaced versions left out, without a value against qrels version 2"
    assert told() == (2, [
        f"{replaced}: against version 1 see --qrels 1",
        "RR: computed for 2 runs and not stored: RR; to store: warehouse evaluate -d tiny -m RR",
    ])  # fmt: skip
    wh.evaluate(metrics="RR", runs="nightly")
    assert told("--run", "nightly") == (1, [f"{replaced}: against version 1 see --qrels 1"])
    assert told("--qrels", "1") == (5, [
        "RR: computed for 1 run and not stored: RR; to store: "
        "warehouse evaluate -d tiny -m RR --qrels 1",
    ])  # fmt: skip
    assert told("--as-of", at.isoformat()) == (2, [
        f"{replaced}: against version 1 see --qrels 1",
        "RR: computed for 2 runs and not stored: RR; by today's formulas, from what there was then",
    ])  # fmt: skip
    wh.evaluate(metrics="RR")
    assert told("--run", "other") == (1, [])
    at = now()
    wh.forget("tiny", "other")
    (note,) = wh.history("tiny", "RR", run="nightly", as_of=at).notes[2:]
    assert note.startswith("RR: other (version 1) of tiny was there, and was forgotten on ")


def test_wrong_words_for_a_history(timed: Warehouse) -> None:
    for options, message in (
        ({"metric": "P.5,10"}, "stands for several metrics; name one"),
        ({"metric": "RR", "run": "erly"}, "erly … early"),
        ({"metric": "RR", "system": "odd"}, "odd … old"),
        ({"metric": "RR", "qrels": 2}, "has no version 2 of its qrels; it has 1"),
    ):  # fmt: skip
        with expect_refusal(message):
            timed.history("tiny", **options)


@pytest.mark.slow
@pytest.mark.core
def test_what_differs_between_versions(wh: Warehouse) -> None:
    # the iteration of plain judgments means nothing
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", ONE, name="one")
    wh.evaluate(metrics="RR")
    wh.ingest_qrels(
        "tiny", {"q1": {"a": 1, "b": 1, "e": 0}, "q3": {"d": 1}}, label="more", replace=True
    )
    listed = wh.qrels("tiny").relation.project(
        "version, is_current, kind, label, queries, judgments, relevant, runs"
    )
    assert listed.fetchall() == [
        (1, False, "judgments", None, 2, 4, 3, 1),
        (2, True, "judgments", "more", 2, 4, 3, 0),
    ]
    found = wh.qrels_diff("tiny", 1, 2)
    assert found.counts.fetchall() == [
        ("added", 2, 2, 2),
        ("removed", 2, 2, 2),
        ("changed", 1, 1, 1),
    ]
    assert found.rows.fetchall() == [
        ("q1", "b", "", "changed", 0.0, 1.0),
        ("q1", "c", "", "removed", 2.0, None),
        ("q1", "e", "", "added", None, 0.0),
        ("q2", "d", "", "removed", 1.0, None),
        ("q3", "d", "", "added", None, 1.0),
    ]
    back = wh.qrels_diff("tiny", 2, 1)
    assert back.counts.fetchall() == [
        ("added", 2, 2, 2),
        ("removed", 2, 2, 2),
        ("changed", 1, 1, 1),
    ]
    assert wh.qrels_diff("tiny", 1, 1).rows.fetchall() == []
    with pytest.raises(UsageError, match=r"it has 1, 2: warehouse qrels -d tiny$"):
        wh.qrels_diff("tiny", 1, 3)


@pytest.mark.slow
def test_an_older_version_can_be_completed(here: Folder) -> None:
    wh = Warehouse()
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", ONE, name="one")
    wh.evaluate(metrics="RR")
    wh.ingest_qrels("tiny", {"q1": {"b": 1}, "q2": {"x": 1}}, replace=True)
    wh.ingest_run("tiny", TWO, name="two")
    wh.evaluate(metrics="RR")
    # one: a is second in q1, nothing in q2; two: c first, d second, and computed
    assert wh.leaderboard("tiny", qrels=1).fetchall() == [
        (1, "two", None, 0.75, 2, 2),
        (2, "one", None, 0.25, 2, 2),
    ]
    code, _, told = command("leaderboard", "-d", "tiny", "-m", "RR", "--qrels", "1")
    assert code == 0
    assert "computed for 1 run and not stored: RR; to store: " in told
    assert "warehouse evaluate -d tiny -m RR --qrels 1" in told
    assert wh.qrels_diff("tiny", 1, 2).taus.fetchall() == [("RR", 1, None, 0)]
    _, _, told = command("qrels", "diff", "1", "2", "-d", "tiny", "--protocol", "trec_eval_9")
    assert told.endswith("warehouse evaluate -d tiny --qrels 1 --protocol trec_eval_9\n")
    done = wh.evaluate("tiny", metrics="RR", qrels=1)
    assert [detail[1] for detail in done.details] == ["two"]
    assert wh.leaderboard("tiny", qrels=1).relation.project("run, RR").fetchall() == [
        ("two", 0.75),
        ("one", 0.25),
    ]
    assert wh.leaderboard("tiny").relation.project("run, RR").fetchall() == [
        ("one", 1.0),
        ("two", 0.0),
    ]
    found = wh.qrels_diff("tiny", 1, 2)
    assert found.taus.fetchall() == [("RR", 2, -1.0, 1)]
    assert found.boards.fetchall() == [
        ("RR", "one", 0.25, 1.0, 0.75, 2, 1),
        ("RR", "two", 0.75, 0.0, -0.75, 1, 2),
    ]
    assert found.notes == ("RR: Kendall's tau-b -1.0000 over 2 runs, 1 pair in the other order",)
    with duckdb.connect(str(wh.path)) as con:  # as another formula, then, would have made them
        con.execute(
            "update store.evaluation set fingerprint = 'older', "
            "evaluated_at = evaluated_at - interval 1 microsecond "
            "where evaluation_id in (select min(evaluation_id) from store.evaluation)"
        )
    mixed = wh.qrels_diff("tiny", 1, 2)
    assert mixed.boards.relation.project("run").fetchall() == [("two",)]
    assert mixed.notes[1:] == (
        "left out, for against version 1 they are by an older formula: RR: "
        "warehouse evaluate -d tiny -m RR --qrels 1",
    )
    assert mixed.notes[1] in command("qrels", "diff", "1", "2", "-d", "tiny")[2]
    with pytest.raises(UsageError, match="has no version 3 of its qrels"):
        wh.evaluate("tiny", metrics="RR", qrels=3)
    only = "belongs to one dataset; name the dataset: warehouse evaluate -d tiny --qrels 1$"
    with pytest.raises(UsageError, match=only):
        wh.evaluate(metrics="RR", qrels=1)
    wh.ingest_qrels("other", QRELS)
    with pytest.raises(UsageError, match=r"name the dataset; known are other, tiny$"):
        wh.evaluate(metrics="RR", qrels=1)
    with pytest.raises(UsageError, match="belongs to one dataset; name one dataset"):
        wh.leaderboard("*", qrels=1)


@pytest.mark.slow
def test_the_history_of_another_time_and_other_qrels(timed: Warehouse) -> None:
    wh = timed
    at = now()
    wh.ingest_qrels("tiny", {"q": {"x": 1}}, replace=True)
    wh.ingest_run("tiny", {"q": {"a": 1.0}}, name="more", run_at=_day(1))
    wh.evaluate(metrics="RR")
    assert [row[1] for row in wh.history("tiny", "RR", as_of=at).fetchall()] == [
        "early", "worse", "same", "late",
    ]  # fmt: skip
    # against the first qrels, `more` is not evaluated but computed, and all others are as they were;
    # against the second it does not have x
    then = wh.history("tiny", "RR", as_of=at).relation.project("run, value").fetchall()
    first = wh.history("tiny", "RR", qrels=1)
    assert [(row.run, row.value) for row in first] == [then[0], ("more", 1.0), *then[1:]]
    assert first.notes[-1].startswith("RR: computed for 1 run and not stored: RR; ")
    assert wh.history("tiny", "RR").relation.project("run, value").fetchall() == [
        ("early", 1.0), ("more", 0.0), ("worse", 1.0), ("same", 1.0), ("late", 1.0),
    ]  # fmt: skip


def test_a_failure_while_forgetting_changes_nothing(
    wh: Warehouse, counts: Callable[[Path], dict[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    wh.ingest_run("tiny", ONE, name="one")
    before = counts(wh.path)
    from warehouse.ingest import forget

    monkeypatch.setattr(forget, "render", lambda *a, **k: render(*a, **k) + "; drop table nothing")
    with pytest.raises(Exception, match="nothing"):
        wh.forget("tiny", "one")
    assert counts(wh.path) == before
