"""The output formats: what each promises, and one result in each, in a file for people to read."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
import os
import random
import time
from pathlib import Path

import duckdb
import pytest
from refusals import expect_refusal
from tabulate import tabulate

from warehouse.errors import UsageError
from warehouse.metrics.notation import lines, request
from warehouse.metrics.protocols import get
from warehouse.report import formats, trec
from warehouse.warehouse import Warehouse

FOR_REVIEW = Path(__file__).parent / "for_review" / "output"
EXTENSIONS = {
    "table": "txt",
    "csv": "csv",
    "tsv": "tsv",
    "json": "json",
    "jsonl": "jsonl",
    "markdown": "md",
    "latex": "tex",
}

BOARD = """
select * from (values
    (1, 'bm25', 'BM25', 1.0 / 3.0e0, 0.1e0 + 0.2e0, 43, 43),
    (2, 'rr_50%_&_more', null, 0.25e0, null, 12345, 43),
    (3, 'dash-bar', 'ünï 猫', 1e-7, -0.5e0, 0, 43)
) as t (place, run, system, "nDCG@10", "AP(rel=2)", answered, judged)
"""

KINDS = """
select
    true as yes,
    null::integer as nothing,
    'a "b", c' as quoted,
    timestamptz '2026-09-01 12:30:45.5+02:00' as moment,
    date '2026-09-01' as day,
    map {'stage': 'first', 'k1': '0.9'} as tags,
    [1, 2] as list,
    {'a': 1, 'b': 'x'} as record,
    1234567890123::bigint as big,
    0.1::float as single
