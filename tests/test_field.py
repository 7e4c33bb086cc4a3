"""Inputs that people in the field stumble over, with their right values: shared/cases/field."""

from __future__ import annotations

import csv
import json
import math
import re
import shlex
import unicodedata

import duckdb
import pytest
from extended import needs
from hypothesis import example, given
from hypothesis import strategies as st
from projects import command
from quick import examples
from refusals import expect_refusal
from shared_cases import CASES, needs_cases
from staging import nothing_left, rows

from warehouse import readers
from warehouse.errors import InputError, UsageError, in_shell
from warehouse.warehouse import Warehouse

FIELD = CASES / "field"


def scored(arguments: tuple[str, ...]) -> float:
    """Return the one value that a command of `score` prints."""
    code, out, err = command("score", *arguments, "-f", "csv")
    assert code == 0, err
    return float(out.split(",")[-1])


def field(name: str) -> str:
    """Return the path of an input."""
    return str(FIELD / name)


@needs_cases
def test_two_files_with_names_of_their_own():
    """b9 is first, b1 with 5 stars second; expected d1 is second of two, and d2 first: 3/4."""
    files = field("two_headers/truth_m.csv"), field("two_headers/run_m.csv")
    names = ("qrels query_id reader", "qrels doc_id book", "qrels relevance stars")
    names += ("run query_id person", "run doc_id item_ref", "run score yhat")
    words = [
        word for side, ours, theirs in map(str.split, names)
        for word in (f"--{side}-column", f"{ours}={theirs}")
    ]  # fmt: skip
    assert scored((*files, "RR(rel=4)", *words)) == 0.5
    lists = field("two_headers/li.jsonl")
    columns = {
        "qrels_columns": {"doc_id": "expected_ids"},
        "run_columns": {"doc_id": "retrieved_ids"},
    }
    assert Warehouse.score(lists, lists, "RR@10", **columns).means() == {"RR@10": 0.75}
    with Warehouse.scorer(lists, "RR@10", **columns) as score_run:
        assert score_run(lists).means() == {"RR@10": 0.75}
    with expect_refusal("li.jsonl … column 'expected_ids' … qrels_columns= … run_columns="):
        Warehouse.score(lists, lists, "RR@10", columns={"doc_id": "expected_ids"})


def test_the_truth_is_not_scored_against_itself(put):
    """One table may be both, but not with one column; the mapping for one side takes precedence."""
    rows = [{"q": "a", "d": "x", "grade": 1, "s": 0.5}, {"q": "a", "d": "y", "grade": 0, "s": 0.7}]
    path = put("".join(json.dumps(row) + "\n" for row in rows), "both.jsonl")
    names = {"query_id": "q", "doc_id": "d"}
    for both in (rows, path):
        found = Warehouse.score(both, both, "RR", columns={**names, "score": "s"})
        assert found.means() == {"RR": 0.5}
        with expect_refusal("column 'grade'"):
            Warehouse.score(both, both, "RR", columns={**names, "score": "grade"})
    precise = {"columns": {**names, "score": "grade"}, "run_columns": {"score": "s"}}
    assert Warehouse.score(path, path, "RR", **precise).means() == {"RR": 0.5}
    with pytest.raises(UsageError, match="not for dict"):  # named for this side alone
        Warehouse.score(path, {"a": {"x": 1.0}}, "RR", columns=names, run_columns={"score": "s"})


@needs_cases
@pytest.mark.parametrize(
    ("rule", "value"),
    # item i1 of u1 has 4 and then 5; i2 has 3. With 9, the sum, it is the only one of two above 8
    [("first", 4), ("last", 5), ("max", 5), ("sum", 9), ("count", 2)],
)
def test_rows_that_repeat(rule, value):
    truth = field("implicit_truth/truth2.csv")
    run = {"u1": {"i1": 1.0}, "u2": {"i3": 1.0}}
    for level, wanted in ((value, 0.5), (value + 1, 0.0)):  # u2 has 1
        found = Warehouse.score(truth, run, f"RR(rel={level})", qrels_repeated=rule)
        assert found.means() == {f"RR(rel={level})": wanted}
    assert found.qrels.warnings[0].startswith("1 row repeats a document of a query")


@needs_cases
@pytest.mark.parametrize(
    ("file", "words", "told"),
    [
        ("run.tsv", (), ""),
        ("colbert.tsv", (), ""),
        ("run.tsv", ("--run-format", "bare"), "read as their ranks"),
        ("colbert.tsv", ("--run-format", "colbert"), ""),
    ],
)
def test_runs_of_ms_marco(file, words, told):
    """The relevant document is the second of query 1 and the first of query 2: (1/2 + 1) / 2."""
    arguments = ("score", field("msmarco/qrels.tsv"), field(f"msmarco/{file}"), "RR@10", *words)
    code, out, err = command(*arguments, "-f", "csv")
    assert (code, out.splitlines()[1]) == (0, "RR@10,0.75")
    assert told in err
    assert bool(told) == bool(err)


@pytest.mark.parametrize(
    ("thirds", "value"),
    # the documents are a, b and c in the order of the file, and c is relevant
    [
        ((1, 2, 3), 1 / 3),  # ranks
        ((0, 1, 2), 1 / 3),
        ((3, 2, 1), 1 / 3),  # scores in their order
        ((0.5, 0.7, 0.9), 1),  # scores from the last to the first
        ((2, 1, 3), None),  # either
        ((1, 3, 2), None),
        ((1, 3, 4), None),  # ranks with a gap, or scores from the last to the first
    ],
)
def test_a_third_column_without_a_name(put, thirds, value):
    """It is ranks where it counts the documents, scores where it does not, and refused where unclear."""
    lines = "".join(f"q\t{doc}\t{third}\n" for doc, third in zip("abc", thirds, strict=True))
    path = put(lines, "r.tsv")
    if value is None:
        with expect_refusal("r.tsv … a score or a rank", InputError):
            Warehouse.score({"q": {"c": 1}}, path, "RR", run_format="bare")
    else:
        assert (
            Warehouse.score({"q": {"c": 1}}, path, "RR", run_format="bare").means()["RR"] == value
        )
    with expect_refusal("r.tsv", InputError):  # a rank and a score, or else
        bad = put(lines.replace("\n", "\t5\n").replace("\t1\t", "\t8\t"), "r.tsv")
        Warehouse.score({"q": {"c": 1}}, bad, "RR", run_format="bare")


