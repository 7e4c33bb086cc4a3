"""What people see on a terminal: tables that fit it, and what is said about what they lack.

Whole screens are in for_review, for people to read.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from warehouse.cli import progress
from warehouse.report import presentation
from warehouse.report.screens import Screen, of_terminal
from warehouse.warehouse import Warehouse

FOR_REVIEW = Path(__file__).parent / "for_review" / "screens"
COMMANDS = {
    "leaderboard": "leaderboard --db {db}",
    "runs": "runs --db {db}",
    "history": "history -m nDCG@10 --db {db}",
    "status": "status --db {db}",
    "compare": "compare bm25 tasb splade_pp_ed --db {db}",
    "power": "compare bm25 tasb splade_pp_ed -m nDCG@10 --power --only pairs --db {db}",
}
# Of `runs`, the column with the folder of the package is not kept.
KEPT = {"runs": 82}


@pytest.fixture
def shown(
    monkeypatch: pytest.MonkeyPatch, run, demo_file: Path, tmp_path: Path
) -> Callable[..., str]:
    """Return a function that gives what a command shows on a terminal of some width."""

    def on_terminal(command: str, width: int, styled: bool = False) -> str:
        monkeypatch.setattr(progress, "_QUIET", 600.0)  # no bar, however slow the machine is
        for stream in (sys.stdout, sys.stderr):
            monkeypatch.setattr(stream, "isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("NO_COLOR", "" if styled else "1")
        answer = run(*command.replace("{db}", str(demo_file)).split(" "))
        assert answer.code == 0, answer.err
        text = answer.out + answer.err
        return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-09-01 12:00", text).replace(
            str(demo_file), "demo.duckdb"
        )

    return on_terminal


@pytest.mark.sample(6, 2)
@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_table_fits_the_terminal(shown, name: str, width: int) -> None:
    text = shown(COMMANDS[name], width)
    sentences = re.compile("--wide shows everything|queries; two-sided|letters: |detectable: ")
    assert all(len(line) <= width for line in text.splitlines() if not sentences.search(line))
    kept = KEPT.get(name, 1000)
    text = "".join(line[:kept].rstrip() + "\n" for line in text.splitlines())
    path = FOR_REVIEW / f"{name}.{width}.txt"
    if os.environ.get("WRITE_FOR_REVIEW"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_the_best_are_bold_and_notes_dim_unless_colour_is_unwanted(shown) -> None:
    command = "leaderboard -m AP(rel=2) --top 3 --db {db}"
    styled = shown(command, 80, styled=True)
    assert "\x1b[1m0.4464\x1b[22m" in styled
    assert "\x1b[4m0.4416\x1b[24m" in styled
    assert (
        "\x1b[2mmean over queries; 43 of 43 judged queries answered by every run shown\x1b[22m"
        in styled
    )
    plain = shown(command, 80)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[\d+m", "", styled) == plain


def test_all_is_shown_with_wide(shown) -> None:
    assert "…" in shown("runs --db {db}", 80)
    wide = shown("runs --db {db} --wide", 80)
    assert "…" not in wide
    assert "splade_pp_ed.run.gz" in wide


def test_in_a_pipe_all_is_written_whatever_the_width(
    run, demo_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    answer = run("runs", "--db", str(demo_file))
    assert "…" not in answer.out + answer.err
    assert "splade_pp_ed.run.gz" in answer.out


def test_a_query_fits_the_terminal_too(shown) -> None:
    text = shown("query from\truns --db {db}", 80)
    *table, told = text.splitlines()
    assert max(map(len, table)) <= 80
    assert told.endswith("to fit 80 columns; --wide shows everything")


def test_what_is_no_terminal_has_no_screen() -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    class Pipe:
        def isatty(self) -> bool:
            return False

    assert of_terminal(Pipe(), {}) is None
    for environment, styled in (
        ({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": ""}, True), ({}, False),
        ({"TERM": "dumb"}, False), ({"TERM": "xterm", "NO_COLOR": "1"}, False),
    ):  # fmt: skip
        screen = of_terminal(Terminal(), environment)
        assert screen is not None
        assert screen.is_styled == styled


def test_verdicts_fit_80_columns() -> None:
    """With long names, since when a verdict is the same stays, and the interval goes."""
    rows = duckdb.sql(
        "select unnest(['worse', 'unchecked']) as verdict, verdict || repeat('_run', 9) as run, "
        "'nDCG(dcg=exp-log2)@10' as metric, 'one' || run as reference, -0.2 as difference, -0.3 as low, "
        "if(verdict = 'worse', -0.1, -0.2) as high, timestamptz '2026-11-26 12:00:00Z' as since"
    )
    text = presentation.gates(rows, red=False).on(Screen(width=80))
    assert max(map(len, text.splitlines())) <= 80
    assert text.split("\n")[0].split() == ["verdict", "run", "metric", "change", "since"]
    assert text.count("2026-11-26") == 2


def test_columns_that_say_the_same_go_before_texts_are_shortened() -> None:
    screen = Screen(width=30)
    rows = [["dl19", "a_rather_long_name", 1.0], ["dl19", "another_long_name", 0.5]]
    text = screen.table(["dataset", "run", "AP"], rows, [False, False, True], ["dataset"])
    assert text.splitlines()[0].split() == ["run", "AP"]
    assert "a_rather_long_name" in text
    assert screen.note() == "without dataset (dl19) to fit 30 columns; --wide shows everything"
    wide = Screen(width=60)
    assert "dl19" in wide.table(["dataset", "run", "AP"], rows, [False, False, True], ["dataset"])
    assert wide.note() == ""
    # wide characters take two columns each
    narrow = Screen(width=24)
    text = narrow.table(["x", "y"], [["猫" * 20, 1]], [False, True])
    assert text.splitlines()[2].startswith("猫猫猫猫猫")
    assert "…" in text


@pytest.mark.slow
def test_runs_that_differ_in_what_they_answer_keep_the_columns(tmp_path: Path, run) -> None:
    """Two queries are judged; the second run has documents for one of them."""
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_qrels("tiny", {"q1": {"a": 1}, "q2": {"b": 1}})
    wh.ingest_run("tiny", {"q1": {"a": 1.0}, "q2": {"b": 1.0}}, name="one")
    wh.evaluate(metrics="RR")
    board = wh.leaderboard()
    assert board.notes == ("mean over queries; 2 of 2 judged queries answered by every run",)
    assert board.text("table").split()[:4] == ["#", "run", "RR", "↑"]
    wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name="two", system="Two")
    wh.evaluate(metrics="RR")
    board = wh.leaderboard()
    assert board.notes == ("mean over queries",)
    assert board.text("table").split()[:7] == [
        "#",
        "run",
        "system",
        "RR",
        "↑",
        "answered",
        "judged",
    ]
    assert wh.status().text("table") == "nothing to compute: 2 values up to date\n"
