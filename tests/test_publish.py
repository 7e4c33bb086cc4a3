"""Replicas: whole, readable by older clients, replaced in one step; else the old one stays."""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import duckdb
import pytest
from projects import command
from test_schema import storage_version

from warehouse.cli.commands import publish
from warehouse.cli.options import LimitedFile
from warehouse.errors import LockedError, UsageError
from warehouse.report.file_replacement import replace_folder
from warehouse.warehouse import Warehouse


def one_run(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}})
    wh.ingest_run("tiny", {"q1": {"b": 2.0, "a": 1.0}}, name="one", tags={"stage": "first"})
    wh.evaluate(metrics="AP RR")


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepared) -> Warehouse:
    monkeypatch.chdir(tmp_path)
    return prepared(Path("w.duckdb"), one_run)


def content(path: Path | str, *, but: str = "") -> dict[str, list[tuple]]:
    """Return the rows of every table and view, and the comments and columns of all of them."""
    with duckdb.connect(str(path), read_only=True) as con:
        con.execute(f"set search_path = '{Path(path).stem}.main,{Path(path).stem}.store'")
        described = con.execute(
            "select table_name, column_name, data_type, comment from duckdb_columns() "
            "where not internal and table_name <> $1 order by all",
            [but],
        ).fetchall()
        comments = con.execute(
            "select table_name, comment from duckdb_tables() where table_name <> $1 "
            "union all select view_name, comment from duckdb_views() where not internal order by all",
            [but],
        ).fetchall()
        names = sorted({row[0] for row in described})
        rows = {name: con.execute(f'from "{name}" order by all').fetchall() for name in names}
    return {"columns": described, "comments": comments, **rows}


def leftovers() -> list[str]:
    return sorted(path.name for path in Path().iterdir() if path.name.startswith("."))


@pytest.mark.core
def test_a_replica_is_the_same(small: Warehouse) -> None:
    made = small.publish("replica.duckdb")
    assert (made.path, made.size) == (Path("replica.duckdb"), Path("replica.duckdb").stat().st_size)
    assert content("replica.duckdb", but="publication") == content("w.duckdb")
    with duckdb.connect("replica.duckdb", read_only=True) as con:
        mark = con.execute("select source, schema_revision from store.publication").fetchall()
        bare = con.execute(
            "select count(*) from duckdb_columns() where not internal and comment is null"
        ).fetchall()
    assert mark[0][0] == str(Path("w.duckdb").absolute())
    assert bare == [(0,)]
    # DuckDB 1.4 reads storage up to 67
    assert storage_version(Path("replica.duckdb")) <= 67
    assert leftovers() == []
    assert Warehouse("replica.duckdb").leaderboard("tiny").fetchall() == (
        small.leaderboard("tiny").fetchall()
    )


@pytest.mark.slow
def test_a_replica_of_a_replica(small: Warehouse) -> None:
    small.publish("replica.duckdb")
    Warehouse("replica.duckdb").publish("second.duckdb")
    assert content("second.duckdb", but="publication") == content("w.duckdb")
    with duckdb.connect("second.duckdb", read_only=True) as con:
        mark = con.execute("select source from store.publication").fetchall()
    assert mark == [(str(Path("replica.duckdb").absolute()),)]


@pytest.mark.slow
def test_nothing_is_written_into_a_replica(small: Warehouse) -> None:
    """The next one would take it away; one that is put back is made a warehouse by itself."""
    small.publish("replica.duckdb")
    before = Path("replica.duckdb").read_bytes()
    for words in (
        ["ingest", "run", "more.run", "-d", "tiny"],
        ["evaluate", "-m", "P@1"],
        ["forget", "one", "-d", "tiny", "--yes"],
    ):
        Path("more.run").write_text("q Q0 a 1 1 t\n")
        code, out, told = command(*words, "--db", "replica.duckdb")
        assert (code, out) == (2, "")
        assert f"replica.duckdb: is a replica of {small.path.absolute()}: the next publish" in told
        assert told.rstrip().endswith("warehouse init --own --db replica.duckdb")
    assert Path("replica.duckdb").read_bytes() == before
    code, _, told = command("init", "--own", "--db", "replica.duckdb")
    assert (code, told) == (0, "replica.duckdb: is a warehouse of its own now\n")
    assert (
        command("init", "--own", "--db", "replica.duckdb")[2] == "replica.duckdb: is up to date\n"
    )
    assert content("replica.duckdb") == content("w.duckdb")
    assert Warehouse("replica.duckdb").evaluate(metrics="P@1").computed == 1
    with pytest.raises(UsageError, match="exists and is not a replica, so it is not replaced"):
        small.publish("replica.duckdb")
    assert command("init", "--own", "--db", "new.duckdb")[2] == "new.duckdb: made\n"