@needs("imports")
@needs_cases
def test_letor():
    """GX001 with 2 is second and GX002 with 0 first; GX003 with 1 is first: (1/2 + 1) / 2."""
    truth, run = (
        field("letor/letor.txt"),
        {"10": {"GX002": 2.0, "GX001": 1.0}, "11": {"GX003": 1.0}},
    )
    assert Warehouse.score(truth, run, "RR").means() == {"RR": 0.75}
    assert Warehouse.score(truth, run, "nDCG@1").means() == {"nDCG@1": 0.5}
    nonsense = field("letor/r0.txt")
    with expect_refusal("no query of the run is judged", InputError):
        Warehouse.score(truth, nonsense, "nDCG@10")
    with expect_refusal("letor2.txt: LETOR without ids … #docid", InputError):
        Warehouse.score(field("letor/letor2.txt"), nonsense, "nDCG@10")
    with expect_refusal("letor.txt: is LETOR … qrels_format='letor'", InputError):
        Warehouse.score(truth, nonsense, "nDCG@10", qrels_format="svmlight")
    with expect_refusal("LETOR … judgments and features"):
        Warehouse.score({"10": {"GX001": 1}}, truth, "nDCG@10")


@needs_cases
@pytest.mark.parametrize(
    ("truth", "value"),
    # i1 is relevant for u1, whose first it is, and i3 for u2, whose second it is
    [("implicit.csv", 0.75), ("two.csv", 0.75)],
)
def test_a_truth_of_relevant_pairs(truth, value):
    files = field(f"implicit_truth/{truth}"), field("implicit_truth/recs.csv")
    code, _, told = command("score", *files, "RR")
    assert (code, told.endswith("--relevance 1")) == (2, True)
    assert scored((*files, "RR", "--relevance", "1")) == value
    category = (field("advice/cat.csv"), field("advice/catr.csv"))  # i1 is the first of u1
    code, _, told = command("score", *category, "RR")
    assert (code, told.endswith("--relevance 1"), "category_id=" in told) == (2, True, False)
    assert scored((*category, "P@1", "--relevance", "1")) == 1.0


@needs_cases
def test_pairs_that_repeat():
    files = field("implicit_truth/truth.csv"), field("implicit_truth/recs.csv")
    code, _, told = command("score", *files, "RR", "--relevance", "1")
    assert (code, "--qrels-repeated" in told) == (2, True)
    assert scored((*files, "RR", "--relevance", "1", "--repeated", "first")) == 0.75


REPEATED = [("q", "a", 1.0), ("q", "b", 5.0), ("q", "a", 4.0), ("p", "a", 3.0), ("q", "a", 2.0)]
OF_A = {"first": 1.0, "last": 2.0, "max": 4.0, "sum": 7.0, "count": 3.0}
LAYOUTS = {
    "q.txt": "".join(f"{q} 0 {d} {v:g}\n" for q, d, v in REPEATED),
    "q.csv": "query_id,doc_id,relevance\n" + "".join(f"{q},{d},{v}\n" for q, d, v in REPEATED),
    "q.jsonl": "".join(
        json.dumps({"query_id": q, "doc_id": d, "relevance": v}) + "\n" for q, d, v in REPEATED
    ),
    "q.json": '{"q": {"a": 1, "b": 5, "a": 4, "a": 2}, "p": {"a": 3}}',
    "lists.jsonl": '{"query_id": "q", "doc_id": ["a", "b", "a", "a"], "relevance": [1, 5, 4, 2]}\n'
    '{"query_id": "p", "doc_id": ["a"], "relevance": [3]}\n',
}


@pytest.mark.sample(8, 2)
@pytest.mark.core
@pytest.mark.parametrize("rule", OF_A)
@pytest.mark.parametrize("layout", [*LAYOUTS, "records"])
def test_rows_that_repeat_in_every_layout(con, put, layout, rule):
    """Of the other rows, each is alone: counted, it is one."""
    names = ("query_id", "doc_id", "relevance")
    records = [dict(zip(names, row, strict=True)) for row in REPEATED]
    source = records if layout == "records" else put(LAYOUTS[layout], layout)
    alone = {("q", "b"): 5.0, ("p", "a"): 3.0}
    wanted = {("q", "a"): OF_A[rule], **(dict.fromkeys(alone, 1.0) if rule == "count" else alone)}
    read = readers.stage(con, source, "qrels", repeated=rule)
    assert {(q, d): v for q, d, v, _ in rows(con)} == wanted
    assert read.warnings[0].startswith("2 rows repeat a document of a query")
    with expect_refusal("document 'a'", InputError):
        readers.stage(con, source, "qrels")
    with expect_refusal("xyz … first, last"):
        readers.stage(con, source, "qrels", repeated="xyz")
    assert nothing_left(con)


