"""What passes the standard streams: encodings, names that are no text, pipes that are closed."""

from __future__ import annotations

from pathlib import Path

import pytest

from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.core


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a warehouse whose names are in no single byte encoding."""
    wh = Warehouse(tmp_path / "warehouse.duckdb")
    wh.ingest_qrels({"q1": {"a": 2, "é": 0}}, "tiny")
    wh.ingest_run({"q1": {"é": 2.0, "a": 1.0}}, "tiny", name="é猫")
    wh.ingest_run({"q1": {"a": 1.0}}, "tiny", name="two")
    wh.evaluate(metrics="RR")
    (tmp_path / "qrels.txt").write_text("é猫 0 a 1\n", encoding="utf-8")
    (tmp_path / "one.run").write_text("é猫 Q0 a 1 1 t\n", encoding="utf-8")
    return tmp_path


def written(program, folder: Path, line: str, encoding: str = "utf-8") -> tuple[bytes, str]:
    """Return what a line of bash wrote to its stdout in an encoding, and to its stderr."""
    found = program.shell(f"{{ {line}; }} > out", folder, env={"PYTHONIOENCODING": encoding})
    assert found.returncode == 0, found.stderr
    return (folder / "out").read_bytes(), found.stderr


@pytest.mark.parametrize(
    "line",
    [
        "for f in csv jsonl markdown; do warehouse runs -f $f || exit; done",
        "warehouse query \"select 'é猫'\" -f csv; echo \"select '猫'\" | warehouse query - -f csv",
        "warehouse score qrels.txt one.run RR -q -f trec",
        "warehouse evaluate -m nDCG --show-sql; warehouse holes -d tiny -f trec",
        "warehouse compare é猫 two -d tiny -m RR -f markdown",
    ],
)
def test_data_is_utf8_in_every_locale(program, folder: Path, line: str) -> None:
    plain, _ = written(program, folder, line)
    assert plain.decode()
    assert written(program, folder, line, "cp1252")[0] == plain


@pytest.mark.parametrize(
    ("line", "encoding"),
    [
        ("warehouse leaderboard -d tiny", "cp1252"),
        ("warehouse runs", "ascii"),
        ("warehouse metrics show nDCG", "ascii"),
        ("warehouse schema", "ascii"),
        ("warehouse evaluate --help", "ascii"),
    ],
)
def test_what_a_terminal_cannot_show_is_replaced(
    program, folder: Path, line: str, encoding: str
) -> None:
    plain, _ = written(program, folder, line)
    replaced, _ = written(program, folder, line, encoding)
    wanted = plain.decode().encode(encoding, "replace")
    assert replaced == wanted


def test_narration_has_no_encoding_to_fail_in(program, folder: Path) -> None:
    found = program.shell("warehouse runs -d 猫", folder, env={"PYTHONIOENCODING": "ascii"})
    assert found.returncode == 2
    assert "\\u732b" in found.stderr
    assert "Traceback" not in found.stderr