@pytest.mark.slow
def test_again_and_for_older_clients(small: Warehouse) -> None:
    if duckdb.__version__.startswith("1."):
        # it passes over the compression that the older format has not; DuckDB 2 refuses to
        small.publish("replica.duckdb", storage_version="v1.0.0")
        assert storage_version(Path("replica.duckdb")) == 64
    else:
        with pytest.raises(UsageError, match=r"v1\.0\.0: .* DuckDB reads from 1\.2 on"):
            small.publish("replica.duckdb", storage_version="v1.0.0")
    small.publish("replica.duckdb", storage_version="v1.2.0")
    assert storage_version(Path("replica.duckdb")) == 65
    small.ingest_run("tiny", {"q1": {"a": 1.0}}, name="two")
    small.publish("replica.duckdb")
    assert content("replica.duckdb", but="publication") == content("w.duckdb")
    assert leftovers() == []


@pytest.mark.slow
@pytest.mark.core
def test_parquet(small: Warehouse) -> None:
    for round in range(3):
        if round:
            small.ingest_run("tiny", {"q1": {"a": 1.0}}, name=f"r{round}")
        made = small.publish_parquet("replica")
        manifest = json.loads(Path("replica/manifest.json").read_text())
        assert made.relations == len(manifest["relations"])
        with duckdb.connect("w.duckdb", read_only=True) as con:
            con.execute("set search_path = 'w.main,w.store'")
            expected = {
                name: con.execute(f"from {name} order by all").fetchall()
                for name in manifest["relations"]
            }
        for name, about in manifest["relations"].items():
            found = duckdb.sql(f"from 'replica/{about['file']}' order by all").fetchall()
            assert found == expected[name], name
            assert about["rows"] == len(found)
            assert about["comment"]
            assert all(column["comment"] for column in about["columns"])
            columns = duckdb.read_parquet(f"replica/{about['file']}").columns
            assert [column["name"] for column in about["columns"]] == columns
        # the newest, and the one before for those who are reading it
        assert len([name for name in leftovers() if name.startswith(".replica.")]) == min(
            round + 1, 2
        )
    assert {"leaderboard", "history", "store.run", "store.prediction"} < set(manifest["relations"])


def test_folders_of_a_name_that_is_a_pattern_are_cleared_away_too(tmp_path: Path) -> None:
    part = tmp_path / "part"
    for _ in range(3):
        part.mkdir()
        replace_folder(part, tmp_path / "r[1]")
    # the newest, the one before, and the link
    assert len(list(tmp_path.iterdir())) == 3


def test_only_a_replica_is_replaced(small: Warehouse) -> None:
    other = Warehouse("other.duckdb")
    other.init()
    Path("notes.txt").write_text("mine")
    Path("folder").mkdir()
    (Path("folder") / "mine.txt").write_text("mine")
    before = {path: path.read_bytes() for path in (Path("w.duckdb"), other.path, Path("notes.txt"))}
    for target, words in (
        ("w.duckdb", "is the warehouse itself"),
        ("./../" + Path.cwd().name + "/w.duckdb", "is the warehouse itself"),
        ("other.duckdb", "exists and is not a replica, so it is not replaced"),
        ("notes.txt", "not a DuckDB database"),
        ("folder", "is a directory"),
        ("no/such.duckdb", "there is no folder no"),
    ):
        with pytest.raises(UsageError, match=words):
            small.publish(target)
    for target in ("folder", "notes.txt", "w.duckdb"):
        with pytest.raises(UsageError, match="exists and is not a replica, so it is not replaced"):
            small.publish_parquet(target)
    for wrong in ("1.4", "v99.0.0", "v1.4.0'; drop table store.run; --"):
        with pytest.raises(UsageError, match="storage version"):
            small.publish("new.duckdb", storage_version=wrong)
    assert {path: path.read_bytes() for path in before} == before
    assert (Path("folder") / "mine.txt").read_text() == "mine"
    assert not Path("new.duckdb").exists()
    for words in (["-"], ["--parquet", "-"]):
        told = "-: a replica is not written to stdout; name a file, or --parquet DIR"
        assert command("publish", *words, "--db", "w.duckdb") == (2, "", told)
    assert not Path("-").exists()
    # what was written before the other failed is told
    with redirect_stderr(StringIO()) as text, pytest.raises(UsageError, match="is not a replica"):
        publish.publish(Path("one"), Path("one"), database=LimitedFile(Path("w.duckdb")))
    assert text.getvalue().startswith("one: published, ")
    assert leftovers() == []