"""


@pytest.fixture
def con() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    made.execute("set TimeZone = 'UTC'")
    return made


def check_for_review(name: str, text: str) -> None:
    """Hold a text against its file."""
    path = FOR_REVIEW / name
    if os.environ.get("WRITE_FOR_REVIEW"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("format", EXTENSIONS)
def test_a_board_in_each_format(con: duckdb.DuckDBPyConnection, format: str) -> None:
    text = formats.text(con.sql(BOARD), format, titles={"place": "#"})
    check_for_review(f"board.{EXTENSIONS[format]}", text)


@pytest.mark.parametrize("format", ["csv", "json", "jsonl", "table"])
def test_every_kind_of_value(con: duckdb.DuckDBPyConnection, format: str) -> None:
    check_for_review(f"kinds.{EXTENSIONS[format]}", formats.text(con.sql(KINDS), format))


def test_plain_tables_are_as_tabulate_makes_them() -> None:
    """Cells of every kind and width, in columns of one kind and of several, and tables without rows."""
    chance = random.Random(1)
    words = [
        "a",
        "",
        "ab c",
        "é",
        "漢字",
        " x  y ",
        "e\u0301",
        "\u200b",
        "😀",
        "1.5",
        "-3",
        "wide text",
    ]
    kinds = [
        lambda: chance.random() * 10 ** chance.randrange(6),
        lambda: chance.choice([-1.5, math.nan, math.inf, None, True, 3]),
        lambda: chance.randrange(2000),
        lambda: chance.choice(words) + chance.choice(words),
    ]
    for _ in range(500):
        columns = [chance.choice(kinds) for _ in range(chance.randrange(1, 5))]
        heads = [chance.choice(words) + chance.choice(["h", "AP ↑"]) for _ in columns]
        rows = [[kind() for kind in columns] for _ in range(chance.randrange(5))]
        numeric = [chance.random() < 0.5 for _ in columns]
        text = tabulate(
            [[formats.cell(value, 4) for value in row] for row in rows],
            headers=heads, tablefmt="simple", disable_numparse=True,
            colalign=["right" if one else "left" for one in numeric] if rows else None,
        )  # fmt: skip
        expected = [line.rstrip() for line in text.splitlines()]
        found = formats.table(heads, rows, numeric, "table").splitlines()
        assert len(found) == 2 + len(rows)  # tabulate leaves out a last line that is empty
        assert found[: len(expected)] == expected
        assert not any(found[len(expected) :])


def test_the_layout_of_trec_eval() -> None:
    """The lines of trec_eval: name padded to 22, a tab, the query, a tab, %6.4f; counts whole."""
    asked = request("official", "ndcg_cut_10", "P(rel=2)@5")
    names = [str(one.metric) for one in asked]
    rows: list[tuple[str, str, float | None]] = []
    for query in ("q1", "q2", "all"):
        for number, name in enumerate(dict.fromkeys(names)):
            count = name.startswith("Num")
            rows.append((query, name, float(number) if count else number / 7))
    text = trec.text(rows, asked, get("default").defaults(), runid="my-run")
    check_for_review("official.trec.txt", text)
    lines = text.splitlines()
    assert all(len(line.split("\t")[0]) >= 22 for line in lines)
    assert f"{'runid':<22}\tall\tmy-run" in lines
    assert f"{'num_q':<22}\tall\t0" in lines
    # num_q is a total: trec_eval has no line of it for a query
    assert not [line for line in lines if line.startswith("num_q ") and "\tall\t" not in line]
    assert "P(rel=2)@5            \tq1\t" in text


def test_a_query_may_be_called_all() -> None:
    """Its lines are there, before those over all queries, which are the last."""
    defaults = get("default").defaults()
    asked = lines("AP", "num_q", "relstring", defaults=defaults)
    strings = {("relstring", "all"): "1", ("relstring", "q2"): "-1"}
    rows = [("all", "AP", 1.0), ("all", "NumQ", 1.0), ("q2", "AP", 0.5), ("q2", "NumQ", 1.0)]
    rows += [("all", "AP", 0.75), ("all", "NumQ", 2.0)]
    text = trec.text(rows, asked, defaults, strings=strings)
    cells = [[cell.strip() for cell in line.split("\t")] for line in text.splitlines()]
    assert cells == [
        ["map", "all", "1.0000"],
        ["relstring", "all", "'1'"],
        ["map", "q2", "0.5000"],
        ["relstring", "q2", "'-1'"],
        ["map", "all", "0.7500"],
        ["num_q", "all", "2"],
    ]


def test_full_precision_for_programs_and_rounding_for_people(
    con: duckdb.DuckDBPyConnection,
) -> None:
    values = [
        0.1 + 0.2,
        1 / 3,
        5e-324,
        1.7976931348623157e308,
        123456789.123456789,
        1e16,
        0.0,
        -0.0,
    ]
    listed = ", ".join(f"'{value!r}'::double" for value in values)
    relation = con.sql(f"select unnest([{listed}]) as x")
    as_csv = formats.text(relation, "csv").splitlines()[1:]
    assert as_csv == [repr(value) for value in values]
    assert [row["x"] for row in json.loads(formats.text(relation, "json"))] == values
    lines = formats.text(relation, "jsonl").splitlines()
    assert [repr(json.loads(line)["x"]) for line in lines] == [repr(value) for value in values]
    for format in ("table", "markdown", "latex"):
        assert "0.3000" in formats.text(relation, format)
        assert "0.30000000000000004" not in formats.text(relation, format)
        assert "0.30000000000000004" in formats.text(relation, format, digits=17)
    assert "0.3\n" not in formats.text(relation, "table", digits=0)


def test_json_is_json_even_for_what_it_has_no_word_for(con: duckdb.DuckDBPyConnection) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    relation = con.sql("select 'nan'::double as a, 'inf'::double as b, '-inf'::double as c")
    for text in (formats.text(relation, "json"), f"[{formats.text(relation, 'jsonl')}]"):
        ((row),) = json.loads(text, parse_constant=refuse)
        assert set(row) == {"a", "b", "c"}


def test_csv_leaves_empty_what_is_no_number(con: duckdb.DuckDBPyConnection) -> None:
    relation = con.sql(
        "select 'nan'::double as a, '-inf'::double as b, true as c, 0.5::double as d, "
        "'inf'::float as e"
    )
    assert formats.text(relation, "csv") == "a,b,c,d,e\n,-inf,true,0.5,inf\n"


# Expressions with what they are in CSV: texts in JSON, and what is the same there.
TEXTS = {
    "date '-infinity'": "-infinity",
    "timestamp 'infinity'": "infinity",
    "timestamptz '-infinity'": "-infinity",
    "date '9999-12-31'": "9999-12-31",
    "timestamp '9999-12-31 23:59:59.999999'": "9999-12-31T23:59:59.999999",
    "interval '1 month 2 days'": "1 month 2 days",
    "timestamp_ns '2026-09-01 00:00:00.123456789'": "2026-09-01 00:00:00.123456789",
    "'\\x00a'::blob": "\\x00a",
    "union_value(a := interval '1 month')": "1 month",
    "row(1, interval '1 month')": "(1, 1 month)",
}
VALUES = {
    "12345678901234567890.123456789::decimal(38,9)": "12345678901234567890.123456789",
    "2::decimal(9,2)": "2.00",
    "0.0000000001::decimal(20,10)": "0.0000000001",
    "1267650600228229401496703205376::hugeint": "1267650600228229401496703205376",
    "[interval '1 month', null]": '["1 month", null]',
    "[[1.10, 2.25]]": "[[1.10, 2.25]]",
    "{'a b': interval '1 month', 'c': 'inf'::double}": '{"a b": "1 month", "c": null}',
    "map {date 'infinity': 1.5}": '{"infinity": 1.5}',
    "[interval '1 month']::interval[1]": '["1 month"]',
}


@pytest.mark.parametrize("expression", [*TEXTS, *VALUES])
def test_a_value_stays_what_it_is(con: duckdb.DuckDBPyConnection, expression: str) -> None:
    relation = con.sql(f"select {expression} as x, {expression} as x, 1 as i")
    wanted = TEXTS.get(expression) or VALUES[expression]
    for format, delimiter in (("csv", ","), ("tsv", "\t")):
        text = io.StringIO(formats.text(relation, format), newline="")
        rows = list(csv.reader(text, delimiter=delimiter))
        assert rows == [["x", "x", "i"], [wanted, wanted, "1"]]
    in_json = json.dumps(wanted) if expression in TEXTS else wanted
    line = f'{{"x": {in_json}, "x_1": {in_json}, "i": 1}}'
    assert formats.text(relation, "jsonl") == f"{line}\n"
    assert formats.text(relation, "json") == f"[\n  {line}\n]\n"


def test_it_does_in_the_answer_to_anybodys_question(tmp_path: Path) -> None:
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.init()
    known = {**TEXTS, **VALUES}
    asked = [f"{expression} as x" for expression in known]
    pieces: list[str] = []
    sql = f"select {', '.join(asked)} from range(3) where range = $i"
    wh.stream(sql, {"i": 1}, write=pieces.append)
    rows = list(csv.reader(io.StringIO("".join(pieces), newline="")))
    assert rows == [["x"] * len(known), list(known.values())]


@pytest.mark.parametrize("character", list("_%&#${}"))
def test_latex_escapes_what_means_something(con: duckdb.DuckDBPyConnection, character: str) -> None:
    text = formats.text(con.sql(f"select 'a{character}b' as \"x{character}y\""), "latex")
    assert f"a\\{character}b" in text
    assert f"x\\{character}y" in text


def test_latex_escapes_backslash_tilde_and_caret(con: duckdb.DuckDBPyConnection) -> None:
    text = formats.text(con.sql(r"select 'a\b' as x, 'c~d' as y, 'e^f' as z"), "latex")
    body = text.split("\\midrule")[1]
    assert "a\\b " not in body
    assert "c~d" not in body
    assert "e^f" not in body


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        # after \\midrule and the break of a row, [ and * begin their own arguments
        ("[x]", "{}[x]"),
        ("*x*", "{}*x*"),
        # en and em dash, closing and opening quotes, ¡ and ¿
        ("a--b---c", "a-{}-b-{}-{}-c"),
        ("''``,,?`!`", "'{}'`{}`,{},?{}`!{}`"),
        # what metrics and protocols have, and LaTeX's UTF-8 has not
        ("≠ \u03b1", r"$\neq$ $\alpha$"),
        # an em dash in LaTeX's first encoding
        ("a|b", r"a\textbar{}b"),
    ],
)
def test_latex_keeps_each_sign(cell: str, written: str) -> None:
    text = formats.table([cell, "x"], [[cell, "y"]], [False, False], "latex")
    rows = [line.split("&")[0].strip() for line in text.splitlines() if "&" in line]
    assert rows == [written, written]


def test_a_list_in_a_table_is_written_as_elsewhere(con: duckdb.DuckDBPyConnection) -> None:
    """As in CSV and JSON, and as a list within a record: nothing of Python's."""
    lists = con.sql(
        "select [date '2026-01-01'] as l, [1.50::decimal(4, 2), null] as d, [true, null] as t, "
        "['a'] as s"
    )
    assert formats.text(lists, "table").splitlines()[2].split("  ") == [
        '["2026-01-01"]', "[1.50, null]", "[true, null]", '["a"]',
    ]  # fmt: skip


