"""TREC runs and qrels: what is taken, what is refused and with which words."""

from __future__ import annotations

import pickle
import tarfile
import zipfile

import pytest
from staging import nothing_left, refused, rows

from warehouse import readers
from warehouse.errors import InputError, UsageError
from warehouse.readers import checks, trec

RUN = "q1 Q0 d1 1 2.5 bm25\nq1 Q0 d2 2 1.5 bm25\nq2 Q0 d1 1 -3 bm25\n"
RUN_ROWS = [("q1", "d1", 2.5), ("q1", "d2", 1.5), ("q2", "d1", -3.0)]
QRELS = "q1 0 d1 2\nq1 0 d3 -1\nq2 7 d1 +1\n"
QRELS_ROWS = [("q1", "d1", 2, "0"), ("q1", "d3", -1, "0"), ("q2", "d1", 1, "7")]


@pytest.mark.core
def test_run(con, put):
    path = put(RUN)
    result = readers.stage(con, path, "run")
    assert rows(con) == RUN_ROWS
    assert con.execute("select column_name, column_type from (describe staged)").fetchall() == [
        ("query_id", "VARCHAR"),
        ("doc_id", "VARCHAR"),
        ("score", "DOUBLE"),
    ]
    assert (result.kind, result.source, result.format, result.rows) == ("run", str(path), "trec", 3)
    assert (result.ranked_by, result.tag, result.warnings) == ("score", "bm25", ())


@pytest.mark.core
def test_qrels(con, put):
    result = readers.stage(con, put(QRELS + "# d1 1\n"), "qrels")
    assert rows(con) == QRELS_ROWS
    assert con.execute("select column_name, column_type from (describe staged)").fetchall() == [
        ("query_id", "VARCHAR"),
        ("doc_id", "VARCHAR"),
        ("relevance", "DOUBLE"),
        ("iteration", "VARCHAR"),
    ]
    assert (result.kind, result.rows, result.ranked_by, result.tag) == ("qrels", 3, None, None)


@pytest.mark.sample(3)
@pytest.mark.core
@pytest.mark.parametrize(
    "text",
    [
        RUN.replace(" ", "\t"),
        RUN.replace(" ", "  "),
        RUN.replace("\n", "\r\n"),
        RUN.replace("\n", " \t\r\n"),
        RUN.replace("\n", "\n\n  \n"),
        "\ufeff" + RUN,
        "\ufeff# Q0 d1 1 bm25\n" + RUN,
        "  # by hand\n" + RUN + "#end",
        RUN + "# Q0 d1 one 2.5 bm25 by hand\n",
        RUN.removesuffix("\n"),
        RUN.replace("q1", " q1", 1),
        RUN.replace("Q0 d1", "Q0 \td1", 1),
        # white space to C, and so to trec_eval
        RUN.replace("Q0 d1", "Q0\vd1", 1),
        RUN.replace("q1", "\vq1", 1),
        RUN.replace("\n", "\f\n"),
        RUN.replace("1 2.5", "one 2.5"),
        RUN.replace("2.5", "+2.50E0"),
    ],
)
def test_spellings_of_one_run(con, put, text):
    result = readers.stage(con, put(text), "run")
    assert rows(con) == RUN_ROWS
    assert (result.tag, result.rows) == ("bm25", 3)


