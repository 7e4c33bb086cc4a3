"""The table of current values, which each write keeps, against the views of all versions."""

from __future__ import annotations

import random
from collections.abc import Callable

import duckdb
import pytest
from extended import extension

from warehouse import Warehouse
from warehouse.analyze import leaderboard
from warehouse.errors import WarehouseError

_COLUMNS = (
    "dataset, run, run_version, system, qrels_version, metric, protocol, direction, aggregate, value, "
    "num_queries, num_answered, num_judged, evaluated_at, run_at, run_id, qrels_id, evaluation_id"
)


def current(wh: Warehouse) -> list[tuple[object, ...]]:
    """Return the current values, which the table and the views of all versions have alike."""
    stored = wh.query(f"select {_COLUMNS} from scores order by all").fetchall()
    derived = f"select {_COLUMNS} from score_versions where is_current order by all"
    assert stored == wh.query(derived).fetchall()
    rows = wh.query("select run_id, metric, protocol, evaluation_id from store.current_score")
    assert sorted(rows.fetchall()) == sorted((r[15], r[5], r[6], r[17]) for r in stored)
    return stored


def _values(wh: Warehouse) -> dict[tuple[object, object], object]:
    return {(row[1], row[5]): row[9] for row in current(wh)}


def test_what_is_current_after_each_step(wh: Warehouse) -> None:
    """RR by hand: the place of the first relevant document, of the newest run and the newest qrels."""
    wh.ingest_qrels("tiny", {"q": {"b": 1, "a": 0}})
    wh.ingest_run("tiny", {"q": {"a": 2.0, "b": 1.0}}, name="one")
    wh.ingest_run("tiny", {"q": {"b": 2.0, "a": 1.0}}, name="two")
    assert _values(wh) == {}
    wh.evaluate("tiny", metrics="RR")
    assert _values(wh) == {("one", "RR"): 0.5, ("two", "RR"): 1.0}
    wh.ingest_run("tiny", {"q": {"c": 3.0, "a": 2.0, "b": 1.0}}, name="one", replace=True)
    assert _values(wh) == {("two", "RR"): 1.0}  # the new version has no value yet
    wh.evaluate("tiny", metrics="RR")
    assert _values(wh) == {("one", "RR"): 1 / 3, ("two", "RR"): 1.0}
    wh.forget("tiny", "one", version=2)
    assert _values(wh) == {
        ("one", "RR"): 0.5,
        ("two", "RR"): 1.0,
    }  # the first version is current again
    wh.ingest_qrels("tiny", {"q": {"b": 0, "a": 1}}, replace=True)
    assert _values(wh) == {}
    wh.evaluate("tiny", metrics="RR", runs="two")
    assert _values(wh) == {("two", "RR"): 0.5}
    board = wh.leaderboard("tiny", metrics="RR", as_of=None, qrels=1)
    assert [row[:2] for row in board.fetchall()] == [(1, "two"), (2, "one")]


def test_the_top_of_a_board_is_that_of_the_whole(wh: Warehouse) -> None:
    """Values are equal, or missing; then the names decide."""
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    for name, place in {"e": 1, "d": 2, "c": 2, "f": 1}.items():
        listed = {f"x{number}": -float(number) for number in range(1, place)}
        wh.ingest_run("tiny", {"q": listed | {"a": -float(place)}}, name=name)
    wh.evaluate("tiny", metrics="AvgRank")
    for name, score in {"b": 1.0, "a": 2.0, "0": 3.0}.items():
        wh.ingest_run("tiny", {"q": {"a": score, "z": 4.0}}, name=name)
    wh.evaluate("tiny", metrics="P@1")
    with wh.file.read() as con:
        whole = leaderboard.leaderboard(
            con, "tiny", sort="AvgRank", compute=False
        ).relation.fetchall()
        assert [row[1] for row in whole] == ["e", "f", "c", "d", "0", "a", "b"]
        for top in range(1, 9):
            cut = leaderboard.leaderboard(con, "tiny", sort="AvgRank", top=top, compute=False)
            assert cut.relation.fetchall() == whole[:top]
            # e and f share the first place, c and d the third; the others have no value
            others = {1: "1 more at place 1", 3: "1 more at place 3"}
            others |= {5: "2 more without a value", 6: "1 more without a value"}
            notes = [note for note in cut.notes if note.startswith("not shown")]
            assert notes == ([f"not shown: {others[top]}"] if top in others else [])


