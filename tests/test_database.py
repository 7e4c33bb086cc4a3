"""One database in memory serves a process, one file after another; a file beside it has its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from warehouse import database
from warehouse.database import Resources
from warehouse.errors import LockedError, UsageError
from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.core
SQL = "select name from run order by name"


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


def made(path: Path, run: str) -> Warehouse:
    wh = Warehouse(path)
    wh.ingest_qrels({"q": {"a": 1}}, "d")
    wh.ingest_run({"q": {"a": 1.0}}, "d", name=run)
    wh.evaluate(metrics="RR")
    return wh


@pytest.fixture
def files(tmp_path: Path) -> tuple[Warehouse, Warehouse]:
    return made(tmp_path / "one.duckdb", "first"), made(tmp_path / "two.duckdb", "second")


def test_results_live_on_while_other_files_are_read_and_written(
    files: tuple[Warehouse, Warehouse], opened: list[Resources | None]
) -> None:
    one, two = files
    boards = [one.leaderboard("d"), two.leaderboard("d")]
    one.ingest_run({"q": {"a": 1.0, "b": 2.0}}, "d", name="third")
    one.evaluate(metrics="RR")
    boards.append(one.leaderboard("d"))
    assert [[row[1] for row in board.fetchall()] for board in boards] == [
        ["first"],
        ["second"],
        ["first", "third"],
    ]
    assert opened == [None]


def test_a_file_beside_another_has_a_database_of_its_own(
    files: tuple[Warehouse, Warehouse], opened: list[Resources | None]
) -> None:
    one, two = files
    with database.read(one.path) as outer:
        with database.read(two.path) as inner, database.read(one.path) as again:
            found = [con.execute(SQL).fetchall() for con in (outer, inner, again)]
        with pytest.raises(LockedError, match="this process has the file open"):
            database.transaction(one.path).__enter__()
        assert outer.execute(SQL).fetchall() == found[0]
    assert found == [[("first",)], [("second",)], [("first",)]]
    assert len(opened) == 4
    with database.read(one.path), database.read(two.path):
        pass
    assert len(opened) == 5
    # one with limits of its own leaves the room to others
    with database.read(one.path, resources=Resources(threads=1)) as con, database.read(two.path):
        assert con.execute("select current_setting('threads')").fetchall() == [(1,)]
    assert len(opened) == 6


def test_threads_read_at_once(files: tuple[Warehouse, Warehouse]) -> None:
    together = threading.Barrier(4)
    found: dict[int, set[object]] = {}

    def read(number: int) -> None:
        together.wait(60)
        for _ in range(5):
            rows = files[number % 2].leaderboard("d").fetchall()
            found.setdefault(number, set()).add(rows[0][1])

    threads = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {0: {"first"}, 1: {"second"}, 2: {"first"}, 3: {"second"}}


def leave_open(path: Path, error: Exception | None) -> None:
    """Read a file, and end with a transaction that is still open."""
    with database.read(path) as con:
        con.begin()
        con.execute("create temp table t as from run")
        if error is not None:
            raise error


def test_a_database_that_cannot_give_a_file_free_is_not_used_again(
    files: tuple[Warehouse, Warehouse], opened: list[Resources | None]
) -> None:
    """An error that came before is the one that is told; the file is free."""
    one, _ = files
    with pytest.raises(ZeroDivisionError):
        leave_open(one.path, ZeroDivisionError())
    assert one.ingest_run({"q": {"b": 2.0}}, "d", name="third").status == "loaded"
    with pytest.raises(duckdb.TransactionException):
        leave_open(one.path, None)
    with database.read(one.path) as con:
        assert con.execute(SQL).fetchall() == [("first",), ("third",)]
    assert len(opened) == 3


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
        con.execute("delete from run")
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
    with pytest.raises(duckdb.CatalogException):
        change(one.path, "from nowhere")
    assert one.leaderboard("d").fetchall()[0][1] == "first"
    assert [path.name for path in one.path.parent.iterdir() if "wal" in path.name] == []
    change(one.path, "delete from score")
    assert one.query("select count(*) from run").fetchall() == [(0,)]