@pytest.mark.core
def test_ids_may_begin_with_a_hash(con, put, monkeypatch):
    """trec_eval 9.0.4 reads the query `#q1`; a comment is a line that lacks the fields of its format."""
    run, qrels = RUN.replace("q1", "#q1"), QRELS.replace("q1", "#q1")
    with monkeypatch.context() as fast:
        fast.setattr(trec, "_read_lines", lambda *_: pytest.fail("the careful way was taken"))
        result = readers.stage(con, put(run), "run")
        assert (rows(con)[0], result.warnings) == (("#q1", "d1", 2.5), ())
        readers.stage(con, put(qrels), "qrels")
        assert [row[0] for row in rows(con)] == ["#q1", "#q1", "q2"]
    for text, kind in ((run, "run"), (qrels, "qrels")):
        result = readers.stage(con, put("# made by hand\n" + text + "# end\n"), kind)
        assert [row[0] for row in rows(con)] == ["#q1", "#q1", "q2"]
        assert result.warnings == (
            "# begins 2 lines of data, which are read (line 2 first), and 2 comments: a comment is what "
            "lacks the fields of the format",
        )
    assert readers.stage(con, put(run.replace("q2 Q0", "#2 Q0")), "run").tag == "bm25"
    # the tag is that of the last line of data
    result = readers.stage(con, put("q Q0 d 1 2 first\n#q Q0 d 1 2 last\n# a b c d e\n"), "run")
    assert (result.tag, result.rows) == ("last", 2)
    # a file whose queries all begin so is known by its lines
    assert readers.stage(con, put("#q 0 d 1\n", "a.csv"), "qrels").format == "trec"
    readers.stage(con, put("# note\n#q g s d 1.5\n"), "qrels", format="prefs")
    assert rows(con) == [("#q", "g", "s", "d", 1.5)]


@pytest.mark.core
def test_more_fields_than_six(con, put):
    result = readers.stage(con, put(RUN + "q7 Q0 d9 1 3.0 my tag\nq8 Q0 d9 1 3.0 t\n"), "run")
    line = RUN.count("\n") + 1
    assert result.warnings == (
        f"1 line has more than 6 fields (line {line}): the sixth is the tag, and nothing behind it is "
        "read",
    )
    # a file without an end of line, and another after it
    text = "q1 Q0 d1 1 3.0 tq2 Q0 d3 1 2.0 t\nq2 Q0 d4 2 1.0 t x\n"
    (warning,) = readers.stage(con, put(text), "run").warnings
    assert warning.startswith("2 lines have more than 6 fields (line 1 first)")
    # a blank is one in files of tabs, too, as in trec_eval
    for text in ("q1 Q0 New York 1 9.0 t\n", "q1\tQ0\tNew York\t1\t9.0\tt\n"):
        error = refused(con, put(text + "q1 Q0 d1 2 8.0 t\n".replace(" ", text[2])), "run")
        assert "line 1: expected 6 fields" in str(error)
        assert "found 7; the fourth is no number: do ids hold blanks?" in str(error)


@pytest.mark.core
@pytest.mark.parametrize("kind", ["run", "qrels"])
def test_lines_that_do_not_end_in_a_newline_are_refused(con, put, kind):
    """A run of old Macs' lines was read as one prediction, with a long tag."""
    text = RUN if kind == "run" else QRELS
    among = "found 16, and among them an end of lines (U+0085, U+2028, U+2029) or a byte order"
    for end, words in (
        ("\r", "holds a carriage return, as lines of old Macs end: end each line with a newline"),
        ("\u2028", among),
        ("\x85", among),
    ):
        error = refused(con, put(text.replace("\n", end)), kind)
        if (
            end == "\r" or kind == "run"
        ):  # of qrels in one line the message says what they look like
            ((line, reason),) = error.problems
            assert (line, words in reason) == (1, True), reason
        # amid good lines, and where each line ends in two ways
        error = refused(con, put(text + text.replace("q", "r").replace("\n", end, 1)), kind)
        assert [line for line, _ in error.problems] == [4]
    # where it ends a line it is a blank, as for trec_eval
    assert readers.stage(con, put(text.replace("\n", "\r \r\n")), kind).rows == 3


@pytest.mark.core
@pytest.mark.parametrize("kind", ["run", "qrels"])
def test_a_byte_order_mark_amid_a_file_is_refused(con, put, kind):
    """As `cat a b` makes it; it was taken for a part of an id."""
    mark, reason = "\ufeff", "begins with a byte order mark, as where files were put together"
    names = "query_id,doc_id," + ("score" if kind == "run" else "relevance")
    value = "score" if kind == "run" else "relevance"
    for name, text in (
        ("a.txt", RUN if kind == "run" else QRELS),
        ("a.csv", f"{names}\nq,a,1\nq,b,1\n"),
        ("a.jsonl", "".join(f'{{"query_id":"q","doc_id":"{d}","{value}":1}}\n' for d in "ab")),
    ):
        first, rest = text.split("\n", 1)
        for start in ("", mark):
            error = refused(con, put(f"{start}{first}\n{mark}{rest}", name), kind)
            assert [(line, said.startswith(reason)) for line, said in error.problems] == [(2, True)]
        assert refused(con, put(mark + mark + text, name), kind).problems[0][0] == 1
    if kind == "run":  # a file without a newline at its end comes first
        assert "byte order mark" in str(refused(con, put(f"{RUN[:-1]}{mark}{RUN}"), kind))


