"""What the engine and the system refuse: a sentence and exit code 2, and never their own errors."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import sys
from functools import partial
from pathlib import Path
from unittest import mock

import duckdb
import pytest

from warehouse import cli
from warehouse.errors import EngineError, UsageError, WarehouseError
from warehouse.readers.objects import relation_of
from warehouse.store import database
from warehouse.store.engine_errors import worded
from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.core
RUN = {f"q{query}": {str(doc): 1 / (doc + 1) for doc in range(100)} for query in range(2000)}
RIGHTS = "-dac_override,-dac_read_search"
# Commands that write into the warehouse of two runs.
WRITING = (
    "ingest run more.run -d tiny",
    "fuse one two -d tiny --name both",
    "forget one -d tiny --yes",
)


def two_runs(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q1": {"a": 1, "b": 0}})
    for name in ("one", "two"):
        wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name=name)


@pytest.fixture
def bound() -> str:
    """Return what to put before a command for the rights of folders to hold for it, even if root's."""
    if os.geteuid() != 0:
        return ""
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv: to root no folder is closed")
    return f"setpriv --inh-caps={RIGHTS} --bounding-set={RIGHTS}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with one that can be read only, with a warehouse in it, and a closed one."""
    wh = Warehouse(tmp_path / "readonly" / "w.duckdb")
    wh.path.parent.mkdir()
    two_runs(wh)
    (tmp_path / "closed").mkdir()
    for name in ("more.run", "closed/more.run"):
        (tmp_path / name).write_text("q1 Q0 a 1 1 t\n")
    (tmp_path / "readonly").chmod(0o555)
    (tmp_path / "closed").chmod(0)
    return tmp_path


@pytest.mark.slow
def test_a_folder_that_cannot_be_written(bound: str, folder: Path, program) -> None:
    db = "--db readonly/w.duckdb"
    refused = {
        **{f"{words} {db}": "readonly/w.duckdb" for words in WRITING},
        f"publish readonly/replica.duckdb {db}": "readonly/replica.duckdb",
        f"publish --parquet readonly/replica {db}": "readonly/replica",
        f"runs -o readonly/x.csv {db}": "readonly/x.csv",
        "init --db readonly/new.duckdb": "readonly/new.duckdb",
    }
    for line, found in program.calls(*refused, cwd=folder, bound=bound).items():
        assert (found.code, found.out) == (2, ""), line
        assert f"warehouse: {refused[line]}: cannot be written: Permission denied" in found.err
        assert "sqlalche" not in found.err


@pytest.mark.slow
def test_a_folder_that_cannot_be_read(bound: str, folder: Path, program) -> None:
    db = "--db readonly/w.duckdb"
    Warehouse(folder / "new.duckdb").init()
    *refused, both = program.calls(
        f"ingest run 'closed/*.run' -d tiny {db}",
        f"runs -o closed/x.csv {db}",
        "ingest run closed/more.run more.run -d tiny --db new.duckdb",
        cwd=folder,
        bound=bound,
    ).values()
    for found in refused:
        assert found.code == 2
        assert "Permission denied" in found.err
    assert both.code == 2
    assert "closed/more.run: cannot be read: Permission denied" in both.err
    assert "1 of 2 files loaded" in both.err


@pytest.mark.slow
def test_a_current_folder_that_is_gone(folder: Path, program) -> None:
    for number, words in enumerate(("runs", f"publish x.duckdb --db {folder}/readonly/w.duckdb")):
        gone = f"mkdir {number} && cd {number} && rmdir ../{number}"
        found = program.shell(f"{gone} && warehouse {words}", folder, env={"PYTHONPATH": ""})
        assert found.returncode == 2
        assert "warehouse: the current folder is gone" in found.stderr


@pytest.mark.usefixtures("migrated")
@pytest.mark.skipif(sys.platform == "win32", reason="this system has no such devices and links")
def test_a_database_that_is_no_file(tmp_path: Path, prepared) -> None:
    """To open a pipe waited for its other end, whatever signal came, and a loop was a traceback."""
    pipe, loop = tmp_path / "pipe", tmp_path / "loop"
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    wh = prepared(tmp_path / "w.duckdb", Warehouse.init)
    for place in (Path(os.devnull), pipe):
        for verb in (Warehouse(place).init, Warehouse(place).runs, partial(wh.publish, place)):
            with pytest.raises(UsageError, match=rf"{place}: is a device or a pipe: a warehouse"):
                verb()
    with pytest.raises(UsageError, match="loop: is a link that leads back to itself"):
        Warehouse(loop).init()
    wh.publish(loop)
    assert not loop.is_symlink()


