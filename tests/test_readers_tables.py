"""CSV, TSV, JSON Lines, Parquet and ranx files."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from refusals import expect_refusal, tells
from shared_cases import CASES, needs_cases
from staging import refused, rows

from warehouse import readers
from warehouse.errors import InputError, UsageError, in_shell
from warehouse.readers import batches, ranx
from warehouse.readers.attributes import stage_attributes
from warehouse.store import database


@pytest.fixture
def parquet(tmp_path):
    def write(query: str, name: str = "a.parquet") -> Path:
        with database.memory() as other:
            other.execute(f"copy ({query}) to '{tmp_path / name}' (format parquet)").fetchall()
        return tmp_path / name

    return write


@pytest.mark.core
@pytest.mark.parametrize(("delimiter", "name"), [(",", "csv"), ("\t", "tsv")])
@pytest.mark.parametrize("extension", ["own", ".txt"])
def test_delimited_run(con, put, delimiter, name, extension):
    text = "\n".join(
        delimiter.join(cells)
        for cells in [
            ("extra", "doc_id", "query_id", "score"),
            ("x", '"d,1"', "q1", "0.5"),
            ("", '"d ""2"""', "01", "1e-3"),
            ("y", '"d\n3"', "1.0", "-3"),
        ]
    )
    path = put(text, "a" + (f".{name}" if extension == "own" else extension))
    result = readers.stage(con, path, "run")
    assert (result.format, result.rows, result.ranked_by, result.tag) == (name, 3, "score", None)
    assert rows(con) == [("q1", "d,1", 0.5), ("01", 'd "2"', 0.001), ("1.0", "d\n3", -3.0)]


@pytest.mark.core
def test_csv_qrels(con, put):
    text = "\ufeffquery_id,doc_id,relevance,iteration\r\nq,a,2,Q0\r\nq,b,-1.00,7\r\n"
    result = readers.stage(con, put(text, "a.csv"), "qrels")
    assert (result.format, result.ranked_by) == ("csv", None)
    assert rows(con) == [("q", "a", 2, "Q0"), ("q", "b", -1, "7")]
    # without an iteration it is 0
    for text in (
        "query_id,doc_id,relevance\nq,a,2\n",
        "query_id,doc_id,iteration,relevance\nq,a,,2",
    ):
        readers.stage(con, put(text, "a.csv"), "qrels")
        assert rows(con) == [("q", "a", 2, "0")]


@pytest.mark.core
def test_a_run_by_rank(con, put):
    result = readers.stage(con, put("query_id,doc_id,rank\nq,a,1\nq,b,2\n", "a.csv"), "run")
    assert (result.ranked_by, result.warnings) == ("rank", ())
    assert rows(con) == [("q", "a", 1.0), ("q", "b", 2.0)]


@pytest.mark.core
def test_ranks_that_leave_places_out_are_refused(con, put):
    """5 and 9 were read as 1 and 2, in silence."""
    names = "query_id,doc_id,rank\n"
    error = refused(con, put(f"{names}q,a,1\nq,b,2\nr,a,5\nr,b,9\ns,a,2\n", "a.csv"), "run")
    assert "(columns={'score': 'rank'} and lower_is_better=True)" in error.message
    assert error.problems == (
        (None, "query 'r': 2 documents with the ranks 5 to 9"),
        (None, "query 's': 1 document with the ranks 2 to 2"),
    )
    for ranks in ((1, 2, 3), (0, 1, 2), (3, 1, 2), (1, 2, 2), (1, 1, 3)):
        text = "".join(f"q,d{n},{rank}\n" for n, rank in enumerate(ranks))
        assert readers.stage(con, put(names + text, "a.csv"), "run").ranked_by == "rank"
    # as scores, of which the lowest is the best, they may be any numbers
    path = put(f"{names}q,a,5\nq,b,9\n", "a.csv")
    assert readers.stage(con, path, "run", columns={"score": "rank"}).ranked_by == "score"
    runs = [path, put(f"{names}q,a,1\n", "b.csv")]
    for group in batches.groups(runs):
        refusal, good = group.read(con)
        assert isinstance(refusal, batches.Refusal)
        assert good.runs[0].rows == 1


