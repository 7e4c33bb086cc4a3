"""TREC files as a whole: warnings, mixtures of blanks, and the shared cases."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from quick import examples
from shared_cases import CASES, needs_cases
from staging import refused, rows

from warehouse import readers
from warehouse.readers import checks
from warehouse.store import database


@pytest.mark.core
def test_warning_for_scores_against_ranks(con, put):
    text = (
        "q1 Q0 a 1 1 t\nq1 Q0 b 2 2 t\n"  # against
        "q2 Q0 a 1 2 t\nq2 Q0 b 2 2 t\nq2 Q0 c 3 1 t\n"  # with a tie in the scores: good
        "q3 Q0 a 5 9 t\nq3 Q0 b 5 10 t\n"  # one rank for both: says nothing
        "q4 Q0 b 2 1 t\nq4 Q0 a 1 2 t\n"  # backwards in the file, but good
        "q5 Q0 a 1 3 t\nq5 Q0 b 2 2 t\nq5 Q0 c 3 2.5 t\n"  # against, further down
    )
    (warning,) = readers.stage(con, put(text), "run").warnings
    assert warning.startswith("scores contradict the rank column in 2 of 5 queries")


def test_ranks_that_contradict_over_scattered_lines(con, put):
    text = "q1 Q0 a 1 1 t\nq2 Q0 a 1 1 t\nq1 Q0 b 2 2 t\n"
    (warning,) = readers.stage(con, put(text), "run").warnings
    assert "in 1 of 2 queries" in warning


def test_ranks_that_contradict_below_more_ties_than_are_kept(con, put, monkeypatch):
    monkeypatch.setattr(checks, "STEPS", 2)
    docs = "".join(f"q1 Q0 d{n} {n} 1 t\n" for n in range(9)) + "q2 Q0 a 1 1 t\nq2 Q0 b 2 2 t\n"
    warnings = readers.stage(con, put(docs), "run").warnings
    assert any("in 1 of 2 queries the scores rise with the ranks" in w for w in warnings)


@pytest.mark.parametrize("second", ["2", "2.5", "2e0", "99999999999", "first", "nan"])
def test_whatever_stands_in_the_place_of_a_rank_is_no_error(con, put, second):
    staged = readers.stage(con, put(f"q Q0 a 1 2 t\nq Q0 b {second} 1 t\n"), "run")
    assert (staged.rows, staged.warnings) == (2, ())


def test_no_warning_for_ranks_that_are_all_equal(con, put):
    assert readers.stage(con, put("q Q0 a 0 1 t\nq Q0 b 0 2 t\n"), "run").warnings == ()


def test_warning_for_equal_scores(con, put):
    lines = [f"q{q} Q0 d{d} {d} 1 t\n" for q in range(1_234) for d in range(2)]
    lines.append("one Q0 d 1 1 t\n")  # a single document is no tie
    (warning,) = readers.stage(con, put("".join(lines)), "run").warnings
    assert warning.startswith("all scores are equal in 1,234 of 1,235 queries")


blanks = st.lists(st.sampled_from([" ", "\t"]), min_size=1, max_size=3).map("".join)
edges = st.lists(st.sampled_from([" ", "\t"]), max_size=2).map("".join)
ids = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=6)


@examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_mixture_of_blanks_equals_the_clean_file(tmp_path, data):
    pairs = data.draw(st.lists(st.tuples(ids, ids), min_size=1, max_size=30, unique=True))
    pairs = [(q, d) for q, d in pairs if not q.startswith(("#", "\ufeff"))]
    if not pairs:
        return
    clean = [f"{q} Q0 {d} {n} {n / 8} tag" for n, (q, d) in enumerate(pairs)]
    mixed = []
    for line in clean:
        cells = line.split(" ")
        text = cells[0] + "".join(data.draw(blanks) + cell for cell in cells[1:])
        mixed.append(data.draw(edges) + text + data.draw(edges))
        mixed.append(data.draw(st.sampled_from(["\n", "\r\n", "\n\n", "\n# c\n", "\n \t\n"])))
    with database.memory() as con:
        (tmp_path / "clean").write_text("\n".join(clean), encoding="utf-8", newline="")
        (tmp_path / "mixed").write_text("".join(mixed), encoding="utf-8", newline="")
        readers.stage(con, tmp_path / "clean", "run")
        expected = rows(con)
        assert expected == [(q, d, n / 8) for n, (q, d) in enumerate(pairs)]
        readers.stage(con, tmp_path / "mixed", "run")
        assert rows(con) == expected


@needs_cases
@pytest.mark.parametrize("case", ["crlf", "tabs", "plain"])
def test_shared_edge_cases_are_the_plain_case(con, case):
    readers.stage(con, CASES / "edge_basic" / case / "runs" / "run.run", "run")
    found = rows(con)
    readers.stage(con, CASES / "edge_basic" / "plain" / "runs" / "run.run", "run")
    assert found == rows(con)
    assert len(found) == 60
    readers.stage(con, CASES / "edge_basic" / case / "qrels.txt", "qrels")
    assert len(rows(con)) == 72


@needs_cases
def test_shared_scientific_scores(con):
    readers.stage(con, CASES / "edge_basic" / "scientific_scores" / "runs" / "run.run", "run")
    assert rows(con)[0] == ("303", "LA041090-0148", 231.0)


@needs_cases
def test_shared_duplicate_and_contradiction(con):
    path = CASES / "edge_basic" / "dup_docs_in_run" / "runs" / "run.run"
    error = refused(con, path, "run")
    assert error.problems == (
        (4, "document 'LA041090-0148' is there twice for query '303', first on line 1"),
    )
    path = CASES / "edge_basic" / "rank_contradicts_score" / "runs" / "run.run"
    assert "in 4 of 4 queries" in readers.stage(con, path, "run").warnings[0]


@needs_cases
def test_shared_comments_are_passed_over(con):
    data = CASES / "trec_eval_suite" / "data"
    readers.stage(con, data / "qrels.test", "qrels")
    expected = rows(con)
    readers.stage(con, data / "qrels.test.with-comments", "qrels")
    assert [(q, d.replace("#", ""), *rest) for q, d, *rest in rows(con)] == expected
    result = readers.stage(con, data / "results.comment.test.gz", "run")
    assert result.rows == 30_100
    ((hashes,),) = con.execute("select count(*) from staged where doc_id like '%#%'").fetchall()
    assert hashes > 0


@needs_cases
def test_shared_table_without_header(con):
    """Query, document, rank and score, as of MS MARCO: the lists of the same run in TREC's layout."""
    path = CASES / "dl19_passage" / "other_formats" / "repllama.msmarco4.tsv.gz"
    assert readers.stage(con, path, "run").format == "msmarco"
    lists = "select query_id, doc_id from staged"
    con.execute(f"create or replace temp table of_table as {lists}")
    readers.stage(con, CASES / "dl19_passage" / "runs" / "repllama.run.gz", "run")
    assert con.execute(f"from of_table except all ({lists})").fetchall() == []
    assert con.execute(f"({lists}) except all from of_table").fetchall() == []
    assert "neither a TREC run, nor qrels" in str(refused(con, path, "qrels"))
