"""What passes the standard streams: encodings, names that are no text, pipes that are closed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from projects import Answer, command, words_of

from warehouse.errors import UsageError
from warehouse.warehouse import Warehouse


def two_runs(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q1": {"a": 2, "é": 0}})
    wh.ingest_run("tiny", {"q1": {"é": 2.0, "a": 1.0}}, name="é猫")
    wh.ingest_run("tiny", {"q1": {"a": 1.0, "猫": 0.5}}, name="two")
    wh.evaluate(metrics="RR")


@pytest.fixture
def folder(tmp_path: Path, prepared) -> Path:
    """Return the folder of a warehouse whose names are in no single byte encoding."""
    prepared(tmp_path / "warehouse.duckdb", two_runs)
    (tmp_path / "qrels.txt").write_text("é猫 0 a 1\n", encoding="utf-8")
    (tmp_path / "one.run").write_text("é猫 Q0 a 1 1 t\n", encoding="utf-8")
    return tmp_path


def written(program, folder: Path, line: str, encoding: str) -> bytes:
    """Return what a line of bash wrote to its stdout in an encoding."""
    found = program.shell(f"{{ {line}; }} > out", folder, env={"PYTHONIOENCODING": encoding})
    assert found.returncode == 0, found.stderr
    return (folder / "out").read_bytes()


@pytest.fixture
def plain(
    folder: Path, run: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], str]:
    """Return a function that gives the text that a command prints in this process."""

    def printed(line: str) -> str:
        monkeypatch.chdir(folder)
        words = words_of(line)
        assert words is not None
        found = run(*words)
        assert found.code == 0, found.err
        assert found.out
        return found.out

    return printed


@pytest.mark.slow
@pytest.mark.sample(4, 2)
@pytest.mark.core
@pytest.mark.parametrize(
    "line",
    [
        "warehouse runs -f csv",
        "warehouse runs -f jsonl",
        "warehouse runs -f markdown",
        "warehouse query \"select 'é猫'\" -f csv",
        "warehouse score qrels.txt one.run RR -q -f trec",
        "warehouse sql nDCG",
        "warehouse holes -d tiny -f trec",
        "warehouse compare é猫 two -d tiny -m RR -f markdown",
    ],
)
def test_data_is_utf8_in_every_locale(
    program, folder: Path, plain: Callable[[str], str], line: str
) -> None:
    assert written(program, folder, line, "cp1252").decode() == plain(line)


def test_what_comes_in_is_utf8_in_every_locale(program, folder: Path) -> None:
    line = "echo \"select '猫' as cat\" | warehouse query - -f csv"
    assert written(program, folder, line, "cp1252").decode() == "cat\n猫\n"


@pytest.mark.sample(5)
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
    program, folder: Path, plain: Callable[[str], str], line: str, encoding: str
) -> None:
    assert written(program, folder, line, encoding) == plain(line).encode(encoding, "replace")


def test_narration_has_no_encoding_to_fail_in(program, folder: Path) -> None:
    found = program.shell("warehouse runs -d 猫", folder, env={"PYTHONIOENCODING": "ascii"})
    assert found.returncode == 2
    assert "\\u732b" in found.stderr
    assert "Traceback" not in found.stderr


@pytest.fixture
def latin(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder, current, with files whose names are Latin-1; skip where there are none."""
    monkeypatch.chdir(folder)
    for name in ("one.run", "qrels.txt"):
        try:
            Path(os.fsdecode(b"\xe9" + name.encode())).write_bytes((folder / name).read_bytes())
        except OSError:
            pytest.skip("this system's file names are UTF-8")
    return folder