def test_ranks_beside_scores(con, put):
    text = "query_id,doc_id,rank,score\nq,a,1,1\nq,b,2,2\nr,a,1,2\nr,b,2,1\n"
    result = readers.stage(con, put(text, "a.csv"), "run")
    assert result.ranked_by == "score"
    assert result.warnings[0].startswith("scores contradict the rank column in 1 of 2 queries")
    assert rows(con)[0] == ("q", "a", 1.0)


@pytest.mark.core
def test_csv_problems_have_their_lines(con, put):
    text = (
        "query_id,doc_id,score\n"
        "q,a,1\n"
        "\n"
        'q,"b\nb",x\n'  # lines 4 and 5
        "q,,1\n"  # 6
        "q,c\n"  # 7
        "q,d,1,2\n"  # 8
        "q,a,nan\n"  # 9
    )
    assert refused(con, put(text, "a.csv"), "run").problems == (
        (4, "score 'x' is not a number"),
        (6, "the document id is empty"),
        (7, "expected 3 fields, found 2"),
        (8, "expected 3 fields, found 4"),
        (9, "document 'a' is there twice for query 'q', first on line 2"),
        (9, "score 'nan' is not a finite number"),
    )


def test_csv_with_a_quote_that_does_not_end(con, put):
    error = refused(con, put('query_id,doc_id,score\nq,"a,1\nq,b,2\n', "a.csv"), "run")
    assert error.problems[0] == (
        2,
        "a quoted field does not end or goes on after its closing quote",
    )


def test_csv_that_is_not_text(con, put):
    error = refused(con, put(b"query_id,doc_id,score\nq,a,1\nq,\xe9,1\nq,\x00,1\n", "a.csv"), "run")
    assert error.problems == ((3, "not UTF-8"), (4, "holds a NUL byte"))


@pytest.mark.parametrize("text", ["query_id,doc_id,score\n", "query_id,doc_id,score", "\n"])
def test_csv_without_rows(con, put, text):
    assert "is empty" in str(refused(con, put(text, "a.csv"), "run", format="csv"))


@pytest.mark.core
@pytest.mark.parametrize("above", ["\n", "\r\n\r\n", ",,\n", "  \n\n", "\ufeff\n"])
def test_what_is_blank_above_a_header_is_passed_over(con, put, above):
    end = "\r\n" if "\r" in above else "\n"
    path = put(above + end.join(["query_id,doc_id,score", "q,a,2", "q,b,x"]), "a.csv")
    problem = above.count("\n") + 3
    assert refused(con, path, "run").problems == ((problem, "score 'x' is not a number"),)
    path.write_bytes(path.read_bytes().replace(b"x", b"1"))
    readers.stage(con, path, "run")
    assert rows(con) == [("q", "a", 2.0), ("q", "b", 1.0)]


@pytest.mark.core
def test_a_header_alone_below_blank_lines_is_no_row(con, put):
    assert "is empty" in str(refused(con, put("\n\nquery_id,doc_id\n", "a.csv"), "training"))
    assert "is empty" in str(refused(con, put("   \n\n", "a.csv"), "training"))


@pytest.mark.core
@pytest.mark.parametrize(
    ("text", "line", "end", "first"),
    [
        ("query_id,doc_id,score\r\nq,a,1\nq,b,2\r\n", 2, "LF", "CR LF"),
        ("query_id,doc_id,score\nq,a,1\nq,b,2\r\n", 3, "CR LF", "LF"),
        ('query_id,doc_id,score\nq,"a\r\n",1\nq,b\r,2\n', 4, "CR", "LF"),
        # below a blank line the reader took the first letter of an id for the end of the line above
        ("\r\nquery_id,doc_id,score\rq1,a,1\r", 2, "CR", "CR LF"),
        ("\nquery_id,doc_id,score\r\nq1,a,1\n", 2, "CR LF", "LF"),
    ],
)
def test_lines_that_do_not_end_alike_are_refused(con, put, text, line, end, first):
    found = refused(con, put(text, "a.csv"), "run").problems
    assert found == (
        (line, f"ends with {end}, and the lines above it with {first}: end all lines alike"),
    )