def test_too_little_memory_is_an_error_of_the_library(tmp_path: Path) -> None:
    Warehouse(tmp_path / "w.duckdb").init()
    wh = Warehouse(tmp_path / "w.duckdb", memory_limit="1KB")
    for call in (
        lambda: Warehouse.score({"q1": {"1": 1}}, RUN, "AP", memory_limit="1KB"),
        lambda: wh.ingest_run("tiny", RUN, name="one"),
        wh.runs,
    ):
        with pytest.raises(WarehouseError, match="out of memory: give more with memory_limit="):
            call()


@pytest.mark.sample(3)
@pytest.mark.parametrize("limit", ["2MB", "4MB", "6MB"])
def test_a_file_is_not_blamed_for_too_little_memory(tmp_path: Path, limit: str) -> None:
    """Wherever it ends: while the columns are looked at, or while the rows are read."""
    file = tmp_path / "one.parquet"
    duckdb.sql(
        "select 'q' || i // 1000 as query_id, 'd' || i as doc_id, i::double as score "
        "from range(1_000_000) as t(i)"
    ).write_parquet(str(file))
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.init()
    small = Warehouse(wh.path, memory_limit=limit, threads=2)
    for call in (
        lambda: small.ingest_run("tiny", file),
        lambda: small.ingest_attributes("tiny", file, of="docs", id="doc_id"),
    ):
        with pytest.raises(WarehouseError, match=r"^out of memory: give more with"):
            call()


def test_a_table_is_not_blamed_for_too_little_memory() -> None:
    """It was in one run of many, with a limit that the engine meets before it looks at the rows."""
    table = pytest.importorskip("pyarrow").table(
        {"query_id": ["q1"], "doc_id": ["a"], "score": [1.0]}
    )
    con = mock.Mock()
    con.register.side_effect = duckdb.OutOfMemoryException(
        "Out of Memory Error: failed to allocate"
    )
    with (
        pytest.raises(WarehouseError, match=r"^out of memory: give more with"),
        relation_of(con, table),
    ):
        pass


@pytest.mark.parametrize("reason", ["Permission denied", "Read-only file system"])
def test_a_commit_that_is_refused(tmp_path: Path, reason: str) -> None:
    """As where the rights have changed since the file was opened."""
    path = tmp_path / "w.duckdb"
    Warehouse(path).init()
    refused = duckdb.TransactionException(
        f'TransactionContext Error: Failed to commit: Cannot open file "{path}.wal": {reason}'
    )
    with (
        pytest.raises(UsageError, match=rf"w\.duckdb: cannot be written: {reason}; the right to"),
        database.transaction(path),
    ):
        raise refused
    with pytest.raises(EngineError, match="conflict"), database.transaction(path):
        raise duckdb.TransactionException("a conflict")


@pytest.mark.sample(4, 4)
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="this system does not limit what is mapped")
@pytest.mark.parametrize("size", [200, 280, 500, 1500])
def test_little_memory(tmp_path: Path, program, size: int) -> None:
    """DuckDB ended the process, or Python had a traceback; from 500 MB on a small run is loaded."""
    (tmp_path / "qrels.txt").write_text("".join(f"q{n} 0 d{n} 1\n" for n in range(50)))
    lines = (f"q{q} Q0 d{d} {d} {-d} t\n" for q in range(50) for d in range(1_000))
    (tmp_path / "one.run").write_text("".join(lines))
    for line in (
        "ingest qrels qrels.txt -d tiny", "ingest run one.run -d tiny", "evaluate -m AP",
        "leaderboard -d tiny", "score qrels.txt one.run AP",
    ):  # fmt: skip
        db = "" if line.startswith("score") else " --db w.duckdb"
        found = program.shell(f"ulimit -v {size << 10}; warehouse {line}{db}", tmp_path)
        told = "warehouse: out of memory: the system gives this process no more; raise its limit"
        if size > 300:
            assert found.returncode == 0, (line, found.stderr)
        elif found.returncode:
            assert found.returncode == 2, (line, found.stderr)
            assert found.stderr.startswith(told) or size == 280, found.stderr
            assert found.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="this system limits no sizes of files")
