"""Processes that wait for a file get it in the order in which they came, and none waits in vain."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from warehouse.errors import LockedError
from warehouse.store import tickets
from warehouse.store.locks import turns, wait_for_lock

pytestmark = [
    pytest.mark.core,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
]


@pytest.fixture
def child() -> Iterator[Callable[[Callable[[], object]], int]]:
    """Return a function that does something in a fork of this process and returns its number."""
    started: list[int] = []

    def start(work: Callable[[], object]) -> int:
        number = os.fork()
        if number == 0:
            status = 1
            try:
                turns.begin_again()
                work()
                status = 0
            finally:
                os._exit(status)
        started.append(number)
        return number

    yield start
    assert [os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) for number in started] in (
        [0] * len(started),
        [0, -signal.SIGKILL, 0],
    )


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_the_time_counts_from_the_head_of_the_queue(tmp_path: Path, child) -> None:
    """Each holds the file for a while: all together for longer than one is willing to wait."""
    file, held, order = tmp_path / "w.duckdb", tmp_path / "held", tmp_path / "order"
    queue = tmp_path / ".w.duckdb.queue"
    order.touch()
    held.mkdir()

    def open_it() -> None:
        try:
            held.mkdir()
        except FileExistsError:
            raise RuntimeError("Could not set lock on file") from None

    def work(name: str) -> None:
        # the first waits while the others are started
        wait_for_lock(open_it, file, timeout=1.5)
        with order.open("a") as lines:
            lines.write(name)
        time.sleep(0.2)
        held.rmdir()

    names = "fbhdaceg"
    for place, name in enumerate(names, start=1):
        child(lambda name=name: work(name))
        until(lambda place=place: queue.exists() and queue.stat().st_size == place)
    with pytest.raises(LockedError, match=r"another process has .* \(waited 0 s\)"):
        wait_for_lock(open_it, file, timeout=0)
    held.rmdir()
    until(lambda: order.read_text() == names and not held.exists())
    assert not queue.exists()


def test_who_is_killed_leaves_the_queue(tmp_path: Path, child) -> None:
    file, queue, told = tmp_path / "w", tmp_path / ".w.queue", tmp_path / "told"
    told.touch()

    def work(name: str) -> None:
        with tickets.queued(str(file)) as ticket:
            until(ticket.is_first)
            told.write_text(told.read_text() + name)

    with tickets.queued(str(file)) as ticket:
        assert ticket.is_first()
        numbers = []
        for place, name in enumerate("abc", start=2):
            numbers.append(child(lambda name=name: work(name)))
            until(lambda place=place: queue.stat().st_size == place)
        os.kill(numbers[1], signal.SIGKILL)
        assert told.read_text() == ""
    until(lambda: told.read_text() == "ac" and not queue.exists())


def test_a_queue_that_was_left_is_removed(tmp_path: Path) -> None:
    queue = tmp_path / ".w.queue"
    queue.write_bytes(bytes(5))
    assert tickets.is_open(str(tmp_path / "w"))
    assert wait_for_lock(lambda: "opened", tmp_path / "w", timeout=0) == "opened"
    assert not queue.exists()


def test_without_a_folder_to_write_to_there_is_no_queue(tmp_path: Path) -> None:
    (tmp_path / ".w.queue").symlink_to(tmp_path / "other")
    with tickets.queued(str(tmp_path / "w")) as ticket:
        assert ticket is None
    assert not (tmp_path / "other").exists()
    assert wait_for_lock(lambda: "opened", tmp_path / "w", timeout=0) == "opened"
