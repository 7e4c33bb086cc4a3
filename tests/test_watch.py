"""`warehouse watch`: syncs on changes, goes on after problems, ends by Ctrl-C."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, Queue
from types import SimpleNamespace

import pytest
from projects import command
from syncs import BETTER, RUN, SETTINGS, Project

from warehouse.cli.commands import sync, watch
from warehouse.sync.events import Synced

CODE = """
import sys
sys.argv = ["warehouse", "watch", "--debounce", "0.1"]
from warehouse.cli import main
main()
"""

INTO_LOG = """
import os
out = os.open("runs/bm25/watch.log", os.O_WRONLY | os.O_APPEND)
os.dup2(out, 1)
os.dup2(out, 2)
"""


class Watching:
    """A `warehouse watch` in a process of its own, and the lines that it prints."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: Queue[str] = Queue()
        for stream in (process.stdout, process.stderr):
            threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream: Iterator[str]) -> None:
        for line in stream:
            self.lines.put(line.rstrip())

    def next(self, seconds: float = 30) -> str:
        return self.lines.get(timeout=seconds)


def test_without_watchfiles_it_says_what_to_install(
    synced: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    code, _, err = command("watch")
    assert code == 2
    assert "[watch]'" in err


class Clock:
    """A time that goes on where something is waited for."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def syncs(synced: Project, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[float]]:
    """Return a way to watch changes, one every quarter of a second: when are the syncs?"""

    def found(*changed: str | None, debounce: str = "1") -> list[float]:
        clock, times = Clock(), []

        def watching(*_: object, **__: object) -> Iterator[set[tuple[int, str]]]:
            for name in (None, *changed):
                yield set() if name is None else {(2, str(synced.path / name))}
                clock.now += 0.25
            raise KeyboardInterrupt

        def sync(*_: object, **__: object) -> Synced:
            times.append(clock.now - 100)
            return Synced(())

        monkeypatch.setattr(watch, "time", clock)
        monkeypatch.setattr(watch, "run", sync)
        monkeypatch.setitem(sys.modules, "watchfiles", SimpleNamespace(watch=watching))
        with contextlib.suppress(KeyboardInterrupt):
            command("watch", "--debounce", debounce)
        return times

    return found


def test_only_what_is_asked_for_leads_to_a_sync(
    synced: Project, syncs: Callable[..., list[float]]
) -> None:
    synced.settings('dataset = "tiny"', 'dataset = "tiny"\nsidecar = true')
    synced.settings(
        '"runs/{system}/{name}.run*"', '["runs/{system}/{name}.run*", "gz/{name}.run.gz"]'
    )
    synced.write("runs/bm25/watch.log", "x")
    quiet = [None] * 8
    for name in (
        "runs/bm25/one.run", "runs/bm25/gone.run", "runs/bm25/one.run.yaml", "gz/a.run.json", "runs/new",
        "qrels.txt", "warehouse.toml",
    ):  # fmt: skip
        (synced.path / "runs/new").mkdir(exist_ok=True)
        assert syncs(name, *quiet) == [0, 1.25], name
    for name in ("runs/bm25/watch.log", "runs/one.run", "w.duckdb", "w.duckdb.wal", "other.toml"):
        assert syncs(name, *quiet) == [0], name
    # what only begins as the database is called is no part of it
    synced.settings('"w.duckdb"', '"run"')
    assert syncs("runs/bm25/one.run", *quiet) == [0, 1.25]


def test_of_what_may_not_be_looked_into_the_folder_above_is_watched(
    synced: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    access, stat = os.access, Path.stat

    def closed(path: os.PathLike[str]) -> bool:
        return "closed" in Path(path).parts

    def refused(path: Path, **options: bool) -> os.stat_result:
        if closed(path):
            raise PermissionError
        return stat(path, **options)

    synced.settings('"runs/', '"closed/in/')
    synced.write("closed/in/one.run", RUN)
    monkeypatch.setattr(os, "access", lambda path, mode: not closed(path) and access(path, mode))
    monkeypatch.setattr(Path, "stat", refused)
    watched = watch._watched()
    assert sorted(watched.paths) == [
        synced.path, synced.path / "qrels.txt", synced.path / "warehouse.toml",
    ]  # fmt: skip
    assert not watched.matters(str(synced.path / "closed/in/two.log"), synced.path / "w.duckdb")


def test_changes_are_gathered_for_so_long(syncs: Callable[..., list[float]]) -> None:
    """However fast they come, and also where they are seen while a sync is at work."""
    file = "runs/bm25/one.run"
    assert syncs(*[file] * 16) == [0, 1.25, 2.5, 3.75]
    assert syncs(*[file] * 16, debounce="2") == [0, 2.25]
    # other changes hold nothing up; without any it looks every minute
    assert syncs(file, *["other"] * 8) == [0, 1.25]
    assert syncs(*[None] * 480) == [0, 60, 120]


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("watchfiles") is None, reason="watchfiles is not installed"
)
def test_what_it_tells_is_no_change(synced: Project, program) -> None:
    """Its output goes to a file in the watched folder, even one that counts as a run."""
    synced.settings("{name}.run*", "{name}.*")
    log = synced.write("runs/bm25/watch.log", "")
    process = program.python(INTO_LOG + CODE, cwd=synced.path)

    def wait(text: str) -> None:
        end = time.monotonic() + 30
        while text not in log.read_text():
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)

    try:
        wait("tiny: computed 1 value for 1 run\n")
        synced.write("new", BETTER).rename(synced.path / "runs/bm25/two.run")
        wait("tiny: run two loaded")
        wait("warehouse: runs/bm25/watch.log: 6 problems\n")
        time.sleep(2)
        assert log.read_text().count("warehouse: runs/bm25/watch.log: ") == 1
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)


@pytest.mark.slow
def test_a_problem_that_stays_is_told_once(synced: Project) -> None:
    told: set[str] = set()
    for text, number in (("q1\n", 1), ("q1\n", 0), ("q1 x\n", 1), (RUN, 0), ("q1 x\n", 1)):
        synced.write("runs/bm25/bad.run", text)
        with contextlib.redirect_stderr(io.StringIO()) as err:
            sync.run(synced.warehouse, quiet=True, reported=told)
        assert err.getvalue().count("warehouse: ") == number


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("watchfiles") is None, reason="watchfiles is not installed"
)
def test_it_syncs_on_changes_until_it_is_interrupted(synced: Project, program) -> None:
    watching = Watching(program.python(CODE, cwd=synced.path))
    try:
        assert watching.next() == "watching qrels.txt, runs, warehouse.toml; Ctrl-C ends it"
        assert watching.next().startswith("tiny: qrels loaded from qrels.txt")
        assert watching.next().startswith("tiny: run one loaded from runs/bm25/one.run")
        assert watching.next() == "tiny: computed 1 value for 1 run"
        # what it writes itself is no change
        with pytest.raises(Empty):
            watching.next(2)
        # a file that is moved, as a change of its time alone is none, and one that is being written
        synced.write("new", BETTER).rename(synced.path / "runs/bm25/two.run")
        assert watching.next().startswith("tiny: run two loaded from runs/bm25/two.run")
        assert watching.next() == "tiny: computed 1 value for 1 run"
        synced.write("runs/bm25/three.run", RUN + "q1 Q0 z 3 0 t\n", age=0)
        assert watching.next().startswith("tiny: run three loaded from runs/bm25/three.run")
        assert watching.next() == "tiny: computed 1 value for 1 run"
        synced.write("bad", "q1\n").rename(synced.path / "runs/bm25/bad.run")
        assert watching.next().startswith("warehouse: runs/bm25/bad.run: ")
        while not watching.lines.empty():
            watching.next()
        (synced.path / "runs/bm25/bad.run").unlink()
        # the project's file may change as well
        synced.write("warehouse.toml", SETTINGS.replace('["RR"]', '["RR", "P@1"]'))
        while (line := watching.next()) != "tiny: computed 3 values for 3 runs":
            assert line.startswith("warehouse: runs/bm25/bad.run: ") or line.startswith("  ")
        assert watching.process.poll() is None
    finally:
        watching.process.send_signal(signal.SIGINT)
        code = watching.process.wait(timeout=30)
    assert code == 130
