"""A ground truth that is one set of documents for all queries: --global."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from refusals import expect_refusal

from warehouse.errors import ConflictError, InputError, UsageError
from warehouse.readers.global_qrels import stage_everywhere, stage_queries
from warehouse.store import database
from warehouse.warehouse import Warehouse

# ArDoCo's documented examples: two ranked lists each, and one ground truth for both.
TRUTH = "A\nB\n"
FIRST = {"q1": ["A", "B", "C"], "q2": ["B", "A", "D"]}
SECOND = {"q1": ["A", "B", "C"], "q2": ["D", "A", "B"]}


def ranked(lists: dict[str, list[str]]) -> dict[str, dict[str, float]]:
    return {
        query: {document: float(-place) for place, document in enumerate(documents)}
        for query, documents in lists.items()
    }


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, str], str]:
    def write(name: str, text: str) -> str:
        # \udcff is a byte that is not UTF-8
        (tmp_path / name).write_text(text, errors="surrogateescape")
        return str(tmp_path / name)

    return write


def judgments(wh: Warehouse) -> list[tuple]:
    return wh.query(
        "select query_id, doc_id, relevance from store.judgment order by all"
    ).fetchall()


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("lists", "average_precision", "lag"),
    [
        # both relevant documents stand first in both lists: AP 1 and 1; nothing stands above them
        (FIRST, 1.0, 0.0),
        # q2: (1/2 + 2/3) / 2 = 7/12, so (1 + 7/12) / 2 = 19/24; D stands above A and B: (0+0+1+1) / 4
        (SECOND, 19 / 24, 0.5),
    ],
)
def test_the_documented_example_of_ardoco(
    wh: Warehouse, put, lists: dict[str, list[str]], average_precision: float, lag: float
) -> None:
    wh.ingest_run("links", ranked(lists), name="one")
    made = wh.ingest_qrels("links", put("truth.txt", TRUTH), is_global=True)
    assert (made.status, made.num_queries, made.num_rows) == ("loaded", 2, 4)
    metrics = ("AP", "LAG(aggregate=pooled)")
    wh.evaluate("links", metrics=metrics, protocol="ardoco")
    found = wh.query("select metric, value from leaderboard order by metric").fetchall()
    assert [value for _, value in found] == pytest.approx([average_precision, lag], abs=1e-15)
    scores = Warehouse.score(
        put("truth.txt", TRUTH), ranked(lists), metrics, protocol="ardoco", is_global=True
    )
    assert list(scores.means().values()) == pytest.approx([average_precision, lag], abs=1e-15)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("truth.txt", "A\n\n B \r\n"),
        ("truth", "A\nB"),
        ("truth.csv", "doc_id\nA\nB\n"),
        ("truth", "doc_id,relevance\nA,1\nB,1\n"),
        ("truth.tsv", "relevance\tdoc_id\n1\tA\n1\tB\n"),
        ("truth.jsonl", '{"doc_id": "A"}\n{"doc_id": "B"}\n'),
        ("truth.json", '{"any": {"A": 1}, "other": {"B": 1, "A": 1}}'),
        ("truth.csv", "query_id,doc_id\nq1,A\nq2,A\nq2,B\n"),
        ("qrels.txt", "q1 0 A 1\nq2 0 A 1\nq2 0 B 1\n"),
    ],
)
def test_files(con, put, name: str, text: str) -> None:
    staged = stage_everywhere(con, put(name, text))
    assert con.execute("from staged_everywhere").fetchall() == [("A", 1), ("B", 1)]
    assert staged.rows == 2


def test_a_line_is_an_id_whatever_it_holds(con, put) -> None:
    stage_everywhere(con, put("truth.txt", "src/A.java -> spec, draft\n# B\n"))
    assert con.execute("select doc_id from staged_everywhere").fetchall() == [
        ("src/A.java -> spec, draft",),
        ("# B",),
    ]
    stage_everywhere(con, put("qrels.txt", "q1 0 A 1\n"), format="text")
    assert con.execute("select doc_id from staged_everywhere").fetchall() == [("q1 0 A 1",)]


def frame() -> Any:
    return pytest.importorskip("pandas").DataFrame({"doc_id": ["A", "B"], "relevance": [2, 0]})


def relation() -> Any:
    return duckdb.sql("from (values ('A', 2), ('B', 0)) t(doc_id, relevance)")


@pytest.mark.parametrize(
    "make", [frame, relation, lambda: {"A": 2, "B": 0}, lambda: {"q": {"A": 2, "B": 0}}]
)
def test_objects(con, make: Callable[[], Any]) -> None:
    stage_everywhere(con, make())
    assert con.execute("from staged_everywhere").fetchall() == [("A", 2), ("B", 0)]


@pytest.mark.parametrize("ids", [["A", "B"], ("A", "B"), {"A", "B"}, frozenset({"A", "B"})])
def test_collections_of_ids(con, ids: Any) -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    series = pd.Series(sorted(ids))
    for several in (ids, series, pd.Index(series), series.to_numpy(), pl.Series(sorted(ids))):
        stage_everywhere(con, several)
        assert con.execute("from staged_everywhere").fetchall() == [("A", 1), ("B", 1)]
        found = con.execute(stage_queries(con, several)[0]).fetchall()
        assert found == [("A",), ("B",)]


def test_other_column_names_and_parquet(con, tmp_path: Path) -> None:
    path = str(tmp_path / "truth.parquet")
    duckdb.sql("from (values ('A', 2.0)) t(item, grade)").to_parquet(path)
    stage_everywhere(con, path, columns={"doc_id": "item", "relevance": "grade"})
    assert con.execute("from staged_everywhere").fetchall() == [("A", 2)]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("truth.txt", "", "is empty"),
        ("truth.txt", " \n\n", "is empty"),
        ("truth.csv", "item,n\nA,1\n", r"no column 'doc_id' \(the source has: item, n\).*item"),
        ("a.run", "q1 Q0 A 1 0.5 tag\n", "looks like a run"),
        ("truth.txt", "A\nB\udcff\nC\n", "1 problem\n  line 2: not UTF-8"),
        ("truth.txt", "A\nB\nA\n", "line 3: document 'A' is there twice .* first on line 1"),
        ("truth.csv", "doc_id,relevance\nA,x\n,1\n", "line 2: relevance 'x' is not a number"),
        (
            "qrels.txt",
            "q1 0 A 1\nq1 0 B 1\nq2 0 A 0\n",
            "1 document has another relevance in one query than in another",
        ),
    ],
)
def test_sources_that_are_refused(con, put, name: str, text: str, words: str) -> None:
    with pytest.raises(InputError) as found:
        stage_everywhere(con, put(name, text))
    assert re.search(words, str(found.value))
    assert con.execute("select count(*) from duckdb_tables()").fetchall() == [(0,)]


def test_contradictions_name_the_document_and_its_queries(con, put) -> None:
    with pytest.raises(InputError) as found:
        stage_everywhere(con, put("qrels.txt", "q1 0 A 1\nq2 0 A 0\nq3 0 A 1\nq3 0 B 1\n"))
    assert str(found.value).splitlines()[1:] == [
        "  document 'A': 0 for query 'q2', 1 for query 'q3'"
    ]


def test_wrong_options(con, wh: Warehouse, put) -> None:
    with expect_refusal("doc … doc_id"):
        stage_everywhere(con, put("truth.txt", TRUTH), columns={"doc": "x"})
    with pytest.raises(UsageError, match=r"columns can be named for .* not for text"):
        stage_everywhere(con, put("truth.txt", TRUTH), columns={"doc_id": "x"})
    with pytest.raises(UsageError, match="queries= goes with is_global=True"):
        wh.ingest_qrels("links", put("qrels.txt", "q 0 A 1\n"), queries=["q"])
    with pytest.raises(UsageError, match="queries= goes with is_global=True"):
        Warehouse.score({"q": {"A": 1}}, {"q": {"A": 1.0}}, "P@1", queries=["q"])
    with pytest.raises(UsageError, match="the queries are a file"):
        wh.ingest_qrels("links", {"A"}, is_global=True, queries=[])


def test_without_runs_the_queries_have_to_be_named(wh: Warehouse, put, counts) -> None:
    wh.init()
    before = counts(wh.path)
    with pytest.raises(InputError, match=r"links has no runs yet.*queries="):
        wh.ingest_qrels("links", put("truth.txt", TRUTH), is_global=True)
    assert counts(wh.path) == before
    queries = put("queries.txt", "q2\n\n q1\nq2\n")
    made = wh.ingest_qrels("links", put("truth.txt", TRUTH), is_global=True, queries=queries)
    assert made.num_queries == 2
    assert judgments(wh) == [("q1", "A", 1), ("q1", "B", 1), ("q2", "A", 1), ("q2", "B", 1)]
    with pytest.raises(InputError, match="no query id in it"):
        wh.ingest_qrels("other", {"A"}, is_global=True, queries=put("empty.txt", "\n"))


def test_the_queries_are_those_of_the_current_runs_of_the_dataset(wh: Warehouse) -> None:
    wh.ingest_run("links", {"old": {"A": 1.0}}, name="one")
    wh.ingest_run("links", {"q1": {"A": 1.0}}, name="one", replace=True)
    wh.ingest_run("links", {"q2": {"A": 1.0}}, name="two")
    wh.ingest_run("other", {"q3": {"A": 1.0}}, name="one")
    wh.ingest_qrels("links", {"A": 1, "B": 0}, is_global=True)
    assert judgments(wh) == [("q1", "A", 1), ("q1", "B", 0), ("q2", "A", 1), ("q2", "B", 0)]


@pytest.mark.slow
def test_it_is_said_to_be_global_and_is_the_content_that_counts(wh: Warehouse, put) -> None:
    truth, queries = put("truth.txt", TRUTH), put("queries.txt", "q1\nq2\n")
    wh.ingest_run("links", ranked(FIRST), name="one")
    wh.ingest_qrels("links", truth, is_global=True)
    stored = wh.query("select label, source, format, num_judgments from store.qrels").fetchall()
    assert stored == [("global", f"{truth}, for every query of the runs", "text", 4)]
    assert wh.ingest_qrels("links", truth, is_global=True, queries=queries).status == "unchanged"
    same = {query: {"A": 1, "B": 1} for query in ("q1", "q2")}
    assert wh.ingest_qrels("links", same).status == "unchanged"
    wh.ingest_run("links", {"q3": {"A": 1.0}}, name="two")
    with pytest.raises(ConflictError, match="replace=True"):
        wh.ingest_qrels("links", truth, is_global=True)
    made = wh.ingest_qrels("links", truth, is_global=True, label="links of May", replace=True)
    assert (made.status, made.num_queries) == ("replaced", 3)
    assert wh.query("select max_by(label, version) from store.qrels").fetchall() == [
        ("links of May",)
    ]


@pytest.mark.slow
def test_with_normalise(wh: Warehouse, put) -> None:
    # ArDoCo turns the elements of lists and ground truth into strings by a function of the user
    wh.ingest_run(
        "links", {"q": {"a.txt": 1.0}}, name="one", normalise="split_part(doc_id, '.', 1)"
    )
    wh.ingest_qrels("links", {" A"}, is_global=True, normalise="lower(trim(doc_id))")
    wh.evaluate(metrics="P@1")
    assert [row[3] for row in wh.leaderboard("links").fetchall()] == [1.0]
    with pytest.raises(InputError, match="1 id becomes the same as another") as found:
        stage_everywhere(database.memory(), put("t.txt", "A\na\n"), normalise="lower(doc_id)")
    assert str(found.value).splitlines()[1:] == ["  'a' becomes 'a', as 'A' does"]


def test_score_takes_the_queries_of_the_run_or_those_that_are_named(put) -> None:
    run = ranked(SECOND)
    assert Warehouse.score({"A", "B"}, run, "P@1", is_global=True).means() == {"P@1": 0.5}
    named = put("queries.txt", "q1\nq2\nq3\nq4\n")
    scores = Warehouse.score({"A", "B"}, run, "P@1", is_global=True, queries=named)
    assert scores.means() == {"P@1": 0.25}
    assert (scores.num_judged, scores.read[0].num_answered) == (4, 2)
