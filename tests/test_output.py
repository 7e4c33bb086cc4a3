"""Where results go: stdout, files in the format of their name, links, pipes; what is never replaced."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import duckdb
import pytest
from projects import command
from refusals import tells

from warehouse import cli
from warehouse.report import formats
from warehouse.warehouse import Warehouse

ROWS = "select 'x' as a, 2 as b"


def two_runs(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q1": {"a": 2, "b": 0}, "q2": {"c": 1, "d": 0}})
    wh.ingest_run("tiny", {"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 1.0}}, name="one")
    wh.ingest_run("tiny", {"q1": {"a": 2.0, "b": 1.0}, "q2": {"d": 1.0}}, name="two")
    wh.evaluate(metrics="RR")


@pytest.fixture
def wh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepared) -> Warehouse:
    """Return a warehouse with two runs and their values, in the folder that the test runs in."""
    monkeypatch.chdir(tmp_path)
    return prepared(Path("warehouse.duckdb"), two_runs)


@pytest.mark.sample(3, 2)
@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("board.csv", "place,run,"),
        ("board.tsv", "place\trun\t"),
        ("board.json", '[\n  {"place": 1, '),
        ("board.jsonl", '{"place": 1, '),
        ("board.md", "| "),
        ("board.TEX", "\\begin{table"),
        ("board.html", "<!doctype html>"),
        ("board.txt", "  #  run"),
        ("board", "  #  run"),
        ("board.ndjson", '{"place": 1, '),
        ("board.htm", "<!doctype html>"),
        ("board.2026", "  #  run"),
    ],
)
def test_the_name_of_the_file_says_the_format(wh: Warehouse, name: str, begins: str) -> None:
    code, out, told = command("leaderboard", "-d", "tiny", "-o", name)
    assert (code, out) == (0, ""), told
    assert Path(name).read_text().startswith(begins)
    assert command("leaderboard", "-d", "tiny", "-f", "csv", "-o", name)[0] == 0
    assert Path(name).read_text().startswith("place,run,")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        *((name, ("runs",)) for name in ("board.JPG", "board.xlsx", "board.sqlite", "board.svg")),
        ("board.feather", ("query", ROWS)),
        ("board.csv.gz", ("runs",)),
        ("board.csv.gz", ("runs", "-f", "csv")),
        ("board.ZST", ("query", ROWS, "-f", "csv")),
    ],
)
def test_a_name_that_promises_another_content_is_refused(
    wh: Warehouse, name: str, words: tuple[str, ...]
) -> None:
    code, _, told = command(*words, "-o", name)
    assert code == 2
    known = "table, json, jsonl, csv, tsv, markdown, latex, html, parquet"
    suffix = Path(name).suffix.lower()
    assert f"{name}: results are written as {known}, not as {suffix}" in told
    assert not Path(name).exists()


@pytest.mark.slow
def test_every_way_to_write_takes_the_format_from_the_name(wh: Warehouse) -> None:
    Path("q.txt").write_text("q1 0 a 1\n")
    Path("r.run").write_text("q1 Q0 a 1 1 t\n")
    for words in (
        ("query", ROWS),
        ("score", "q.txt", "r.run", "RR"),
        ("history", "-d", "tiny", "-m", "RR"),
        ("runs",),
    ):
        assert command(*words, "-o", "rows.parquet")[0] == 0
        rows = duckdb.read_parquet("rows.parquet").fetchall()
        assert command(*words, "-o", "rows.json")[0] == 0
        assert len(rows) == len(json.loads(Path("rows.json").read_text())) > 0


@pytest.mark.slow
def test_a_dash_is_stdout(wh: Warehouse) -> None:
    for words in (("query", ROWS), ("runs",)):
        assert command(*words, "-o", "-", "-f", "csv")[1] == command(*words, "-f", "csv")[1]
    assert not Path("-").exists()


@pytest.mark.parametrize("words", [("runs",), ("query", ROWS), ("query", ROWS, "-f", "parquet")])
def test_a_database_is_not_replaced(wh: Warehouse, words: tuple[str, ...]) -> None:
    with duckdb.connect("other.duckdb") as con:
        con.execute("create table t as select 1 as i")
    for name in ("warehouse.duckdb", "other.duckdb"):
        before = Path(name).read_bytes()
        code, _, told = command(*words, "-o", name)
        assert code == 2
        assert f"{name}: is a database; give the result a file of its own" in told
        assert Path(name).read_bytes() == before


def test_a_file_that_is_scored_is_not_replaced(wh: Warehouse) -> None:
    Path("q.txt").write_text("q1 0 a 1\n")
    Path("r.run").write_text("q1 Q0 a 1 1 t\n")
    for name in ("q.txt", "./r.run"):
        before = Path(name).read_text()
        code, _, told = command("score", "q.txt", "r.run", "RR", "-f", "csv", "-o", name)
        assert code == 2
        assert "is one of the files to score" in told
        assert Path(name).read_text() == before


@pytest.mark.slow
def test_a_link_stays_a_link_and_a_mode_stays(wh: Warehouse) -> None:
    real = Path("real.csv")
    real.touch(mode=0o600)
    real.chmod(0o600)
    Path("link.csv").symlink_to(real)
    for words in (("query", ROWS), ("runs",)):
        assert command(*words, "-o", "link.csv")[0] == 0
        assert Path("link.csv").is_symlink()
        assert real.read_text() == command(*words, "-f", "csv")[1]
        assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert not list(Path().glob(".*part"))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="this system has no such folder")
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_folder_that_takes_no_files(wh: Warehouse, format: str) -> None:
    for words in (("query", ROWS), ("runs",)):
        code, _, told = command(*words, "-f", format, "-o", "/proc/self/board")
        assert code == 2
        assert told.startswith("/proc/self/board: cannot be written: ")


def test_a_long_name(wh: Warehouse) -> None:
    name = "ü" * 100 + "x" * 55
    assert command("query", ROWS, "-o", name)[0] == 0
    assert Path(name).read_text() == command("query", ROWS)[1]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_written_to(wh: Warehouse) -> None:
    for words in (("query", ROWS), ("runs",)):
        Path("pipe").unlink(missing_ok=True)
        os.mkfifo("pipe")
        got: list[str] = []
        reader = threading.Thread(target=lambda got=got: got.append(Path("pipe").read_text()))
        reader.start()
        assert command(*words, "-f", "csv", "-o", "pipe")[0] == 0
        reader.join(timeout=30)
        assert got == [command(*words, "-f", "csv")[1]]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (("-f", "parquet"), "-f parquet needs a file: -o FILE"),
        (("-o", "no/such/x.csv"), "no/such/x.csv: there is no folder no/such"),
        (("-o", "."), ".: is a directory; give the result another name"),
        (("-f", "tabel"), "tabel … table"),
        (("-o", "warehouse.duckdb"), "warehouse.duckdb: is a database"),
    ],
)
@pytest.mark.parametrize(
    "words",
    [
        ("fuse", "one", "two", "-d", "tiny", "--name", "both"),
        ("fuse", "one", "two", "-d", "tiny", "--name", "both", "--method", "wsum", "--tune", "RR"),
        ("compare", "one", "two", "-d", "tiny", "-m", "RR", "--store"),
        ("curve", "ROC", "-d", "tiny"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is_stored(
    wh: Warehouse, words: tuple[str, ...], options: tuple[str, ...], wanted: str
) -> None:
    before = wh.path.read_bytes()
    code, out, told = command(*words, *options)
    assert (code, out) == (2, "")
    assert tells(told, wanted)
    assert wh.path.read_bytes() == before


def test_nothing_that_is_read_moves_the_cursor(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An id that clears the screen, a score with a byte that is not seen, and a name of a run."""
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("q 0 a 1\n")
    Path("run").write_text("q Q0 \x1b[2J 1 2 t\nq Q0 \x1b[2J 1 2 t\nq Q0 a 1 1\x1a5 t\n")
    monkeypatch.setattr("sys.argv", ["warehouse", "score", "qrels", "run"])
    with pytest.raises(SystemExit):
        cli.run()
    assert capsys.readouterr().err.splitlines()[1:] == [
        r"  line 2: document '\x1b[2J' is there twice for query 'q', first on line 1",
        r"  line 3: score '1\x1a5' is not a number",
    ]
    Path("run").write_text("q Q0 a 1 2 t\n")
    words = ("-d", "d", "--db", "x.duckdb", "--name", "\x1b[2J\u202e")
    told = command("ingest", "run", "run", *words)[2]
    assert told.startswith(r"\x1b[2J\u202e: loaded (1 prediction, 1 query)")