def test_two_blanks_hold_no_empty_field(con, put):
    run, qrels = "query Q0 document rank score tag", "query iteration document relevance"
    for line in ("q1  d9 3 2 t", "q1 Q0  3 2 t", "q1 Q0 d9  2 t", "q1 Q0 d9 3  t", "q1 Q0 d9 3 2 "):
        error = refused(con, put(f"{RUN}{line}\n"), "run")
        assert error.problems == ((4, f"expected 6 fields ({run}), found 5"),)
    for line in ("q1  d9 1", "q1 0  1", "q1 0 d9 "):
        error = refused(con, put(f"{QRELS}{line}\n"), "qrels")
        assert error.problems == ((4, f"expected 4 fields ({qrels}), found 3"),)


@pytest.mark.core
@pytest.mark.parametrize(
    "odd",
    [
        "q5000 Q0  dx 1 0.5 t",
        "q5000\tQ0 dx 1 0.5 t",
        "q5000 Q0 dx 1 0.5 t  ",
        " q5000 Q0 dx 1 0.5 t\r",
    ],
)
def test_one_odd_line_in_the_middle(con, put, odd):
    lines = [f"q{n} Q0 d{n} 1 {n}.5 t" for n in range(10_000)]
    lines[5_000] = odd
    readers.stage(con, put("\n".join(lines)), "run")
    found = rows(con)
    assert len(found) == 10_000
    assert found[5_000] == ("q5000", "dx", 0.5)
    assert found[9_999] == ("q9999", "d9999", 9999.5)


@pytest.mark.core
def test_the_order_of_the_file_is_kept(con, put):
    con.execute("set preserve_insertion_order = false")
    pairs = [(f"q{n * 7919 % 1000}", f"d{n}", float(n % 13)) for n in range(300_000)]
    readers.stage(con, put("".join(f"{q} Q0 {d} 0 {s} t\n" for q, d, s in pairs)), "run")
    assert con.execute("from staged order by rowid").fetchall() == pairs
    assert con.execute("select current_setting('preserve_insertion_order')").fetchall() == [
        (False,)
    ]


@pytest.mark.core
@pytest.mark.parametrize("text", ["15", "+15.0", "015.0", "15.0E0", "1.5e+01", "15.", "150e-1"])
def test_spellings_of_a_score(con, put, text):
    readers.stage(con, put(f"q Q0 d 1 {text} t\n"), "run")
    assert rows(con) == [("q", "d", 15.0)]


@pytest.mark.parametrize(
    ("text", "value"), [(".5", 0.5), ("-3", -3.0), ("-.25e1", -2.5), ("1e-400", 0.0)]
)
def test_more_spellings_of_a_score(con, put, text, value):
    readers.stage(con, put(f"q Q0 d 1 {text} t\n"), "run")
    assert rows(con) == [("q", "d", value)]


@pytest.mark.core
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nan", "score 'nan' is not a finite number"),
        ("-Inf", "score '-Inf' is not a finite number"),
        ("infinity", "score 'infinity' is not a finite number"),
        ("1e400", "score '1e400' is not a finite number"),
        ("1_000", "score '1_000' is not a number"),
        ("0x1F", "score '0x1F' is not a number"),
        ("1,5", "score '1,5' is not a number"),
        ("e5", "score 'e5' is not a number"),
        (".", "score '.' is not a number"),
    ],
)
def test_scores_that_are_refused(con, put, text, reason):
    error = refused(con, put(RUN + f"q9 Q0 d 1 {text} t\n"), "run")
    assert error.problems == ((4, reason),)
    assert error.total == 1