@pytest.mark.core
def test_what_a_quoted_field_holds_is_no_end_of_a_line(con, put):
    readers.stage(con, put('query_id,doc_id,score\r\nq,"a\nb",1\r\n', "a.csv"), "run")
    assert rows(con) == [("q", "a\nb", 1.0)]


@pytest.mark.core
def test_a_row_has_one_problem(con, put):
    path = put("query_id,doc_id,score\nq,a,1\n   \nq,b,2\n", "a.csv")
    assert refused(con, path, "run").problems == ((3, "expected 3 fields, found 1"),)


@pytest.mark.core
def test_columns_are_renamed(con, put):
    path = put("user,item,rating,doc_id\n1,m1,4,z\n2,m2,3,z\n", "a.csv")
    columns = {"query_id": "user", "doc_id": "item", "relevance": "rating"}
    readers.stage(con, path, "qrels", columns=columns)
    assert rows(con) == [("1", "m1", 4, "0"), ("2", "m2", 3, "0")]


@pytest.mark.core
def test_columns_that_are_missing(con, put):
    path = put("viewerId,bookTitle,my stars\n1,2,3\n", "a.csv")
    message = str(refused(con, path, "qrels"))
    assert "missing columns query_id, doc_id, relevance" in message
    assert "viewerId, bookTitle, my stars" in message
    assert "{'doc_id': 'bookTitle', 'relevance': 'my stars', 'query_id': 'NAME'}" in message
    # what is named already is no column of the others
    with in_shell():
        message = str(refused(con, path, "qrels", columns={"query_id": "viewerId"}))
    assert message.endswith("--column doc_id=bookTitle --column 'relevance=my stars'")
    message = str(refused(con, path, "qrels", columns={"query_id": "viewerid"}))
    assert "there is no column 'viewerid'" in message
    assert "did you mean viewerId?" in message
    with expect_refusal("queryid … query_id"):
        readers.stage(con, path, "qrels", columns={"queryid": "viewerId"})
    with pytest.raises(UsageError, match="a run has no column 'relevance'"):
        readers.stage(con, path, "run", columns={"relevance": "rating"})


@pytest.mark.core
@pytest.mark.parametrize(
    ("header", "kind", "value"),
    [
        ("user_id,item_id,rating,timestamp", "qrels", 3.0),
        ("userId,movieId,rating,timestamp", "training", 3.0),
        ("uid,iid,est,time", "run", 3.0),
        ("userID,itemID,prediction,rating", "run", 3.0),
        ("qid,docno,label,iteration", "qrels", 3.0),
        ("qid\tdocno\tscore\tquery", "run", 3.0),
        ("query-id\tcorpus-id\tscore\tx", "qrels", 3.0),
        ("q_id,doc_id,score,x", "run", 3.0),
        ("user_id:token\titem_id:token\trating:float\ttimestamp:float", "qrels", 3.0),
        ("user_idx,item_idx,timestamp,x", "training", 1.0),
    ],
)
def test_headers_of_other_programs(con, put, header, kind, value):
    mark = "\t" if "\t" in header else ","
    readers.stage(con, put(f"{header}\n{mark.join(['u1', 'i1', '3', '9'])}\n", "a.txt"), kind)
    assert rows(con)[0][:3] == ("u1", "i1", value)