def test_columns_of_one_name() -> None:
    con = duckdb.connect()
    relation = con.sql("select 1 as a, 2 as a, 3 as b")
    con.execute("create table t as select 1 as a, 2 as a, 3 as b")
    (row,) = json.loads(formats.text(relation, "json"))
    assert row == dict(zip(con.table("t").columns, (1, 2, 3), strict=True))
    assert json.loads(formats.text(relation, "jsonl")) == row
    (row,) = json.loads(formats.text(con.sql("select 1 as a, 2 as a, 3 as a_1"), "json"))
    assert sorted(row.values()) == [1, 2, 3]


def test_an_empty_table_in_latex() -> None:
    empty = duckdb.sql("select 1 as a, 'x' as b where false")
    assert formats.text(empty, "latex").splitlines()[0] == r"\begin{tabular}{rl}"


def test_a_relevance_is_written_as_it_was_given() -> None:
    """Most grades are whole, though the column is of doubles for half stars."""
    rows = duckdb.sql("select unnest([2.0, 3.5]::double[]) as relevance, 2.0::double as value")
    for found in (
        formats.text(rows, "markdown"),
        "".join(formats.pieces(rows.columns, rows.types, [rows.fetchall()], "markdown")),
    ):
        assert [line.split("|")[1:3] for line in found.splitlines()[2:]] == [
            ["           2 ", "  2.0000 "],
            ["         3.5 ", "  2.0000 "],
        ]
