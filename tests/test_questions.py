"""The questions in SQL of the manual give the answers that stand below them; some are counted anew.

In docs/how-to/sql.md a ```sql block is a question, and the ```text block after it is its answer for the
demo. To write the answers anew: UPDATE_GOLDEN=1 pytest tests/test_questions.py, and then read the
difference.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from extended import assess, extension

from warehouse.analyze import view_examples
from warehouse.warehouse import Warehouse

PAGE = Path(__file__).resolve().parents[1] / "docs" / "how-to" / "sql.md"
_QUESTION = re.compile(r"^```sql\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
QUESTIONS = _QUESTION.findall(PAGE.read_text(encoding="utf-8"))


def about(word: str) -> str:
    """Return the one question in which a word stands."""
    (sql,) = (sql for sql, _ in QUESTIONS if word in sql)
    return str(sql)


def rows(wh: Warehouse, sql: str) -> list[tuple]:
    """Return all rows of a question, without its limit."""
    return wh.query(re.sub(r"\nlimit \d+\n", "\n", sql)).fetchall()


@pytest.fixture(scope="module")
def wh(demo_file: Path) -> Warehouse:
    return Warehouse(demo_file)


@pytest.fixture(scope="module")
def tops(demo_data: Path) -> dict[str, dict[str, list[str]]]:
    """Return the document ids of every run and query, best first, read without the program."""
    found: dict[str, dict[str, list[str]]] = {}
    for path in demo_data.glob("*.run.gz"):
        scored: dict[str, list[tuple[float, bytes]]] = {}
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            query, _, document, _, score, _ = line.split()
            scored.setdefault(query, []).append((float(score), document.encode()))
        found[path.name.removesuffix(".run.gz")] = {
            query: [document.decode() for _, document in sorted(pairs, reverse=True)]
            for query, pairs in scored.items()
        }
    return found


@pytest.fixture(scope="module")
def grades(demo_data: Path) -> dict[tuple[str, str], int]:
    lines = gzip.decompress((demo_data / "qrels.txt.gz").read_bytes()).decode().splitlines()
    fields = (line.split() for line in lines)
    return {(query, document): int(grade) for query, _, document, grade in fields}


@pytest.mark.parametrize("number", range(10))
def test_the_answers_in_the_manual(wh: Warehouse, number: int) -> None:
    sql, answer = QUESTIONS[number]
    found = wh.query(sql).text("table")
    if os.environ.get("UPDATE_GOLDEN"):
        text = PAGE.read_text(encoding="utf-8")
        before = f"{sql}```\n\n```text\n"
        PAGE.write_text(text.replace(before + answer, before + found), encoding="utf-8")
    else:
        assert found == answer


def test_unjudged_documents_that_many_systems_rank_high(wh: Warehouse, tops, grades) -> None:
    runs: Counter[tuple[str, str]] = Counter()
    lowest: dict[tuple[str, str], int] = {}
    for run in tops.values():
        for query, documents in run.items():
            for rank, document in enumerate(documents[:20], 1):
                if (query, document) not in grades:
                    runs[query, document] += 1
                    lowest[query, document] = max(rank, lowest.get((query, document), 0))
    expected = [(*pair, count, lowest[pair]) for pair, count in runs.items()]
    found = rows(wh, about("lowest_rank"))
    assert sorted(found) == sorted(expected)
    assert found[0][:3] == ("1112341", "6903063", 5)


def test_perfect_documents_that_no_run_shows(wh: Warehouse, tops, grades) -> None:
    shown = {
        (query, document)
        for run in tops.values()
        for query, documents in run.items()
        for document in documents[:10]
    }
    expected = Counter(
        pair[0] for pair, grade in grades.items() if grade == 3 and pair not in shown
    )
    assert dict(rows(wh, about("missed"))) == dict(expected)


def test_runs_that_show_the_same(wh: Warehouse, tops) -> None:
    expected = {
        (one, other, sum(len({*tops[one][q][:10]} & {*tops[other][q][:10]}) for q in tops[one]))
        for one in tops
        for other in tops
        if one < other
    }
    assert set(rows(wh, about("shared"))) == expected


@pytest.mark.slow
def test_queries_won_and_hard_queries(wh: Warehouse) -> None:
    values: dict[str, dict[str, float]] = {}
    for run in wh.runs("dl19").relation.project("run").fetchall():
        for query, value, *_ in wh.queries("dl19", run[0], metrics="nDCG@10").fetchall():
            values.setdefault(query, {})[run[0]] = value
    won = Counter(
        run for of in values.values() for run, value in of.items() if value == max(of.values())
    )
    assert dict(rows(wh, about("won"))) == dict(won)
    hard = rows(wh, about("avg(value)"))
    assert [(query, best) for query, best, _ in hard] == sorted(
        ((query, max(of.values())) for query, of in values.items()), key=lambda row: row[::-1]
    )
    for query, _, mean in hard:
        assert mean == pytest.approx(sum(values[query].values()) / 9, abs=1e-12)


def test_every_view_has_an_example(wh: Warehouse) -> None:
    found = wh.schema().relation.filter("example is not null and kind = 'view'").fetchall()
    assert [row[1] for row in found] == list(view_examples.EXAMPLES)
    for _, relation, _, _, comment, example in found:
        assert re.match(r"One row per ", comment), relation
        assert example == view_examples.EXAMPLES[relation]
        assert '"' not in example, "it is shown between double quotes"


@pytest.mark.sample(8, 2)
@pytest.mark.parametrize(
    "relation",
    # of which the demo has none
    sorted(
        view_examples.EXAMPLES.keys()
        - {"gates", "gate_versions"}
        - {name for name in view_examples.EXAMPLES if name.startswith("left_out")}
    ),
)
def test_the_examples_of_the_views_answer(
    wh: Warehouse, small_with_parts: Warehouse, relation: str, tmp_path: Path
) -> None:
    assert relation in view_examples.EXAMPLES[relation]
    shown = relation.replace("_versions", "s")
    if relation.endswith("_text"):
        wh = Warehouse(shutil.copy(wh.path, tmp_path / "with_texts.duckdb"))
        (tmp_path / "queries.tsv").write_text("19335\tdefinition of an anthropological field\n")
        (tmp_path / "docs.tsv").write_text("8412681\tThe text of a passage.\n")
        wh.ingest_text("dl19", tmp_path / "queries.tsv", of="queries")
        wh.ingest_text("dl19", tmp_path / "docs.tsv", of="docs")
    if relation.startswith(("slice", "curve", "comparison", "fused")):
        wh = small_with_parts
    if shown in ("attributes", "attribute_versions"):
        wh = Warehouse(shutil.copy(wh.path, tmp_path / "with_attributes.duckdb"))
        (tmp_path / "lengths.csv").write_text("query_id,length\n19335,4\n")
        wh.ingest_attributes("dl19", tmp_path / "lengths.csv", of="queries")
    if shown == "imported_scores":
        wh = Warehouse(shutil.copy(wh.path, tmp_path / "with_scores.duckdb"))
        rows = [{"query_id": "19335", "metric": "nuggets", "value": 0.5}]
        wh.ingest_scores("dl19", rows, name="bm25")
    if shown in ("nugget_assignments", "answer_citations"):
        wh = Warehouse(shutil.copy(wh.path, tmp_path / "with_answers.duckdb"))
        rows = [
            {"query_id": "19335", "text": "a fact", "importance": "vital"}
            | {"assignment": "support", "sentence": 1, "doc_id": "8412681", "support": "support"}
        ]
        extension("answers")
        assess(wh, "dl19", rows, "bm25")
    if shown == "judge_judgments":
        wh = Warehouse(shutil.copy(wh.path, tmp_path / "with_judges.duckdb"))
        extension("answers").ingest_judgments(wh, "dl19", {"19335": {"8412681": 1}}, judge="ann")
    assert wh.query(view_examples.EXAMPLES[relation]).fetchall()


@pytest.mark.slow
def test_macros_answer_as_the_commands_do(wh: Warehouse, tmp_path: Path) -> None:
    """In a replica too, for any program; each has an example, and a comment for each argument."""
    described = wh.schema().relation.filter("kind = 'macro'").fetchall()
    examples = {row[1]: row[5] for row in described if row[2] is None}
    assert (list(examples), examples) == (list(view_examples.MACROS), view_examples.MACROS)
    assert all(row[4] for row in described)
    replica = wh.publish(tmp_path / "replica.duckdb").path
    with duckdb.connect(str(replica), read_only=True) as con:
        for name, example in examples.items():
            found = rows(wh, example)
            assert found, name
            assert con.execute(example).fetchall() == found
    for run, system, place, value in rows(
        wh,
        "select run, system, place, value from board_as_of('dl19', now(), metric_name := 'AP(rel=2)')",
    ):
        (asked,) = wh.leaderboard("dl19", metrics="AP(rel=2)", run=run)
        assert (asked.run, asked.system, asked["AP(rel=2)"]) == (run, system, value)
        (at,) = [row.place for row in wh.leaderboard("dl19", metrics="AP(rel=2)") if row.run == run]
        assert at == place
    steps = "select run, value, best_so_far, is_record from history "
    steps += "where metric = 'nDCG@10' order by step"
    timeline = wh.history("dl19", "nDCG@10")
    assert rows(wh, steps) == [(r.run, r.value, r.best_so_far, r.is_record) for r in timeline]
    assert rows(wh, "from compare('dl19', 'bm25', 'nobody', 'nDCG@10')") == []
    pytest.importorskip("scipy")
    (pair,) = wh.compare("dl19", ["bm25", "tasb"], "nDCG@10")
    (found,) = rows(wh, "from compare('dl19', 'bm25', 'tasb', 'nDCG@10')")
    assert found[4:] == (pair.wins, pair.ties, pair.losses, pair.queries)
    wanted = (pair.base_value, pair.value, pair.difference, pair.effect_size)
    assert found[:4] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.slow
def test_a_query_without_rows_says_which_metric_is_meant(wh: Warehouse) -> None:
    meant = "'ndcg@10' is stored as 'nDCG@10'"
    for sql in ("from leaderboard where metric = 'ndcg@10'", "from compare('dl19', 'a', 'b', $m)"):
        params = {"m": "ndcg@10"} if "$m" in sql else {}
        assert wh.query(sql, params).notes == (meant,)
    answer = wh.stream("from leaderboard where metric in ('ndcg@10', 'x')", write=lambda _: None)
    assert (answer.rows, answer.note) == (0, meant)
    for sql in ("from leaderboard where run = 'ndcg@10'", "from compare('dl19', 'a', 'b', 'AP')"):
        assert wh.query(sql).notes == ()


def test_the_example_of_gates_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("warehouse.toml").write_text(
        '[datasets.tiny]\n[[gates]]\ndataset = "tiny"\nmetric = "RR"\nmin = 0.9\n'
    )
    wh = Warehouse("w.duckdb")
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    wh.ingest_run("tiny", {"q": {"b": 2.0, "a": 1.0}}, name="half")
    wh.evaluate(metrics="RR")
    assert not wh.check(new=True).is_good
    ((_, run, _, value, *_),) = wh.query(view_examples.EXAMPLES["gates"]).fetchall()
    assert (run, value) == ("half", 0.5)


@pytest.fixture(scope="module")
def small_with_parts(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Return a warehouse with what the demo does not have: slices, curves, and what was stored."""
    wh = Warehouse(tmp_path_factory.mktemp("parts") / "parts.duckdb")
    wh.ingest_qrels("tiny", {"q1": {"a": 1, "b": 0}, "q2": {"b": 1}})
    wh.ingest_run("tiny", {"q1": {"a": 1.0, "b": 0.5}, "q2": {"a": 1.0}}, name="one")
    wh.evaluate(metrics="nDCG@10", slices="first = query_id = 'q1'")
    wh.curve("tiny", "ROC", store=True)
    wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name="two")
    wh.fuse("tiny", ["one", "two"], name="both")
    wh.evaluate(metrics="nDCG@10")
    wh.compare("tiny", ["one", "two"], store=True)
    return wh


def test_there_are_ten() -> None:
    assert len(QUESTIONS) == 10
