"""A project: what the nearest `warehouse.toml` says, and the files that it names.

The file is in the current folder or in the nearest folder above it, or the one that
WAREHOUSE_CONFIG or `using` names; the table [tool.warehouse] of a `pyproject.toml` serves as well. A
file that is found, not named, must belong to the caller, as must its folder: it decides what is read
and run. WAREHOUSE_TRUST lists other folders that are trusted. Paths in the file are relative to it. It
may change at any time: each request looks once (`request`), and what was made of it is kept while it
stays the same (`per_project`).
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from warehouse.config import toml
from warehouse.config.ownership import is_own
from warehouse.errors import DefinitionError, UsageError, nearest, url

if TYPE_CHECKING:
    from warehouse.config.project_file import ProjectFile

FILE = "warehouse.toml"
PYPROJECT = "pyproject.toml"
TABLE = ("tool", "warehouse")
VARIABLE = "WAREHOUSE_CONFIG"
OPTION = "--config"
# Folders whose files are trusted, whoever they belong to; * stands for all.
TRUST = "WAREHOUSE_TRUST"
_PATHS = {"database", "metrics"}
_T = TypeVar("_T")


@dataclass(frozen=True)
class Project:
    """The contents of a project's file. Two are equal while none of its files has changed."""

    stamp: tuple[object, ...] = ()
    file: Path | None = field(default=None, compare=False)
    database: Path | None = field(default=None, compare=False)
    metrics: Path | None = field(default=None, compare=False)
    metric_files: tuple[Path, ...] = field(default=(), compare=False)
    document: toml.Document = field(default=toml.Document(FILE), compare=False)

    @property
    def protocols(self) -> Mapping[str, Any]:
        """Return the tables of the project's own protocols."""
        found: Mapping[str, Any] = self.document.record.get("protocols", {})
        return found

    @property
    def aliases(self) -> Mapping[str, str]:
        """Return the project's own names for metrics."""
        found: Mapping[str, str] = self.document.record.get("aliases", {})
        return found

    def metrics_of(self, dataset: str, database: str) -> Sequence[str]:
        """Return the names of metrics that the file has for a dataset of a database, or none."""
        if self.file is None or not self._is_of(Path(database)):
            return ()
        found = self.contents.datasets.get(dataset)
        return (found and found.metrics) or self.contents.evaluate.metrics or ()

    def _is_of(self, database: Path) -> bool:
        """Whether the file describes what is in a database."""
        with suppress(OSError):
            return self.database is None or self.database.samefile(database)
        return False

    @property
    def contents(self) -> ProjectFile:
        """Return the contents of the file, by its keys."""
        return _contents(self.document)

    @property
    def where(self) -> str:
        """Return the name of the file, as errors show it."""
        return self.document.where

    @property
    def folder(self) -> Path:
        """Return the folder that its paths are relative to."""
        return Path.cwd() if self.file is None else self.file.parent

    def path(self, text: str) -> Path:
        """Return a path from the file. Raises UsageError for a URL."""
        return Path(os.path.normpath(self.folder / local(text)))

    def check_folder(self) -> None:
        """Refuse a missing folder of metrics."""
        if self.metrics is None or self.metrics.is_dir():
            return
        above = self.metrics.parent
        there = [path.name for path in above.iterdir() if path.is_dir()] if above.is_dir() else []
        hint = nearest(self.metrics.name, there) or "; make it, or take the key out"
        raise self.document.error(("metrics",), f"no folder {relative(self.metrics)}{hint}")


def local(text: str) -> Path:
    """Return a path as people write it. Raises UsageError for a URL."""
    if url(text) is not None:
        raise UsageError(f"{text}: is a URL, and only files are read: fetch it, and name the file")
    return expanded(text)


def expanded(text: str) -> Path:
    """Return a path with the home folder for ~; as it is for a caller without one, as in a container.

    >>> expanded("runs/bm25.run")
    PosixPath('runs/bm25.run')
    """
    path = Path(text)
    with suppress(RuntimeError):
        return path.expanduser()
    return path


def relative(path: Path) -> str:
    """Return a path as people read it: relative if it is in the current folder."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, FileNotFoundError):
        return str(path)


def file_and_table(file: Path) -> str:
    """Return the name of a project's file, and the table in it that applies."""
    return relative(file) + (f" [{'.'.join(TABLE)}]" if file.name == PYPROJECT else "")


def read_text(path: Path) -> str:
    """Return the text of one of a project's files."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DefinitionError(f"{relative(path)}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DefinitionError(f"{relative(path)}: not UTF-8 text (at byte {error.start})") from None


# What the current request has seen, once it has looked.
_seen: ContextVar[list[Project] | None] = ContextVar("seen", default=None)
# The file that `using` names.
_named: ContextVar[str | None] = ContextVar("named", default=None)


@contextmanager
def using(file: str | os.PathLike[str] | None) -> Iterator[None]:
    """Use this file as the project's inside the block; None searches as usual."""
    named = _named.set(_named.get() if file is None else os.fspath(file))
    # what was seen before belongs to another file, or an earlier state
    seen = _seen.set([])
    try:
        yield
    finally:
        _seen.reset(seen)
        _named.reset(named)


def origin() -> str:
    """Return how the project's file was found: by an option, a variable or in a folder."""
    if _named.get():
        return f"option {OPTION}"
    return f"environment {VARIABLE}" if os.environ.get(VARIABLE) else "nearest folder"


@contextmanager
def request() -> Iterator[None]:
    """Read the project's files at most once inside the block; also works as a decorator."""
    if _seen.get() is not None:
        yield
        return
    token = _seen.set([])
    try:
        yield
    finally:
        _seen.reset(token)


