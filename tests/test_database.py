"""One database in memory serves a process, one file after another; a file beside it has its own."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from warehouse.errors import EngineError, LockedError, UsageError
from warehouse.ingest import attributes
from warehouse.readers import batches
from warehouse.store import database, locks
from warehouse.store.database import Resources
from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.core
SQL = "select name from store.run order by name"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Resources | None]]:
    """Return what databases in memory are opened with, from none on."""
    seen: list[Resources | None] = []
    memory = database.memory
    monkeypatch.setattr(
        database, "memory", lambda resources=None: seen.append(resources) or memory(resources)
    )
    database.close()
    yield seen
    database.close()


def one_run(wh: Warehouse, name: str) -> None:
    wh.ingest_qrels("d", {"q": {"a": 1}})
    wh.ingest_run("d", {"q": {"a": 1.0}}, name=name)
    wh.evaluate(metrics="RR")


FIRST, SECOND = partial(one_run, name="first"), partial(one_run, name="second")


@pytest.fixture
def files(tmp_path: Path, prepared) -> tuple[Warehouse, Warehouse]:
    return prepared(tmp_path / "one.duckdb", FIRST), prepared(tmp_path / "two.duckdb", SECOND)


@pytest.mark.slow
def test_results_live_on_while_other_files_are_read_and_written(
    files: tuple[Warehouse, Warehouse], opened: list[Resources | None]
) -> None:
    one, two = files
    boards = [one.leaderboard("d"), two.leaderboard("d")]
    one.ingest_run("d", {"q": {"a": 1.0, "b": 2.0}}, name="third")
    one.evaluate(metrics="RR")
    boards.append(one.leaderboard("d"))
    assert [[row[1] for row in board.fetchall()] for board in boards] == [
        ["first"],
        ["second"],
        ["first", "third"],
    ]
    assert opened == [None]


def test_a_warehouse_stays_the_file_that_it_was_made_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepared
) -> None:
    """As with a database that is open: a name without a folder means the folder of its day."""
    (tmp_path / "later").mkdir()
    monkeypatch.chdir(tmp_path)
    wh = prepared(Path("one.duckdb"), FIRST)
    assert (str(wh.path), repr(wh)) == ("one.duckdb", "Warehouse('one.duckdb')")
    monkeypatch.chdir(tmp_path / "later")
    wh.ingest_run("d", {"q": {"a": 2.0}}, name="second")
    assert (wh.path, wh.runs().relation.shape[0]) == (tmp_path / "one.duckdb", 2)
    assert not any(Path.cwd().iterdir())


def test_a_file_beside_another_has_a_database_of_its_own(
    files: tuple[Warehouse, Warehouse], opened: list[Resources | None]
) -> None:
    one, two = files
    with database.read(one.path) as outer:
        with database.read(two.path) as inner, database.read(one.path) as again:
            found = [con.execute(SQL).fetchall() for con in (outer, inner, again)]
        with pytest.raises(LockedError, match="this thread is at work on it"):
            database.transaction(one.path).__enter__()
        assert outer.execute(SQL).fetchall() == found[0]
    assert found == [[("first",)], [("second",)], [("first",)]]
    assert len(opened) == 3
    with database.read(one.path), database.read(two.path):
        pass
    assert len(opened) == 4
    # one with limits of its own leaves the room to others
    with database.read(one.path, resources=Resources(threads=1)) as con, database.read(two.path):
        assert con.execute("select current_setting('threads')").fetchall() == [(1,)]
    assert len(opened) == 5


def leave_open(path: Path, error: Exception | None) -> None:
    """Read a file, and end with a transaction that is still open."""
    with database.read(path) as con:
        con.begin()
        con.execute("create temp table t as from store.run")
        if error is not None:
            raise error


def test_a_transaction_that_was_left_open_does_not_hold_the_file(
    files: tuple[Warehouse, Warehouse], opened: list[Resources | None]
) -> None:
    """Nor do results that live in the same database in memory."""
    one, _ = files
    board = one.leaderboard("d")
    with pytest.raises(ZeroDivisionError):
        leave_open(one.path, ZeroDivisionError())
    assert one.ingest_run("d", {"q": {"b": 2.0}}, name="third").status == "loaded"
    leave_open(one.path, None)
    with database.transaction(one.path) as con:
        assert con.execute(SQL).fetchall() == [("first",), ("third",)]
    assert len(board) == 1
    assert opened == [None]


def test_after_a_file_that_is_none_there_is_room(
    tmp_path: Path, files: tuple[Warehouse, Warehouse], opened: list[Resources | None]
) -> None:
    broken = tmp_path / "broken.duckdb"
    broken.write_text("no database" * 1000)
    for _ in range(2):
        with pytest.raises(UsageError, match="not a DuckDB database"):
            database.read(broken).__enter__()
    assert files[0].leaderboard("d").fetchall()[0][1] == "first"
    assert opened == [None]


def change(path: Path, sql: str, error: type[BaseException] | None = None) -> None:
    with database.transaction(path) as con:
        con.execute("delete from store.run")
        con.execute(sql)
        if error is not None:
            raise error


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_transaction_that_fails_leaves_the_file_as_it_was(
    files: tuple[Warehouse, Warehouse], error: type[BaseException]
) -> None:
    one, _ = files
    with pytest.raises(error):
        change(one.path, "select 1", error)
    with pytest.raises(EngineError, match="nowhere"):
        change(one.path, "from nowhere")
    assert one.leaderboard("d").fetchall()[0][1] == "first"
    assert [path.name for path in one.path.parent.iterdir() if "wal" in path.name] == []
    change(one.path, "delete from store.score")
    assert one.query("select count(*) from store.run").fetchall() == [(0,)]


@pytest.mark.slow
def test_threads_that_read_and_write_wait_for_each_other(tmp_path: Path, prepared) -> None:
    wh = prepared(tmp_path / "w.duckdb", FIRST)
    errors: list[BaseException] = []

    def write(number: int) -> None:
        for turn in range(5):
            wh.ingest_run("d", {"q": {"a": 1.0 + number + turn / 10}}, name=f"{number}-{turn}")

    def read() -> None:
        for _ in range(15):
            assert ("first",) in wh.query(SQL).fetchall()

    def caught(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    works: list[Callable[[], None]] = [partial(write, number) for number in range(2)]
    threads = [threading.Thread(target=caught, args=(work,)) for work in [*works, read, read]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(wh.query(SQL).fetchall()) == 11


@pytest.mark.parametrize("read_only", [True, False])
def test_a_thread_that_waits_too_long_is_told(tmp_path: Path, read_only: bool, prepared) -> None:
    wh = prepared(tmp_path / "w.duckdb", FIRST)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with database.read(wh.path) if read_only else database.transaction(wh.path):
            held.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    try:
        impatient = Warehouse(wh.path, lock_timeout=0.1)
        with pytest.raises(
            LockedError, match=r"another thread has the database open \(waited 0.1 s\)"
        ):
            impatient.ingest_run("d", {"q": {"a": 2.0}}, name="second")
        if read_only:  # nobody waits to write any more, and readers are let in
            assert impatient.query(SQL).fetchall() == [("first",)]
        else:
            with pytest.raises(LockedError, match="another thread"):
                impatient.query(SQL)
    finally:
        done.set()
        thread.join()
    wh.ingest_run("d", {"q": {"a": 2.0}}, name="second")
    assert wh.query(SQL).fetchall() == [("first",), ("second",)]


def test_a_writer_does_not_wait_for_readers_that_come_later(tmp_path: Path, prepared) -> None:
    """Readers of which one always holds the file would keep a writer out for ever.

    One that has the file open already is let in again: the writer waits for it.
    """
    wh = prepared(tmp_path / "w.duckdb", FIRST)
    order: list[str] = []
    held, awaited, again, done = (threading.Event() for _ in range(4))

    def first() -> None:
        with database.read(wh.path):
            held.set()
            awaited.wait(30)
            with database.read(wh.path):
                again.set()
            done.wait(30)

    def write() -> None:
        with database.transaction(wh.path):
            order.append("write")

    def late() -> None:
        with database.read(wh.path):
            order.append("late")

    threads = [threading.Thread(target=first), threading.Thread(target=write)]
    threads[0].start()
    held.wait(30)
    threads[1].start()
    while not locks.turns._waiting:
        time.sleep(0.01)
    awaited.set()
    assert again.wait(5)
    threads.append(threading.Thread(target=late))
    threads[2].start()
    threads[2].join(0.2)
    assert order == []
    done.set()
    for thread in threads:
        thread.join()
    assert order == ["write", "late"]


def test_a_callback_cannot_use_the_warehouse_that_calls_it(tmp_path: Path, prepared) -> None:
    wh = prepared(tmp_path / "w.duckdb", FIRST)
    with pytest.raises(LockedError, match="this thread is at work on it: a callback cannot"):
        # it reads whole lists, for which the file stays open
        wh.evaluate(metrics="Spread@5", on_metric=lambda _: wh.ingest_qrels("e", {"q": {"d": 1}}))
    assert wh.evaluate(metrics="AP").computed == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_new_process_does_not_wait_for_threads_of_the_old_one(tmp_path: Path, prepared) -> None:
    wh = prepared(tmp_path / "w.duckdb", FIRST)
    program = (
        "import os, sys, threading\n"
        "from warehouse.store import locks\n"
        "turn = locks.turns.taken(sys.argv[1], 1, read_only=False)\n"
        "holder = threading.Thread(target=turn.__enter__)\n"
        "holder.start(); holder.join()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    with locks.turns.taken(sys.argv[1], 1, read_only=False):\n"
        "        os._exit(7)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(wh.path)], check=False)
    assert done.returncode == 7


JUPYTER = """
import sys, types
kernel = types.SimpleNamespace(config={"IPKernelApp": {}})
sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: kernel)
from warehouse.store import database
print(database.memory().sql("select current_setting('enable_progress_bar')").fetchall())
"""


def test_jupyter_without_the_package_of_its_progress_bars() -> None:
    """DuckDB refuses to turn off bars that it cannot draw: no call worked in such a notebook."""
    done = subprocess.run(
        [sys.executable, "-c", JUPYTER], check=False, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("[(False,)]\n", "")


FULL = """
import resource, signal, sys
from warehouse.warehouse import Warehouse
wh = Warehouse(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (wh.path.stat().st_size, hard))
run = {f"q{i}": {f"d{j}": j / 7 for j in range(100)} for i in range(40)}
print(wh.ingest_run("tiny", run, name="one").status, wh.path.with_name("w.duckdb.wal").exists())
print(wh.query("select count(*) from store.prediction").fetchall())
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
print(wh.ingest_run("tiny", run, name="two").status, wh.verify().is_good)
print(wh.query("select count(*) from store.prediction").fetchall())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="this system limits no sizes of files")
def test_what_is_committed_is_stored_though_the_disk_is_full_then(tmp_path: Path) -> None:
    """The log beside the file has it; that the file could not take it over is no failure of the load."""
    Warehouse(tmp_path / "w.duckdb").init()  # the process would do it by the script
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "w.duckdb")],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["loaded True", "[(4000,)]", "loaded True", "[(8000,)]"]


@pytest.mark.slow
def test_nobody_waits_while_a_source_is_read(
    tmp_path: Path, prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one, which could be in any process, writes while each source is read."""
    wh = prepared(tmp_path / "w.duckdb", FIRST)
    impatient = Warehouse(wh.path, lock_timeout=0)
    versions: list[int] = []

    def between(module: ModuleType, name: str) -> None:
        stage = getattr(module, name)

        def slow(con, source, kind, **how):
            newer = {"q": {"a": 2 + len(versions)}}
            versions.append(impatient.ingest_qrels("d", newer, replace=True).version)
            return stage(con, source, kind, **how)

        monkeypatch.setattr(module, name, slow)

    run = tmp_path / "second.run"
    run.write_text("q Q0 a 1 2.0 t\n")
    between(batches, "stage")
    assert [done.status for done in wh.ingest_runs("d", [run])] == ["loaded"]
    monkeypatch.undo()
    between(attributes, "stage_attributes")
    assert wh.ingest_attributes("d", {"a": {"year": 1}}, of="docs", name="years").status == "loaded"
    assert versions == [2, 3]
    assert wh.query(SQL).fetchall() == [("first",), ("second",)]