def test_blanks_around_cells(put, wh):
    """They are no part of names, ids and numbers in CSV, with a condition, and in many files at once."""
    truth = put("query_id, doc_id, relevance\nq1, a, 1\nq1 ,b, 0\n", "q.csv")
    runs = [put(f"query_id, doc_id, score\nq1, b, {n}\nq1,a, 1\n", f"{n}.csv") for n in (2, 0)]
    found = Warehouse.score(truth, runs, "RR")
    assert found.board().fetchall() == [("2", 0.5), ("0", 1.0)]
    assert found.qrels.warnings == ("2 ids have blanks around them, which are not read",)
    assert Warehouse.score(truth, runs[0], "RR", qrels_where="relevance >= 0").means() == {
        "RR": 0.5
    }
    everywhere = put("doc_id,relevance\n a ,1\nb, 1\n", "g.csv")
    found = Warehouse.score(everywhere, {"q1": {"a": 1.0}, "q2": {"x": 1.0}}, "P@1", is_global=True)
    assert (found.means(), len(found.qrels.warnings)) == ({"P@1": 0.5}, 1)
    kinds = put("query_id,kind\nq1 ,x\n q2,y\n", "k.csv")
    loaded = wh.ingest_attributes("tiny", kinds, of="queries")
    assert loaded.warnings == ("2 ids have blanks around them, which are not read",)
    ids = wh.query("select subject_id from attributes order by 1").fetchall()
    assert ids == [("q1",), ("q2",)]
    # a blank within an id is a part of it
    titles = put("user,movie\nann,Up\nann,Star Wars\n", "t.csv")
    assert Warehouse.score(titles, {"ann": {"Star Wars": 1.0}}, "R@5", relevance="1").means() == {
        "R@5": 0.5
    }


@pytest.mark.parametrize("cell", ["a b c", " a  b", "a|b;c"])
def test_cells_of_several_ids(put, cell):
    """As Kaggle has them. One document for each is other data, unless a value says that it is one."""
    path = put(f"user_id,items\nu1,{cell}\nu2,d e\n", "k.csv")
    for how in ({"relevance": "1"}, {"relevance": "1", "qrels_where": "user_id <> 'u2'"}):
        with expect_refusal("'items' seems to hold several ids", InputError):
            Warehouse.score(path, {"u1": {"a": 1.0}}, "RR", **how)
    ranked = put(f"customer_id,prediction\nu1,{cell}\nu2,d e\n", "p.csv")
    for run, column in ((path, "items"), (ranked, "prediction")):
        with expect_refusal(f"'{column}' seems to hold several ids", InputError):
            Warehouse.score({"u1": {"a": 1}}, run, "RR")
    one = put(f"user_id,items,rating\nu1,{cell},1\nu2,d e,1\n", "o.csv")
    assert Warehouse.score(one, {"u2": {"d e": 1.0}}, "RR").means() == {"RR": 0.5}


def test_several_systems_in_one_file(put):
    """c is the second of A, and e of B. A tag that stands alone in each query is no matter."""
    lines = ("q Q0 b 1 2 A", "q Q0 c 2 1 A", "q Q0 d 1 9 B", "q Q0 e 2 8 B")
    truth = {"q": {"c": 1, "e": 1}}
    for order in ((0, 1, 2, 3), (0, 2, 1, 3), (2, 0, 3, 1)):
        path = put("".join(f"{lines[n]}\n" for n in order), "two.run")
        with expect_refusal("two.run … several systems … tag = … 'true'", InputError):
            Warehouse.score(truth, path, "RR")
        for tag in "AB":
            assert Warehouse.score(truth, path, "RR", run_where=f"tag = '{tag}'").means() == {
                "RR": 0.5
            }
        assert Warehouse.score(truth, path, "RR", run_where="true").means() == {"RR": 0.5}
    # trec_eval takes all for one run: d, e, b, c
    qrels = put("q 0 c 1\nq 0 e 1\n", "q.txt")
    code, out, _ = command("trec-eval", "-m", "recip_rank", str(qrels), str(path))
    assert (code, out.split()) == (0, ["recip_rank", "all", "0.5000"])
    apart = put("q Q0 c 1 2 A\np Q0 b 1 9 B\n", "apart.run")
    assert Warehouse.score(truth, apart, "RR").means() == {"RR": 1.0}


@pytest.mark.parametrize("suffix", ["jsonl", "records"])
def test_scores_that_rise_down_each_list_may_be_distances(put, suffix):
    """a is the nearest of eleven, and counts as the last of them: RR is 1/11, and 1 of distances."""
    rows = [{"query_id": "q", "doc_id": "abcdefghijk"[n], "score": n / 10} for n in range(11)]
    run = put("\n".join(map(json.dumps, rows)), "r.jsonl") if suffix == "jsonl" else rows
    found = Warehouse.score({"q": {"a": 1}}, run, "RR")
    assert found.means() == {"RR": pytest.approx(1 / 11)}
    (warned,) = found.read[0].staged.warnings
    assert "rise from the first to the last document" in warned
    assert "lower_is_better=True" in warned
    near = Warehouse.score({"q": {"a": 1}}, run, "RR", lower_is_better=True)
    assert (near.means(), near.read[0].staged.warnings) == ({"RR": 1.0}, ())
    shuffled = [rows[3], *rows[:3], *rows[4:]]
    assert not Warehouse.score({"q": {"a": 1}}, shuffled, "RR").read[0].staged.warnings


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("probs", "run_columns={'score': 'probs'};"),
        ("distances", "run_columns={'score': 'distances'} lower_is_better=True"),
        ("foo", "run_columns={'score': 'NAME'}"),
    ],
)
def test_numbers_of_a_list_that_nothing_reads(name, wanted):
    """The order of a list is its ranks only where nothing beside it could be the scores."""
    truth = {"q": {"b": 1}}
    lists = [{"query_id": "q", "items": ["a", "b"], name: [0.1, 0.9]}]
    hits = [{"query_id": "q", "items": [{"item_id": "a", name: 0.1}, {"item_id": "b", name: 0.9}]}]
    how = {"run_columns": {"score": name}, "lower_is_better": name == "distances"}
    for run in (lists, hits):
        with expect_refusal(f"nothing reads ({name}) … {wanted}", InputError):
            Warehouse.score(truth, run, "RR")
        found = Warehouse.score(truth, run, "RR", **how)
        assert found.means() == {"RR": 0.5 if name == "distances" else 1.0}
    other = [{"query_id": "q", "items": ["a", "b"], "years": [2, 1], "vector": [0.1, 0.2, 0.3]}]
    assert Warehouse.score(truth, other, "RR").means() == {"RR": 0.5}
    if name == "probs":
        for value in ([0.1], {"probs": [0.1]}, '{"probs": [0.1]}', [{"probs": 0.1}]):
            hidden = [{"query_id": "q", "hits": [{"doc_id": "a", "page": 1, "probs": value}]}]
            with expect_refusal("nothing reads (probs … beside the ids", InputError):
                Warehouse.score(truth, hidden, "RR")
    graded = [{"query_id": "q", "items": ["a", "b"], "gains": [1, 3]}]
    with expect_refusal("nothing reads (gains) … qrels_columns={'relevance': 'gains'}", InputError):
        Warehouse.score(graded, {"q": {"a": 2.0, "b": 1.0}}, "RR(rel=3)")