@pytest.mark.core
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1_0", "relevance '1_0' is not a number"),
        ("maybe", "relevance 'maybe' is not a number"),
        ("1e999", "relevance '1e999' is not a finite number"),
        ("-inf", "relevance '-inf' is not a finite number"),
    ],
)
def test_grades_that_are_refused(con, put, text, reason):
    assert refused(con, put(QRELS + f"q9 0 d {text}\n"), "qrels").problems == ((4, reason),)


@pytest.mark.parametrize("top", ["", "# careful\n"])
def test_grades_are_any_numbers(con, put, top):
    texts = {"a": "4.5", "b": "1.0", "c": "-.5", "d": "1e2", "e": "True", "f": "2147483648"}
    text = "".join(f"q 0 {doc} {grade}\n" for doc, grade in texts.items())
    readers.stage(con, put(top + text), "qrels")
    assert [row[2] for row in rows(con)] == [4.5, 1, -0.5, 100, 1, 2147483648]


@pytest.mark.core
def test_line_numbers_count_blank_lines_and_comments(con, put):
    text = "# top\n\nq1 Q0 d1 1 x t\r\n\n# more\n\tq1 Q0 d2\nq1 Q0 d3 1 2 t\n q1  Q0 d3 2 1 t\n"
    error = refused(con, put(text), "run")
    assert error.problems == (
        (3, "score 'x' is not a number"),
        (6, "expected 6 fields (query Q0 document rank score tag), found 3"),
        (8, "document 'd3' is there twice for query 'q1', first on line 7"),
    )
    assert "3 problems" in str(error)


@pytest.mark.sample(7, 2)
@pytest.mark.core
@pytest.mark.parametrize("query", range(7))
@pytest.mark.parametrize("scattered", [False, True], ids=["list by list", "scattered"])
def test_a_document_twice_is_found_in_each_piece_of_a_long_run(
    con, put, monkeypatch, query, scattered
):
    """Each query has the same three documents, which is nothing to refuse; one has one of them twice."""
    monkeypatch.setattr(checks, "_PIECE", 5)
    monkeypatch.setattr(checks, "_PIECES", 2)
    lines = [f"q{q} Q0 d{n} {n} {9 - n} t" for q in range(7) for n in range(3)]
    assert readers.stage(con, put("\n".join(lines)), "run").rows == 21
    lines.insert(len(lines) if scattered else 3 * query + 3, f"q{query} Q0 d0 4 1 t")
    ((line, reason),) = refused(con, put("\n".join(lines)), "run").problems
    assert line == (22 if scattered else 3 * query + 4)
    assert (
        reason
        == f"document 'd0' is there twice for query 'q{query}', first on line {3 * query + 1}"
    )


@pytest.mark.core
def test_the_first_ten_and_the_count_of_the_rest(con, put):
    lines = [f"q Q0 d{n} 1 {'bad' if n % 100 == 99 else n} t" for n in range(100_000)]
    error = refused(con, put("\n".join(lines)), "run")
    assert [line for line, _ in error.problems] == [100 * n for n in range(1, 11)]
    assert error.total == 1_000
    assert str(error).endswith("… and 990 more")


@pytest.mark.core
def test_the_same_document_twice_in_qrels(con, put):
    text = "q 0 a 1\nr 0 a 1\nq 0 b 1\nq 0 a 0\nq 0 a 1\nq 0 b 1\nr 0 b 1\n"
    error = refused(con, put(text), "qrels")
    assert error.problems == (
        (4, "document 'a' is there twice for query 'q', first on line 1"),
        (5, "document 'a' is there twice for query 'q', first on line 1"),
        (6, "document 'b' is there twice for query 'q', first on line 3"),
    )
    assert error.total == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "is empty"), ("\n \n", "is empty"), ("# one\n#two", "is empty"), ("\ufeff", "is empty")],
)
def test_a_file_without_data(con, put, text, words):
    assert words in str(refused(con, put(text), "run"))
    assert words in str(refused(con, put(text), "qrels"))


@pytest.mark.core
def test_qrels_where_a_run_was_asked_for(con, put):
    message = str(refused(con, put(QRELS), "run"))
    assert "this looks like qrels (4 fields" in message
    assert "use 'warehouse ingest qrels'" in message


