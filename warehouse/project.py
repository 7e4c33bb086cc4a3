"""A project: what the nearest `warehouse.toml` says, and the files that it names.

The file is that of the current folder or of the nearest folder above it, or the one that
WAREHOUSE_CONFIG names. Paths in it are relative to it. It may change at any time: each request looks
once (`request`), and what was made of it is kept while it stays the same (`per_project`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, TypeVar

from warehouse import records
from warehouse.errors import DefinitionError, nearest

FILE = "warehouse.toml"
VARIABLE = "WAREHOUSE_CONFIG"
_KEYS: dict[str, records.Kinds] = {"database": str, "metrics": str, "protocols": dict}
_PATHS = ("database", "metrics")
_T = TypeVar("_T")


@dataclass(frozen=True)
class Project:
    """What a project's file says. Two are the same while none of the files has changed."""

    stamp: tuple[object, ...] = ()
    file: Path | None = field(default=None, compare=False)
    database: Path | None = field(default=None, compare=False)
    metrics: Path | None = field(default=None, compare=False)
    metric_files: tuple[Path, ...] = field(default=(), compare=False)
    protocols: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def where(self) -> str:
        """Return the name of the file, as errors show it."""
        return FILE if self.file is None else shown(self.file)

    def check_folder(self) -> None:
        """Refuse a folder of metrics that is not there."""
        if self.metrics is None or self.metrics.is_dir():
            return
        above = self.metrics.parent
        there = [path.name for path in above.iterdir() if path.is_dir()] if above.is_dir() else []
        hint = nearest(self.metrics.name, there) or "; make it, or take the key out"
        raise DefinitionError(f"{self.where}: metrics: no folder {shown(self.metrics)}{hint}")


def shown(path: Path) -> str:
    """Return a path as people read it: relative when it lies in the current folder."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, FileNotFoundError):
        return str(path)


def read_text(path: Path) -> str:
    """Return the text of one of a project's files."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DefinitionError(f"{shown(path)}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DefinitionError(f"{shown(path)}: not UTF-8 text (at byte {error.start})") from None


# What the request that is going on has seen, once it has looked.
_seen: ContextVar[list[Project] | None] = ContextVar("seen", default=None)


@contextmanager
def request() -> Iterator[None]:
    """Look at the project's files at most once, inside; serves as a decorator too."""
    if _seen.get() is not None:
        yield
        return
    token = _seen.set([])
    try:
        yield
    finally:
        _seen.reset(token)


def current() -> Project:
    """Return the project of the current folder; an empty one where there is no file."""
    seen = _seen.get()
    if seen is None:
        return _look()
    if not seen:
        seen.append(_look())
    return seen[0]


def per_project(make: Callable[[], _T]) -> Callable[[], _T]:
    """Keep what a function makes until a file of the project changes, or the folder."""
    kept = lru_cache(maxsize=4)(lambda _: make())

    @wraps(make)
    def now() -> _T:
        with request():
            return kept(current())

    return now


def _look() -> Project:
    file = _find()
    if file is None:
        return Project()
    stamp = _stamp(file)
    record = _record(file, stamp)
    paths = {
        key: Path(os.path.normpath(file.parent / Path(record[key]).expanduser()))
        for key in _PATHS
        if key in record
    }
    folder = paths.get("metrics")
    files = _files(folder)
    return Project(
        stamp=(str(Path.cwd()), stamp, folder, *(_stamp(path) for path in files)),
        file=file,
        metric_files=files,
        protocols=record.get("protocols", {}),
        **paths,
    )


def _find() -> Path | None:
    named = os.environ.get(VARIABLE)
    if named:
        path = Path(named).expanduser().absolute()
        if path.is_dir() or not path.exists():
            what = "a folder; name a file in it" if path.is_dir() else "no such file"
            raise DefinitionError(f"{VARIABLE}: {named}: {what}")
        return path
    try:
        here = Path.cwd()
    except FileNotFoundError:
        return None
    # unlike Path.is_file, this passes over folders that may not be looked into
    return next((p / FILE for p in (here, *here.parents) if os.path.isfile(p / FILE)), None)  # noqa: PTH113


def _stamp(path: Path) -> tuple[str, int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return str(path), 0, 0, 0
    return str(path), found.st_mtime_ns, found.st_size, found.st_ino


def _files(folder: Path | None) -> tuple[Path, ...]:
    """Return the metrics in a folder; what editors leave there begins with a dot."""
    if folder is None or not folder.is_dir():
        return ()
    return tuple(sorted(p for p in folder.glob("*.sql.j2") if not p.name.startswith(".")))


@lru_cache(maxsize=4)
def _record(file: Path, _: tuple[str, int, int, int]) -> dict[str, Any]:
    where = shown(file)
    record = records.read(read_text(file), where)
    records.check(record, _KEYS, where)
    for key in _PATHS:
        if not record.get(key, key).strip():
            raise DefinitionError(f"{where}: {key!r} is blank")
    return record
