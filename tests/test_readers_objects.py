"""Objects in memory: dicts, data frames, Arrow tables, relations."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from hypothesis import given as random_cases
from hypothesis import strategies as st
from quick import examples
from refusals import expect_refusal
from staging import rows

from warehouse import readers
from warehouse.errors import InputError, UsageError
from warehouse.readers import batches, ranx
from warehouse.store import database
from warehouse.warehouse import Warehouse


@pytest.fixture(params=["arrow", "json"])
def way(request, monkeypatch):
    """The two ways that a dict goes into DuckDB: the second where pyarrow is not installed."""
    if request.param == "arrow":
        pytest.importorskip("pyarrow")
    else:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    return request.param


@pytest.mark.core
def test_dict(con, way):
    result = readers.stage(con, {"q2": {"b": 1, "a": 2.5}, 7: {3: -1}}, "run")
    assert (result.source, result.format, result.rows) == ("<dict>", "dict", 3)
    assert (result.source_sha256, result.ranked_by) == (None, "score")
    assert rows(con) == [("q2", "b", 1.0), ("q2", "a", 2.5), ("7", "3", -1.0)]


@pytest.mark.parametrize(
    "id", ["6F9619FF-8B86-D011-B42D-00CF4FC964FF", "2026-01-02T00:00:00", "10:00", "2026-01-02"]
)
def test_ids_in_records_stay_as_they_are_written(con, id):
    """Of texts in records too, none becomes a time or a UUID, which are written otherwise."""
    hits = [{"query_id": "q", "hits": [{"doc_id": id, "score": 1.5}]}]
    nested = [{"query_id": "q", "score": 1.5, "doc": {"id": id}}]
    for source, columns in ((hits, None), (nested, {"doc_id": "doc.id"})):
        readers.stage(con, source, "run", columns=columns)
        assert rows(con) == [("q", id, 1.5)]


def test_a_table_by_columns(con, put, way):
    """Its columns would be queries, as ids that are numbers may be scores."""
    columns = {"user": {"0": 1, "1": 1}, "item_id": {"0": 10, "1": 11}, "score": {"0": 9, "1": 8}}
    for source in (columns, put(json.dumps(columns), "r.json")):
        with expect_refusal("table by columns (user, item_id, score)", InputError):
            readers.stage(con, source, "run")


@pytest.mark.core
def test_dict_keeps_the_last_bit(con, way):
    scores = {"a": 0.1 + 0.2, "b": 1 / 3, "c": 5e-324, "d": 1.7976931348623157e308}
    readers.stage(con, {"q": scores}, "run")
    assert dict(row[1:] for row in rows(con)) == scores


@pytest.mark.core
def test_dict_with_numpy(con, way):
    np = pytest.importorskip("numpy")
    given = {np.int64(5): {np.str_("a"): np.float32(0.5), np.int32(2): np.int8(3)}}
    readers.stage(con, given, "run")
    assert rows(con) == [("5", "a", 0.5), ("5", "2", 3.0)]
    readers.stage(con, {"q": {"a": np.int64(2), "b": np.float64(1.0)}}, "qrels")
    assert rows(con) == [("q", "a", 2, "0"), ("q", "b", 1, "0")]


@pytest.mark.core
def test_true_is_a_grade_and_no_score(con, way, put):
    for given in ({"q": {"a": True, "b": False}}, {"q": {"a": True, "b": 0}}):
        for source in (given, put(json.dumps(given), "a.json")):
            readers.stage(con, source, "qrels")
            assert rows(con) == [("q", "a", 1, "0"), ("q", "b", 0, "0")]
            with pytest.raises(InputError, match=r"score '(true|false)' is not a number"):
                readers.stage(con, source, "run")
    names = "query_id,doc_id,relevance\n"
    readers.stage(con, put(f"{names}q,a,True\nq,b,false\n", "a.csv"), "qrels")
    assert [row[2] for row in rows(con)] == [1, 0]
    line = '{"query_id": "q", "doc_id": "a", "relevance": true}\n'
    readers.stage(con, put(line, "a.jsonl"), "qrels")
    assert [row[2] for row in rows(con)] == [1]


@pytest.mark.core
def test_whole_scores_that_are_not_exact_are_refused_everywhere(con, way, put, tmp_path):
    """From 2^53 on several whole numbers are one double, so that they would tie."""
    most = 2**53 - 1
    told = r"score '-?9007199254740992' is a whole number from 2\^53 on, where several become one"
    for score in (most, most + 1, -most, -most - 1):
        parquet = tmp_path / "a.parquet"
        con.sql(f"select 'q' as query_id, 'a' as doc_id, {score} as score").write_parquet(
            str(parquet)
        )
        names, ids = "query_id,doc_id,score\n", '"query_id": "q", "doc_id": "a"'
        for source in (
            {"q": {"a": score}},
            parquet,
            put(f"q Q0 a 1 {score} t\n", "fast.txt"),
            put(f"q  Q0 a 1 {score} t\n", "careful.txt"),
            put(f"{names}q,a,{score}\n", "a.csv"),
            put(f'{{{ids}, "score": {score}}}\n', "a.jsonl"),
            put(f'{{"q": {{"a": {score}}}}}', "a.json"),
        ):
            if abs(score) == most:
                readers.stage(con, source, "run")
                assert rows(con) == [("q", "a", float(score))]
            else:
                with pytest.raises(InputError, match=told):
                    readers.stage(con, source, "run")
    for source in ({"q": {"a": 1e300}}, put("q Q0 a 1 1e300 t\n"), put("q Q0 a 1 1e17 t\n")):
        assert readers.stage(con, source, "run").rows == 1


def test_truth_values_are_no_scores(con, tmp_path):
    path = str(tmp_path / "a.parquet")
    con.sql("select 'q' as query_id, 'a' as doc_id, true as score").write_parquet(path)
    with pytest.raises(InputError, match="the column 'score' holds truth values"):
        readers.stage(con, path, "run")


@pytest.mark.sample(3)
@pytest.mark.core
@pytest.mark.parametrize(
    ("given", "kind", "reason"),
    [
        ({"q": {"a": float("nan")}}, "run", {"arrow": "score 'nan'", "json": "score 'NaN'"}),
        ({"q": {"a": float("inf")}}, "run", {"arrow": "score 'inf'", "json": "score 'Infinity'"}),
        ({"q": {"a": None}}, "run", "the score is missing"),
        ({"q": {"a": math.inf}}, "qrels", "relevance 'Infinity' is not a finite number"),
        (
            {"bm25": {"q": {"a": {"b": 2.5}}}},
            "run",
            "document 'a': score '{\"b\":2.5}' is not a number",
        ),
        ({"q": {"a": [1]}}, "qrels", "relevance '[1]' is not a number"),
        ({"q": {"": 1}}, "qrels", "the document id is empty"),
        ({"q": 3}, "run", "not an object of documents"),
        # the items of a user, as recommenders have them
        ({5: [3, 4]}, "run", "query '5': a list, where each document has its score beside it"),
        (
            {5: {3, 4}},
            "qrels",
            "query '5': a list, where each document has its relevance beside it",
        ),
    ],
)
def test_dict_problems(con, way, given, kind, reason):
    if isinstance(reason, dict):
        reason = f"{reason[way]} is not a finite number"
    with pytest.raises(InputError) as caught:
        readers.stage(con, given, kind)
    assert reason in str(caught.value)
    assert str(caught.value).startswith("<dict>: 1 problem")


def test_half_a_character_in_a_dict(con, way):
    with pytest.raises(InputError, match=r"^<dict>: holds what is no text") as caught:
        readers.stage(con, {"q": {"a": 1, "b\udce9": 1}}, "run")
    assert "cannot be written as UTF-8: 'b\\udce9'" in str(caught.value)


def test_empty_dict(con, way):
    for given, kind in (({}, "run"), ({}, "qrels"), ({"q": {}}, "qrels"), ({"q": {}}, "training")):
        with pytest.raises(InputError, match="<dict>: is empty"):
            readers.stage(con, given, kind)


@pytest.mark.slow
def test_a_run_without_anything_is_scored(put) -> None:
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    files = [
        put(text, name)
        for name, text in {
            "a.run": "", "b.run": "\n\n", "c.csv": "query_id,doc_id,score\n", "d.json": "{}",
            "e.jsonl": "\n",
        }.items()
    ]  # fmt: skip
    frame = duckdb.sql("select 'q1' as query_id, 'a' as doc_id, 1.0 as score where false")
    for given in ({}, frame, *files):
        assert Warehouse.score(qrels, given, "RR P@5").means() == {"RR": 0.0, "P@5": 0.0}
    one = {"q1": {"a": 1.0}}
    both = Warehouse.score(qrels, [one, *files], ["RR"])
    means = both.relation.filter("query_id = 'all'").project("value").fetchall()
    assert [value for (value,) in means] == [0.5, 0.0, 0.0, 0.0, 0.0, 0.0]
    with pytest.raises(InputError, match="no query of the run is judged"):
        Warehouse.score(qrels, {"q9": {}}, "RR")


@pytest.mark.slow
def test_a_list_without_documents_is_an_answer(wh: Warehouse) -> None:
    """pytrec_eval gives such a query 0, and averages over it."""
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
    run: dict[str, dict[str, float]] = {"q1": {"a": 2.0, "b": 1.0}, "q2": {}}
    for protocol, mean in (("trec_eval_9", 1 / 2), ("default", 1 / 3)):
        scores = Warehouse.score(qrels, run, ["RR"], protocol=protocol)
        assert scores.means() == pytest.approx({"RR": mean})
        none = Warehouse.score(qrels, {"q1": {}, "q2": {}}, ["RR", "nDCG@10"], protocol=protocol)
        assert none.means() == {"RR": 0.0, "nDCG@10": 0.0}
    # a run without a query: with -c, trec_eval gives 0; without, it ends as no query counts, and
    # pytrec_eval gives none
    for protocol, value in (("default", 0.0), ("trec_eval_c", 0.0), ("trec_eval_9", None)):
        assert Warehouse.score(qrels, {}, ["RR"], protocol=protocol).means() == {"RR": value}
    wh.ingest_qrels("d", qrels)
    wh.ingest_run("d", {"q1": run["q1"]}, name="one")
    loaded = wh.ingest_run("d", run, name="two")
    assert loaded.status == "loaded"  # it is another run than the one that does not answer q2
    assert loaded.num_queries == 2
    assert "1 query without a document: the run answers it with nothing" in loaded.warnings
    assert wh.ingest_run("d", {"q2": {}}, name="none").num_rows == 0
    wh.evaluate("d", metrics="RR", protocol="trec_eval_9")
    board = wh.leaderboard("d", metrics=["RR"], protocol="trec_eval_9")
    assert {row.run: row["RR"] for row in board} == {"one": 1.0, "two": 0.5, "none": 0.0}
    assert wh.verify("d").is_good


def test_queries_without_a_document_are_told_of(con, way, tmp_path):
    path = tmp_path / "a.json"
    for kind, told in (
        ("run", "answers them with nothing"),
        ("qrels", "judge one with relevance 0"),
        ("training", "the size of the training set counts them"),
    ):
        given = {"q": {"a": 1}, "r": {}, "s": {}}
        path.write_text(json.dumps(given))
        for source in (given, path):
            (warning,) = readers.stage(con, source, kind).warnings
            assert warning.startswith("2 queries without a document")
            assert warning.endswith(told)
            assert len([row for row in rows(con) if row[1] is not None]) == 1


@pytest.mark.slow
def test_a_training_query_without_a_document_counts(wh: Warehouse, tmp_path: Path) -> None:
    """MIUF@1 of a is -log2(1/4) = 2: one of four queries has it, and two have nothing."""
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    trained = {"1": {"a": 1}, "2": {"b": 1}, "3": {}, "4": {}}
    lists = tmp_path / "lists.jsonl"
    lists.write_text(
        "".join(
            f"{json.dumps({'query_id': query, 'doc_id': list(docs)})}\n"
            for query, docs in trained.items()
        )
    )
    for source in (trained, lists):
        scores = Warehouse.score(qrels, run, ["MIUF@1"], training=source)
        assert scores.means() == {"MIUF@1": 2.0}
    wh.ingest_qrels("d", qrels)
    wh.ingest_run("d", run, name="r")
    loaded = wh.ingest_training("d", trained)
    assert (loaded.num_queries, loaded.num_rows) == (4, 2)
    assert wh.ingest_training("d", lists).status == "unchanged"
    wh.evaluate("d", metrics=["MIUF@1"])
    assert [row["MIUF@1"] for row in wh.leaderboard("d", metrics=["MIUF@1"])] == [2.0]
    assert wh.verify("d").is_good
    fewer = {query: docs for query, docs in trained.items() if query != "4"}
    assert wh.ingest_training("d", fewer, replace=True).status == "replaced"


FRAME = {"query_id": ["q1", "q1", "q2"], "doc_id": [10, 9, 10], "score": [0.5, 0.25, 1.0]}
FRAME_ROWS = [("q1", "10", 0.5), ("q1", "9", 0.25), ("q2", "10", 1.0)]


def make(library: str, data: dict[str, list[object]], con=None):
    if library == "pandas":
        return pytest.importorskip("pandas").DataFrame(data)
    if library == "polars":
        return pytest.importorskip("polars").DataFrame(data)
    if library == "lazy polars":
        return pytest.importorskip("polars").LazyFrame(data)
    if library == "pyarrow":
        return pytest.importorskip("pyarrow").table(data)
    other = con or database.memory()
    other.register("given", pytest.importorskip("pyarrow").table(data))
    return other.table("given")


LIBRARIES = ["pandas", "polars", "lazy polars", "pyarrow", "relation"]


@pytest.fixture(scope="module")
def shared():
    """Return a connection whose cursors hold no temporary table in common."""
    with database.memory() as connection:
        yield connection


IDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=4)
VALUES = {
    "run": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**70), 2**70),
    "qrels": st.integers(-(2**40), 2**40) | st.booleans(),
}


@pytest.mark.sample(10, 2)
@pytest.mark.parametrize("kind", VALUES)
@examples(25)
@random_cases(data=st.data())
def test_both_ways_of_a_dict_read_the_same(kind, data, shared):
    pytest.importorskip("pyarrow")
    lists = st.dictionaries(IDS, VALUES[kind], max_size=4)
    given = data.draw(st.dictionaries(IDS | st.integers(), lists, max_size=8))

    def read():
        with shared.cursor() as con:
            try:
                readers.stage(con, given, kind)
            except InputError as error:
                return str(error)
            return rows(con)

    by_arrow = read()
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "pyarrow", None)
        assert read() == by_arrow


@pytest.mark.core
@pytest.mark.parametrize("library", LIBRARIES)
def test_tables(con, library):
    result = readers.stage(con, make(library, FRAME), "run")
    assert rows(con) == FRAME_ROWS
    assert (result.format, result.rows, result.source_sha256) == ("table", 3, None)
    assert (result.source[0], result.source[-1], result.ranked_by) == ("<", ">", "score")


@pytest.mark.core
def test_relation_of_the_same_connection(con):
    readers.stage(con, make("relation", FRAME, con), "run")
    assert rows(con) == FRAME_ROWS
    readers.stage(con, con.sql("select 'q' as query_id, 'd' as doc_id, 2 as relevance"), "qrels")
    assert rows(con) == [("q", "d", 2, "0")]


@pytest.mark.core
@pytest.mark.parametrize("library", LIBRARIES)
def test_tables_with_columns_and_problems(con, library):
    data = {"user": [1.0, 2.0], "item": ["a", "b"], "r": [1.0, math.inf]}
    columns = {"query_id": "user", "doc_id": "item", "relevance": "r"}
    with pytest.raises(InputError) as caught:
        readers.stage(con, make(library, data), "qrels", columns=columns)
    assert caught.value.problems == ((None, "row 2: relevance 'inf' is not a finite number"),)
    data["r"] = [1.0, 2.5]
    readers.stage(con, make(library, data), "qrels", columns=columns)
    assert rows(con) == [("1", "a", 1, "0"), ("2", "b", 2.5, "0")]
    with pytest.raises(
        InputError, match=r"missing column relevance.*columns=\{'relevance': 'NAME'\}"
    ):
        readers.stage(con, make(library, data), "qrels")
    with pytest.raises(InputError, match=r"missing column score \(or rank\)"):
        readers.stage(con, make(library, data), "run")


@pytest.mark.core
def test_pandas_kinds_of_columns(con):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {"query_id": pd.Categorical(["x", "y"]), "doc_id": [1.0, None], "rank": [1, 0]},
        index=[5, 5],
    )
    with pytest.raises(InputError) as caught:
        readers.stage(con, frame, "run")
    assert caught.value.problems == ((None, "row 2: the document id is empty"),)
    result = readers.stage(con, frame.assign(doc_id=["é", "'; drop table staged; --"]), "run")
    assert result.ranked_by == "rank"
    assert rows(con) == [("x", "é", 1.0), ("y", "'; drop table staged; --", 0.0)]
    assert con.execute(
        "select count(*) from duckdb_views() where temporary and not internal"
    ).fetchall() == [(0,)]


@pytest.mark.parametrize("given", [3, None, [("q", "d", 1)], object()])
def test_other_objects(con, given):
    with pytest.raises(UsageError, match="cannot read"):
        readers.stage(con, given, "run")


def test_no_library_is_imported_for_files(tmp_path):
    path = tmp_path / "a.run"
    path.write_text("q Q0 d 1 1 t\n")
    code = (
        "import sys; from warehouse import readers; from warehouse.store import database; "
        f"readers.stage(database.memory(), {str(path)!r}, 'run'); "
        "sys.exit(any(name in sys.modules for name in ('pandas', 'polars', 'pyarrow')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.sample(2)
@pytest.mark.core
def test_dicts_and_files_in_parts(con, way, tmp_path, monkeypatch):
    given = {f"q{q}": {f"d{d * 7 % 50}": q + d / 8 for d in range(50)} for q in range(60)}
    expected = [(q, d, score) for q, inner in given.items() for d, score in inner.items()]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(given))
    monkeypatch.setattr(ranx, "_DOCUMENTS", 120)
    monkeypatch.setattr(ranx, "_CHARACTERS", 2_000)
    for large in (1, 1 << 30):
        monkeypatch.setattr(ranx, "_LARGE", large)
        readers.stage(con, given, "run")
        assert rows(con) == expected
        readers.stage(con, path, "run")
        assert rows(con) == expected
    monkeypatch.setattr(ranx, "_LARGE", 1)
    path.write_text('{"q": {"a": 1, "a": 2}}')
    with pytest.raises(InputError, match="is there twice"):
        readers.stage(con, path, "run")
    path.write_text("[1, 2]")
    with pytest.raises(
        InputError, match=r"not a JSON object .*; of a list write one object a line"
    ):
        readers.stage(con, path, "run")
    path.write_text('{"q": {"a": 1}')
    with pytest.raises(InputError, match="not a JSON object"):
        readers.stage(con, path, "run")


@pytest.mark.slow
def test_an_answer_of_the_warehouse_is_a_source(
    wh: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    wh.ingest_run("tiny", {"q": {"a": 1.0, "b": 0.5}}, name="one")
    answer = wh.query("select query_id, doc_id, score * 2 as score from predictions")
    for _ in range(2):  # it is not used up
        assert Warehouse.score({"q": {"a": 1}}, answer, "AP").means() == {"AP": 1.0}
    assert wh.ingest_run("tiny", answer, name="double").status == "loaded"
    found = wh.query("select score from predictions where run = 'double' order by rank")
    assert found.fetchall() == [(2.0,), (1.0,)]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"needs pyarrow: .*install .*\[arrow\]"):
        Warehouse.score({"q": {"a": 1}}, answer, "AP")


def test_a_frame_that_was_turned_round(wh: Warehouse) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [1.0, 2.0]})
    for given in (frame.iloc[::-1], frame.loc[::-1].reset_index(drop=True)):
        assert Warehouse.score({"q": {"a": 1}}, given, "RR").means() == {"RR": 0.5}
    assert wh.ingest_run("tiny", frame.iloc[::-1], name="one").status == "loaded"


def test_frames_that_other_libraries_make_of_those_of_pandas(
    con: duckdb.DuckDBPyConnection,
) -> None:
    pd = pytest.importorskip("pandas")
    other = type("GeoDataFrame", (pd.DataFrame,), {"__module__": "geopandas"})
    given = other({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]})
    assert readers.stage(con, given, "run").source == "<pandas DataFrame>"
    assert batches.source_list(given)[0] is given


def test_columns_that_nothing_can_read(wh: Warehouse) -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    good = {"query_id": ["q"], "doc_id": ["a"], "score": [1.0]}
    objects = pl.DataFrame(good | {"doc_id": pl.Series(["a"], dtype=pl.Object)})
    for given, told in (
        (pd.DataFrame(good).assign(extra=pd.period_range("2020", periods=1, freq="D")), "period"),
        (pd.DataFrame(), "<pandas DataFrame>: cannot be read as a table: .*at least one column"),
        (objects, "<polars DataFrame>: column 'doc_id' holds Python objects: cast it"),
        (objects.lazy(), "<polars LazyFrame>: column 'doc_id'|<polars DataFrame>: column 'doc_id'"),
        (pl.LazyFrame(good).select("nothing"), "cannot be read as a table: .*nothing"),
        (pd.DataFrame(good).set_index("query_id"), r"'query_id' is its index.* reset_index\(\)"),
        (
            pd.DataFrame(good | {"doc_id": [["a"]]}),
            "'score' holds one value for the list .* 'doc_id'",
        ),
        (pl.DataFrame(good | {"query_id": [{"a": "q"}]}), "'query_id' holds lists or records"),
    ):
        with pytest.raises(InputError, match=told):
            Warehouse.score({"q": {"a": 1}}, given, "RR")
        with pytest.raises(InputError, match=told):
            wh.ingest_run("tiny", given, name="one")


@pytest.mark.parametrize("key", [None, float("nan"), b"q", True])
def test_what_is_no_id(key: object) -> None:
    for run in ({key: {"a": 1.0}}, {"q": {"a": 1.0, key: 2.0}}):
        with pytest.raises(InputError, match="is no id: give a text or a whole number"):
            Warehouse.score({"q": {"a": 1}}, run, "RR")


@pytest.mark.parametrize("key", [1, 1.0])
def test_two_keys_of_one_id(key: object) -> None:
    for run in ({key: {"a": 1.0}, "1": {"b": 1.0}}, {"q": {"1": 1.0, key: 2.0}}):
        with pytest.raises(InputError, match="is there twice"):
            Warehouse.score({"q": {"a": 1}}, run, "RR")


@pytest.mark.slow
def test_ids_of_a_dict_and_of_a_frame_are_the_same() -> None:
    pd = pytest.importorskip("pandas")
    lists = {1.0: {2: 0.5, 3: 0.7, 3.5: 0.1}}
    frame = pd.DataFrame({"query_id": [1.0] * 3, "doc_id": [2, 3, 3.5], "score": [0.5, 0.7, 0.1]})
    for run in (frame, lists):
        assert Warehouse.score({"1": {"3.5": 1}}, run, "RR").means() == {"RR": 1 / 3}
        assert Warehouse.score({"1": {"2": 1}}, run, "RR").means() == {"RR": 0.5}
        assert Warehouse.score({1: {2: 1}}, run, "RR").means() == {"RR": 0.5}
    for day in ("2020-01-02", "2020-01-02 10:00:00.25", "2020-01-02 10:00:00.000001+02:00"):
        at = pd.Timestamp(day)
        frame = pd.DataFrame({"query_id": [at], "doc_id": [2], "score": [0.5]})
        keys = [at, at.to_pydatetime()] + ([at.to_datetime64()] if at.tz is None else [])
        for key in keys:
            assert Warehouse.score({key: {2: 1}}, frame, "RR").means() == {"RR": 1.0}


def test_one_object_of_another_type_among_thousands(con: duckdb.DuckDBPyConnection) -> None:
    """DuckDB types a column of Python objects by every second of these, and cast the others to that."""
    pd = pytest.importorskip("pandas")
    plain = pd.DataFrame({"query_id": "q", "doc_id": range(2001), "score": 1})
    for column, value in (("score", 1.25), ("doc_id", "x"), ("doc_id", 0.5), ("doc_id", 2**40)):
        frame = plain.astype({column: object})
        frame.loc[1001, column] = value
        readers.stage(con, frame, "run")
        expected = ("q", str(value), 1.0) if column == "doc_id" else ("q", "1001", value)
        assert rows(con)[1001] == expected
    assert con.execute("select current_setting('pandas_analyze_sample')").fetchall() == [(1000,)]
    grades = plain.rename(columns={"score": "relevance"}).astype({"relevance": object})
    grades.loc[1001, "relevance"] = 0.75
    readers.stage(con, grades, "qrels")
    assert rows(con)[1001] == ("q", "1001", 0.75, "0")


def test_score_names_the_columns_of_each_source(tmp_path) -> None:
    pd = pytest.importorskip("pandas")
    qrels = pd.DataFrame({"user": ["q"], "item": ["a"], "liked": [1]})
    run = pd.DataFrame({"user": ["q", "q"], "item": ["a", "b"], "pred": [1.0, 2.0]})
    trec = tmp_path / "qrels.txt"
    trec.write_text("q 0 a 1\n")
    columns = {"query_id": "user", "doc_id": "item", "score": "pred", "relevance": "liked"}
    for truth in (qrels, {"q": {"a": 1}}, trec):
        assert Warehouse.score(truth, run, "RR", columns=columns).means() == {"RR": 0.5}
    both = Warehouse.score(qrels, [run, {"q": {"a": 1.0}}], "RR", columns=columns).board()
    assert both.fetchall() == [("run 1", 0.5), ("run 2", 1.0)]
    with expect_refusal("scores … score"):
        Warehouse.score(qrels, run, "RR", columns={"scores": "pred"})
