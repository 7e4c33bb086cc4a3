"""Folders for temporary files: nobody else reads them, and a killed process leaves none for long."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from refusals import expect_refusal

from warehouse.store import scratch_folders
from warehouse.store.scratch_folders import ScratchFolder, scratch_folder

# What a process does that is killed while it has a folder.
KILLED = """
import os, pathlib, signal, tempfile
from warehouse.store.scratch_folders import ScratchFolder
made = ScratchFolder()
(made.path / "copy").write_bytes(b"x" * 1000)
print(made.path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of temporary files; nothing has been removed from it yet."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    scratch_folders._remove_left.cache_clear()
    return tmp_path


def test_it_is_the_callers_alone_and_goes_with_its_block(folder: Path) -> None:
    old = os.umask(0)
    try:
        with scratch_folder() as made:
            assert made.parent.parent == folder
            assert {one.stat().st_mode & 0o777 for one in (made, made.parent)} == {0o700}
            (made / "below").mkdir()
            (made / "below" / "copy").write_text("x")
    finally:
        os.umask(old)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("parent", "mode"), [(0o700, 0o700), (0o755, 0o755), (0o2775, 0o2775), (0o1777, 0o700)]
)
def test_in_a_folder_of_a_group_it_is_the_groups(tmp_path: Path, parent: int, mode: int) -> None:
    tmp_path.chmod(parent)
    with scratch_folder(tmp_path) as made:
        assert {one.stat().st_mode & 0o7777 for one in (made, made.parent)} == {mode}


def test_what_a_killed_process_left_is_removed_by_the_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [
        folder / name for name in ("ranking-warehouse", "ranking-warehouse-mine", "x.scratch")
    ]
    for other in others:
        other.mkdir()
    linked = folder / "ranking-warehouse-linked.scratch"
    linked.symlink_to(others[0])
    environment = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", KILLED], env=environment, capture_output=True, text=True, check=False
    )
    left = Path(done.stdout.strip())
    assert (left / "copy").exists()
    held = ScratchFolder()
    assert not left.exists()
    assert all(other.exists() for other in (*others, linked))
    # one that a process holds stays, and so does one of another user
    foreign = folder / "ranking-warehouse-foreign.scratch"
    foreign.mkdir()
    node = foreign.stat().st_ino
    monkeypatch.setattr(scratch_folders, "is_own", lambda found: found.st_ino != node)
    scratch_folders._remove_left.cache_clear()
    with scratch_folder():
        assert held.path.exists()
        assert foreign.exists()
    held.remove()
    assert not held.path.exists()


def test_a_disk_that_is_full_is_said(folder: Path) -> None:
    with expect_refusal(f"{folder} … No space left on device … TMPDIR"), scratch_folder():
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(folder.iterdir()) == []
    with pytest.raises(OSError, match="no such thing"), scratch_folder():
        raise OSError(errno.ENOENT, "no such thing")