@pytest.mark.parametrize(
    "suffix", ["jsonl", *(pytest.param(one, marks=pytest.mark.slow) for one in ("json", "records"))]
)
def test_fields_of_records_are_columns_by_their_path(put, suffix):
    """b, the second of the list, is relevant and has the higher score, wherever that is."""
    truth = {"q": {"b": 1}}

    def refused(rows, wanted, **columns):
        text = "\n".join(map(json.dumps, rows)) if suffix == "jsonl" else json.dumps(rows)
        run = rows if suffix == "records" else put(text, f"r.{suffix}")
        with expect_refusal(wanted, InputError):
            Warehouse.score(truth, run, "RR")
        return lambda **how: Warehouse.score(truth, run, "RR", run_columns=how or columns).means()

    values = {"a": 0.1, "b": 0.9}
    hits = [{"doc_id": doc, "info": {"s": value}} for doc, value in values.items()]
    run = refused([{"query_id": "q", "hits": hits}], "nothing reads (info.s) … 'place'")
    assert run(score="info.s") == {"RR": 1.0}
    assert run(rank="place") == {"RR": 0.5}
    rows = [{"query_id": "q", **hit} for hit in hits]
    assert refused(rows, "info.s … 'NAME'", score="info.s")() == {"RR": 1.0}
    chain = [
        {"page_content": "", "metadata": {"source": doc, "score": value}}
        for doc, value in values.items()
    ]
    path = {"doc_id": "metadata.source", "score": "metadata.score"}
    run = refused([{"query_id": "q", "results": chain}], "metadata.source … 'NAME'", **path)
    assert run() == {"RR": 1.0}
    nodes = [{"node": {"id_": doc}, "score": value} for doc, value in values.items()]
    run = refused([{"query": "q", "source_nodes": nodes}], "node.id_ … 'NAME'", doc_id="node.id_")
    assert run() == {"RR": 1.0}
    found = [{"_id": doc, "_score": value} for doc, value in values.items()]
    response = {"query_id": "q", "hits": {"total": {"value": 2}, "max_score": 0.9, "hits": found}}
    run = refused([response], "missing column doc_id; … 'doc_id': 'NAME'", doc_id="_id")
    assert run() == {"RR": 1.0}  # max_score is none of the documents' own


def test_truth_values_of_a_list_that_nothing_reads():
    """b, the second, is relevant; as qrels the clicks say so, and the list alone does not."""
    hits = [{"doc_id": "a", "clicked": False}, {"doc_id": "b", "clicked": True}]
    lists, run = [{"query_id": "q", "hits": hits}], {"q": {"a": 2.0, "b": 1.0}}
    with expect_refusal("nothing reads (clicked): if only the list counts", InputError):
        Warehouse.score({"q": {"b": 1}}, lists, "RR")
    found = Warehouse.score({"q": {"b": 1}}, lists, "RR", run_columns={"rank": "place"})
    assert found.means() == {"RR": 0.5}
    with expect_refusal("clicked … relevance='1'", InputError):
        Warehouse.score(lists, run, "RR")
    assert Warehouse.score(lists, run, "RR", relevance="1").means() == {"RR": 1.0}
    clicks = Warehouse.score(lists, run, "RR", qrels_columns={"relevance": "clicked"})
    assert clicks.means() == {"RR": 0.5}