@pytest.mark.core
@pytest.mark.parametrize(
    ("header", "kind", "wanted"),
    [
        ("user_id,session_id,item,score", "run", "user_id … session_id … {'query_id': 'user_id'}"),
        ("user,asin,parent_asin,rating", "qrels", "asin … parent_asin … {'doc_id': 'asin'}"),
        ("uid,iid,label,rating", "qrels", "label … rating … {'relevance': 'label'}"),
        ("uid,iid,rank,rating", "run", "rating … {'score': 'rating'} … {'rank': 'rank'}"),
        ("query_id,item_id,score,x", "qrels", "this looks like a run … {'relevance': 'NAME'}"),
        ("query,text,score,x", "run", "missing column doc_id … {'doc_id': 'NAME'}"),
    ],
)
def test_columns_that_could_mean_two_things(con, put, header, kind, wanted):
    """They are refused with the way out, never guessed."""
    path = put(f"{header}\na,b,1,2\n", "a.csv")
    assert tells(str(refused(con, path, kind)), wanted)
    if "rank" in header:  # the way out
        readers.stage(con, path, kind, columns={"rank": "rank"})
        assert rows(con)[0] == ("a", "b", 1.0)


def test_renamed_columns_of_a_run(con, put):
    """A score of another name ranks, not the rank beside it; a header of numbers names columns, too."""
    columns = {"query_id": "0", "doc_id": "1", "score": "2"}
    result = readers.stage(con, put("0,1,2,rank\nq,a,3,1\n", "a.csv"), "run", columns=columns)
    assert (rows(con), result.ranked_by) == ([("q", "a", 3.0)], "score")
    assert "its first line holds values (0, 1, 2, rank)" in str(
        refused(con, put("0,1,2,rank\nq,a,3,1\n", "a.csv"), "run")
    )


def test_semicolons_between_the_columns_are_told_of(con, put):
    path = put("query_id;doc_id;score\nq;a;1\n", "a.csv")
    told = "semicolons stand between its columns (query_id;doc_id;score)"
    assert told in str(refused(con, path, "run"))


@pytest.mark.core
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_the_other_kind(con, put, parquet, name):
    def source(value: str) -> Path:
        if name == "a.parquet":
            return parquet(f"select 'q' as query_id, 'd' as doc_id, 1 as {value}")
        if name == "a.jsonl":
            return put(json.dumps({"query_id": "q", "doc_id": "d", value: 1}), name)
        return put(f"query_id,doc_id,{value}\nq,d,1\n", name)

    assert "this looks like qrels" in str(refused(con, source("relevance"), "run"))
    assert "use 'warehouse ingest qrels'" in str(refused(con, source("relevance"), "run"))
    assert "this looks like a run" in str(refused(con, source("score"), "qrels"))


def test_a_column_that_is_there_twice(con, put):
    path = put("query_id,doc_id,score,score\nq,d,1,2\n", "a.csv")
    assert "'score' is there twice" in str(refused(con, path, "run"))


@pytest.mark.core
def test_a_second_column_of_a_name_is_refused(con, parquet, tmp_path):
    """DuckDB calls it score_1, as a column may be called that is no second one."""
    pa = pytest.importorskip("pyarrow")
    values = [["q", "q"], ["a", "b"], [1.0, 2.0], [9.0, 0.0]]
    table = pa.table(values, names=["query_id", "doc_id", "score", "score"])
    path = tmp_path / "a.parquet"
    importlib.import_module("pyarrow.parquet").write_table(table, path)
    for source in (table, path):
        with pytest.raises(InputError, match="the column 'score' is there twice"):
            readers.stage(con, source, "run")
    other = table.rename_columns(["query_id", "doc_id", "score", "score_1"])
    for source in (
        other,
        parquet("select 'q' as query_id, 'b' as doc_id, 2.0 as score, 1 as score_1"),
    ):
        readers.stage(con, source, "run")
        assert rows(con)[-1] == ("q", "b", 2.0)


@pytest.mark.core
def test_json_lines(con, put):
    text = (
        '{"query_id": 1, "doc_id": "a", "score": 0.5, "more": [1]}\n\n'
        '{"doc_id": 2.0, "query_id": "é", "score": "1e1"}\r\n\t\r\n'
        '{"query_id": 12345678901234567890, "doc_id": "x y", "score": -3}'
    )
    for name in ("a.jsonl", "a.txt"):
        result = readers.stage(con, put(text, name), "run")
        assert (result.format, result.rows, result.ranked_by) == ("jsonl", 3, "score")
        assert rows(con) == [
            ("1", "a", 0.5),
            ("é", "2", 10.0),
            ("12345678901234567890", "x y", -3.0),
        ]


