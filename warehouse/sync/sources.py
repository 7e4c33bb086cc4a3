"""The files that a project declares: which ones exist, and which can be read now."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from warehouse.errors import InputError, UsageError, WarehouseError
from warehouse.readers import remote
from warehouse.readers.files import check_name, default_name, nearest_path
from warehouse.readers.remote import Location
from warehouse.sync import run_description
from warehouse.sync.declarations import TIMES, Declarations, Ground, Runs, known_dataset
from warehouse.sync.patterns import Pattern, group_names, runs_described_by

RUN = "run"
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Source:
    """A file, its state when it was looked at, and its description.

    `settings` holds everything apart from the bytes that affects how it is loaded. `changed_ns` is the
    last change of the file or its side-car. `gone` has the runs of the dataset whose files are gone:
    one of them may have been renamed. A file to `reread` is read although its state is the same.
    """

    kind: str
    path: Location
    dataset: str
    name: str
    size: int
    mtime_ns: int
    changed_ns: int
    settings: str
    options: Mapping[str, Any]
    about: run_description.About | None = None
    time: str = "file"
    queries: Path | None = None
    side_file: Location | None = None
    gone: frozenset[str] = frozenset()
    reread: bool = False

    @property
    def key(self) -> Key:
        """Return the key under which it is remembered."""
        return self.dataset, self.kind, str(self.path)

    @property
    def state(self) -> tuple[int, int, str]:
        """Return the state that must be unchanged for the file not to be read again."""
        return self.size, self.mtime_ns, self.settings

    @property
    def needs_runs(self) -> bool:
        """Whether these are judgments for the queries of all runs, which must be loaded first."""
        return bool(self.options.get("is_global")) and self.queries is None

    @property
    def run_at(self) -> dt.datetime:
        """Return when the file was last changed."""
        return dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(
            microseconds=self.mtime_ns // 1000
        )

    def look(self) -> Source | None:
        """Return its present state, or None if it is gone."""
        try:
            side_file = None if self.side_file is None else remote.afresh(self.side_file)
            return _looked(replace(self, path=remote.afresh(self.path), side_file=side_file))
        except FileNotFoundError:
            return None


@dataclass
class Found:
    """The sources that exist, files with a problem, and patterns without a folder or a file."""

    sources: list[Source] = field(default_factory=list)
    problems: list[tuple[Location, WarehouseError]] = field(default_factory=list)
    absent: list[tuple[Pattern, str]] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)


def find(asked: Declarations) -> Found:
    """Look for every declared file; qrels come before runs."""
    found = Found()
    for name, dataset in asked.datasets.items():
        for ground in dataset.grounds:
            try:
                found.sources.append(_ground(name, ground))
            except OSError as error:
                found.problems.append(_unreadable(remote.location(error.filename), error))
            except WarehouseError as error:  # a server that does not answer
                found.problems.append((ground.file, error))
    taken: set[Key] = set()
    for spec in asked.runs:
        num_problems = len(found.absent) + len(found.problems)
        files = list(_files(spec, asked.folder, found))
        names = {path for path, _ in files}
        if not files and len(found.absent) + len(found.problems) == num_problems:
            patterns = ", ".join(pattern.text for pattern in spec.patterns)
            found.unmatched.append(f"{spec.where}: no file matches {patterns} yet")
        for path, groups in files:
            if spec.sidecar and not names.isdisjoint(runs_described_by(path)):
                continue
            try:
                source = _run(spec, path, groups)
                known_dataset(source.dataset, asked.datasets)
            except FileNotFoundError:
                continue  # it was just removed
            except OSError as error:
                found.problems.append(_unreadable(path, error))
                continue
            except WarehouseError as error:
                found.problems.append((path, error))
                continue
            # a file of several sources of runs is described by the first
            if source.key not in taken:
                taken.add(source.key)
                found.sources.append(source)
    return found


def _files(spec: Runs, folder: Path, found: Found) -> Iterator[tuple[Location, dict[str, str]]]:
    seen: set[Location] = set()
    for pattern in spec.patterns:
        closed = [*pattern.closed(folder)]
        denied = (
            (one, InputError(f"{one}: cannot be opened: permission denied")) for one in closed
        )
        found.problems += [one for one in denied if one[0] not in seen]
        seen.update(closed)
        base = folder / pattern.folder
        if not closed and not pattern.is_remote and not base.is_dir():
            found.absent.append(
                (pattern, f"{spec.where}: no folder {base}{nearest_path(base, is_folder=True)}")
            )
        try:
            for path, groups in pattern.files(folder):
                if path not in seen:
                    seen.add(path)
                    yield path, groups
        except InputError as error:
            found.problems.append((remote.location(pattern.text), error))


def _unreadable(path: Location, error: OSError) -> tuple[Location, WarehouseError]:
    if isinstance(error, FileNotFoundError):
        near = nearest_path(path) if isinstance(path, Path) else ""
        return path, InputError(f"{path}: no such file{near}")
    return path, InputError(f"{path}: cannot be read: {error.strerror}")


def _run(spec: Runs, path: Location, groups: Mapping[str, str]) -> Source:
    side_file = run_description.sidecar(path) if spec.sidecar else None
    described = run_description.describe(spec, path, groups, side_file)
    unsaid = TIMES[0] if group_names(spec.time) else spec.time
    settings = {
        "name": described.name,
        "system": described.system,
        "tags": dict(described.tags),
        "time": unsaid if described.time is None else described.time.isoformat(),
        **spec.options,
    }
    return _looked(
        Source(
            RUN, path, described.dataset, described.name, 0, 0, 0, _json(settings), spec.options,
            about=described, time=unsaid, side_file=side_file,
        )
    )  # fmt: skip


def _ground(dataset: str, ground: Ground) -> Source:
    settings = dict(ground.options)
    if ground.queries is not None:
        settings["queries"] = hashlib.sha256(ground.queries.read_bytes()).hexdigest()
    name = dataset
    if ground.kind in ("docs", "queries"):
        name = ground.options.get("name") or default_name(str(ground.file))
    return _looked(
        Source(
            ground.kind, ground.file, dataset, name, 0, 0, 0, _json(settings), ground.options,
            queries=ground.queries,
        )
    )  # fmt: skip


def _looked(source: Source) -> Source:
    check_name(str(source.path))
    now = source.path.stat()
    changed = now.st_mtime_ns
    if source.side_file is not None and source.side_file.exists():
        changed = max(changed, source.side_file.stat().st_mtime_ns)
    return replace(source, size=now.st_size, mtime_ns=now.st_mtime_ns, changed_ns=changed)


def _json(settings: Mapping[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True, ensure_ascii=False)


def _is_as_seen(source: Source) -> bool:
    with suppress(InputError):  # a store that does not answer any more
        return source.look() == source
    return False


def settled(sources: Sequence[Source], seconds: float) -> tuple[list[Source], list[Source]]:
    """Return the files that nobody seems to be writing, and the others.

    A file that was last changed more than `seconds` ago is ready. The others are looked at again
    after `seconds`; a file that has not changed in between is ready too.
    """
    limit = time.time_ns() - int(seconds * 1e9)
    young = [source for source in sources if source.changed_ns > limit]
    if not young:
        return list(sources), []
    time.sleep(seconds)
    unsettled = {source.key for source in young if not _is_as_seen(source)}
    return (
        [source for source in sources if source.key not in unsettled],
        [source for source in sources if source.key in unsettled],
    )


def namesakes(sources: Iterable[Source], due: Iterable[Source]) -> dict[Key, UsageError]:
    """Return the files of `due` that would become the same run or attributes as another file."""
    groups: dict[tuple[str, str, str], list[Source]] = {}
    for source in sources:
        groups.setdefault((source.dataset, source.kind, source.name), []).append(source)
    found: dict[Key, UsageError] = {}
    for source in due:
        others = groups[source.dataset, source.kind, source.name]
        other = next((other for other in others if other.key != source.key), None)
        if other is not None:
            found[source.key] = UsageError(
                f"{source.path}: would be {source.name} of dataset {source.dataset}, like "
                f"{other.path}: give them different names in the project's file, by the pattern or "
                "by 'name'"
            )
    return found
