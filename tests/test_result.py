"""What a method that reads returns: rows with names, tables for people, files."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import duckdb
import pytest

from warehouse import Result, Warehouse
from warehouse.errors import UsageError
from warehouse.report.result import Row


def two_runs(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q1": {"a": 1}, "q2": {"b": 1}})
    wh.ingest_run("tiny", {"q1": {"x": 2.0, "a": 1.0}, "q2": {"b": 1.0}}, name="<b>one & two</b>")
    wh.ingest_run("tiny", {"q1": {"x": 2.0, "a": 1.0}, "q2": {"x": 1.0}}, name="low")
    wh.evaluate(metrics="RR AvgRank")


@pytest.fixture
def board(tmp_path: Path, prepared) -> Result:
    """RR: (1/2 + 1) / 2 and (1/2 + 0) / 2; AvgRank counts from 0: (1 + 0) / 2, and 1 or nothing."""
    return prepared(tmp_path / "w.duckdb", two_runs).leaderboard(metrics="RR AvgRank")


def test_rows_have_names(board: Result) -> None:
    first, second = board
    assert (first.run, first["RR"], first[0]) == ("<b>one & two</b>", 0.75, 1)
    assert (second.place, second["RR"], second.answered) == (2, 0.25, 2)
    assert list(board) == board.fetchall()
    assert first.as_dict()["judged"] == 2
    assert len(board) == 2
    assert board.columns == ["place", "run", "system", "RR", "AvgRank", "answered", "judged"]
    for wrong in (lambda: first.name, lambda: first["name"]):
        with pytest.raises((AttributeError, KeyError), match="name"):
            wrong()
    for again in (pickle.loads(pickle.dumps(first)), copy.deepcopy(first)):
        assert (again, again.run) == (first, first.run)


def test_a_row_may_have_a_column_named_as_a_method() -> None:
    row = Row([5, 7], ["count", "nDCG@10"])
    assert (row["count"], row["nDCG@10"], repr(row)) == (5, 7, "Row(count=5, nDCG@10=7)")


def test_frames(board: Result) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    assert list(board.df()["RR"]) == [0.75, 0.25]
    assert board.pl()["RR"].to_list() == [0.75, 0.25]
    assert board.arrow().column("RR").to_pylist() == [0.75, 0.25]
    assert board.relation.project("RR").fetchall() == [(0.75,), (0.25,)]


def test_notes_and_what_the_analysis_found(board: Result) -> None:
    assert board.notes == ("mean over queries; 2 of 2 judged queries answered by every run",)
    assert board.directions == {"RR": "higher", "AvgRank": "lower"}
    assert "directions" in dir(board)
    for wrong in ("direction", "_directions", "fetchone"):
        with pytest.raises(AttributeError, match=f"this result has no {wrong}"):
            getattr(board, wrong)


def test_the_best_values_are_marked(board: Result) -> None:
    html = board._repr_html_()
    assert "RR ↑" in html
    assert "AvgRank ↓" in html
    assert "<b>0.7500</b>" in html
    assert "<b>0.2500</b>" not in html
    assert "&lt;b&gt;one &amp; two&lt;/b&gt;" in html
    assert "<b>one" not in html
    assert "<div>mean over queries; 2 of 2 judged queries answered by every run</div>" in html
    assert "textbf{0.7500}" in board.to_latex()
    assert "**0.7500**" in board.to_markdown()
    assert "0.7500 " in board.text("table")  # without a mark, which would look like a footnote


def test_equal_values_are_both_best_and_lower_may_be_better() -> None:
    rows = duckdb.sql(
        "from (values (1, 0.1 + 0.2, 3.0), (2, 0.3, 2.0), (3, null, null)) as t(place, AP, MaxRank)"
    )
    text = Result(rows, best={"AP": "higher", "MaxRank": "lower"}).to_markdown(places=1)
    assert [line.count("**") // 2 for line in text.splitlines()[2:]] == [1, 2, 0]
    alone = Result(rows.limit(1), best={"AP": "higher"}).to_markdown()
    assert "**" not in alone


def test_the_best_of_each_part_is_marked() -> None:
    rows = duckdb.sql("from (values ('x', 0.1), ('x', 0.2), ('y', 0.3), ('y', 0.4)) as t(part, AP)")
    text = Result(rows, best={"AP": "higher"}).to_markdown(places=1)
    assert [line.count("**0.") for line in text.splitlines()[2:]] == [0, 1, 0, 1]


def test_it_shows_itself_on_a_page_of_100_columns(wh: Warehouse) -> None:
    wh.init()
    text = repr(
        wh.query("select range as n, repeat('long ', 40) as words, 'x' as y from range(50)")
    )
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[2].endswith("…  x")
    assert lines[-2:] == ["… 10 more rows", "shortened with … to fit 100 columns"]
    wide = ", ".join(f"{n}.5 as column_number_{n}" for n in range(20))
    lines = repr(wh.query(f"select {wide}")).splitlines()
    assert max(map(len, lines[:3])) <= 100
    assert lines[-1].startswith("without column_number_11, column_number_12, ")
    assert repr(wh.query("select 1 as a where false")).splitlines() == ["a", "-"]


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("b.csv", "place,run,"), ("b.tsv", "place\trun"), ("b.json", "[\n"), ("b.jsonl", '{"place": 1'),
        ("b.md", "| "), ("b.tex", "\\begin{table"), ("b.html", "<!doctype html>"), ("b.TXT", "  #  run"),
    ],
)  # fmt: skip
def test_a_suffix_names_the_format(board: Result, tmp_path: Path, name: str, begins: str) -> None:
    board.save(tmp_path / name)
    assert (tmp_path / name).read_text().startswith(begins)


def test_every_digit_is_saved(board: Result, tmp_path: Path) -> None:
    board.save(tmp_path / "b.parquet")
    assert duckdb.read_parquet(str(tmp_path / "b.parquet")).fetchall() == board.fetchall()
    assert json.loads(board.to_json())[0]["RR"] == 0.75
    assert board.to_csv().splitlines()[1].startswith("1,<b>one & two</b>,,0.75,")
    with pytest.raises(UsageError, match="xlsx: no such suffix"):
        board.save(tmp_path / "b.xlsx")
    assert not (tmp_path / "b.xlsx").exists()


@pytest.mark.slow
def test_a_result_is_a_source(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q1": {"a": 1}})
    wh.ingest_run("tiny", {"q1": {"a": 2.0, "b": 1.0}}, name="one")
    kept = wh.query("select query_id, doc_id, score from predictions where doc_id = 'a'")
    assert wh.ingest_run("tiny", kept, name="two").num_rows == 1
    (done,) = wh.ingest_runs("copies", kept, name_from="stem")
    assert "no name" in str(done) or isinstance(done, UsageError)
    assert Warehouse.score({"q1": {"a": 1}}, kept, "RR").means() == {"RR": 1.0}


@pytest.mark.slow
def test_a_comparison_has_two_tables(wh: Warehouse) -> None:
    pytest.importorskip("scipy")
    two_runs(wh)
    found = wh.compare("tiny", metrics="RR", test="sign")
    assert found.values.columns[:3] == ["metric", "run", "letter"]
    assert len(found) == len(found.pairs) == 1
    html = found._repr_html_()
    assert html.count("<table>") == 2
    assert "<b>0.7500</b>" in html
    assert found.values.to_latex().count("tabular") == 2


def test_a_result_holds_no_lock(board: Result, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "w.duckdb")):
        assert len(board) == 2


def test_help_fits_a_person() -> None:
    assert Warehouse.__mro__ == (Warehouse, object)
    public = [name for name in vars(Warehouse) if not name.startswith("_")]
    assert all(getattr(Warehouse, name).__doc__ for name in public)


def test_notebooks_show_tables_of_outcomes_and_scores(wh: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "truth.qrels").write_text("q1 0 a 1\n")
    (tmp_path / "one.run").write_text("q1 Q0 a 1 2.5 one\n")
    loaded = wh.ingest_folder("files", tmp_path)
    shown = loaded._repr_html_()
    assert "<td>qrels</td><td>files</td><td>loaded</td><td>1</td><td>1</td><td>1</td>" in shown
    assert "<td>run</td><td>one</td><td>loaded</td>" in shown
    wrong = wh.ingest_runs("files", [tmp_path / "one.run", tmp_path / "<b>.run"])._repr_html_()
    assert "<td>error</td>" in wrong
    assert "&lt;b&gt;.run" in wrong
    done = wh.evaluate("files", metrics="RR")._repr_html_()
    assert "<tr><td>1</td><td>0</td><td>0</td><td>1</td></tr>" in done
    runs = [{"q1": {"a": 1.0}} for _ in range(45)]
    board = Warehouse.score({"q1": {"a": 1}}, runs, "RR")._repr_html_()
    assert board.count("<td>1.0000</td>") == 40
    assert "<div>… 5 more rows</div>" in board
    one = Warehouse.score({"q1": {"a": 1}}, runs[0], "RR")._repr_html_()
    assert one.count("<tr>") == 3  # the head, q1 and all
    assert "more rows" not in one


def test_a_notebook_shows_the_first_rows(wh: Warehouse) -> None:
    wh.init()
    shown = wh.query("select unnest(range(45)) as i")._repr_html_()
    assert isinstance(shown, str)
    assert shown.count("<tr>") == 41
    assert "> 39</td>" in shown
    assert "> 40</td>" not in shown
    assert "<div>… 5 more rows</div>" in shown