def test_a_full_disk(tmp_path: Path, program) -> None:
    """No file may grow, not even one to try whether there is a temporary folder."""
    wh = Warehouse(tmp_path / "w.duckdb")
    two_runs(wh)
    (tmp_path / "more.run").write_text("q1 Q0 a 1 1 t\n")
    before = wh.path.read_bytes()
    db = "--db w.duckdb"
    refused = {
        **{f"{words} {db}": "w.duckdb.wal" for words in (*WRITING, "evaluate -m AP")},
        f"publish replica.duckdb {db}": "replica.duckdb",
        f"publish --parquet replica {db}": "replica",
        "init --db new.duckdb": "new.duckdb",
        "init": "warehouse.toml",
        f"query 'from runs' -o runs.parquet {db}": "runs.parquet",
    }
    reading = f"runs -f csv {db}"
    answers = program.calls(*refused, reading, cwd=tmp_path, bound="ulimit -f 0;")
    found = answers.pop(reading)
    assert (found.code, found.err, found.out.count("\n")) == (0, "", 3)
    for line, found in answers.items():
        assert (found.code, found.out) == (2, ""), line
        told = (
            rf"warehouse: ([^\n]*/)?{re.escape(refused[line])}: cannot be written: File too large\n"
        )
        assert re.fullmatch(told, found.err), found.err
    assert not (tmp_path / "warehouse.toml").exists()
    assert wh.path.read_bytes() == before
    assert wh.runs().relation.project("run").fetchall() == [("one",), ("two",)]