def test_times_are_utc_for_people_and_exact_for_programs(con: duckdb.DuckDBPyConnection) -> None:
    relation = con.sql("select timestamptz '2026-09-01 12:30:45.123456+02:00' as at")
    assert "2026-09-01 10:30" in formats.text(relation, "table")
    (row,) = json.loads(formats.text(relation, "json"))
    expected = dt.datetime(2026, 9, 1, 10, 30, 45, 123456, tzinfo=dt.UTC)
    assert dt.datetime.fromisoformat(row["at"]) == expected
    assert dt.datetime.fromisoformat(formats.text(relation, "csv").splitlines()[1]) == expected


def test_a_time_without_a_zone_is_what_it_says(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        relation = con.sql("select timestamp '2026-01-01 00:00:00' as at")
        for format in ("table", "csv"):
            assert "2026-01-01 00:00" in formats.text(relation, format).replace("T", " ")
    finally:
        monkeypatch.undo()
        time.tzset()


MARKUP = [
    "<script>alert(1)</script>",
    "a&lt;b &#60; c",
    "*a* **b**",
    "_a_ __b__ a_b_c _c",
    "`code`",
    "~~gone~~",
    "[text](https://example.org)",
    "![text][image]",
    r"back\slash \* \| \\ end\\",
    "a|b",
    "$x^2$ and $$y$$",
]


@pytest.mark.parametrize("text", MARKUP)
def test_markup_in_a_cell_of_markdown_is_text(text: str) -> None:
    """Read again by a reader of GitHub's Markdown it is the text that it was."""
    markdown = pytest.importorskip("markdown_it")
    written = formats.table([text], [[text]], [False], "markdown")
    read = markdown.MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(written)
    cells = [token.children for token in read if token.type == "inline"]
    assert len(cells) == 2
    for cell in cells:
        assert {token.type for token in cell} <= {"text", "text_special"}
        assert "".join(token.content for token in cell) == text


def test_unknown_formats() -> None:
    assert formats.check("csv") == "csv"
    with expect_refusal("markdwon … markdown"):
        formats.check("markdwon")
    with pytest.raises(UsageError, match="known are table, json"):
        formats.check("zzz")


def test_people_see_such_values_too(con: duckdb.DuckDBPyConnection) -> None:
    relation = con.sql(
        "select interval '1 month' as m, timestamp 'infinity' as t, date '-infinity' as d"
    )
    assert formats.text(relation, "table").splitlines()[2].split() == [
        "1", "month", "infinity", "-infinity",
    ]  # fmt: skip


def test_a_decimal_is_a_number_in_json(con: duckdb.DuckDBPyConnection) -> None:
    # in SQL 0.5 is a DECIMAL, not a DOUBLE: whoever writes it means a number
    (row,) = json.loads(formats.text(con.sql("select 0.5 as x, sum(7) as n"), "json"))
    assert row == {"x": 0.5, "n": 7}


def test_csv_comes_back_as_it_was(con: duckdb.DuckDBPyConnection) -> None:
    odd = ['a "b"', "a,b", "two\nlines", " blanks ", "ünï 猫", "tab\there", "'"]
    con.execute("create table odd (i integer, x varchar)")
    con.executemany("insert into odd values (?, ?)", list(enumerate(odd)))
    for format, delimiter in (("csv", ","), ("tsv", "\t")):
        text = formats.text(con.sql("from odd order by i"), format)
        found = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
        assert found == [["i", "x"], *([str(i), x] for i, x in enumerate(odd))]


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "html"])
def test_a_sign_of_private_use_in_a_name(format: str) -> None:
    """Fonts of symbols have their signs there."""
    name = "a\ue000b\ue007"
    assert name in formats.table(["x"], [[name]], [False], format)