@pytest.mark.parametrize("name", ["distance", pytest.param("position", marks=pytest.mark.slow)])
def test_columns_of_which_the_lowest_is_best(put, name):
    """Read as scores by hand, of one file or several, they rank as asked, and a warning says so."""
    runs = [put(f"query_id,doc_id,{name}\nq,a,2\nq,b,1\n", f"{n}.csv") for n in "12"]
    for several, lower in ((runs[0], False), (runs, False), (runs, True)):
        found = Warehouse.score(
            {"q": {"b": 1}}, several, "RR", run_columns={"score": name}, lower_is_better=lower
        )
        board = [found.means()] if found.totals is None else dict(found.board().fetchall())
        assert board == (
            [{"RR": 0.5}] if several is not runs else dict.fromkeys("12", lower or 0.5)
        )
        told = [f"{name!r} is read as scores" in str(one.staged.warnings) for one in found.read]
        assert told == [not lower] * len(board)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_labels_that_are_words(put, suffix):
    """b is relevant, and the second of a and b. An expression reads words other than yes and no."""

    def labelled(of_a, of_b):
        pairs = {"a": of_a, "b": of_b}.items()
        rows = [{"query_id": "q", "doc_id": doc, "label": word} for doc, word in pairs]
        if suffix == "jsonl":
            return put("".join(json.dumps(row) + "\n" for row in rows), "t.jsonl")
        return put("query_id,doc_id,label\n" + "".join(f"q,{d},{w}\n" for d, w in pairs), "t.csv")

    run = {"q": {"a": 2.0, "b": 1.0}}
    for words in (("N", "Y"), ("no", "Yes"), ("FALSE", "true")):
        assert Warehouse.score(labelled(*words), run, "RR").means() == {"RR": 0.5}
    words = labelled("S", "E")
    with expect_refusal("label = 'S' … relevance 'S'", InputError):
        Warehouse.score(words, run, "RR")
    # one of the two documents is relevant, the second one, and both are judged
    found = Warehouse.score(words, run, "RR Judged@2", relevance="label = 'E'")
    assert found.means() == {"RR": 0.5, "Judged@2": 1.0}
    with expect_refusal("no finite number … 'b': 'E' has none", InputError):
        Warehouse.score(words, run, "RR", relevance="case label when 'S' then 1 end")
    grades = "case label when 'y' then 2 when 'partly' then 1 else 0 end"
    found = Warehouse.score(labelled("partly", "y"), run, "DCG", relevance=grades)
    assert found.means()["DCG"] == pytest.approx(1 + 2 / math.log2(3))
    with expect_refusal("1 problem … relevance is missing", InputError):
        Warehouse.score(labelled("", "E"), run, "RR", relevance="label = 'E'")


def test_a_query_with_only_irrelevant_words_counts(put):
    """AP is 1 and 0 of two queries, in every format."""
    rows = [("1", "a", "Relevant"), ("1", "b", "Irrelevant"), ("2", "c", "Irrelevant")]
    run = {"1": {"a": 2.0, "b": 1.0}, "2": {"c": 1.0}}
    table = "(values " + ", ".join(map(str, rows)) + ") as t(query_id, doc_id, relevance)"
    for qrels in (
        put("".join(f"{q} 0 {d} {word}\n" for q, d, word in rows), "t.qrels"),
        duckdb.sql(f"select * from {table}"),
        {q: {d: word for of, d, word in rows if of == q} for q in "12"},
    ):
        found = Warehouse.score(qrels, run, "AP", relevance="relevance = 'Relevant'")
        assert found.means() == {"AP": 0.5}


def test_python_has_the_warnings_of_the_command():
    """The ids 010 and 10 are others; 0 of 2 queries has a judged document."""
    qrels, run = {"1": {"010": 1}, "2": {"020": 1}}, {"1": {"10": 0.5}, "2": {"20": 0.4}}
    far = duckdb.sql("select '1' as query_id, '010' as doc_id, 0.5 as distance")
    ranks = duckdb.sql(
        "from (values ('1', '010', 1, 2), ('1', 'a', 2, 3), ('1', 'b', 3, 1)) "
        "as t(query_id, doc_id, rank, score)"
    )
    for one, told, columns in (
        (run, "no document of the run is judged", {}),
        (far, "'distance' is read as scores", {"score": "distance"}),
        (ranks, "scores contradict the rank column", {}),
    ):
        found = Warehouse.score(qrels, one, "AP", run_columns=columns)
        assert told in found.warnings[0]
        assert found.warnings[0] in repr(found)
    several = Warehouse.score(qrels, [run, qrels], "AP")
    assert [one.split(":")[0] for one in several.warnings] == ["run 1"]
    with Warehouse.scorer(qrels, "AP") as scorer:
        assert "no document of the run is judged" in scorer(run).warnings[0]
    assert Warehouse.score(qrels, qrels, "AP").warnings == ()


def test_a_column_of_labels_is_not_passed_over(put):
    qrels = put("query,doc,esci_label\nq,a,S\nq,b,E\n", "t.csv")
    with expect_refusal("relevance': 'esci_label'", InputError):
        Warehouse.score(qrels, {"q": {"b": 1.0}}, "AP")


@pytest.mark.parametrize(
    ("kind", "header", "told"),
    [
        ("qrels", "reader,thing", "reader', 'doc_id': 'NAME'} relevance='1'"),
        ("run", "thing,score", "only thing could be the query_id or the doc_id"),
        ("run", "user,score", "no other column could be the doc_id: add it"),
    ],
)
def test_advice_about_columns_that_are_missing(con, put, kind, header, told):
    with expect_refusal(told, InputError):
        readers.stage(con, put(f"{header}\n1,2\n", "t.csv"), kind)


def test_arrays_of_three_dimensions():
    cube = pytest.importorskip("numpy").zeros((1, 2, 2))
    with expect_refusal("ndarray of 3 dimensions"):
        Warehouse.score({"q": {"a": 1}}, cube, "RR")


def test_an_expression_over_columns_without_names(put, wh):
    """An unknown name is not the relevance: a has 1, and 3 is relevant."""
    truth, run = put("q 0 a 1\nq 0 b 3\n", "q.txt"), {"q": {"a": 2.0, "b": 1.0}}
    for qrels in (truth, {"q": {"a": 1, "b": 3}}):
        for wrong in ("foo + 2", "foo", "relevance + foo"):
            with expect_refusal("relevance, iteration … 'foo' is none of them"):
                Warehouse.score(qrels, run, "RR", relevance=wrong)
        found = Warehouse.score(qrels, run, "RR", relevance="relevance >= 3")
        assert found.means() == {"RR": 0.5}
    with expect_refusal("'foo' is none of them"):
        wh.ingest_qrels("tiny", truth, relevance="foo + 2")


