"""Grades that an SQL expression makes as judgments are loaded."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from projects import command
from refusals import expect_refusal

from warehouse.errors import UsageError, WarehouseError
from warehouse.readers import stage
from warehouse.warehouse import Warehouse

RATINGS = "user,item,rating\nann,up,4.5\nann,alien,3.5\nbob,jaws,4\n"
COLUMNS = {"query_id": "user", "doc_id": "item"}


@pytest.fixture
def ratings(tmp_path: Path) -> str:
    path = tmp_path / "ratings.csv"
    path.write_text(RATINGS)
    return str(path)


def grades(con: duckdb.DuckDBPyConnection) -> list[float]:
    return [row[0] for row in con.sql("select relevance from staged").fetchall()]


@pytest.mark.slow
def test_loaded_and_scored(tmp_path: Path, ratings: str) -> None:
    wh = Warehouse(tmp_path / "films.duckdb")
    given = {"columns": COLUMNS, "relevance": "rating >= 4"}
    assert wh.ingest_qrels("films", ratings, **given).status == "loaded"
    assert wh.ingest_training("films", ratings, **given).status == "loaded"
    same = {"ann": {"up": 1, "alien": 0}, "bob": {"jaws": 1}}
    assert wh.ingest_qrels("films", same).status == "unchanged"
    (stored,) = wh.query(
        "select qrels.graded_by, training.graded_by as trained from store.qrels, store.training"
    )
    assert (stored.graded_by, stored.trained) == ("rating >= 4",) * 2
    run = {"ann": {"alien": 2.0, "up": 1.0}, "bob": {"jaws": 1.0}}
    found = Warehouse.score(ratings, run, "RR", columns=COLUMNS, relevance="rating >= 4")
    assert found.means() == {"RR": 0.75}
    # for all queries: one set of documents
    found = Warehouse.score(
        {"up": 5, "jaws": 2}, run, "RR", is_global=True, relevance="relevance > 2"
    )
    assert found.means() == {"RR": 0.25}


@pytest.mark.slow
def test_commands_and_projects(ratings: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(ratings).parent
    monkeypatch.chdir(folder)
    (folder / "warehouse.toml").write_text(
        'database = "films.duckdb"\n[datasets.films.qrels]\nfile = "ratings.csv"\n'
        'columns = { query_id = "user", doc_id = "item" }\nrelevance = "rating >= 4"\n'
    )
    assert command("sync")[0] == 0
    columns = ("--column", "query_id=user", "--column", "doc_id=item")
    same = ("ingest", "qrels", ratings, "-d", "films", *columns, "--relevance", "rating > 3.5")
    assert "unchanged" in command(*same)[1] + command(*same)[2]
    (folder / "run.csv").write_text("query_id,doc_id,score\nann,alien,2\nann,up,1\n")
    (folder / "qrels.txt").write_text("ann 0 up 4.5\nann 0 alien 3.5\n")
    asked = ("score", "qrels.txt", "run.csv", "RR", "-f", "csv", "--relevance", "relevance >= 4")
    assert command(*asked)[1] == "metric,value\nRR,0.5\n"


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("expression", "columns", "expected"),
    [
        ("Rating * 2 - 1 + 0", {"relevance": "rating"}, [8, 6, 7]),
        ("floor(relevance)", {"relevance": "rating"}, [4, 3, 4]),
        ("case when query_id = 'ann' then relevance end", {"relevance": "rating"}, "1 judgment"),
        ("ln(rating - 4.5)", {}, "ln"),
        ("case when rating > 4 then 'inf'::double else 0 end", {}, "document 'up': 4.5 has none"),
        ("rating + weight", {}, "reads rating, weight"),
        ("stars >= 4", {}, "no column 'stars'"),
        ("sum(rating)", {}, "aggregate"),
        ("'good'", {}, "good"),
        ("[rating]", {}, "gives a list"),
        ("", {}, "relevance='': is empty"),
    ],
)
def test_expressions(
    con: duckdb.DuckDBPyConnection, ratings: str, expression: str, columns: dict, expected: object
) -> None:
    how = {"columns": COLUMNS | columns, "relevance": expression}
    if isinstance(expected, list):
        stage(con, ratings, "qrels", **how)
        assert grades(con) == expected
    else:
        with expect_refusal(str(expected), WarehouseError):
            stage(con, ratings, "qrels", **how)


def test_sources_without_names(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text("q 0 a 3\nq 0 b 1\n")
    for source in (str(path), {"q": {"a": 3, "b": True}}):
        stage(con, source, "qrels", relevance="relevance >= 2")
        assert grades(con) == [1, 0]
    with expect_refusal("names no columns … rating … iteration", UsageError):
        stage(con, str(path), "qrels", relevance="rating >= 2")
    path.write_text("q g s a 3\n")
    with expect_refusal("preferences have no column 'relevance'"):
        stage(con, str(path), "preferences", relevance="level >= 2")