@pytest.mark.core
def test_a_run_where_qrels_were_asked_for(con, put):
    message = str(refused(con, put(RUN), "qrels"))
    assert "this looks like a run (6 fields" in message
    assert "use 'warehouse ingest run'" in message


def test_four_fields_that_are_neither(con, put):
    text = "q1\td1\t2\t0.9\nq1\td2\t1\t0.8\n"
    for name in ("a.tsv", "a.txt"):
        message = str(refused(con, put(text, name), "run"))
        assert "names of" in message
        assert "TREC run" in message
    assert "neither" in str(refused(con, put(text, "a.tsv"), "qrels"))


@pytest.mark.parametrize(
    ("kind", "text", "told"),
    [
        # leave-one-out, as MovieLens and NCF have it: user, item, rating, time
        (
            "qrels",
            "1\t25\t5\t978824351\n2\t133\t3\t978300174\n",
            "fourth column holds times (978300",
        ),
        (
            "qrels",
            "user item stars time\n1 25 5 978824351\n",
            "fourth column holds times (978824351)",
        ),
        ("training", "1 25 5 978824351000\n", "fourth column holds times (978824351000)"),
        # the ids of the first seven documents, by query
        (
            "run",
            "618 271 43 539 332 7 9\n271 43 9 1 2 3 8\n",
            "numbers, 7 in the first, and no TREC",
        ),
        ("qrels", "2,5 3:0.5 9:1\n", "sparse matrix"),
        ("qrels", "1 5:1\n", "sparse matrix"),
    ],
)
def test_what_no_trec_file_holds_is_not_taken_for_one(con, put, kind, text, told):
    assert told in str(refused(con, put(text), kind))


def test_times_and_numbers_are_read_where_trec_is_asked_for(con, put):
    readers.stage(con, put("1 25 5 978824351\n"), "qrels", format="trec")
    assert con.execute("select doc_id, relevance from staged").fetchall() == [("5", 978824351)]
    readers.stage(con, put("1 0 43 1 332 7 9\n"), "run", format="trec")
    readers.stage(con, put("q:1 0 3:4 1\n"), "qrels")


def test_types_behind_the_names_of_columns_make_a_header(con, put):
    """RecBole's columns have types; those that are known are found with them."""
    text = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n1\t25\t5\t978824351\n"
    assert readers.stage(con, put(text, "ml.inter"), "qrels").format == "tsv"
    rows = con.execute("select query_id, doc_id, relevance from staged").fetchall()
    assert rows == [("1", "25", 5)]
    other = text.replace("user_id", "who")
    error = refused(con, put(other, "ml.inter"), "qrels")
    assert "missing column query_id; the source has: who:token" in str(error)
    names = {"query_id": "who:token"}
    assert readers.stage(con, put(other, "ml.inter"), "qrels", columns=names).format == "tsv"


@pytest.mark.core
@pytest.mark.parametrize(
    "content", [b"q Q0 caf\xe9 1 2 t\n", b"q Q0 a 1 2 t\nq Q0 b\x00 2 1 t\n", RUN.encode("utf-16")]
)
def test_not_text(con, put, content):
    error = refused(con, put(content), "run")
    if content.startswith(b"q Q0 caf"):
        assert error.problems == ((1, "not UTF-8"),)
    elif b"b\x00 2" in content:
        assert error.problems == ((2, "holds a NUL byte"),)
    else:
        assert "UTF-16" in str(error)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("runs.zip", "is a zip archive, which is not read: unpack it"),
        ("runs.xlsx", "is a workbook of Excel's, which is not read: save it as CSV"),
        ("runs.tar", "is a tar archive, which is not read: unpack it: tar -xf"),
        ("runs.tar.gz", "is a tar archive, which is not read: unpack it: tar -xf"),
        ("runs.pkl", "is a pickle of Python's, which is not read: save it as Parquet"),
    ],
)
def test_an_archive_is_named(con, tmp_path, name, told):
    inside = tmp_path / "one.run"
    inside.write_text(RUN)
    path = tmp_path / name
    if name.endswith(("zip", "xlsx")):
        with zipfile.ZipFile(path, "w") as packed:
            packed.write(inside)
    elif name.endswith("pkl"):
        path.write_bytes(pickle.dumps({"q": {"a": 1.0}}))
    else:
        with tarfile.open(path, "w:gz" if name.endswith("gz") else "w") as packed:
            packed.add(inside, "one.run")
    for kind in ("run", "qrels"):
        assert f"{path}: {told}" in str(refused(con, path, kind))