@needs_cases
def test_queries_that_find_themselves(put):
    """One sentence names the option, and is gone where it is taken; one query of four says nothing."""
    told = "in 2 of 2 queries the document with the query's own id"
    for suffix in ("csv", "json", "txt"):
        files = field("self_retrieval/qrels.txt"), field(f"self_retrieval/run.{suffix}")
        found = Warehouse.score(*files, "nDCG@10")
        assert [one.startswith(told) for one in found.read[0].staged.warnings] == [True]
        assert found.means()["nDCG@10"] == pytest.approx(0.5655, abs=5e-5)
    without = Warehouse.score(*files, "nDCG@10", exclude="self")
    assert (without.read[0].staged.warnings, round(without.means()["nDCG@10"], 4)) == ((), 0.8155)
    few = {**{f"{n}": {"x": 2.0, "y": 1.0} for n in range(3)}, "x": {"x": 1.0}}
    assert not Warehouse.score({"1": {"x": 1}}, few, "RR").read[0].staged.warnings


def test_ranks_that_rise_with_the_scores(put, wh):
    """Distances beside their ranks: the option is named, and nothing is said where it is taken."""
    run = put("q Q0 a 1 0.1 x\nq Q0 b 2 0.2 x\n", "d.run")
    for lower, value in ((False, 0.5), (True, 1.0)):
        found = Warehouse.score({"q": {"a": 1}}, run, "RR", lower_is_better=lower)
        loaded = wh.ingest_run("tiny", run, name=f"{lower}", lower_is_better=lower)
        assert found.means() == {"RR": value}
        for warnings in (found.read[0].staged.warnings, loaded.warnings):
            assert any("lower_is_better=True" in one for one in warnings) is not lower


@pytest.mark.parametrize(
    ("kind", "text", "advice"),
    [
        (
            "qrels",
            "query_id,doc_id,click\nq,a,False\nq,b,True\n",
            {"columns": {"relevance": "click"}},
        ),
        ("run", "query_id,doc_id,prediction,proba\nq,a,1,0.4\nq,b,1,0.9\n", None),
        ("run", "query_id,doc_id,score\nq,a,-inf\nq,b,1\n", {"where": "isfinite(score)"}),
        ("run", "q Q0 a 1 -inf t\nq Q0 b 2 1 t\n", {"where": "isfinite(score)"}),
        ("qrels", "query_id,doc_id,score\nq,a,0\nq,b,1\n", {"columns": {"relevance": "score"}}),
        ("run", "query_id,doc_id,relevance\nq,a,0\nq,b,1\n", {"columns": {"score": "relevance"}}),
        ("run", "user_id,item_id\nq,a\n", None),
    ],
)
def test_advice_gives_b(con, put, kind, text, advice):
    """Of a and b, b is relevant or the best. Where nothing fits, no option is named."""
    path = put(text, "t.csv" if "," in text else "t.run")
    with pytest.raises(InputError) as caught:
        readers.stage(con, path, kind)
    if advice is None:
        assert "could" in str(caught.value)
        assert "NAME" not in str(caught.value)
        return
    ((name, value),) = advice.items()
    assert f"{name}={value!r}" in str(caught.value)
    readers.stage(con, path, kind, **advice)
    order = "score" if kind == "run" else "relevance"
    assert con.execute(f"select max_by(doc_id, {order}) from staged").fetchall() == [("b",)]


def test_lists_of_one_document_do_not_say_what_is_in_the_third_column(con, put):
    path = put("q\ta\t1\np\tb\t1\n", "r.tsv")
    with expect_refusal("on top (query_id, doc_id, rank, score … format='bare'", InputError):
        readers.stage(con, path, "run")
    assert readers.stage(con, path, "run", format="msmarco").ranked_by == "rank"


def test_a_run_of_four_columns_is_no_qrels(con, put):
    with expect_refusal("rank and its score … tabs between", InputError):
        readers.stage(con, put("q a 1 9\nq b 2 8\n", "r.txt"), "run")
    assert readers.stage(con, put("q\ta\t1\t9\nq\tb\t2\t8\n", "r.txt"), "run").format == "msmarco"


def test_names_of_parameters_as_they_are_written():
    with expect_refusal("did you mean rel?"):
        Warehouse.score({"q": {"a": 1}}, {"q": {"a": 1.0}}, "RR(relevance=4)")
    (note,) = Warehouse.score({"q": {"a": 1}}, {"q": {"a": 1.0}}, "RR(rel=4)").notes
    metric = shlex.split(note)[-1]
    assert metric == "RR(rel=4, no_relevant=skip)"
    assert Warehouse.score({"q": {"a": 1}}, {"q": {"a": 1.0}}, metric).means() == {metric: None}


EVIL = ("$(touch pwned)", "a b;c", "`ls`", "a'b")
# Files that are refused with advice that has a name or a value from them.
ADVISED = [
    ("qrels", "csv", ["query_id,doc_id,{} stars", "q,d,1"]),
    ("qrels", "csv", ["{} reader,{} book,{} stars", "q,d,1"]),
    ("qrels", "csv", ["query_id,doc_id,relevance,split", "q,d,1,{}", "q,e,1,test {}"]),
    ("run", "csv", ["query_id,doc_id,{} distance", "q,d,1"]),
    ("run", "csv", ["query_id,doc_id,prediction,{} proba", "q,d,1,2"]),
    ("run", "csv", ["user,item,rating,{} position", "q,d,1,2"]),
    ("run", "csv", ["query_id,doc_id,score,system", *(f"q,d{n},1,{{}}{n // 2}" for n in range(4))]),
    ("run", "jsonl", ['{{"query_id": "q", "items": ["a"], "{} probs": [0.1]}}']),
    ("run", "jsonl", ['{{"query_id": "q", "hits": [{{"doc_id": "a", "{}": {{"score": 1}}}}]}}']),
]


