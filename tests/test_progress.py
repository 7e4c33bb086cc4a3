"""How far a command is: what is shown on a terminal, and nothing elsewhere."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path

import pytest

from warehouse.cli import progress
from warehouse.cli.progress import Progress, sizes
from warehouse.store import database


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_how_much_is_done() -> None:
    """Of 4 metrics 1 is done; of 3,000,000 bytes the first source has 1,000,000."""
    metrics = Progress("evaluating", "metric", 4)
    metrics.step("AP")
    assert (metrics.share(), metrics.count()) == (0.25, "1 of 4 metrics")
    loading = Progress("loading", "run", 2, {"a": 1_000_000, "b": 2_000_000})
    loading.step("a")
    assert loading.share() == pytest.approx(1 / 3)
    assert loading.count() == "1.0 MB of 3.0 MB, 1 of 2 runs"
    # more steps than were expected, or an unknown number of them
    metrics.total = 0
    assert (metrics.share(), metrics.count()) == (None, "1 metric")
    assert Progress("fusing").count() == ""


def test_a_bar_is_drawn_on_a_terminal_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_QUIET", 0.0)
    monkeypatch.setattr(progress, "_PAUSE", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with Progress("loading", "file", 2) as step:
        step("one")
        with database.memory() as con:
            assert con.execute("select current_setting('enable_progress_bar')").fetchone() == (
                True,
            )
        until = time.monotonic() + 5
        while "1 of 2 files" not in terminal.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
    assert "loading" in terminal.getvalue()
    assert "1 of 2 files" in terminal.getvalue()
    assert terminal.getvalue().rstrip().endswith("\x1b[2K")  # the line is erased
    with database.memory() as con:
        assert con.execute("select current_setting('enable_progress_bar')").fetchone() == (False,)


def test_nothing_is_drawn_elsewhere_or_within_a_second(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        with Progress("loading", "file", 1) as step:
            step("one")
        assert stream.getvalue() == ""
    (tmp_path / "one.run").write_bytes(bytes(10))
    assert sizes([tmp_path / "one.run", "-", {}]) == {str(tmp_path / "one.run"): 10}
