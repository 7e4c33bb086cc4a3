"""Loading some rows of a source: --where, an SQL condition over the columns of the file."""

from __future__ import annotations

import json
import math

import pytest
from projects import command
from refusals import expect_refusal
from staging import nothing_left, rows

from warehouse import readers
from warehouse.errors import InputError
from warehouse.warehouse import Warehouse

RATINGS = (
    "userId,movieId,rating,timestamp\n"
    "1,10,4.5,100\n1,11,3.5,200\n2,10,5,150\n2,12,1,50\n\n1,10,2,300\n3,007,0.5,\n"
)
LAST = "row_number() over (partition by userId order by timestamp desc) = 1"


@pytest.mark.core
@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("timestamp < 200", [("1", "10", 4.5), ("2", "10", 5), ("2", "12", 1)]),
        ("rating >= 3.5 and timestamp <> 100", [("1", "11", 3.5), ("2", "10", 5)]),
        (LAST, [("2", "10", 5), ("1", "10", 2), ("3", "007", 0.5)]),
        ("movieId = 7", [("3", "007", 0.5)]),
        ('"userId" in (2, 3) and timestamp is not null', [("2", "10", 5), ("2", "12", 1)]),
    ],
)
def test_rows_of_csv(con, put, where, kept):
    """Numbers are compared as such, ids stay as they are written, and an empty cell is null."""
    result = readers.stage(con, put(RATINGS, "a.csv"), "qrels", where=where)
    assert [row[:3] for row in rows(con)] == kept
    assert (result.where, result.rows) == (where, len(kept))


@pytest.mark.core
@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("stamp > 3", "where='stamp > 3' … timestamp"),
        ("timestamp > 999", "true for none of 6 rows"),
        ("sum(rating) > 3", "sum() is an aggregate"),
        ("true, true", "gives a list or a record"),
        ("(select true)", "holds a subquery"),
        ("read_text('x') is null", "read_text() gives a table, or reads a file"),
        ("rating >= 4; drop table staged", "syntax error"),
        ("userId || 'x'", "Could not convert string '1x' to BOOL"),
        ("random() < 0.5", "random() does not give the same value each time"),
        (" ", "is empty"),
    ],
)
def test_what_is_no_condition(con, put, where, wanted):
    with expect_refusal(wanted, Exception):
        readers.stage(con, put(RATINGS, "a.csv"), "qrels", where=where)
    assert nothing_left(con)


@pytest.mark.core
def test_problems_are_told_with_their_lines(con, put):
    """The rows that are left out count as lines, and what is wrong in them does not matter."""
    path = put(RATINGS + "3,8,bad,5\n3,,1,999\n3,9,bad,999\n3,9,1,999\n", "a.csv")
    with pytest.raises(InputError) as caught:
        readers.stage(con, path, "qrels", where="timestamp >= 300")
    assert caught.value.problems == (
        (10, "the document id is empty"),
        (11, "relevance 'bad' is not a number"),
        (12, "document '9' is there twice for query '3', first on line 11"),
    )
    lines = [{"user": 1, "item": 2**60 + n, "score": n, "day": f"2026-01-0{n}"} for n in (1, 2)]
    path = put("\n".join(map(json.dumps, lines)), "a.jsonl")
    readers.stage(con, path, "run", where="day > '2026-01-01'")
    assert rows(con) == [("1", str(2**60 + 2), 2.0)]


# One run in every layout: the scores of q1 are 9, 8 and -inf (masked), and those of q2 are 9 and 8.
RUN = {"q1": {"q1": 9.0, "b": 8.0, "c": -math.inf}, "q2": {"x": 9.0, "7": 8.0}}
ROWS = [(q, d, s) for q, docs in RUN.items() for d, s in docs.items()]
LAYOUTS = {
    "r.run": "".join(f"{q} Q0 {d} {n} {s} {q}-tag\n" for n, (q, d, s) in enumerate(ROWS)),
    "r.csv": "query_id,doc_id,score\n" + "".join(f"{q},{d},{s}\n" for q, d, s in ROWS),
    "r.json": json.dumps({q: {d: str(s) for d, s in docs.items()} for q, docs in RUN.items()}),
}


@pytest.mark.sample(4, 2)
@pytest.mark.core
@pytest.mark.parametrize("layout", [*LAYOUTS, "dict"])
@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("query_id <> doc_id and score > -100", ["b", "x", "7"]),
        ("score = 8", ["b", "7"]),
        ("doc_id in ('b', '7')", ["b", "7"]),
        ("row_number() over (partition by query_id order by score desc) = 1", ["q1", "x"]),
    ],
)
def test_one_condition_in_every_layout(con, put, layout, where, kept):
    """Formats without named columns have ours; a masked score is no number to refuse when left out."""
    source = RUN if layout == "dict" else put(LAYOUTS[layout], layout)
    readers.stage(con, source, "run", where=where)
    assert [row[1] for row in rows(con)] == kept
    with expect_refusal("1 problem … inf", InputError):
        readers.stage(con, source, "run", where="query_id = 'q1'")
    assert nothing_left(con)