@pytest.mark.skipif(sys.platform == "win32", reason="this system limits no sizes of files")
def test_no_room_for_what_is_put_aside(tmp_path: Path, program) -> None:
    """A compressed file is not blamed for a full temporary folder, and that is named."""
    lines = "".join(f"q1 Q0 {doc} 1 {doc} t\n" for doc in range(10_000))
    (tmp_path / "one.run.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "qrels.txt").write_text("q1 0 1 1\n")
    (tmp_path / "aside").mkdir()
    line = "ulimit -f 64; TMPDIR=aside warehouse score qrels.txt one.run.gz AP"
    found = program.shell(line, tmp_path)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == (
        "warehouse: one.run.gz: there is no room for a plain copy of it in "
        f"{tmp_path / 'aside'}: File too large; the variable TMPDIR names another folder\n"
    )
    assert list((tmp_path / "aside").iterdir()) == []
    full = duckdb.OutOfMemoryException("Out of Memory Error: failed to offload data block\nHint")
    told = str(worded(full))
    assert "or a temporary folder with more room (the variable TMPDIR)\nOut of Memory" in told
    assert "TMPDIR" not in str(worded(duckdb.OutOfMemoryException("Out of Memory Error: block")))


def test_memory_that_the_system_does_not_give(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A higher --memory-limit, which was proposed, helps nobody; of Python's own it was a traceback."""
    for refused in ("Allocation failure", "Failed to allocate block of 8 bytes (bad allocation)"):
        told = str(worded(duckdb.OutOfMemoryException(f"Out of Memory Error: {refused}")))
        assert told.startswith("out of memory: the system gives this process no more; raise its")

    def grow() -> None:
        raise MemoryError

    monkeypatch.setattr(cli, "_call", grow)
    with pytest.raises(SystemExit, match="2"):
        cli.run()
    assert capsys.readouterr().err.startswith("warehouse: out of memory: the system gives")


@pytest.mark.slow
def test_a_damaged_database(tmp_path: Path) -> None:
    """A byte that is another, in the catalogue or in the rows, and a file that ends too soon."""
    whole = Warehouse(tmp_path / "whole.duckdb")
    whole.ingest_qrels("tiny", {f"q{query}": {"1": 1} for query in range(2000)})
    whole.ingest_run("tiny", RUN, name="one")
    content = whole.path.read_bytes()
    replica = tmp_path / "replica.duckdb"
    told = re.escape(f"{tmp_path / 'w.duckdb'}: is damaged or cut short, or was copied while")
    found = []
    for place in range(12_300, len(content), 100_000):
        wh = Warehouse(tmp_path / "w.duckdb")
        wh.path.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
        try:
            wh.publish(replica)
        except UsageError as error:
            found.append((bool(re.match(told, str(error))), replica.exists()))
        replica.unlink(missing_ok=True)
    assert len(found) >= 5
    assert set(found) == {(True, False)}
    rows = content.index(b"q1999")
    for damaged in (content[:rows] + b"x" + content[rows + 1 :], content[:rows]):
        wh.path.write_bytes(damaged)
        with pytest.raises(UsageError, match=told):
            wh.query("select max(query_id) from store.judgment")
    # what a query says itself is no damage
    for sql in ("select 'Corrupt database file'::int", "select error('Corrupt database file')"):
        with pytest.raises(
            WarehouseError, match=r"^(Conversion|Invalid Input) Error: .*Corrupt data"
        ):
            whole.query(sql)
    for length in (13, 5000):
        wh.path.write_bytes(content[:length])
        with pytest.raises(UsageError, match=told):
            wh.runs()


def test_a_copy_made_while_the_database_was_written(tmp_path: Path) -> None:
    """DuckDB's own error, with its stack, ended all later calls of the process, of other files too."""
    whole, copy = Warehouse(tmp_path / "whole.duckdb"), Warehouse(tmp_path / "copy.duckdb")
    states = []
    for dataset in "abcd":
        whole.ingest_qrels(dataset, {"q": {"1": 1}})
        states.append(whole.path.read_bytes())
    block, found = 262_144, []
    for early, late, place in ((0, 2, 0), (1, 3, 6), (2, 3, 0)):
        at = 12_288 + place * block
        old, new = states[early][at : at + block], states[late]
        copy.path.write_bytes(new[:at] + old + new[at + len(old) :])
        try:
            copy.runs()
        except WarehouseError as error:
            found.append(str(error).split("\n"))
        assert len(whole.datasets().fetchall()) == 4
    said = (
        "is damaged or cut short, or was copied while it was written: put a good copy in its place, "
        "such as a backup or a replica of 'warehouse publish'; what can still be read of it, 'warehouse "
        "export' saves"
    )
    assert {first for first, _ in found} == {f"{copy.path}: {said}"}


@pytest.mark.slow
def test_a_good_log_is_not_blamed_for_too_little_memory(tmp_path: Path) -> None:
    """It has what was written last, and is read as soon as there is room."""
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.init()
    with duckdb.connect(str(wh.path)) as con:
        con.execute("pragma disable_checkpoint_on_shutdown")
        con.execute("set wal_autocheckpoint = '1GB'")
        con.execute(
            "insert into store.run_tag select i, i || repeat('x', 400), '' from range(50_000) as t(i)"
        )
    told = []
    for limit in ("1MB", "2MB", "3MB"):
        small = Warehouse(wh.path, memory_limit=limit)
        for call in (small.runs, lambda small=small: small.ingest_run("tiny", RUN, name="one")):
            try:
                call()
            except WarehouseError as error:
                told.append(str(error).split(":")[0])
    assert set(told) == {"out of memory"}
    assert wh.query("select count(*) from store.run_tag").fetchall() == [(50_000,)]


def test_a_log_that_does_not_belong_to_the_database(tmp_path: Path) -> None:
    """As where a process was killed, and only the database was removed or put back."""
    wh = Warehouse(tmp_path / "w.duckdb")
    database.create(wh.path)
    with duckdb.connect(str(wh.path)) as con:
        con.execute("pragma disable_checkpoint_on_shutdown")
        con.execute("create table other as select 1 as one")
    log = wh.path.with_name("w.duckdb.wal")
    assert log.exists()
    wh.path.unlink()
    database.create(wh.path)
    for call in (wh.init, wh.runs, lambda: wh.ingest_run("tiny", RUN, name="one")):
        with pytest.raises(
            UsageError, match=r"w\.duckdb\.wal: this log beside .* or of another file"
        ):
            call()
    log.unlink()
    assert wh.init() is False
    early = wh.path.read_bytes()
    with duckdb.connect(str(wh.path)) as con:
        con.execute("create table other as select 1 as one")
        con.execute("checkpoint")
        con.execute("pragma disable_checkpoint_on_shutdown")
        con.execute("drop table other")
    wh.path.write_bytes(early)
    with pytest.raises(UsageError, match=r"w\.duckdb\.wal: this log beside .* or of another file"):
        wh.runs()