@pytest.mark.parametrize("evil", EVIL)
def test_advice_with_what_comes_from_a_file_is_quoted(con, put, evil):
    """Read by a shell, the words after the first option hold it as it is written in the file."""
    for kind, suffix, lines in ADVISED:
        path = put("".join(line.format(*[evil] * 3) + "\n" for line in lines), f"t.{suffix}")
        with in_shell(), pytest.raises(InputError) as caught:
            readers.stage(con, path, kind)
        advice = re.split("; | or (?=--)|, or ", str(caught.value).partition(" --")[2])
        words = [word for part in advice for word in shlex.split(f"--{part.removeprefix('--')}")]
        written = evil.replace("'", "''") if "--where" in words else evil
        assert any(written in word for word in words), (str(caught.value), words)


def test_ratings_without_a_header(put):
    """Times may have few digits; pairs without a relevance are read by the advice. b is the second."""
    run = {"1": {"8": 2.0, "7": 1.0}}
    lines = [(1, 7, 5, 5000), (1, 8, 3, 6000), (2, 9, 5, 7000), (2, 6, 5, 8000)]
    ratings = put("".join("\t".join(map(str, line)) + "\n" for line in lines), "u.data")
    with expect_refusal("u.data … times (6000) … qrels_format='bare'", InputError):
        Warehouse.score(ratings, run, "RR(rel=4)")
    found = Warehouse.score(ratings, run, "RR(rel=4)", qrels_format="bare")
    assert found.means() == {"RR(rel=4)": 0.25}
    with expect_refusal("format='bare' of ingest_training", InputError):
        Warehouse.score(run, run, "Coverage@1", training=ratings)
    with expect_refusal("'::' stands between", InputError):
        Warehouse.score(put("1::7::5::9\n", "r.dat"), run, "RR")
    pairs = put("1\t7\n2\t9\n", "p.tsv")
    with expect_refusal("qrels_format='bare' relevance='1'", InputError):
        Warehouse.score(pairs, run, "RR")
    assert Warehouse.score(pairs, run, "RR", qrels_format="bare", relevance="1").means() == {
        "RR": 0.25
    }


def test_ids_in_two_unicode_forms(wh):
    """é of one character and of two: the documents do not match, and one sentence says so."""
    composed, apart = unicodedata.normalize("NFC", "café"), unicodedata.normalize("NFD", "café")
    truth, run = {"q": {composed: 1}}, {"q": {apart: 1.0}}
    found = Warehouse.score(truth, run, "RR")
    assert found.means() == {"RR": 0.0}
    assert any("the ids of 1 judged document" in one for one in found.read[0].staged.warnings)
    both = Warehouse.score(truth, [truth, run], "RR").read
    assert ["Unicode form" in str(one.staged.warnings) for one in both] == [False, True]
    alike = Warehouse.score(truth, run, "RR", normalise="nfc_normalize(doc_id)")
    assert (alike.means(), alike.read[0].staged.warnings) == ({"RR": 1.0}, ())
    wh.ingest_qrels("forms", truth)
    for name, how, told in (("n", {}, 1), ("m", {"normalise": "nfc_normalize(doc_id)"}, 0)):
        loaded = wh.ingest_run("forms", run, name=name, **how)
        assert ["Unicode form" in one for one in loaded.warnings] == [True] * told


def test_rows_of_a_matrix_without_a_label(put):
    """Of 3 rows the second has none: P@1 is 1/2 over the others, and 1/3 where it counts."""
    truth, run = put("3 5\n3:1\n\n4:1\n", "gt.txt"), {"0": {"3": 1.0}, "2": {"1": 1.0}}
    found = Warehouse.score(truth, run, "P@1", protocol="xclib")
    assert found.means() == {"P@1": 0.5}
    assert found.qrels.warnings[0].startswith("1 row has no label and is no query")


MEANT = {
    "my stars": "grade", "user_rating": "grade", "relevance label": "grade",
    "cosine similarity": "score", "predicted": "score", "$(score)": "score",
    "distance": "low", "valLoss": "low", "dist_score": "low", "l2": "low", "max_score": "",
    "position": "rank", "rank in list": "rank",
    "timestamp": "", "category_id": "", "song_id": "", "price": "", "foo": "", "score_time": "",
    "num_stars": "", "not relevant": "", "a;b 'c'": "", "year": "", "rank_score": "",
}  # fmt: skip