def test_json_lines_are_known_by_their_first_lines(con, put):
    """A line that is longer than the head of a file counts whole; the keys of the next one, too."""
    passage = "x" * (1 << 16)
    line = '{"query_id": "q", "doc_id": "%s", "passage": "%s", "score": %d}\n'
    readers.stage(con, put(line % ("a", passage, 1) + line % ("b", "", 2), "a.jsonl"), "run")
    assert rows(con) == [("q", "a", 1.0), ("q", "b", 2.0)]
    lines = ['{"query_id": "q", "doc_id": "a"}', '{"query_id": "q", "doc_id": "b", "rank": 1}']
    error = refused(con, put("\n".join(lines), "a.jsonl"), "run")
    assert error.problems == ((1, "the rank is missing"),)
    for text, told in (
        ("[1]\n3\nx\n", "not JSON Lines: the first line is not"),
        (" \n", "is empty"),
    ):
        assert told in str(refused(con, put(text, "a.jsonl"), "run", format="jsonl"))


@pytest.mark.core
def test_json_lines_qrels(con, put):
    text = '{"u.x": "q", "d/x": "a", "r": 1.0}\n{"u.x": "q", "d/x": "b", "r": "maybe"}\n'
    columns = {"query_id": "u.x", "doc_id": "d/x", "relevance": "r"}
    error = refused(con, put(text, "a.jsonl"), "qrels", columns=columns)
    assert error.problems == ((2, "relevance 'maybe' is not a number"),)
    for value, grade in (("true", 1), ('"Yes"', 1), ("false", 0), ("-2.5", -2.5), ('"3.5"', 3.5)):
        readers.stage(con, put(text.replace('"maybe"', value), "a.jsonl"), "qrels", columns=columns)
        assert rows(con) == [("q", "a", 1, "0"), ("q", "b", grade, "0")]
    # without an iteration in a line it is 0, as in a table without that column
    text = text.replace('"maybe"}', '-2, "iteration": 7}')
    readers.stage(con, put(text, "a.jsonl"), "qrels", columns=columns)
    assert rows(con) == [("q", "a", 1, "0"), ("q", "b", -2, "7")]


@pytest.mark.core
def test_json_lines_problems(con, put):
    good = '{"query_id": "q", "doc_id": "a", "score": 1}'
    text = "\n".join(
        [
            good,
            "",
            "{oops",
            '{"query_id": "q", "score": 1}',
            '{"query_id": [1], "doc_id": "b", "score": 1}',
            '{"query_id": "q", "doc_id": "c", "score": null}',
            '{"query_id": "q", "doc_id": "d", "score": NaN}',
            "[1, 2]",
            good,
        ]
    )
    assert refused(con, put(text, "a.jsonl"), "run").problems == (
        (3, "not JSON"),
        (4, "the document id is empty"),
        (5, "the query id is empty"),
        (6, "the score is missing"),
        (7, "score 'NaN' is not a finite number"),
        (8, "not a JSON object"),
        (9, "document 'a' is there twice for query 'q', first on line 1"),
    )


@pytest.mark.core
def test_parquet(con, parquet):
    path = parquet(
        "select 7 as query_id, 3.0::double as doc_id, 0.5::float as score, 1 as rank "
        "union all select 8, 4, 0.25, 2"
    )
    result = readers.stage(con, path, "run")
    assert (result.format, result.rows, result.ranked_by) == ("parquet", 2, "score")
    assert result.source_sha256 is not None
    assert rows(con) == [("7", "3", 0.5), ("8", "4", 0.25)]