@pytest.mark.parametrize("seed", range(4))
def test_any_sequence_of_writing(wh: Warehouse, seed: int) -> None:
    chance = random.Random(seed)
    documents = "abcdef"

    def lists() -> dict[str, dict[str, float]]:
        return {q: {d: float(chance.randrange(50)) for d in documents} for q in ("q1", "q2")}

    def grades() -> dict[str, dict[str, int]]:
        return {q: {d: chance.randrange(3) for d in documents} for q in ("q1", "q2")}

    def dataset() -> str:
        return chance.choice(("first", "second"))

    def run() -> str:
        return chance.choice(("one", "two", "three"))

    def scored() -> object:
        values = [(run(), "q1", "Own", chance.random())]
        return duckdb.sql(
            f"select * from (values {values[0]}) as given(run, query_id, metric, value)"
        )

    steps: list[Callable[[], object]] = [
        lambda: wh.ingest_run(dataset(), lists(), name=run(), replace=True),
        lambda: wh.ingest_run(dataset(), lists(), name=run(), replace=True),
        lambda: wh.ingest_qrels(dataset(), grades(), replace=True),
        lambda: extension("answers").ingest_judgments(
            wh, dataset(), grades(), judge="someone", replace=True
        ),
        lambda: wh.evaluate(metrics=chance.choice(("AP", "RR", "nDCG@3"))),
        lambda: wh.evaluate(dataset(), runs=run(), metrics="AP"),
        lambda: wh.evaluate(dataset(), metrics="RR", qrels=1),
        lambda: wh.forget(dataset(), run()),
        lambda: wh.forget(dataset(), run(), version=chance.choice((1, 2))),
        lambda: wh.ingest_scores(dataset(), scored(), replace=True),
        lambda: wh.forget_scores(dataset(), run()),
    ]
    for name in ("first", "second"):
        wh.ingest_qrels(name, grades())
        wh.ingest_run(name, lists(), name="one")
    had = 0
    for _ in range(25):
        try:
            chance.choice(steps)()
        except WarehouseError:  # as there is no such run, or nothing to forget
            continue
        had += len(current(wh))
    assert had


def test_verify_finds_what_others_changed(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    wh.ingest_run("tiny", {"q": {"a": 1.0}}, name="one")
    wh.evaluate("tiny", metrics=("RR", "AP"))
    assert wh.verify().is_good
    with duckdb.connect(str(wh.path)) as con:
        con.execute("update store.current_score set value = 0.25 where metric = 'RR'")
    ((relation, problem, number),) = wh.verify().problems.fetchall()
    assert (relation, number) == ("current_score", 2)  # a row is there, and another is not
    assert "warehouse verify --renew" in problem
    assert wh.verify(renew=True).is_good
    assert wh.verify().is_good
    assert _values(wh) == {("one", "RR"): 1.0, ("one", "AP"): 1.0}


def test_values_by_other_judgments_are_not_taken_for_stored(wh: Warehouse) -> None:
    """The values against the current qrels are stored; those against a judge's are computed."""
    wh.ingest_qrels("tiny", {"q": {"a": 1, "b": 0}})
    for name, documents in {"one": "ab", "two": "ba"}.items():
        wh.ingest_run("tiny", {"q": dict(zip(documents, (2.0, 1.0), strict=True))}, name=name)
    wh.evaluate("tiny", metrics="RR")
    extension("answers").ingest_judgments(wh, "tiny", {"q": {"b": 1}}, judge="gpt")
    found = extension("answers").judges_swap(wh, "tiny", ["qrels", "gpt"], metrics="RR", top=2)
    column = found.columns.index("tau_b")
    assert [row[column] for row in found.fetchall()] == [-1.0]  # the judges prefer opposite runs