@pytest.mark.sample(6, 2)
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "records"])
@pytest.mark.parametrize("column", ["system", "Model_Name", "config", "fold"])
def test_several_systems_in_one_table(put, suffix, column):
    """c is the second of A, and e of B. Of names that are as many as documents nothing is said."""
    rows = [("q", "b", 2, "A"), ("q", "d", 9, "B"), ("q", "c", 1, "A"), ("q", "e", 8, "B")]
    truth, names = {"q": {"c": 1, "e": 1}}, ("query_id", "doc_id", "score", column)

    def source(rows, names=names):
        records = [dict(zip(names, row, strict=True)) for row in rows]
        if suffix == "csv":
            lines = [names, *rows]
            return put("".join(",".join(map(str, line)) + "\n" for line in lines), "r.csv")
        if suffix == "jsonl":
            return put("".join(json.dumps(one) + "\n" for one in records), "r.jsonl")
        return records

    run = source(rows)
    for how in ({}, {"run_where": "score > 0"}):
        with expect_refusal(f"several systems … {column} = 'A' … 'true'", InputError):
            Warehouse.score(truth, run, "RR", **how)
    for system in "AB":
        found = Warehouse.score(truth, run, "RR", run_where=f"{column} = '{system}'")
        assert found.means() == {"RR": 0.5}
    assert Warehouse.score(truth, run, "RR", run_where="true").means() == {"RR": 0.5}
    twice = source([*rows, ("q", "c", 9, "B")])  # blending is no advice
    for how in ({}, {"run_repeated": "first"}):
        with pytest.raises(InputError, match=f"{column} = 'A'\"$"):
            Warehouse.score(truth, twice, "RR", **how)
    constant = source([(*row[:3], "A") for row in rows])  # d, e, b, c
    assert Warehouse.score(truth, constant, "RR").means() == {"RR": 0.5}
    titles = source([(query, doc, score, f"of {doc}") for query, doc, score, _ in rows])
    assert Warehouse.score(truth, titles, "RR").means() == {"RR": 0.5}
    judged = source(
        [("q", "b", 1, "train"), ("q", "c", 1, "test")], (*names[:2], "relevance", "split")
    )
    with expect_refusal("several splits … split = 'test'", InputError):
        Warehouse.score(judged, {"q": {"b": 2.0, "c": 1.0}}, "RR")
    found = Warehouse.score(judged, {"q": {"b": 2.0, "c": 1.0}}, "RR", qrels_where="split = 'test'")
    assert found.means() == {"RR": 0.5}
    alone = source([("q", "c", 1, "A"), ("p", "b", 1, "B")])
    assert Warehouse.score(truth, alone, "RR").means() == {"RR": 1.0}
    apart = source([(f"q{n}", "c", 1, "AB"[n % 2]) for n in range(4)])  # queries of their own
    with expect_refusal(f"several systems … {column} = 'A' … 'true'", InputError):
        Warehouse.score(truth, apart, "RR")
    splits = source(
        [("p", "b", 1, "train"), ("q", "c", 1, "test")], (*names[:2], "relevance", "split")
    )
    with expect_refusal("several splits … split = 'test'", InputError):
        Warehouse.score(splits, {"q": {"c": 1.0}}, "RR")


@pytest.mark.property
@examples(40)
@example(
    names=["my stars", "user_rating"], numbers=[[1, 2, 3], [3, 2, 1]], kind="qrels",
    ids=("query_id", "doc_id"), suffix="csv",
)  # fmt: skip
@given(
    names=st.lists(st.sampled_from(sorted(MEANT)), min_size=1, max_size=3, unique=True),
    numbers=st.lists(st.permutations([1, 2, 3]), min_size=3, max_size=3),
    kind=st.sampled_from(["qrels", "run"]),
    ids=st.sampled_from([("query_id", "doc_id"), ("reader", "book title"), ("qid", "pid")]),
    suffix=st.sampled_from(["csv", "jsonl"]),
)
def test_advice_that_is_taken(names, numbers, kind, ids, suffix, tmp_path_factory):
    """It gives the right value, or another refusal, and never another value."""
    columns = dict(zip(names, numbers, strict=False))
    rows = [
        {ids[0]: "q", ids[1]: doc, **{name: those[place] for name, those in columns.items()}}
        for place, doc in enumerate("abc")
    ]
    path = tmp_path_factory.mktemp("advice") / f"given.{suffix}"
    if suffix == "csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    other = path.with_name("other.json")
    of_other = {"a": 0.0, "b": 2.0, "c": 1.0} if kind == "qrels" else {"a": 0, "b": 1, "c": 0}
    other.write_text(json.dumps({"q": of_other}))
    files = (path, other) if kind == "qrels" else (other, path)
    arguments = ["score", *map(str, files), "nDCG@3", "-f", "csv", "--places", "9"]
    code, _, told = command(*arguments)
    if code == 0:  # the names were known
        return
    advice = shlex.split(told[told.index("--") :]) if "--" in told else []
    if not advice or "NAME" in told:
        return
    code, out, told = command(*arguments, *advice)
    if code:
        return
    meanings = ("grade",) if kind == "qrels" else ("score", "low", "rank")
    right = [name for name in names if MEANT[name] in meanings]
    if kind == "qrels" and not right:
        assert advice == ["--relevance", "1"]
        assert all(
            MEANT[name] == "" and name not in ("foo", "a;b 'c'", "rank_score", "not relevant")
            for name in names
        )
        gains, order = {"a": 1, "b": 1, "c": 1}, "bca"
    else:
        (name,) = right
        value = dict(zip("abc", columns[name], strict=True))
        is_low = MEANT[name] in ("low", "rank")
        gains = value if kind == "qrels" else of_other
        by = of_other if kind == "qrels" else {doc: -v if is_low else v for doc, v in value.items()}
        order = sorted("abc", key=lambda doc: -by[doc])

    def gain(docs):
        return sum(gains[doc] / math.log2(n + 2) for n, doc in enumerate(docs))

    ideal = gain(sorted("abc", key=lambda doc: -gains[doc]))
    assert float(out.split(",")[-1]) == pytest.approx(gain(order) / ideal, abs=1e-8)


@needs_cases
def test_names_with_characters_of_the_shell(tmp_path):
    """Pasted, they are names: nothing in them runs, and blanks do not divide them."""
    where = ("--db", str(tmp_path / "w.duckdb"))
    for name, kind in (("sp", "qrels"), ("sp", "run"), ("inj", "qrels"), ("dist", "run")):
        code, _, told = command("ingest", kind, field(f"advice/{name}.csv"), "-d", "x", *where)
        words = shlex.split(told[told.index("--column") :])
        assert code == 2
        assert all(one == "--lower-is-better" or "=" in one for one in words if one != "--column")
    truth, run = {"q1": {"a": 1}}, field("advice/dist.csv")
    how = {"run_columns": {"score": "distance"}, "lower_is_better": True}
    with expect_refusal("run_columns={'score': 'distance'} lower_is_better=True", InputError):
        Warehouse.score(truth, run, "RR")
    assert Warehouse.score(truth, run, "RR", **how).means() == {"RR": 1.0}