@pytest.mark.parametrize(
    ("below", "lost"),
    [
        ("9007199254740991::double", "-9007199254740993::double"),
        ("16777215::float", "16777217::float"),
    ],
)
def test_ids_that_lost_digits_are_refused(con, parquet, below, lost):
    """Ids beside missing values become real numbers in pandas, and large ones each other."""
    sql = "select 1 as query_id, {} as doc_id, 0.5 as score"
    readers.stage(con, parquet(sql.format(below)), "run")
    assert rows(con) == [("1", below.split(":")[0], 0.5)]
    # decimal numbers have all their digits
    exact = "123456789012345678901"
    readers.stage(con, parquet(sql.format(f"{exact}::decimal(38, 0)")), "run")
    assert rows(con) == [("1", exact, 0.5)]
    error = refused(con, parquet(sql.format("'nan'::double")), "run")
    assert error.problems == ((None, "row 1: the document id is empty"),)
    told = str(refused(con, parquet(f"{sql.format(below)} union all {sql.format(lost)}"), "run"))
    assert "the column 'doc_id' holds ids as real numbers" in told
    assert "where several ids become one: read them as text or as integers" in told
    columns = {"query_id": "doc_id", "doc_id": "query_id"}
    assert "the column 'doc_id'" in str(
        refused(con, parquet(sql.format(lost)), "run", columns=columns)
    )


@pytest.mark.sample(3)
@pytest.mark.core
@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ("1.0::double", 1),
        ("2::tinyint", 2),
        ("3.0::decimal(4, 1)", 3),
        ("true", 1),
        ("'-4'", -4),
        ("1.7::double", 1.7),
        ("1.5::decimal(4, 1)", 1.5),
        ("'1.0'", 1),
        ("'1.5'", 1.5),
        ("'True'", 1),
        ("3000000000::bigint", 3_000_000_000),
        ("null::integer", "the relevance is missing"),
        ("'nan'::double", "relevance 'nan' is not a finite number"),
    ],
)
def test_typed_grades(con, parquet, value, outcome):
    path = parquet(f"select 'q' as query_id, 'd' as doc_id, {value} as relevance")
    if not isinstance(outcome, str):
        readers.stage(con, path, "qrels")
        assert rows(con) == [("q", "d", outcome, "0")]
    else:
        assert refused(con, path, "qrels").problems == ((None, f"row 1: {outcome}"),)


