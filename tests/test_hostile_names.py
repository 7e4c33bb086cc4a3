"""A hundred hostile names in every format of output: they are data, whatever reads it."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import pytest

from warehouse.analyze.history import Timeline
from warehouse.cli import output
from warehouse.cli.commands import sync
from warehouse.errors import InputError, UsageError, listing, visible
from warehouse.metrics import notation
from warehouse.report import charts, formats, pictures, trec
from warehouse.report.result import Result
from warehouse.store import database
from warehouse.sync.events import Event, Synced

NAMES = [
    # of terminals
    "\x1b[31mred", "\x1b]0;title\x07", "\x1b[2J", "\x9b31m", "\x08\x08back", "a\rb", "\r", "\x00",
    "nul\x00in", "\x01", "\x07bell", "\x0b", "\x0c", "\x1a", "\x7f", "\x85", "\x1c\x1d\x1e",
    # of lines
    "a\nb", "a\r\nb", "\n", "\nwarehouse: all is good", "\u2028", "a\u2029b", "a\tb", "\t",
    # of the direction of text, and what is not seen
    "\u202egnp.exe", "\u2066\u2069", "\u200e\u200f", "\u061c", "\ufeffbom", "\u200b", "\xa0", "e\u0301",
    # of the marks of tables
    "\ufdd0best\ufdd1", "\ufdd2\ufdd3", "\ufdd4\ufdd5", "\ufdd6\ufdd7", "\ufdd8", "\ufdef", "\uffff",
    # of separated values
    "a,b", 'a"b', '"', '""', '","', '"",""', "a;b", "a|b", "'q'", "''", "#c", "# c", " lead", "trail ",
    "  ", "\\", "\\N", '\\"', "NULL", "null", "NA", "nan", "None", "true", "007", "1e5", "2020-01-01",
    # of spreadsheets
    "=1+1", "=cmd|' /C calc'!A0", "@SUM(1)", "-x", "+x", "\t=1", "\r=1", "\uff1d1",
    # of markup
    "<script>alert(1)</script>", "<b>", "</td>", "&amp;", "&#60;", "]]>", "<!--", "**bold**", "_it_",
    "`code`", "[a](javascript:x)", "![a](x)", "| a |", "~~x~~", "$x$", "\\textbf{x}", "\\input{x}", "{}",
    "%c", "^", "~", "--", "?`", "\\begin{tabular}",
    # of everything else
    "日本", "é", "👩‍👩‍👧", "a" * 300, "{{ x }}", "${x}", "%s", "../../x", "; rm -rf /",
]  # fmt: skip
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\uffff]")


@pytest.fixture(scope="module")
def relation() -> duckdb.DuckDBPyRelation:
    """Return a board of the names, in order; the first of two metrics has one best value."""
    con = duckdb.connect()
    con.execute("create table board (place integer, run varchar, AP double)")
    rows = [(place, name, 1 / place) for place, name in enumerate(NAMES, 1)]
    con.executemany("insert into board values ($1, $2, $3)", rows)
    return con.sql("from board order by place")


@pytest.fixture(scope="module")
def board(relation: duckdb.DuckDBPyRelation) -> Result:
    return Result(relation, best={"AP": "higher"})


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "html"])
def test_tables_for_people_have_a_line_for_each(board: Result, format: str) -> None:
    text = board.text(format)
    assert not CONTROLS.search(text)
    around = {"table": 2, "markdown": 2, "latex": 6, "html": 7}[format]
    assert len(text.splitlines()) == len(NAMES) + around
    best = {"table": "*", "markdown": "**", "latex": r"\textbf{1.0000}", "html": "<b>"}[format]
    unmarked = Result(board.relation).text(format)
    assert text.count(best) - unmarked.count(best) == {"table": 0, "markdown": 2}.get(format, 1)


class _Cells(HTMLParser):
    """The texts of the cells of an HTML table, and its tags."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


def test_html_has_no_tag_of_a_name(board: Result) -> None:
    read = _Cells()
    read.feed(board.text("html"))
    assert read.tags <= {"table", "thead", "tbody", "tr", "th", "td", "b"}
    shown = [cell.strip() for cell in read.cells[4::3]]
    assert shown == [formats.one_line(name).strip() for name in NAMES]


def read_back(path: Path, delimiter: str) -> dict[str, list[Any]]:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(path, sep=delimiter, dtype=str, keep_default_na=False)
    alone = duckdb.sql(f"from read_csv('{path}', all_varchar = true)")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter=delimiter))
    return {
        "duckdb": [row[1] for row in alone.fetchall()],
        "pandas": frame["run"].tolist(),
        "python": [row[1] for row in rows[1:]],
    }


