"""Replacing a file or folder that others read: written next to it, then renamed."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from warehouse.errors import LockedError, UsageError, is_utf8, option
from warehouse.store.engine_errors import in_words, why_not_written


def check_file(output: Path) -> None:
    """Refuse an output path that cannot be written, or that would replace a database."""
    if output.is_dir():
        raise UsageError(f"{output}: is a directory; give the result another name")
    if not output.parent.is_dir():
        raise UsageError(f"{output}: there is no folder {output.parent}")
    if output.is_file():
        with suppress(OSError), output.open("rb") as file:
            if file.read(12)[8:] == b"DUCK":
                raise UsageError(f"{output}: is a database; give the result a file of its own")


@contextmanager
def new_file(output: Path) -> Iterator[Path]:
    """Yield a path to write a result to; the file replaces the output when the block succeeds.

    A link stays a link, and a file keeps its mode. An output that is not a file, such as a device
    or a pipe, is written directly.
    """
    part = output
    try:
        check_file(output)
        is_other = output.exists() and not output.is_file()
        if is_other or Path("/dev") in output.absolute().parents:
            yield output
        else:
            target = Path(os.path.realpath(output))
            part = target.with_name(f".{target.name[:50]}.{os.getpid()}.part")
            try:
                part.touch()  # what cannot be written is found before the work
                yield part
                if target.exists():
                    shutil.copymode(target, part)
                part.replace(target)
            finally:
                part.unlink(missing_ok=True)
    except Exception as error:
        why = why_not_written(error, part.name)
        if why is None:
            raise
        raise UsageError(f"{output}: cannot be written: {why}") from error


@contextmanager
def new_version(target: Path, lock_timeout: float) -> Iterator[Path]:
    """Yield a path next to the target for its new content; nothing is left there afterwards.

    Only one process at a time works in a folder, so anything at that path was left by a killed
    process.
    """
    if not target.name:
        raise UsageError(f"{target}: cannot be replaced; give it a name in this folder")
    if not is_utf8(str(target)):
        raise UsageError(f"{target}: is not UTF-8: give it another name")
    if not target.parent.is_dir():
        raise UsageError(f"{target}: there is no folder {target.parent}")
    part = target.with_name(f".{target.name}.part")
    with locked(target.parent, lock_timeout):
        _remove(part)
        try:
            with in_words(target, made=True):
                yield part
        except OSError as error:
            raise UsageError(f"{target}: cannot be written: {error.strerror}") from error
        finally:
            _remove(part)


def replace_file(part: Path, target: Path) -> None:
    """Move a finished file to the target, with its mode, so that it survives a power failure."""
    if target.exists():
        shutil.copymode(target, part)
    _flush(part)
    _log_file(target).unlink(missing_ok=True)  # of what somebody wrote to the one before
    part.replace(target)
    _flush(target.parent)


def replace_folder(part: Path, target: Path) -> None:
    """Move a finished folder to the target: a link, which can be replaced in one step.

    The previous folder stays until the next time, for those who are reading it. Files of the same
    name keep their mode.
    """
    before = Path(os.path.realpath(target)) if target.is_symlink() else None
    for path in [*part.rglob("*"), part]:
        if before is not None and (before / path.relative_to(part)).exists():
            shutil.copymode(before / path.relative_to(part), path)
        _flush(path)
    part.chmod(part.stat().st_mode | 0o700)  # the next time takes it away
    made = target.with_name(f".{target.name}.{time.time_ns()}")
    part.replace(made)
    link = target.with_name(f".{target.name}.link")
    _remove(link)
    link.symlink_to(made.name, target_is_directory=True)
    link.replace(target)
    _flush(target.parent)
    for old in target.parent.glob(f".{escape(target.name)}.*"):
        number = old.name.removeprefix(f".{target.name}.")
        if number.isdigit() and Path(os.path.realpath(old)) not in (made.resolve(), before):
            _remove(old)


@contextmanager
def locked(path: Path, timeout: float, doing: str = "publishes there") -> Iterator[None]:
    """Let one process at a time pass, by a file or folder. Raises LockedError after the timeout."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        deadline = time.monotonic() + timeout
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise LockedError(
                        f"{path}: another process {doing} (waited {timeout:g} s); "
                        f"wait longer with {option('lock-timeout', None)}"
                    ) from None
                time.sleep(0.05)
        yield
    finally:
        os.close(handle)


def _flush(path: Path) -> None:
    # some file systems cannot do so with a folder
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    _log_file(path).unlink(missing_ok=True)


def _log_file(path: Path) -> Path:
    """Return where DuckDB keeps the log of a file."""
    return path.with_name(path.name + ".wal")
