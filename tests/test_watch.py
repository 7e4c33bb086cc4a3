"""`warehouse watch`: syncs on changes, goes on after problems, ends by Ctrl-C."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from queue import Empty, Queue

import pytest
from projects import command
from syncs import BETTER, RUN, SETTINGS, Project

CODE = """
import sys
sys.argv = ["warehouse", "watch", "--debounce", "0.1"]
from warehouse.cli import main
main()
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
    assert "pip install 'ranking-warehouse[watch]'" in err


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
