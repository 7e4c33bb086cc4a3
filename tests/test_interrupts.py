"""Ctrl-C: it is a KeyboardInterrupt, at once, and what it met answers rightly afterwards."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from warehouse import Warehouse
from warehouse.store import database
from warehouse.store.engine_errors import at_the_edge

# By hand: AP of q1 is (1/2 + 2/3) / 2 = 7/12, that of q2 is 1, so the mean is 19/24.
QRELS = {"q1": {"a": 1, "b": 0, "c": 1}, "q2": {"a": 1}}
RUN = {"q1": {"b": 3.0, "a": 2.0, "c": 1.0}, "q2": {"a": 1.0}}
VALUES = {"AP": 19 / 24, "RR": 3 / 4}


@pytest.fixture(autouse=True)
def default_handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@contextmanager
def interrupted(call: int, name: str = "", what: str = "") -> Iterator[list[int]]:
    """Send the signal at the n-th call or return, of all functions or those of a name; count them."""
    count = [0]

    def look(frame: FrameType, event: str, argument: object) -> None:
        if name and (frame.f_code.co_name, event) != (name, what):
            return
        count[0] += 1
        if count[0] == call:
            signal.raise_signal(signal.SIGINT)

    sys.setprofile(look)
    try:
        yield count
    finally:
        sys.setprofile(None)


def interrupt_often(work: Callable[[], Any], check: Callable[[], None], times: int) -> None:
    """Interrupt some work at calls that are chosen at random, and check after each."""
    work()  # the first time has more calls than the others
    with interrupted(-1) as count:
        work()
    chosen, met = random.Random(times), 0
    for _ in range(times):
        try:
            with interrupted(chosen.randint(1, count[0])):
                work()
            time.sleep(0.2)  # it may have waited
        except KeyboardInterrupt:
            met += 1
        check()
    assert met > times / 3


@pytest.mark.slow
@pytest.mark.parametrize("times", [8, pytest.param(40, marks=pytest.mark.long)])
def test_a_scorer(times: int) -> None:
    with Warehouse.scorer(QRELS, "AP RR") as score:

        def check() -> None:
            assert score(RUN).means() == VALUES

        interrupt_often(lambda: score({"q1": {"a": 1.0}}), check, times)


@pytest.mark.slow
@pytest.mark.parametrize("times", [3, pytest.param(12, marks=pytest.mark.long)])
@pytest.mark.parametrize("verb", ["ingest", "evaluate", "leaderboard"])
def test_a_warehouse(tmp_path: Path, verb: str, times: int) -> None:
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", RUN, name="one")
    made = iter(range(10_000))

    def ingest() -> object:
        number = next(made)
        return wh.ingest_run("tiny", {"q1": {"a": 1.0 + number}}, name=f"more-{number}")

    def evaluate() -> object:
        return wh.evaluate(metrics=f"P@{next(made) + 1}")

    def check() -> None:
        board = wh.leaderboard("tiny", metrics="AP RR", run="one")
        values = [dict(zip(board.columns, row, strict=True)) for row in board.fetchall()]
        assert [(row["AP"], row["RR"]) for row in values] == [(19 / 24, 3 / 4)]

    work = {"ingest": ingest, "evaluate": evaluate, "leaderboard": check}[verb]
    interrupt_often(work, check, times)
    wh.ingest_run("tiny", {"q1": {"c": 1.0}}, name="last")


@pytest.mark.sample(4, 2)
@pytest.mark.parametrize(
    ("name", "what"),
    [("attach", "return"), ("push", "call"), ("as_dicts", "call"), ("_detach", "call")],
)
def test_where_a_file_would_stay_open(
    tmp_path: Path, prepared: Callable[..., Warehouse], name: str, what: str
) -> None:
    """Once it is attached, in its transaction, and while it is detached."""

    def fill(wh: Warehouse) -> None:
        wh.ingest_qrels("tiny", QRELS)
        wh.ingest_run("tiny", RUN, name="one")

    wh = prepared(tmp_path / "w.duckdb", fill)
    kept = wh.runs("tiny")  # it keeps the engine

    def work() -> None:
        wh.ingest_run("tiny", RUN, name="two")
        time.sleep(0.02)  # it may have waited

    with pytest.raises(KeyboardInterrupt), interrupted(1, name, what):
        work()
    assert wh.ingest_run("tiny", RUN, name="three").status == "loaded"
    assert len(kept.fetchall()) == 1


def test_a_long_statement() -> None:
    """DuckDB alone would wait for its other threads: for a minute, here."""
    con = database.memory(database.Resources(threads=2))
    started = time.monotonic()
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt), at_the_edge():
        con.execute("select sum(hash(range)) from range(5_000_000_000)")
    assert time.monotonic() - started < 20
    assert con.execute("select 1").fetchall() == [(1,)]


def test_an_error_that_the_signal_makes() -> None:
    """A function in Python, called by the engine, gets the signal: it is no error of the function."""
    con = database.memory()

    def pause(number: int) -> int:
        signal.raise_signal(signal.SIGINT)
        return number

    con.create_function("pause", pause, [int], int)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt), at_the_edge():
        con.execute("select pause(1)")
    with pytest.raises(ZeroDivisionError), at_the_edge():
        _ = 1 / 0