def test_lines_that_are_no_text_are_counted_with_the_others(con, put):
    lines = [f"q Q0 d{n} 1 {n} t".encode() for n in range(3_000)]
    for n in range(0, 3_000, 2):
        lines[n] += b"\xff\xfe"
    lines[1] = b"q Q0 d1 1 x t"
    error = refused(con, put(b"\n".join(lines)), "run")
    assert error.total == 1_501
    assert [line for line, _ in error.problems] == [1, 2, 3, 5, 7, 9, 11, 13, 15, 17]
    assert error.problems[1] == (2, "score 'x' is not a number")


@pytest.mark.sample(3)
@pytest.mark.core
@pytest.mark.parametrize(
    "name",
    [
        'a"b',
        "a;b",
        "x';drop/**/table/**/run;--",
        "日本語",
        "é\u00a0x",
        "NULL",
        "d#1",
        "\\N",
        "a,b",
        "{",
        '{"',
        "'",
        "\U0001f600",
    ],
)
def test_ids_come_back_as_they_are(con, put, name):
    readers.stage(con, put(f"{name} Q0 {name} 1 2 t\nq Q0 {name} 1 2 t\n"), "run")
    assert rows(con) == [(name, name, 2.0), ("q", name, 2.0)]
    readers.stage(con, put(f"{name} 0  {name} 1\n"), "qrels")
    assert rows(con) == [(name, name, 1, "0")]


@pytest.mark.parametrize("length", [1_000, 3_000_000, 17_000_000])
def test_very_long_ids(con, put, length):
    """Lines longer than two buffers of the CSV reader are left out by it without a word."""
    long = "d" * length
    readers.stage(con, put(f"q Q0 {long} 1 2 t\nq Q0 e 2 1 t\n"), "run")
    assert con.execute("select length(doc_id), score from staged").fetchall() == [
        (length, 2),
        (1, 1),
    ]


@pytest.mark.parametrize(
    "name", ["a[1].run", "a*b.run", "with blank.run", "it's.run", "a{b}.csv", "ü.gz"]
)
def test_names_of_files(con, put, name):
    assert readers.stage(con, put(RUN, name), "run").rows == 3


def test_tag_is_the_last_lines(con, put):
    text = RUN + "q3 Q0 d1 1 2 last\n\n# end\n"
    assert readers.stage(con, put(text), "run").tag == "last"
    assert readers.stage(con, put(text.replace(" ", "  ")), "run").tag == "last"


def test_within_a_transaction(con, put):
    con.execute("begin")
    readers.stage(con, put(RUN.replace("d2", " d2")), "run")
    readers.stage(con, put(RUN), "run")
    assert rows(con) == RUN_ROWS
    with pytest.raises(InputError):
        readers.stage(con, put(RUN + "q"), "run")
    con.execute("create table still_alive as select 1")
    con.execute("commit")
    assert nothing_left(con)


def test_a_refusal_removes_the_table_of_before(con, put):
    readers.stage(con, put(RUN), "run")
    refused(con, put("q\n"), "run")


def test_unknown_kind(con, put):
    with pytest.raises(UsageError, match="qrels"):
        readers.stage(con, put(RUN), "qrel")  # type: ignore[arg-type]


def test_no_columns_for_trec(con, put):
    with pytest.raises(UsageError, match="not for trec"):
        readers.stage(con, put(RUN), "run", format="trec", columns={"query_id": "q"})


def test_clean_files_take_the_fast_way(con, put, monkeypatch):
    monkeypatch.setattr(trec, "_read_lines", lambda *_: pytest.fail("the careful way was taken"))
    for text in (RUN, RUN.replace(" ", "\t"), RUN.replace("\n", "\r\n"), RUN.replace("d1", "d#1")):
        readers.stage(con, put(text), "run")
    readers.stage(con, put(QRELS), "qrels")