@pytest.mark.core
def test_parquet_problems_name_the_row(con, parquet):
    path = parquet(
        "from (values ('q', 'a', 1.5::double), ('q', 'b', 'inf'), ('q', null, 2), "
        "('q', 'a', null)) as t(query_id, doc_id, score)"
    )
    assert refused(con, path, "run").problems == (
        (None, "row 2: score 'inf' is not a finite number"),
        (None, "row 3: the document id is empty"),
        (None, "row 4: document 'a' is there twice for query 'q', first in row 1"),
        (None, "row 4: the score is missing"),
    )


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_a_damaged_page_of_parquet_is_found(con, tmp_path, version, compression, dictionary):
    """DuckDB reads another id; the file has checksums, as Spark writes them."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table(
        {"query_id": ["q"] * 300, "doc_id": [f"d{n}" for n in range(300)], "score": [0.5] * 300}
    )
    path = tmp_path / "a.parquet"
    pq.write_table(
        table, path, write_page_checksum=True, compression=compression, use_dictionary=dictionary,
        data_page_version=version, row_group_size=100, data_page_size=200,
    )  # fmt: skip
    assert readers.stage(con, path, "run").rows == 300
    content = path.read_bytes()
    chunk = pq.ParquetFile(path).metadata.row_group(1).column(1)
    place = chunk.data_page_offset + chunk.total_compressed_size - 60  # in the last page's values
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    told = "is damaged: the checksum of a page does not fit its bytes"
    assert told in str(refused(con, path, "run"))
    with pytest.raises(InputError, match=told):
        stage_attributes(con, path, "document")


def test_parquet_that_is_none(con, put):
    assert "cannot be read" in str(refused(con, put(b"PAR1 and nothing else", "a"), "run"))
    assert "cannot be read" in str(refused(con, put(b"some text", "a.parquet"), "run"))


@pytest.mark.core
def test_ranx(con, put):
    text = '{"q2": {"b": 1, "a": 2.5}, "q1": {"": 3, "é\\n": -1e-2}, "none": {}}'
    error = refused(con, put(text, "a.json"), "run")
    assert error.problems == ((None, "query 'q1': the document id is empty"),)
    text = text.replace('""', '"c.d"')
    for name in ("a.json", "b.txt"):
        result = readers.stage(con, put(text, name), "run")
        assert (result.format, result.rows, result.ranked_by) == ("ranx", 4, "score")
        assert rows(con) == [
            ("q2", "b", 1.0),
            ("q2", "a", 2.5),
            ("q1", "c.d", 3.0),
            ("q1", "é\n", -0.01),
        ]
    readers.stage(con, put('{"q": {"a": 1.0, "b": -2}}', "a.json"), "qrels", format="json")
    assert rows(con) == [("q", "a", 1, "0"), ("q", "b", -2, "0")]


@pytest.mark.core
def test_ranx_problems(con, put):
    text = '{"q": {"a": 1, "b": NaN, "a": 2, "c": {"x": 1}, "d": "x"}, "r": 3, "s": [1]}'
    assert refused(con, put(text, "a.json"), "run", format="ranx").problems == (
        (None, "query 'q', document 'b': score 'NaN' is not a finite number"),
        (None, "document 'a' is there twice for query 'q'"),
        (None, "query 'q', document 'c': score '{\"x\":1}' is not a number"),
        (None, "query 'q', document 'd': score 'x' is not a number"),
        (None, "query 'r': not an object of documents"),
        (None, "query 's': a list, where each document has its score beside it: {\"d1\": 2.5}"),
    )


def test_lists_by_query_are_no_lines(con, put):
    told = "a list, where each document has its score beside it"
    assert told in str(refused(con, put('{"5": ["a", "b"],\n "6": ["c"]}', "a.json"), "run"))
    lines = "".join(
        f'{{"note": [1], "query_id": "q", "doc_id": "{doc}", "score": 1}}\n' for doc in "ab"
    )
    assert readers.stage(con, put(lines, "b.json"), "run").format == "jsonl"


@pytest.mark.parametrize("text", ["{", '{"q": {"a": 1}', "[1]", "3", '"x"'])
def test_not_ranx(con, put, text):
    assert "not a JSON object" in str(refused(con, put(text, "a.json"), "run", format="ranx"))


@pytest.mark.parametrize("large", [1, 1 << 25])
def test_ranx_with_a_byte_order_mark(con, put, monkeypatch, large):
    """As of every other text: Python's json too reads it with the encoding utf-8-sig."""
    monkeypatch.setattr(ranx, "_LARGE", large)
    readers.stage(con, put('\ufeff{"q": {"a": 1.5}}', "a.json"), "run")
    assert rows(con) == [("q", "a", 1.5)]


@pytest.mark.parametrize("large", [False, True])
def test_a_query_named_twice_in_ranx_is_refused(con, put, monkeypatch, large):
    monkeypatch.setattr(ranx, "_LARGE", 0 if large else 1 << 30)
    path = put('{"q": {"a": 1}, "r": {"a": 1}, "q": {"b": 2}}', "a")
    assert refused(con, path, "run").problems == ((None, "query 'q' is there twice"),)


@pytest.mark.core
def test_a_key_twice_is_refused_in_every_object(con, put):
    first = '{"query_id": "q", "doc_id": "a", "relevance": 1}\n'
    for key, second in (
        ("doc_id", '{"query_id": "q", "doc_id": "b", "doc_id": "c", "relevance": 1}'),
        ("relevance", '{"query_id": "q", "relevance": 0, "doc_id": "b", "relevance": 1}'),
        ("other", '{"other": 1, "query_id": "q", "doc_id": "b", "relevance": 1, "other": 1}'),
    ):
        error = refused(con, put(first + second, "a.jsonl"), "qrels")
        assert error.problems == ((2, f"the key '{key}' is there twice"),)
    for text, problem in (
        ('{"doc_id": "a", "x": 1}\n{"doc_id": "b", "x": 1, "x": 2}\n', (2, "x")),
        ('[{"doc_id": "b", "x": 1, "x": 2}]', (None, "x")),
    ):
        with pytest.raises(InputError) as caught:
            stage_attributes(con, put(text, "a.jsonl"), "document")
        assert caught.value.problems == ((problem[0], "the key 'x' is there twice"),)