def test_latex_has_rules_and_one_line_per_row(con: duckdb.DuckDBPyConnection) -> None:
    text = formats.text(con.sql(BOARD), "latex")
    assert text.startswith("\\begin{tabular}")
    assert [text.count(rule) for rule in ("\\toprule", "\\midrule", "\\bottomrule")] == [1, 1, 1]
    assert text.count("\\\\\n") == 4
    assert text.endswith("\\end{tabular}\n")


def test_markdown_keeps_its_columns_when_a_value_has_a_pipe(con: duckdb.DuckDBPyConnection) -> None:
    lines = formats.text(con.sql("select 'a|b' as x, 1 as y"), "markdown").splitlines()
    assert len(lines) == 3
    assert lines[2].replace("\\|", "").count("|") == lines[0].count("|") == 3


@pytest.mark.parametrize("format", ["table", "markdown", "latex"])
def test_a_row_stays_one_line(con: duckdb.DuckDBPyConnection, format: str) -> None:
    one = formats.text(con.sql("select 'two lines' as x"), format)
    two = formats.text(con.sql("select e'two\\nlines' as x"), format)
    assert two.count("\n") == one.count("\n")


def test_an_id_that_looks_like_a_number_is_left_alone(con: duckdb.DuckDBPyConnection) -> None:
    relation = con.sql("select '007' as run, '1e5' as system, '1,5' as note")
    for format in ("table", "markdown", "latex", "csv", "tsv"):
        text = formats.text(relation, format)
        assert "007" in text
        assert "1e5" in text