@pytest.mark.slow
def test_a_replica_that_somebody_reads(small: Warehouse, program) -> None:
    small.publish("replica.duckdb")
    reader = program.python(
        "import duckdb, sys\ncon = duckdb.connect('replica.duckdb', read_only=True)\n"
        "print('reading', flush=True)\nsys.stdin.readline()\n"
        "print(con.execute('select count(*) from store.run').fetchall())\n",
        cwd=Path(),
    )
    assert reader.stdout is not None
    assert reader.stdout.readline() == "reading\n"
    small.ingest_run("tiny", {"q1": {"a": 1.0}}, name="two")
    small.publish("replica.duckdb")
    out, _ = reader.communicate("go\n", timeout=30)
    assert out == "[(1,)]\n"
    assert len(content("replica.duckdb")["run"]) == 2


def test_a_replica_of_an_older_program_is_made_anew(small: Warehouse) -> None:
    """That init brings it up to date, which was proposed, is refused of a replica."""
    small.publish("replica.duckdb")
    with duckdb.connect("replica.duckdb") as con:
        con.execute("update store.alembic_version set version_num = 'v0000'")
    with pytest.raises(UsageError) as caught:
        Warehouse("replica.duckdb").runs()
    assert str(caught.value) == (
        "replica.duckdb: a replica with an older schema; make it anew: "
        f"warehouse publish replica.duckdb --db {small.path.absolute()}"
    )


@pytest.mark.slow
def test_what_somebody_wrote_to_a_replica_is_no_part_of_the_next(small: Warehouse) -> None:
    """The log of a program that was ended while it wrote belongs to no other file."""
    small.publish("replica.duckdb")
    with duckdb.connect("replica.duckdb") as con:
        con.execute("pragma disable_checkpoint_on_shutdown")
        con.execute("create table notes as select 1 as one")
    assert Path("replica.duckdb.wal").exists()
    for _ in range(2):
        small.publish("replica.duckdb")
        assert not Path("replica.duckdb.wal").exists()
        assert content("replica.duckdb", but="publication") == content("w.duckdb")


@pytest.mark.slow
def test_a_link_to_a_replica_stays_a_link(small: Warehouse) -> None:
    Path("far").mkdir()
    Path("replica.duckdb").symlink_to("far/away.duckdb")
    for name in ("two", "three"):
        assert small.publish("replica.duckdb").path == Path("replica.duckdb")
        assert Path("replica.duckdb").is_symlink()
        assert content("far/away.duckdb", but="publication") == content("w.duckdb")
        small.ingest_run("tiny", {"q1": {"a": 1.0}}, name=name)
    assert sorted(path.name for path in Path("far").iterdir()) == ["away.duckdb"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes there")
def test_a_replica_keeps_its_mode(small: Warehouse) -> None:
    """Those who may read it may read the next one, whatever the mask of the process that makes it."""
    file, folder = small.path.with_name("r.duckdb"), small.path.with_name("r")
    small.publish(file)
    small.publish_parquet(folder)
    for path, mode in ((file, 0o664), (folder / "runs.parquet", 0o664), (folder, 0o755)):
        path.chmod(mode)
    mask = os.umask(0o077)
    try:
        small.publish(file)
        small.publish_parquet(folder)
    finally:
        os.umask(mask)
    found = [path.stat().st_mode & 0o777 for path in (file, folder / "runs.parquet", folder)]
    assert found == [0o664, 0o664, 0o755]


@pytest.mark.slow
def test_who_writes_is_waited_for(small: Warehouse, program) -> None:
    small.publish("replica.duckdb")
    before = Path("replica.duckdb").read_bytes()
    writer = program.python(
        "import duckdb, sys\ncon = duckdb.connect('w.duckdb')\nprint('held', flush=True)\n"
        "sys.stdin.readline()\n",
        cwd=Path(),
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "held\n"
    small.file.lock_timeout = 0.2
    holder = (
        rf"another process has the database open \(python[\d.]*, PID {writer.pid}; waited 0.2 s\)"
    )
    with pytest.raises(LockedError, match=holder):
        small.publish("replica.duckdb")
    assert Path("replica.duckdb").read_bytes() == before
    small.file.lock_timeout = 30.0
    timer = threading.Timer(0.5, lambda: writer.communicate("done\n"))
    timer.start()
    small.publish("replica.duckdb")
    timer.join()


@pytest.mark.long
def test_two_at_once(small: Warehouse, program) -> None:
    code = (
        "from warehouse.warehouse import Warehouse\nwh = Warehouse('w.duckdb')\n"
        "for _ in range(3):\n    wh.publish('replica.duckdb')\n    wh.publish_parquet('replica')\n"
    )
    both = [program.python(code, cwd=Path()) for _ in range(2)]
    for process in both:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    assert content("replica.duckdb", but="publication") == content("w.duckdb")
    assert not [name for name in leftovers() if not name.startswith(".replica.1")]
