"""Loading: what is taken in, what is refused, and that nothing is ever half done."""

from __future__ import annotations

import datetime as dt
import gzip
import hashlib
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import duckdb
import pytest

from warehouse.errors import ConflictError, InputError, LockedError, UsageError
from warehouse.ingest import runs, steps
from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.core

Counts = Callable[[Path], dict[str, int]]

QRELS = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1}}
RUN = {"q1": {"d1": 2.5, "d2": 1.5}, "q2": {"d3": 0.25}}
OTHER = {"q1": {"d1": 1.0, "d2": 3.0}, "q2": {"d3": 0.25}}

TREC = "q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.5 tag\nq2 Q0 d3 1 0.25 tag\n"


def rows(wh: Warehouse, sql: str, **params: object) -> list[tuple]:
    return wh.query(sql, **params).fetchall()


def test_first_load_is_loaded_with_its_counts(wh: Warehouse) -> None:
    qrels = wh.ingest_qrels("tiny", QRELS, label="by hand")
    run = wh.ingest_run("tiny", RUN, name="first")
    assert (qrels.kind, qrels.status, qrels.version) == ("qrels", "loaded", 1)
    assert (qrels.num_queries, qrels.num_rows, qrels.warnings) == (2, 3, ())
    assert (run.kind, run.status, run.name, run.version) == ("run", "loaded", "first", 1)
    assert (run.num_queries, run.num_rows, run.warnings) == (2, 3, ())
    assert rows(wh, "select query_id, doc_id, score from store.prediction order by all") == [
        ("q1", "d1", 2.5),
        ("q1", "d2", 1.5),
        ("q2", "d3", 0.25),
    ]
    assert rows(
        wh, "select query_id, doc_id, relevance, iteration from store.judgment order by all"
    ) == [("q1", "d1", 2, "0"), ("q1", "d2", 0, "0"), ("q2", "d3", 1, "0")]
    assert rows(wh, "select query_id, num_ret from store.ranking order by all") == [
        ("q1", 2),
        ("q2", 1),
    ]
    assert rows(wh, "select label, num_queries, num_judgments from store.qrels") == [
        ("by hand", 2, 3)
    ]


def test_the_same_again_changes_nothing(wh: Warehouse, counts: Counts) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", RUN, name="first")
    before = counts(wh.path)
    assert wh.ingest_qrels("tiny", QRELS).status == "unchanged"
    assert wh.ingest_run("tiny", RUN, name="first").status == "unchanged"
    assert wh.ingest_run("tiny", RUN, name="first", replace=True).status == "unchanged"
    assert counts(wh.path) == before


def test_other_content_under_a_taken_name_is_refused(wh: Warehouse, counts: Counts) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", RUN, name="first")
    before = counts(wh.path)
    with pytest.raises(ConflictError, match=r"another run named first.*name=.*replace=True"):
        wh.ingest_run("tiny", OTHER, name="first")
    with pytest.raises(ConflictError, match=r"other qrels already \(version 1, 3 judgments"):
        wh.ingest_qrels("tiny", {"q1": {"d1": 1}})
    assert counts(wh.path) == before