def test_counts_are_whole_numbers(con: duckdb.DuckDBPyConnection) -> None:
    relation = con.sql("select 'NumRet' as metric, 43.0::double as value")
    assert "43.0000" in formats.text(relation, "table")
    relation = con.sql('select 43.0::double as "NumRet", 0.5::double as "AP"')
    assert formats.text(relation, "table", counts={"NumRet"}).splitlines()[2].split() == [
        "43",
        "0.5000",
    ]


@pytest.mark.parametrize("format", EXTENSIONS)
def test_no_rows(con: duckdb.DuckDBPyConnection, format: str) -> None:
    text = formats.text(con.sql("select 1 as a, 'x' as b where false"), format)
    if format == "jsonl":
        assert text == ""
    elif format == "json":
        assert json.loads(text) == []
    else:
        assert text.endswith("\n")
        assert "a" in text
        assert text.count("\n") == {"csv": 1, "tsv": 1, "latex": 6}.get(format, 2)


def test_no_html_gets_into_markdown() -> None:
    for text in MARKUP:
        written = formats.table([text], [[text]], [False], "markdown")
        assert "<" not in written.replace("<sup>", "")
    # GitHub and Jupyter typeset what stands between two dollar signs
    assert r"\$x^2\$" in formats.table(["x"], [["$x^2$"]], [False], "markdown")
    assert "&lt;script&gt;" in formats.table(["x"], [["<script>"]], [False], "markdown")
    assert "<script>" not in formats.table(["<script>"], [["<script>"]], [False], "html")


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "html"])
def test_control_characters_are_shown(format: str) -> None:
    text = formats.table(["tab\there"], [["red \x1b[31m\t\x00 \u202e"]], [False], format)
    assert not set(text) & set("\x1b\t\x00\u202e")
    if format == "table":
        assert text.splitlines()[0] == r"tab\there"
        assert text.splitlines()[2] == r"red \x1b[31m\t\x00 \u202e"


def test_a_bar_in_markdown(con: duckdb.DuckDBPyConnection) -> None:
    lines = formats.text(con.sql("""select 'x|y' as "a|b", 1 as c"""), "markdown").splitlines()
    assert lines[0].split() == ["|", "a\\|b", "|", "c", "|"]
    assert lines[2].split() == ["|", "x\\|y", "|", "1", "|"]


def test_parquet_keeps_types(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "it's.parquet"
    formats.write_parquet(con.sql(BOARD), path)
    back = con.sql(f"from read_parquet('{str(path).replace(chr(39), chr(39) * 2)}')")
    assert back.columns == con.sql(BOARD).columns
    assert back.types == con.sql(BOARD).types
    assert back.fetchall() == con.sql(BOARD).fetchall()