def current() -> Project:
    """Return the project of the current folder, or an empty one if there is no file."""
    seen = _seen.get()
    if seen is None:
        return _look()
    if not seen:
        seen.append(_look())
    return seen[0]


def required() -> Project:
    """Return the project of the current folder. Raises UsageError if there is no file."""
    found = current()
    if found.file is None:
        raise UsageError(
            f"no {FILE} in this folder or above it: make one with 'warehouse init', or name one "
            "with --config"
        )
    return found


def per_project(make: Callable[[], _T]) -> Callable[[], _T]:
    """Keep a function's result until a file of the project, the folder, or a registration changes."""
    kept = lru_cache(maxsize=4)(lambda _project, _registrations: make())

    @wraps(make)
    def now() -> _T:
        with request():
            return kept(current(), registered.count)

    return now


@dataclass
class Registrations:
    """The metrics and protocols that the running program has registered, as a project's files might.

    `count` says how often; `folders` are folders of metrics.
    """

    count: int = 0
    folders: list[Path] = field(default_factory=list)


registered = Registrations()


def add_metrics(folder: str | os.PathLike[str]) -> None:
    """Make the metrics in a folder known to the running program."""
    path = local(os.fspath(folder)).resolve()
    if not path.is_dir():
        raise UsageError(f"metrics: no folder {relative(path)}")
    if path not in registered.folders:
        registered.folders.append(path)
        registered.count += 1


def _look() -> Project:
    file = _find()
    added = tuple(path for folder in registered.folders for path in _files(folder))
    if file is None:
        stamps = tuple(_stamp(path) for path in added)
        return Project(stamp=stamps, metric_files=added)
    stamp = _stamp(file)
    document = _document(file, stamp)
    _contents(document)
    bare = Project(file=file, document=document)
    paths = {}
    for key in _PATHS & document.record.keys():
        try:
            paths[key] = bare.path(document.record[key])
        except UsageError as error:
            raise document.error((key,), str(error)) from None
    folder = paths.get("metrics")
    files = tuple(dict.fromkeys((*_files(folder), *added)))
    return Project(
        stamp=(str(Path.cwd()), stamp, folder, *(_stamp(path) for path in files)),
        file=file,
        metric_files=files,
        document=document,
        **paths,
    )


def _find() -> Path | None:
    named = _named.get() or os.environ.get(VARIABLE)
    if named:
        path = expanded(named).absolute()
        if path.is_dir() or not path.exists():
            what = "a folder; name a file in it" if path.is_dir() else "no such file"
            raise DefinitionError(f"{OPTION if _named.get() else VARIABLE}: {named}: {what}")
        return path
    try:
        here = Path.cwd()
    except FileNotFoundError:
        return None
    for folder in (here, *here.parents):
        # unlike Path.is_file, this passes over unreadable folders
        if os.path.isfile(folder / FILE):  # noqa: PTH113
            return _trusted(folder / FILE)
        shared = folder / PYPROJECT
        if os.path.isfile(shared) and _table(shared, _stamp(shared)) is not None:  # noqa: PTH113
            return _trusted(shared)
    return None


def _trusted(file: Path) -> Path:
    """Return a file that was found. Raises DefinitionError if it is another user's."""
    folder = file.parent
    listed = os.environ.get(TRUST, "").split(os.pathsep)
    if all(is_own(path.stat()) for path in (file, folder)) or "*" in listed:
        return file
    if any(Path(one).expanduser().resolve() == folder.resolve() for one in listed if one):
        return file
    raise DefinitionError(
        f"{file}: it or its folder belongs to another user, and it would say what is read and run. "
        f"If you trust it: export {TRUST}={shlex.quote(str(folder))}; to go without: "
        f"export {VARIABLE}={os.devnull}"
    )


def _stamp(path: Path) -> tuple[str, int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return str(path), 0, 0, 0
    return str(path), found.st_mtime_ns, found.st_size, found.st_ino


def _files(folder: Path | None) -> tuple[Path, ...]:
    """Return the metrics in a folder; hidden files of editors are ignored."""
    if folder is None or not folder.is_dir():
        return ()
    return tuple(sorted(p for p in folder.glob("*.sql.j2") if not p.name.startswith(".")))


@lru_cache(maxsize=4)
def _document(file: Path, stamp: tuple[str, int, int, int]) -> toml.Document:
    if file.name != PYPROJECT:
        return toml.read(read_text(file), file_and_table(file))
    found = _table(file, stamp)
    if found is None:
        raise DefinitionError(f"{relative(file)}: has no table [{'.'.join(TABLE)}]")
    return found


def _contents(document: toml.Document) -> ProjectFile:
    from warehouse.config import project_file  # what it needs is imported where there is a file

    return document.convert(project_file.ProjectFile, project_file.ELSEWHERE)


@lru_cache(maxsize=16)
def _table(file: Path, _: tuple[str, int, int, int]) -> toml.Document | None:
    """Return the project's table of a pyproject.toml, or None."""
    tool, name = TABLE
    try:
        text = read_text(file)
        if name not in text:
            return None
        found = toml.read(text, file_and_table(file))
    except DefinitionError:
        # a file of another tool, which may hold anything
        if file.is_file() and f"{tool}.{name}" not in file.read_text("utf-8", "replace"):
            return None
        raise
    record = found.record.get(tool, {}).get(name)
    if record is not None and not isinstance(record, dict):
        raise DefinitionError(f"{relative(file)}: write a table: [{'.'.join(TABLE)}]")
    return None if record is None else replace(found, record=record, inside=TABLE)