@pytest.mark.slow
def test_a_file_whose_name_is_not_utf8_is_refused_alone(latin: Path) -> None:
    for words in (
        ("score", "qrels.txt", "\udce9one.run", "RR"),
        ("score", "\udce9qrels.txt", "one.run", "RR"),
        ("ingest", "qrels", "\udce9qrels.txt", "-d", "other"),
    ):
        code, out, told = command(*words)
        assert (code, out) == (2, "")
        assert "its name is not UTF-8, and could not be stored: rename it" in told
    code, _, told = command("ingest", "run", "\udce9one.run", "one.run", "-d", "tiny")
    assert code == 2
    assert "1 of 2 files loaded" in told
    assert "one" in [row[1] for row in Warehouse("warehouse.duckdb").runs().fetchall()]
    Path("warehouse.toml").write_text(
        '[datasets.d]\nqrels = "qrels.txt"\n[[runs]]\nfiles = "{name}.run"\ndataset = "d"\n'
    )
    done = Warehouse("synced.duckdb").sync()
    assert [event.text for event in done.events if event.status == "failed"] == [
        "\\udce9one.run: its name is not UTF-8, and could not be stored: rename it"
    ]
    assert [row[1] for row in Warehouse("synced.duckdb").runs().fetchall()] == ["one"]


@pytest.mark.core
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("init", "--db", "\udcff.duckdb"), "is not UTF-8: give the database"),
        (("publish", "\udcff.duckdb"), "is not UTF-8: give it another name"),
        (("publish", "--parquet", "\udcff"), "is not UTF-8: give it another name"),
        (("runs", "-o", "\udcff.parquet"), "is not UTF-8: give Parquet another name"),
        (("query", "select 1", "-o", "\udcff.parquet"), "is not UTF-8: give Parquet another name"),
        (("query", "select '\udcff'"), "the SQL is not UTF-8"),
        (("query", "select $x", "-p", "x=\udcff"), "--param x=\\udcff: is not UTF-8"),
        (("query", "--file", "latin.sql"), "latin.sql: is not UTF-8: save it as UTF-8"),
        (
            ("ingest", "run", "one.run", "-d", "tiny", "--tag", "k=\udcff"),
            "--tag k=\\udcff: is not UTF-8",
        ),
    ],
)
def test_what_is_not_utf8_is_refused_in_a_sentence(
    latin: Path, words: tuple[str, ...], wanted: str
) -> None:
    Path("latin.sql").write_bytes(b"select '\xe9'")
    code, out, told = command(*words)
    assert (code, out) == (2, "")
    assert wanted in told


def test_text_files_have_any_name(latin: Path) -> None:
    name = "\udce9.csv"
    assert command("runs", "-o", name)[0] == 0
    assert Path(name).read_text(encoding="utf-8") == command("runs", "-f", "csv")[1]


@pytest.mark.slow
def test_the_library_refuses_them_too(latin: Path) -> None:
    wh = Warehouse("warehouse.duckdb")
    for call in (
        lambda: Warehouse("\udcff.duckdb"),
        lambda: wh.query("select '\udcff'"),
        lambda: wh.stream("select '\udcff'", write=print),
        lambda: wh.stream_parquet("select 1", "\udcff.parquet"),
        lambda: wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name="x", tags={"k": "\udcff"}),
    ):
        with pytest.raises(UsageError, match=r"not UTF-8|not valid Unicode text"):
            call()


@pytest.mark.slow
def test_a_current_folder_whose_name_is_not_utf8(
    latin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in it is read and written by its name there; only a result in Parquet is not."""
    inside = Path("\udce9folder")
    inside.mkdir()
    for name in ("one.run", "qrels.txt"):
        (inside / name).write_bytes(Path(name).read_bytes())
    monkeypatch.chdir(inside)
    assert (
        command("score", "qrels.txt", "one.run", "RR", "-f", "csv")[1] == "metric,value\nRR,1.0\n"
    )
    assert command("ingest", "run", "one.run", "-d", "tiny", "--db", "x.duckdb")[0] == 0
    assert "one" in command("runs", "-f", "csv", "--db", "x.duckdb")[1]
    assert command("publish", "replica.duckdb", "--db", "x.duckdb")[0] == 0
    assert command("publish", "--parquet", "replica", "--db", "x.duckdb")[0] == 0
    assert command("runs", "-o", "x.parquet", "--db", "x.duckdb")[0] == 2