@pytest.mark.core
def test_what_is_nested_deeply_is_refused(con, put):
    """Python's reader had a traceback, and Arrow ended the process."""
    deep = "[" * 100_000 + "]" * 100_000
    line = '{"query_id": "q", "doc_id": "a", "score": 1, "x": X}\n'
    error = refused(con, put(line.replace("X", deep), "a.jsonl"), "run")
    assert error.problems[0][0] == 1
    assert "is nested too deeply" in error.problems[0][1]
    assert "is not a number" in str(
        refused(con, put('{"q": {"a": X}}'.replace("X", deep), "a.json"), "run")
    )
    for name, text in (("a.jsonl", '{"doc_id": "a", "x": X}'), ("a.json", '{"a": {"x": X}}')):
        for brackets in (deep, deep[99_000:-99_000]):
            with pytest.raises(InputError, match="is nested too deeply"):
                stage_attributes(con, put(text.replace("X", brackets), name), "document")
    nested: object = 1
    for _ in range(5_000):
        nested = [nested]
    circle: dict[str, object] = {}
    circle["q"] = {"a": circle}
    for value in ({"q": {"a": nested}}, circle):
        with pytest.raises(InputError, match=r"nested too deeply|Circular|is not a number"):
            readers.stage(con, value, "qrels")


@needs_cases
def test_shared_ratings_are_decimal(con):
    path = CASES / "ml_latest_small" / "test.csv.gz"
    columns = {"query_id": "userId", "doc_id": "movieId", "relevance": "rating"}
    readers.stage(con, path, "qrels", columns=columns)
    # ratings with a half, counted with awk
    assert con.sql("from staged where relevance <> trunc(relevance)").count("*").fetchall() == [
        (6_710,)
    ]
    columns = {"query_id": "userId", "doc_id": "movieId", "score": "rating"}
    assert readers.stage(con, path, "run", columns=columns).rows == 20_417


@pytest.mark.parametrize("length", [3_000_000, 40_000_000])
def test_a_line_too_long_for_the_csv_reader_is_refused(con, put, length):
    """One that is longer than its buffers it would leave out."""
    lines = ["query_id\tdoc_id\tscore", "q\ta\t3", f"q\t{'d' * length}\t2", "q\tc\t1"]
    with pytest.raises(InputError, match=r"1 line too long for a table") as caught:
        readers.stage(con, put("\n".join(lines), "a.tsv"), "run")
    assert caught.value.problems == ((3, "longer than 2 MiB"),)


@pytest.mark.slow
def test_carriage_returns_end_lines_too(con, put):
    """More than a line may have in all, without one newline."""
    rows = [f"q{n // 1000},d{n},{n % 1000}" for n in range(250_000)]
    result = readers.stage(con, put("\r".join(["query_id,doc_id,score", *rows]), "a.csv"), "run")
    assert result.rows == 250_000


@pytest.mark.parametrize("ranks", [(0.5, 0.9), (-2, -1)])
def test_ranks_that_are_no_places(con, put, ranks):
    """They may be scores: b is the last by rank, and the first by score."""
    path = put("query_id,doc_id,place\nq,a,{}\nq,b,{}\n".format(*ranks), "a.csv")
    told = str(refused(con, path, "run", columns={"rank": "place"}))
    assert "not whole numbers from 1 up in 1 query" in told
    assert "columns={'score': 'place'}" in told


def test_ranks_with_gaps_are_refused_with_a_way_out(con, put):
    path = put("query_id,doc_id,rank\nq,a,5\nq,b,9\n", "a.csv")
    assert "columns={'score': 'rank'} and lower_is_better=True" in str(refused(con, path, "run"))
    result = readers.stage(con, path, "run", columns={"score": "rank"})
    assert (result.rows, result.ranked_by, len(result.warnings)) == (2, "score", 1)