@pytest.mark.slow
def test_replace_makes_a_version_and_keeps_the_history(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", RUN, name="first")
    wh.evaluate(metrics="RR")
    replaced = wh.ingest_run("tiny", OTHER, name="first", replace=True)
    assert (replaced.status, replaced.version) == ("replaced", 2)
    wh.evaluate(metrics="RR")

    kept = rows(
        wh,
        "select version, doc_id, score from store.prediction join store.run using (run_id) "
        "where query_id = 'q1' order by all",
    )
    assert kept == [(1, "d1", 2.5), (1, "d2", 1.5), (2, "d1", 1.0), (2, "d2", 3.0)]
    # version 1 has d1 first in both queries: RR 1; version 2 has it second in q1: (1/2 + 1) / 2
    assert wh.leaderboard("tiny").fetchall() == [(1, "first", None, 0.75, 2, 2)]
    history = rows(wh, "select run_version, value, is_current from score_versions order by 1")
    assert history == [(1, 1.0, False), (2, 0.75, True)]
    assert [row[2] for row in wh.runs("tiny").fetchall()] == [2]


def test_going_back_to_the_first_content_is_a_third_version(wh: Warehouse) -> None:
    wh.ingest_run("tiny", RUN, name="first")
    wh.ingest_run("tiny", OTHER, name="first", replace=True)
    again = wh.ingest_run("tiny", RUN, name="first", replace=True)
    assert (again.status, again.version) == ("replaced", 3)


def test_one_name_in_two_datasets_is_two_runs(wh: Warehouse) -> None:
    assert wh.ingest_run("one", RUN, name="first").status == "loaded"
    assert wh.ingest_run("two", OTHER, name="first").status == "loaded"


def _trec(folder: Path) -> Path:
    path = folder / "a.trec"
    path.write_text(TREC)
    return path


def _shuffled(folder: Path) -> Path:
    path = folder / "b.trec"
    path.write_text("".join(reversed(TREC.splitlines(keepends=True))))
    return path


def _tabbed(folder: Path) -> Path:
    path = folder / "c.trec"
    path.write_text(TREC.replace(" ", "\t").replace("\n", "\r\n"))
    return path


def _gzipped(folder: Path) -> Path:
    path = folder / "d.trec.gz"
    path.write_bytes(gzip.compress(TREC.encode()))
    return path


def _csv(folder: Path) -> Path:
    path = folder / "e.csv"
    path.write_text("score,doc_id,query_id\n2.50,d1,q1\n1.5,d2,q1\n2.5e-1,d3,q2\n")
    return path


def _jsonl(folder: Path) -> Path:
    path = folder / "f.jsonl"
    lines = [
        {"query_id": query, "doc_id": doc, "score": score}
        for query, found in RUN.items()
        for doc, score in found.items()
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _ranx(folder: Path) -> Path:
    path = folder / "g.json"
    path.write_text(json.dumps(RUN))
    return path


@pytest.mark.slow
def test_equal_scores_in_another_order(wh: Warehouse, tmp_path: Path) -> None:
    """They are the same predictions, but b above a makes the reciprocal rank of a 1/2 as it stands."""
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    paths = [tmp_path / "one.run", tmp_path / "two.run"]

    def load(*orders: str, replace: bool = False) -> list[tuple[str, bool]]:
        for path, order in zip(paths, orders, strict=True):
            scores = {"a": 1.0, "b": 1.0, "c": 0.5}
            path.write_text("".join(f"q Q0 {doc} 0 {scores[doc]} t\n" for doc in order))
        done = wh.ingest_runs("tiny", paths, replace=replace)
        return [(one.status, "another order of equal scores" in str(one.warnings)) for one in done]

    assert load("abc", "abc") == [("loaded", False), ("loaded", False)]
    assert load("cab", "cba") == [("unchanged", False), ("unchanged", True)]
    assert load("cab", "cba", replace=True) == [("unchanged", False), ("replaced", False)]
    assert load("acb", "bac") == [("unchanged", False), ("unchanged", False)]
    wh.evaluate(metrics="RR", protocol="rectools")
    board = wh.leaderboard("tiny", metrics="RR", protocol="rectools")
    assert board.relation.project("run, RR").fetchall() == [("one", 1.0), ("two", 0.5)]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "make", [_trec, _shuffled, _tabbed, _gzipped, _csv, _jsonl, _ranx], ids=lambda f: f.__name__
)
def test_order_and_format_make_no_other_content(
    wh: Warehouse, tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    wh.ingest_run("tiny", RUN, name="first")
    assert wh.ingest_run("tiny", str(make(tmp_path)), name="first").status == "unchanged"


@pytest.mark.parametrize(
    "other",
    [
        {"q1": {"d1": 2.5, "d2": 1.5}},
        {"q1": {"d1": 2.5, "d2": 1.5}, "q2": {"d3": 0.5}},
        {"q1": {"d1": 2.5, "d2": 1.5}, "q3": {"d3": 0.25}},
        {"q1": {"d1": 1.5, "d2": 2.5}, "q2": {"d3": 0.25}},
        {"q1": {"d1": 2.5, "d2": 1.5}, "q2": {"d3": 0.25, "d4": 0.0}},
    ],
    ids=["fewer", "a score", "a query", "scores swapped", "more"],
)
def test_any_difference_is_other_content(wh: Warehouse, other: dict) -> None:
    wh.ingest_run("tiny", RUN, name="first")
    with pytest.raises(ConflictError):
        wh.ingest_run("tiny", other, name="first")


def test_direction_is_part_of_the_content(wh: Warehouse) -> None:
    wh.ingest_run("tiny", RUN, name="first")
    with pytest.raises(ConflictError):
        wh.ingest_run("tiny", RUN, name="first", lower_is_better=True)


def test_the_engine_hashes_as_it_did() -> None:
    # Content hashes are kept in files for years: a DuckDB that hashes otherwise would call every
    # run that is loaded again a conflict.
    ((found,),) = duckdb.sql("select hash('a', 'b', 1.5::double)").fetchall()
    assert found == 15191091317367397459


def test_lower_is_better_turns_the_order_and_keeps_the_scores(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q": {"near": 1}})
    wh.ingest_run("tiny", {"q": {"near": 0.1, "far": 9.0}}, name="up")
    wh.ingest_run("tiny", {"q": {"near": 0.1, "far": 9.0}}, name="down", lower_is_better=True)
    wh.evaluate(metrics="RR")
    assert rows(wh, "select run, value from scores order by run") == [("down", 1.0), ("up", 0.5)]
    stored = "select distinct doc_id, score from store.prediction order by score"
    assert rows(wh, stored) == [("near", 0.1), ("far", 9.0)]


def test_a_run_with_ranks_only(wh: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "ranks.csv").write_text("query_id,doc_id,rank\nq,a,1\nq,c,3\nq,b,2\n")
    wh.ingest_qrels("tiny", {"q": {"b": 1, "c": 1}})
    wh.ingest_run("tiny", str(tmp_path / "ranks.csv"))
    wh.evaluate(metrics="RR AP")
    # b second, c third: RR 1/2, AP (1/2 + 2/3) / 2 = 7/12
    assert dict(rows(wh, "select metric, value from scores")) == {
        "RR": 0.5,
        "AP": pytest.approx(7 / 12, abs=1e-15),
    }
    assert rows(wh, "select ranked_by, lower_is_better from store.run") == [("rank", True)]


def test_equal_scores_are_ordered_by_document_id_descending(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    wh.ingest_run("tiny", {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}, name="ties")
    wh.evaluate(metrics="RR")
    # c, b, a
    assert rows(wh, "select value from scores") == [(pytest.approx(1 / 3, abs=1e-15),)]


def test_warns_of_queries_without_judgments_and_of_silent_ones(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}})
    found = wh.ingest_run(
        "tiny", {"q1": {"a": 1.0}, "x1": {"a": 1.0}, "x2": {"a": 1.0}}, name="r"
    ).warnings
    assert len(found) == 2
    assert "2 queries of the run are not in the qrels" in found[0]
    assert "2 of 3 judged queries have no line in the run" in found[1]


def test_warns_of_missing_qrels(wh: Warehouse) -> None:
    (found,) = wh.ingest_run("tiny", RUN, name="r").warnings
    assert "tiny has no qrels yet" in found
    assert "warehouse ingest qrels FILE -d tiny" in found


def test_warns_of_the_same_predictions_under_another_name(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", RUN, name="first")
    second = wh.ingest_run("tiny", RUN, name="second")
    assert second.status == "loaded"
    assert second.warnings == ("the predictions are the same as those of run first",)


def test_warns_of_a_run_of_a_time_to_come(wh: Warehouse) -> None:
    """A day ahead may be that of another place; of what comes later every other run would be older."""
    wh.ingest_qrels("tiny", QRELS)
    now = dt.datetime.now(dt.UTC)
    soon, far = now + dt.timedelta(hours=23), dt.datetime(2999, 1, 1)
    assert wh.ingest_run("tiny", RUN, name="soon", run_at=soon).warnings == ()
    told, _ = wh.ingest_run("other", RUN, name="far", run_at=far).warnings
    assert told == (
        "its time, 2999-01-01 00:00 UTC, is still to come: the history shows it after all others"
    )


@pytest.mark.slow
def test_warns_when_what_is_said_of_a_run_is_not_stored(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", RUN, name="r", system="one", tags={"k": "1"})
    (of_system,) = wh.ingest_run("tiny", RUN, name="r", system="two").warnings
    (of_tags,) = wh.ingest_run("tiny", RUN, name="r", tags={"k": "2"}).warnings
    assert "another system" in of_system
    assert "another set of tags" in of_tags
    at = dt.datetime(2026, 9, 1, 12)
    (of_both,) = wh.ingest_run("tiny", RUN, name="r", system="two", run_at=at).warnings
    assert "another system and time;" in of_both
    assert rows(wh, "select system from store.run") == [("one",)]
    replaced = wh.ingest_run("tiny", RUN, name="r", system="two", replace=True)
    assert (replaced.status, replaced.version) == ("replaced", 2)
    assert rows(wh, "select system from runs") == [("two",)]
    # a wrong time can be put right, here and for many runs; the same again is the same
    for at in (dt.datetime(2026, 9, 1, 12), dt.datetime(2026, 9, 1, 14, tzinfo=dt.UTC)):
        assert wh.ingest_run("tiny", RUN, name="r", run_at=at, replace=True).status == "replaced"
        again = wh.ingest_run("tiny", RUN, name="r", run_at=at, replace=True)
        assert (again.status, again.warnings) == ("unchanged", ())
        (stored,) = rows(wh, "select run_at from runs")
        assert stored[0] == at.replace(tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"name_from": "tagg"}, "tagg: no such place of a run's name; did you mean tag"),
        ({"tags": {"a": None}}, "tag 'a': key and value are texts, not None"),
        ({"tags": {" ": "a"}}, "tag ' ': the key is empty"),
        ({"run_at": 5}, "run_at: is a time of datetime, not 5"),
        ({"name": 5}, "the name of the run is a text, not 5"),
        ({"name": "\ud800"}, "the name of the run is not valid Unicode text"),
        ({"dataset": 5}, "the name of the dataset is a text, not 5"),
    ],
)
def test_what_cannot_be_said_of_a_run(wh: Warehouse, said: dict, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        wh.ingest_run(source=RUN, **{"dataset": "tiny", "name": "r"} | said)
    assert not wh.path.exists()


@pytest.mark.core
def test_the_hash_of_a_content_is_the_same_in_every_version(wh: Warehouse) -> None:
    """It is the engine's: were it another one day, all that is loaded would count as other content.

    The sums of the rows' hashes are those that DuckDB 1.5.6 gave; 2.0 gives them too. The hash of
    that and of the dataset's name is what the catalogue has.
    """
    wh.ingest_qrels("tiny", {"q1": {"a": 2, "b": 0}, "q2": {"c": 1}})
    wh.ingest_run("tiny", {"q1": {"b": 2.0, "a": 1.5}, "q2": {"é": -1.0}}, name="one")
    assert rows(
        wh, "select content_hash from store.qrels union all select content_hash from store.run"
    ) == [
        (sha256(f"3-{total}\ntiny".encode()).hexdigest()[:32],)
        for total in ("00000000000000026afb061ed4c753ae", "000000000000000119f9859e0e783882")
    ]


def test_no_file_is_made_for_a_source_that_is_not_there(wh: Warehouse, tmp_path: Path) -> None:
    absent = tmp_path / "absent.run"
    for load in (
        lambda: wh.ingest_run("tiny", absent),
        lambda: wh.ingest_qrels("tiny", str(absent)),
        lambda: wh.ingest_training("tiny", absent),
        lambda: wh.ingest_attributes("tiny", absent, of="docs"),
    ):
        with pytest.raises(InputError, match=r"absent\.run: no such file"):
            load()
    told: list[object] = []
    done = wh.ingest_runs(
        "tiny", [absent, absent], on_run=lambda source, error: told.append(source)
    )
    assert [str(error) for error in done] == [f"{absent}: no such file"] * 2
    assert told == [absent, absent]
    assert not wh.path.exists()
    there = tmp_path / "there.run"
    there.write_text(TREC)
    assert [type(one).__name__ for one in wh.ingest_runs("tiny", [absent, there])] == [
        "InputError",
        "Loaded",
    ]


def test_metadata_comes_back(wh: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "bm25.run.gz").write_bytes(gzip.compress(TREC.encode()))
    at = dt.datetime(2026, 9, 1, 12, 30, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    loaded = wh.ingest_run(
        "tiny",
        str(tmp_path / "bm25.run.gz"),
        system="BM25",
        tags={"stage": "first", "k1": "0.9"},
        run_at=at,
    )
    assert loaded.name == "bm25"
    ((system, tags, run_at, source),) = rows(wh, "select system, tags, run_at, source from runs")
    assert system == "BM25"
    assert tags == {"k1": "0.9", "stage": "first"}
    assert run_at == dt.datetime(2026, 9, 1, 10, 30, tzinfo=dt.UTC)
    assert run_at.utcoffset() == dt.timedelta(0)
    assert source.endswith("bm25.run.gz")
    ((tag, format_name, sha256),) = rows(
        wh, "select trec_tag, format, source_sha256 from store.run"
    )
    assert (tag, format_name) == ("tag", "trec")
    assert sha256 == hashlib.sha256(TREC.encode()).hexdigest()


def test_time_of_a_run_without_one_is_the_time_of_loading(wh: Warehouse) -> None:
    before = dt.datetime.now(dt.UTC)
    wh.ingest_run("tiny", RUN, name="r")
    after = dt.datetime.now(dt.UTC)
    ((run_at, ingested_at),) = rows(wh, "select run_at, ingested_at from store.run")
    assert before <= run_at <= after
    assert before <= ingested_at <= after


def test_name_from_the_tag(wh: Warehouse, tmp_path: Path) -> None:
    assert wh.ingest_run("tiny", str(_trec(tmp_path)), name_from="tag").name == "tag"
    with pytest.raises(UsageError, match="no TREC tag"):
        wh.ingest_run("tiny", str(_csv(tmp_path)), name_from="tag")


def test_an_object_needs_a_name(wh: Warehouse) -> None:
    with pytest.raises(UsageError, match="no file name to take the run's name from; give name="):
        wh.ingest_run("tiny", RUN)


def test_a_file_that_cannot_be_read_leaves_the_database_as_it_was(
    wh: Warehouse, tmp_path: Path, counts: Counts
) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", RUN, name="first")
    before = counts(wh.path)
    bad = tmp_path / "bad.run"
    bad.write_text(TREC + "q9 Q0 d1 1 high tag\nq9 Q0 d2\n")
    with pytest.raises(InputError, match=r"(?s)2 problems.*line 4.*line 5"):
        wh.ingest_run("new", str(bad))
    with pytest.raises(InputError):
        wh.ingest_qrels("new", str(tmp_path / "absent"))
    assert counts(wh.path) == before


@pytest.mark.sample(3, 2)
@pytest.mark.parametrize("step", ["ingest/predictions", "ingest/rankings", "checks/query_overlap"])
def test_a_load_that_fails_half_way_leaves_the_database_as_it_was(
    wh: Warehouse, counts: Counts, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", RUN, name="first", tags={"a": "b"})
    before = counts(wh.path)
    render = runs.render
    reached = []

    def failing(name: str, **values: object) -> str:
        if name == step:
            reached.append(name)
            raise RuntimeError("the power went out")
        return render(name, **values)

    monkeypatch.setattr(runs, "render", failing)
    with pytest.raises(RuntimeError, match="power"):
        wh.ingest_run("new", OTHER, name="second", tags={"a": "b"})
    assert reached == [step]
    assert counts(wh.path) == before
    monkeypatch.undo()
    assert wh.ingest_run("new", OTHER, name="second").status == "loaded"


LOAD_SOME = """
import sys
from warehouse.warehouse import Warehouse
path, who = sys.argv[1:]
wh = Warehouse(path, lock_timeout=60)
print("ready", flush=True)
sys.stdin.readline()
for number in range(6):
    wh.ingest_run("d", {f"q{n}": {f"d{n}": float(number)} for n in range(50)}, name=f"{who}{number}")
"""

HOLD = """
import sys, duckdb
con = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.mark.slow
def test_processes_that_load_at_once_wait_for_each_other(
    wh: Warehouse, tmp_path: Path, program
) -> None:
    started = [program.python(LOAD_SOME, str(wh.path), who, cwd=tmp_path) for who in "abc"]
    for process in started:
        assert process.stdout.readline() == "ready\n"
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in started:
        _, errors = process.communicate(timeout=90)
        assert process.returncode == 0, errors
    names = [row[0] for row in rows(wh, "select name from store.run order by name")]
    assert names == [f"{who}{number}" for who in "abc" for number in range(6)]
    assert rows(wh, "select count(*), count(distinct run_id) from store.run") == [(18, 18)]
    assert rows(wh, "select count(*) from store.prediction") == [(18 * 50,)]
    assert rows(wh, "select count(*) from store.dataset") == [(1,)]


def test_a_held_lock_is_waited_for_and_then_reported(
    wh: Warehouse, tmp_path: Path, program, counts: Counts
) -> None:
    wh.ingest_qrels("tiny", QRELS)
    before = counts(wh.path)
    holder = program.python(HOLD, str(wh.path), cwd=tmp_path)
    try:
        assert holder.stdout.readline() == "held\n"
        impatient = Warehouse(wh.path, lock_timeout=0.3)
        with pytest.raises(LockedError, match=r"another process.*waited 0\.3 s.*lock_timeout="):
            impatient.ingest_run("tiny", RUN, name="r")
        with pytest.raises(LockedError):
            impatient.runs()
        assert LockedError.exit_code == 3
    finally:
        holder.communicate("done\n", timeout=30)
    assert counts(wh.path) == before
    assert wh.ingest_run("tiny", RUN, name="r").status == "loaded"


def test_ids_that_are_numbers_come_back_as_they_were_written(wh: Warehouse) -> None:
    """They are stored as numbers where each is the one way to write a whole number of 64 bits."""
    lists = (
        ["7", "-3", "0", "9223372036854775807"],
        ["7", "007"],
        ["7", "+8", "-0", "1.0"],
        ["7", "9223372036854775808"],
    )
    for number, documents in enumerate(lists):
        scores = {document: -float(place) for place, document in enumerate(documents)}
        wh.ingest_run("tiny", {"q": scores}, name=f"run {number}")
    found = rows(wh, "select run_id, doc_id from store.prediction order by run_id, score desc")
    assert found == [(n, document) for n, some in enumerate(lists, 1) for document in some]
    assert rows(wh, "select run_id from store.prediction_by_number") == [(1,)] * 4


@pytest.mark.sample(9, 3)
@pytest.mark.parametrize(
    "file",
    ["with space.duckdb", "it's \"it\".duckdb", "ünï.duckdb", "100%.duckdb", "a%20b.db", "a?b.db",
     "a#b.db", "no-suffix", "a;b.duckdb"],
)  # fmt: skip
def test_odd_names_of_the_file(tmp_path: Path, file: str) -> None:
    wh = Warehouse(tmp_path / file)
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", RUN, name="first")
    wh.evaluate(metrics="RR")
    assert wh.leaderboard("tiny").fetchall() == [(1, "first", None, 1.0, 2, 2)]
    assert [path.name for path in tmp_path.iterdir()] == [file]


def test_qrels_that_fail_half_way_leave_the_database_as_it_was(
    wh: Warehouse, counts: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    wh.ingest_qrels("tiny", QRELS)
    before = counts(wh.path)

    def failing(*_: object, **__: object) -> None:
        raise RuntimeError("the power went out")

    monkeypatch.setattr(steps, "outcome", failing)
    with pytest.raises(RuntimeError, match="power"):
        wh.ingest_qrels("tiny", {"q1": {"d1": 1}}, replace=True)
    with pytest.raises(RuntimeError, match="power"):
        wh.ingest_qrels("new", {"q1": {"d1": 1}})
    assert counts(wh.path) == before


def test_odd_names_of_the_run_file(wh: Warehouse, tmp_path: Path) -> None:
    for name in ("a'b.run", "a b.run", "[1]*.run", "ü.run"):
        (tmp_path / name).write_text(TREC)
        assert wh.ingest_run("tiny", str(tmp_path / name)).name == name.removesuffix(".run")