@pytest.mark.parametrize(("format", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_separated_values_are_read_back(
    relation: duckdb.DuckDBPyRelation, board: Result, tmp_path: Path, format: str, delimiter: str
) -> None:
    """All together, and what may be misread alone beside one that is harmless."""
    path = tmp_path / f"board.{format}"
    board.save(path)
    for reader, found in read_back(path, delimiter).items():
        assert found == NAMES, reader
    for name in NAMES[NAMES.index("a,b") : NAMES.index("NULL")]:
        rows = [(1, name, 0.5), (2, "bm25", 0.25), (3, None, None)]
        text = "".join(formats.pieces(relation.columns, relation.types, [rows], format))
        path.write_text(text, encoding="utf-8", newline="")
        for row in duckdb.sql(f"from read_csv('{path}', all_varchar = true)").fetchall()[:1]:
            assert row == ("1", name, "0.5")
        assert text.endswith("\n3" + 2 * delimiter + "\n")


def test_a_spreadsheet_finds_no_formula(board: Result) -> None:
    for text, delimiter in ((board.to_csv(safe=True), ","), (board.text("safe-tsv"), "\t")):
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))[1:]
        for (_, cell, _), name in zip(rows, NAMES, strict=True):
            assert cell[:1] not in ("=", "+", "-", "@", "\t", "\r", "\uff1d")
            assert cell in (name, f"'{name}")
    assert "-0.5" in Result(duckdb.sql("select -0.5 as change, 'x' as run")).to_csv(safe=True)


def test_json_and_parquet_are_read_back(board: Result, tmp_path: Path) -> None:
    assert [row["run"] for row in json.loads(board.text("json"))] == NAMES
    lines = board.text("jsonl").split("\n")
    assert [json.loads(line)["run"] for line in lines if line] == NAMES
    board.save(tmp_path / "board.parquet")
    found = duckdb.sql(f"select run from '{tmp_path / 'board.parquet'}' order by place").fetchall()
    assert [run for (run,) in found] == NAMES


def test_pictures_show_what_can_be_shown() -> None:
    pytest.importorskip("vl_convert")
    at = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    con = database.start()
    found = []
    for begin in range(0, len(NAMES), charts.MOST_NAMED):
        rows = [(at, name, 1, None, 0.5, 0.5, False, None) for name in NAMES[begin : begin + 8]]
        con.execute(
            "create or replace table history (run_at timestamptz, run varchar, version int, "
            "system varchar, value double, best double, is_record boolean, gain double)"
        )
        con.executemany("insert into history values (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        timeline = Timeline(con.table("history"), "RR", NAMES[0], "default", "higher", 1)
        root = ElementTree.fromstring(pictures.picture(charts.history(timeline), "svg"))
        found += root.itertext()
        assert "script" not in {one.tag.rpartition("}")[2] for one in root.iter()}
    whole = "\n".join(found)
    assert not CONTROLS.search(whole)
    assert "\\x1b[31mred" in whole
    assert "<script>alert(1)</script>" in whole


def test_the_layout_of_trec_eval_has_a_line_for_each() -> None:
    (metric,) = notation.request("AP")
    rows = [*((name, "AP", 0.5) for name in NAMES), ("all", "AP", 0.5)]
    for runid in ("\x1b[2J", "a\nb\tc"):
        lines = trec.text(rows, [metric], notation.Defaults(), runid=runid).splitlines()
        assert [line.split("\t")[1] for line in lines] == [*map(visible, NAMES), "all", "all"]
        assert not CONTROLS.search("".join(lines))


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_no_control_character(
    board: Result, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a pipe, the formats of data have what is in the database."""
    terminal = _Terminal()
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", terminal)
        for format in ("csv", "tsv", "json", "jsonl", "table", "latex"):
            output.emit(board.text(format), None, format)
    assert not CONTROLS.search(terminal.getvalue())
    output.emit(board.text("csv"), None, "csv")
    assert "\x1b[31mred" in capsys.readouterr().out


def test_lines_of_a_sync_and_hints(capsys: pytest.CaptureFixture[str]) -> None:
    class Project:
        def sync(self, *, on_event: Any, **_: object) -> Synced:
            for name in NAMES:
                text = f"tiny: run {name} loaded"
                on_event(Event("loaded", text, "tiny", name, (f"{visible(name)} looks odd",)))
            return Synced(())

    sync.run(Project())  # type: ignore[arg-type]
    told = capsys.readouterr()
    assert not CONTROLS.search(told.out + told.err)
    assert len(told.out.splitlines()) == len(told.err.splitlines()) == len(NAMES)
    for name in NAMES:
        output.say(f"did you mean {name}?")
    assert not CONTROLS.search(capsys.readouterr().err)


def test_errors_and_results_in_python(relation: duckdb.DuckDBPyRelation) -> None:
    """A traceback and a notebook would put their texts on a terminal, too; a name makes no line."""
    assert "\n" not in listing(NAMES, len(NAMES))
    error = InputError("a.run: wrong", problems=[(1, f"query {name} is twice") for name in NAMES])
    assert len(str(error).splitlines()) == len(NAMES) + 1
    for text in (str(error), listing(NAMES, 200), str(UsageError("".join(NAMES)))):
        assert not CONTROLS.search(text)
    shown = repr(Result(relation, [f"run {name}" for name in NAMES]))
    assert not CONTROLS.search(shown)


def test_there_are_a_hundred() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 100