@pytest.mark.core
def test_our_columns_of_formats_without_names(con, put):
    path = put(LAYOUTS["r.run"], "r.run")
    readers.stage(con, path, "run", where="tag = 'q2-tag' and rank < 4")
    assert rows(con) == [("q2", "x", 9.0)]
    with expect_refusal("stamp … (query_id, doc_id, score, rank, tag)"):
        readers.stage(con, path, "run", where="stamp > 3")
    with expect_refusal(
        "expected 6 fields", InputError
    ):  # it cannot be told whether it is left out
        readers.stage(con, put(LAYOUTS["r.run"] + "q2 Q0 y\n", "s.run"), "run", where="rank = 1")
    readers.stage(con, put("q 0 a 2\nq 0 b 0\n", "q.txt"), "qrels", where="relevance > 0")
    assert rows(con) == [("q", "a", 2.0, "0")]


@pytest.mark.core
def test_places_of_ranks_close_up(con, put):
    """The condition took the first place out: the second is now the first, and nothing is unknown."""
    path = put("query_id,doc_id,rank\nq,q,1\nq,a,2\nq,b,3\n", "r.csv")
    readers.stage(con, path, "run", where="query_id <> doc_id")
    assert [row[1] for row in rows(con)] == ["a", "b"]


def test_a_split_by_time(tmp_path, monkeypatch):
    """The condition stands with what was loaded, in all three kinds of sources."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.csv").write_text(RATINGS)
    common = ("-d", "films", "--db", "w.duckdb", "--where")
    assert command("ingest", "training", "r.csv", *common, "timestamp < 150")[0] == 0
    assert command("ingest", "qrels", "r.csv", *common, LAST, "--relevance", "rating >= 2")[0] == 0
    assert command("ingest", "run", "r.csv", "--name", "old", *common, "timestamp = 50")[0] == 0
    stored = Warehouse("w.duckdb").query(
        "select qrels.kept_where, training.kept_where as trained, run.kept_where as of_run, "
        "qrels.num_judgments, num_examples, num_predictions from store.qrels, store.training, store.run"
    )
    assert stored.fetchall() == [(LAST, "timestamp < 150", "timestamp = 50", 3, 2, 1)]
    (tmp_path / "s.csv").write_text("reader,movieId,score\n1,11,0.5\n")
    some = ("--column", "query_id=reader", "--normalise", "ltrim(doc_id, '0')", "-f", "csv")
    (tmp_path / "q.csv").write_text("reader,movieId,rating\n1,011,4\n")
    told = command("score", "q.csv", "s.csv", "RR", "--relevance", "rating - 3", *some)
    assert (told[0], told[1]) == (0, "metric,value\nRR,1.0\n")
    told = command("ingest", "qrels", "r.csv", *common, "x", "--global")
    assert (told[0], told[2]) == (2, "--where x: goes with judgments that name their queries")


@pytest.mark.parametrize("name", ["q.csv", "q.txt"])
def test_an_id_is_a_text_in_a_condition(put, name):
    """Of queries 7 and 007, only the first is '7'; as a number each is 7. Its document is the first."""
    lines = ("7,a,1", "007,b,1")
    text = "query_id,doc_id,relevance\n" + "\n".join(lines) + "\n"
    if name == "q.txt":
        text = "7 0 a 1\n007 0 b 1\n"
    path, run = put(text, name), {"7": {"a": 2.0}, "007": {"a": 2.0, "b": 1.0}}
    for condition, value in (("query_id = '7'", 1.0), ("query_id = 7", 0.75)):
        assert Warehouse.score(path, run, "RR", qrels_where=condition).means() == {"RR": value}


def test_score_reads_some_judgments(put):
    """Before 200, user 1 likes item 10, the second of two, and user 2 item 10, which is not found."""
    run = {"1": {"11": 2.0, "10": 1.0}, "2": {"12": 1.0}}
    how = {"qrels_where": "timestamp < 200", "relevance": "rating >= 4"}
    path = put(RATINGS, "a.csv")
    assert Warehouse.score(path, run, "RR", **how).means() == {"RR": 0.25}
    with Warehouse.scorer(path, "RR", **how) as score_run:
        assert score_run(run).means() == {"RR": 0.25}
    (path.parent / "r.json").write_text(json.dumps(run))
    arguments = ("score", str(path), str(path.parent / "r.json"), "RR", "-f", "csv")
    words = ("--qrels-where", "timestamp < 200", "--relevance", "rating >= 4")
    code, out, _ = command(*arguments, *words)
    assert (code, out.splitlines()[1].split(",")[-1]) == (0, "0.25")
    code, _, told = command(*arguments, "--where", "stamp < 200")
    assert (code, "--qrels-where 'stamp < 200'" in told) == (2, True)
    with expect_refusal("run_where='timestamp < 200' … <dict>"):  # the condition is for both
        Warehouse.score(path, run, "RR", where="timestamp < 200")
    with expect_refusal("for both sources … qrels_where= … run_where="):
        Warehouse.score(path, run, "RR", where="timestamp < 200", run_where="score > 1")
    truth = {"1": {"10": 1}, "2": {"9": 1}}
    assert Warehouse.score(truth, run, "RR", where="query_id = '1'").means() == {"RR": 0.5}
    with expect_refusal("goes with judgments that name their queries"):
        Warehouse.score({"a": 1}, run, "RR", qrels_where="true", is_global=True)
