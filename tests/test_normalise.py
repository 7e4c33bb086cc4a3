"""Normalising ids at ingest: what the expression may be, what it does, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from warehouse.errors import ConflictError, InputError, UsageError
from warehouse.readers import stage
from warehouse.readers.normalise import normalise
from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.core

QRELS = {"q1": {"D1.txt": 1, "D2.txt": 0}, "q2": {"D1.txt": 2}}
RUN = {"q1": {" d1": 2.0, "d2 ": 1.0}, "q2": {"d1": 0.5}}
STEM = r"lower(regexp_replace(doc_id, '\.txt$', ''))"


def rows(wh: Warehouse, sql: str) -> list[tuple]:
    return wh.query(sql).fetchall()


@pytest.mark.slow
def test_qrels_and_run_meet_after_it_and_the_expression_is_kept(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", QRELS, normalise=STEM)
    wh.ingest_run("tiny", RUN, name="one", normalise="trim(doc_id)")
    wh.evaluate(metrics="P@1")
    assert wh.leaderboard("tiny").fetchall() == [(1, "one", None, 1.0, 2, 2)]
    assert rows(wh, "select normalise from store.qrels") == [(STEM,)]
    assert rows(wh, "from (select normalise from store.run)") == [("trim(doc_id)",)]
    assert rows(wh, "select distinct doc_id from store.judgment order by all") == [("d1",), ("d2",)]


def test_the_content_is_that_of_the_normalised_rows(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", QRELS, normalise=STEM)
    plain = {
        q: {d.lower().removesuffix(".txt"): r for d, r in ds.items()} for q, ds in QRELS.items()
    }
    assert wh.ingest_qrels("tiny", plain).status == "unchanged"
    assert wh.ingest_qrels("tiny", plain, normalise="trim(doc_id)").status == "unchanged"
    assert rows(wh, "select version, normalise from store.qrels") == [(1, STEM)]
    with pytest.raises(ConflictError, match="other qrels already"):
        wh.ingest_qrels("tiny", QRELS)


def test_every_column_of_the_row_may_be_used(con: duckdb.DuckDBPyConnection) -> None:
    stage(con, RUN, "run", normalise="query_id || '/' || trim(doc_id) || '/' || score")
    found = con.execute("select query_id, doc_id, score from staged").fetchall()
    assert found == [("q1", "q1/d1/2.0", 2.0), ("q1", "q1/d2/1.0", 1.0), ("q2", "q2/d1/0.5", 0.5)]


def test_a_number_becomes_text(con: duckdb.DuckDBPyConnection) -> None:
    stage(con, {"q": {"007": 1}}, "qrels", normalise="doc_id::integer -- the zeros go")
    assert con.execute("select doc_id, typeof(doc_id) from staged").fetchall() == [("7", "VARCHAR")]


def test_score_normalises_both_sides() -> None:
    scores = Warehouse.score(
        {"q": {"A": 1, "B": 0}},
        {"q": {"a ": 2.0, "b": 1.0}},
        "P@1",
        normalise="lower(trim(doc_id))",
    )
    assert scores.means() == {"P@1": 1.0}


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("", "is empty"),
        ("doc_id +", "syntax error"),
        ("'a", r"normalise=\"'a\": unterminated"),
        ("(select 'x')", "holds a subquery"),
        ("exists (from staged)", "holds a subquery"),
        ("doc_id in (select 1)", "holds a subquery"),
        ("max(doc_id)", r"max\(\) is an aggregate"),
        ("lower(string_agg(doc_id))", r"string_agg\(\) is an aggregate"),
        ("geometric_mean(score)", "GROUP BY"),
        ("row_number() over ()", "holds a window function"),
        ("max(doc_id) over (order by score)", "holds a window function"),
        ("read_text('/etc/hostname')", r"read_text\(\) gives a table, or reads a file"),
        ("glob('*')", r"glob\(\) gives a table, or reads a file"),
        ("unnest([doc_id, 'b'])", r"unnest\(\) gives a table"),
        ("random()", r"random\(\) does not give the same value each time"),
        ("now()", "does not give the same value"),
        ("*", r"holds a \*"),
        ("columns(*)", r"holds a \*"),
        ("$1", "holds a placeholder"),
        ("1) from staged; select (2", "more than one expression"),
        ("1), (2", "more than one expression"),
        ("1) union all select (2", "more than one expression"),
        ("doc_id, query_id", "not one value"),
        ("[doc_id]", "not one value"),
        ("staged", "not one value"),
        ("docid", 'Referenced column "docid" not found .* "doc_id"'),
        ("lowr(doc_id)", 'Did you mean "lower"'),
    ],
)
def test_what_is_no_expression_is_refused_in_one_line(
    con: duckdb.DuckDBPyConnection, expression: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words) as found:
        stage(con, RUN, "run", normalise=expression)
    assert "\n" not in str(found.value)
    assert str(found.value).startswith("normalise=")
    assert con.execute("select count(*) from duckdb_tables()").fetchall() == [(0,)]


def test_a_macro_that_gives_several_rows_is_refused(con: duckdb.DuckDBPyConnection) -> None:
    stage(con, {"q": {"a b": 1.0}}, "run")
    with pytest.raises(UsageError, match="gives several values for a row"):
        normalise(con, "a.run", "regexp_split_to_table(doc_id, ' ')")


def test_what_cannot_be_computed_is_refused(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(InputError, match=r"<dict>: normalise='doc_id::integer': Could not convert"):
        stage(con, RUN, "run", normalise="doc_id::integer")


def test_documents_that_become_the_same_are_refused(
    wh: Warehouse, tmp_path: Path, counts: Callable[[Path], dict[str, int]]
) -> None:
    wh.init()
    before = counts(wh.path)
    file = tmp_path / "qrels.txt"
    file.write_text("q1 0 A 1\nq1 0 a 1\nq2 0 A 1\nq3 0 b 1\nq3 0 B 1\nq3 0 a 0\n")
    with pytest.raises(InputError) as found:
        wh.ingest_qrels("tiny", str(file), normalise="lower(doc_id)")
    assert str(found.value).splitlines() == [
        f"{file}: normalise='lower(doc_id)': 2 ids become the same as another; "
        "change the expression so that they differ, or keep one row of each",
        "  query 'q1': 'a' becomes 'a', as 'A' does",
        "  query 'q3': 'B' becomes 'b', as 'b' does",
    ]
    assert counts(wh.path) == before


def test_ids_that_become_empty_are_refused_with_their_count(con: duckdb.DuckDBPyConnection) -> None:
    many = {"q": {f"x{n}": 1.0 for n in range(12)} | {"y": 1.0}}
    with pytest.raises(InputError) as found:
        stage(
            con,
            many,
            "run",
            normalise="case when doc_id = 'y' then 'y' when score > 1 then ' ' end",
        )
    lines = str(found.value).splitlines()
    assert "leaves nothing of 12 ids; change the expression" in lines[0]
    assert lines[1] == "  'x0' becomes null"
    assert (len(lines), lines[-1]) == (12, "  … and 2 more")


def test_runs_keep_the_order_of_the_source(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("set preserve_insertion_order = false")
    given = {"q": {f"d{n:06d}": 1.0 for n in range(30_000)}}
    stage(con, given, "run", normalise="upper(doc_id)")
    found = [row[0] for row in con.execute("select doc_id from staged").fetchall()]
    assert found == [name.upper() for name in given["q"]]
