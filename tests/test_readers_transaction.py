"""Reading inside an open transaction, where row ids of new tables do not begin at 0."""

from __future__ import annotations

from pathlib import Path

import pytest

from warehouse import readers
from warehouse.errors import InputError
from warehouse.store import database

pytestmark = pytest.mark.core


@pytest.fixture
def con():
    with database.memory() as con:
        con.begin()
        yield con


def problems(con, source, kind):
    with pytest.raises(InputError) as caught:
        readers.stage(con, source, kind)
    return caught.value.problems


def test_a_dict_is_read_whole(con):
    staged = readers.stage(con, {"q1": {"a": 1.5, "b": 1}, "q2": {"c": 2}}, "run")
    assert staged.rows == 3
    assert con.execute("select * from staged").fetchall() == [
        ("q1", "a", 1.5),
        ("q1", "b", 1.0),
        ("q2", "c", 2.0),
    ]


def test_the_line_of_a_csv_file(con, tmp_path: Path):
    path = tmp_path / "qrels.csv"
    path.write_text("query_id,doc_id,relevance\nq,a,1\nq,b,maybe\nq,a,0\n")
    assert problems(con, path, "qrels") == (
        (3, "relevance 'maybe' is not a number"),
        (4, "document 'a' is there twice for query 'q', first on line 2"),
    )


def test_the_line_of_json_lines(con, tmp_path: Path):
    path = tmp_path / "run.jsonl"
    path.write_text(
        '{"query_id": "q", "doc_id": "a", "score": 1}\n'
        '{"query_id": "q", "doc_id": "", "score": 1}\n'
    )
    assert [line for line, _ in problems(con, path, "run")] == [2]


def test_the_line_of_a_trec_file(con, tmp_path: Path):
    path = tmp_path / "x.run"
    path.write_text("q Q0 a 1 2.0 t\nq Q0 b 2 high t\n")
    assert problems(con, path, "run") == ((2, "score 'high' is not a number"),)


def test_what_stands_behind_the_tag_is_not_read(con, tmp_path: Path):
    """trec_eval 9.0.4 prints `runid all tag` for this file."""
    path = tmp_path / "x.run"
    path.write_text("q Q0 a 1 2.0 t and more\nq Q0 b 2 1.0 tag with blanks\n")
    staged = readers.stage(con, path, "run", where="true")
    assert (staged.rows, staged.tag) == (2, "tag")
