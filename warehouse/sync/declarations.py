"""The declarations in a project's file: datasets, sources of runs, evaluations, gates."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from warehouse.analyze.regressions import BASELINE, CHOSEN, Gate, Limits, check_tested
from warehouse.config import project, project_file
from warehouse.config.key_paths import KeyPath, key_text
from warehouse.config.settings import DEFAULT_METRICS
from warehouse.errors import UsageError, listing, nearest, url
from warehouse.metrics import notation, protocols
from warehouse.readers import qrels_kind, remote
from warehouse.readers.kinds import column_mapping
from warehouse.readers.registry import find
from warehouse.readers.remote import Location, RemoteFile
from warehouse.sync.patterns import Pattern, group_names, runs_described_by

_T = TypeVar("_T")
GroundKind = Literal["qrels", "training", "docs", "queries"]
# Placeholders that describe a run; every other one is a tag.
ABOUT = ("dataset", "name", "system", "time")
TIMES = ("file", "git", "now")
SETTLE = project_file.ProjectFile().settle
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST = 86_400
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)")

# The keys of a source of runs that say how to load it.
_LOADING = ("format", "columns", "normalise", "where", "repeated", "lower_is_better")


@dataclass(frozen=True)
class Ground:
    """A file with qrels, a training set or attributes; `options` say how it is loaded."""

    kind: GroundKind
    file: Location
    options: Mapping[str, Any]
    queries: Path | None = None


@dataclass(frozen=True)
class Evaluation:
    """The metrics to compute for the runs of a dataset."""

    metrics: tuple[str, ...] = DEFAULT_METRICS
    protocols: tuple[str, ...] = (protocols.DEFAULT,)
    slices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """A dataset, with its files."""

    grounds: tuple[Ground, ...]
    evaluation: Evaluation


@dataclass(frozen=True)
class Runs:
    """A source of runs; texts may have placeholders that are in all of its patterns.

    By default, `name`, `system` and `time` are the placeholders of these names, for files whose
    pattern has them.
    """

    where: str
    patterns: tuple[Pattern, ...]
    dataset: str
    name: str | None
    system: str | None
    time: str
    tags: Mapping[str, str]
    sidecar: bool
    options: Mapping[str, Any]
    missing: Literal["keep", "forget"] = "keep"


@dataclass(frozen=True)
class Declarations:
    """Everything that a project's file declares; paths are absolute, patterns relative to `folder`."""

    folder: Path
    settle: float
    datasets: Mapping[str, Dataset] = field(default_factory=dict)
    runs: tuple[Runs, ...] = ()
    gates: tuple[Gate, ...] = ()
    replica: Path | None = None
    lake: str | None = None
    report: Path | None = None
    on_fire: str | None = None
    unchecked: Literal["fail", "warn", "pass"] | None = None
    max_ages: Mapping[str, float] = field(default_factory=dict)

    @property
    def watched(self) -> list[Path]:
        """Return the files and folders in which a change may matter."""
        folders = (
            self.folder / pattern.folder
            for source in self.runs
            for pattern in source.patterns
            if not pattern.is_remote
        )
        paths = self._ground_files.union(folders)
        # for a missing or unreadable path, the nearest readable folder above
        return sorted(
            {next(p for p in (path, *path.parents) if os.access(p, os.R_OK)) for path in paths}
        )

    @property
    def _ground_files(self) -> set[Path]:
        grounds = (ground for dataset in self.datasets.values() for ground in dataset.grounds)
        files = (file for ground in grounds for file in (ground.file, ground.queries))
        return {file for file in files if isinstance(file, Path)}

    def concerns(self, path: Path) -> bool:
        """Whether a file is declared, or is the side-car of a declared file."""
        if path in self._ground_files:
            return True
        return any(
            pattern.matches(str(file), self.folder)
            for source in self.runs
            for file in (path, *(runs_described_by(path) if source.sidecar else ()))
            for pattern in source.patterns
        )


@project.per_project
def read_declarations() -> Declarations:
    """Return the declarations of the project's file; any error in it is raised at once."""
    here = project.current()
    table = here.contents
    usual = _evaluation(table.evaluate, ("evaluate",), Evaluation())
    datasets = {
        name: _dataset(given, ("datasets", name), usual) for name, given in table.datasets.items()
    }
    with _at("settle"):
        settle = duration(table.settle)
    with _at("publish"):
        replica = None if table.publish is None else here.path(table.publish)
    lake = table.lake
    if lake is not None and "://" not in lake:
        lake = str(here.path(lake))
    with _at("report"):
        report = None if table.report is None else here.path(table.report)
    return Declarations(
        folder=here.folder,
        settle=settle,
        datasets=datasets,
        runs=tuple(_runs(given, n, datasets) for n, given in enumerate(table.runs, 1)),
        replica=replica,
        lake=lake,
        report=report,
        gates=_unique(
            (gate for n, given in enumerate(table.gates, 1) for gate in _gates(given, n, datasets)),
            (),
        ),
        on_fire=table.on_fire,
        unchecked=table.unchecked,
        max_ages=_max_ages(table.gates),
    )


def duration(given: str | float, longest: int = _LONGEST) -> float:
    """Read a time in seconds, up to a day by default. Raises UsageError.

    >>> duration("500ms"), duration(3)
    (0.5, 3.0)
    """
    seconds: float
    if isinstance(given, str):
        found = _DURATION.fullmatch(given.strip())
        if found is None:
            raise UsageError(f"{given!r}: write a time as in 2s, 500ms or 1m")
        seconds = float(found[1]) * _UNITS[found[2]]
    else:
        seconds = given
    if not 0 <= seconds <= longest:
        days = longest // _LONGEST
        upto = "a day" if days == 1 else f"{days} days"
        raise UsageError(f"{given}: seconds are 0 or more, up to {upto} ({longest})")
    return float(seconds)


def known_dataset(name: str, datasets: Mapping[str, Any]) -> str:
    """Return a dataset's name. Raises UsageError if it is not declared."""
    if name in datasets:
        return name
    hint = nearest(name, datasets) or f"; add a table [datasets.{name}]"
    raise UsageError(f"dataset {name!r} is not declared{hint}")


@contextmanager
def _at(*path: str | int) -> Iterator[None]:
    """Add the location in the file to errors raised inside."""
    try:
        yield
    except UsageError as error:
        raise project.current().document.error(path, str(error)) from None


def _unique(given: Iterable[_T] | None, usual: tuple[_T, ...]) -> tuple[_T, ...]:
    return usual if given is None else tuple(dict.fromkeys(given))


def _several(given: str | list[str]) -> tuple[str, ...]:
    """Return one text or several. Raises UsageError if there is none."""
    texts = _unique([given] if isinstance(given, str) else given, ())
    if not any(text.strip() for text in texts):
        raise UsageError("is blank" if texts else "the list is empty")
    return texts


def as_text(value: str | float | bool) -> str:
    """Return a value as a tag.

    >>> as_text(True), as_text(0.9), as_text("on")
    ('true', '0.9', 'on')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def _given_keys(table: msgspec.Struct, *without: str) -> dict[str, Any]:
    """Return the keys of a table that the file has."""
    fields = msgspec.structs.asdict(table)
    return {key: value for key, value in fields.items() if value is not None and key not in without}


def _evaluation(given: project_file.Evaluate, path: KeyPath, usual: Evaluation) -> Evaluation:
    found = Evaluation(
        metrics=_unique(given.metrics, usual.metrics),
        protocols=_unique(given.protocols, usual.protocols) or usual.protocols,
        slices=_unique(given.slices, usual.slices),
    )
    for name in found.protocols:
        with _at(*path, "protocols"):
            rules = protocols.get(name)
        with _at(*path, "metrics"):
            notation.parse(*found.metrics, defaults=rules.defaults())
    return found


def _dataset(given: project_file.Dataset, path: KeyPath, usual: Evaluation) -> Dataset:
    if not str(path[-1]).strip():
        raise project.current().document.error(path, "the name of the dataset is empty")
    grounds: list[Ground] = []
    if given.qrels is not None:
        qrels = given.qrels
        judged = project_file.Qrels(file=qrels) if isinstance(qrels, str) else qrels
        grounds.append(_judgments("qrels", judged, (*path, "qrels")))
    if given.training is not None:
        training = given.training
        seen = project_file.Training(file=training) if isinstance(training, str) else training
        grounds.append(_judgments("training", seen, (*path, "training")))
    for number, one in enumerate(given.attributes, 1):
        options = _given_keys(one, "file", "of") | {"split": _as_texts(one.split)}
        with _at(*path, "attributes", number):
            file = _source(one.file)
            if (one.of, file) in ((ground.kind, ground.file) for ground in grounds):
                twice = f"has another table with of = {one.of!r}; name a copy of it, or a link"
                raise UsageError(f"file: {one.file} {twice}")
        grounds.append(Ground(one.of, file, options))
    return Dataset(tuple(grounds), _evaluation(given, path, usual))


def _judgments(kind: GroundKind, given: project_file.Training, path: KeyPath) -> Ground:
    """Return a file with qrels or a training set."""
    options = _given_keys(given, "file", "is_global", "queries")
    queries: str | None = None
    with _at(*path):
        if isinstance(given, project_file.Qrels):
            queries = given.queries
            if given.is_global:
                options["is_global"] = True
            elif queries is not None:
                raise UsageError("'queries' goes with global = true")
        _check_reading(options, qrels_kind(options.get("format"), iterations=False))
        queries_file = None if queries is None else project.current().path(queries)
        return Ground(kind, _source(given.file), options, queries_file)


def _source(text: str) -> Location:
    """Return the file to read that a path or a URL names."""
    if (refused := remote.check(text)) is not None:
        raise UsageError(str(refused))
    return project.current().path(text) if url(text) is None else RemoteFile(text)


def _as_texts(given: project_file.Tags) -> dict[str, str]:
    """Return a table of texts; numbers and booleans are kept as written in TOML."""
    return {key: as_text(value) for key, value in given.items()}


def _check_reading(options: Mapping[str, Any], kind: Any) -> None:
    if "format" in options:
        find(options["format"], "qrels" if kind == "preferences" else kind)
    column_mapping(kind, options.get("columns"))


def _runs(given: project_file.Runs, number: int, datasets: Mapping[str, Dataset]) -> Runs:
    here = ("runs", number)
    with _at(*here, "files"):
        patterns = tuple(_pattern(text) for text in _several(given.files))
        of_each = [set(pattern.groups) for pattern in patterns]
    groups, some = set.intersection(*of_each), set.union(*of_each)
    tags = _as_texts(given.tags)
    texts = {key: getattr(given, key) for key in ABOUT}
    for key, text in (texts | {f"tags.{key}": text for key, text in tags.items()}).items():
        for name in group_names(text or ""):
            if name not in groups:
                with _at(*here, *key.split(".", 1)):
                    raise UsageError(_nowhere(name, groups, some))
    named = {name for text in (*texts.values(), *tags.values()) for name in group_names(text or "")}
    for name in some - named - {*ABOUT}:  # a tag, or one of ours with a wrong letter
        if near := get_close_matches(name, ABOUT, n=1, cutoff=0.75):
            with _at(*here, "files"):
                raise UsageError(
                    f"{{{name}}}: did you mean {{{near[0]}}}? For a tag of this name, write tags.{name} "
                    f'= "{{{name}}}"'
                )
    texts = {key: text or (f"{{{key}}}" if key in some else None) for key, text in texts.items()}
    time = texts["time"] or TIMES[0]
    with _at(*here):
        if texts["dataset"] is None or (given.dataset is None and "dataset" not in groups):
            raise UsageError(
                f"the key 'dataset' is missing, and {_nowhere('dataset', groups, some)}"
            )
        if time not in TIMES and not group_names(time):
            raise UsageError(
                f"time is one of {listing(TIMES)}, or made of the path, as in {{time}}"
            )
    if not group_names(texts["dataset"]):
        with _at(*here, "dataset"):
            known_dataset(texts["dataset"], datasets)
    options = {key: value for key, value in _given_keys(given).items() if key in _LOADING}
    with _at(*here):
        _check_reading(options, "run")
    return Runs(
        f"{project.current().where}: {key_text(here)}",
        patterns,
        texts["dataset"],
        texts["name"],
        texts["system"],
        time,
        tags,
        given.sidecar,
        options,
        given.missing,
    )


def _pattern(text: str) -> Pattern:
    if url(text) is None:
        return Pattern(str(project.local(text)))
    if not remote.is_listed(text):
        raise UsageError(
            f"{text}: is a URL, and of these only those of s3, gs, abfs and hdfs list their files"
        )
    return Pattern(text)


def _nowhere(name: str, groups: Set[str], some: Set[str]) -> str:
    """Return the error for a placeholder that is in no pattern, or not in all of them."""
    if name in some:
        return f"{{{name}}} is not in all of the patterns"
    hint = nearest(name, groups) or f"; there are {listing(sorted(groups)) or 'none'}"
    return f"no {{{name}}} in the pattern{hint}"


def _gates(
    given: project_file.Gate, number: int, datasets: Mapping[str, Dataset]
) -> Iterator[Gate]:
    """Yield a gate for each of the metrics."""
    here = ("gates", number)
    with _at(*here, "dataset"):
        known_dataset(given.dataset, datasets)
    evaluated = datasets[given.dataset].evaluation.protocols
    protocol = given.protocol or evaluated[0]
    with _at(*here, "protocol"):
        if protocol not in evaluated and not protocols.is_imported(protocol):
            hint = nearest(protocol, evaluated) or f"; it is by {listing(evaluated)}"
            raise UsageError(f"{given.dataset} is not evaluated by {protocol}{hint}")
    imported = protocols.is_imported(protocol)
    with _at(*here, "metric"):
        texts = _several(given.metric)
        # imported metrics are called what the other program called them
        metrics = (
            [] if imported else notation.parse(*texts, defaults=protocols.get(protocol).defaults())
        )
        names = [str(name) for name in (notation.split(texts) if imported else metrics)]
    with _at(*here):
        limits = Limits(
            given.max_drop, given.alpha, given.min, given.max, strict=given.strict,
            sequential=given.sequential, spend=given.spend, num_metrics=len(dict.fromkeys(names)),
        )  # fmt: skip
        if limits.sequential and given.against in CHOSEN and given.against != BASELINE:
            raise UsageError(
                f'sequential: needs one reference for all looks, but against = "{given.against}" '
                'chooses it by the values of the same queries: name a run, or "baseline"'
            )
    with _at(*here, "metric"):
        for metric in metrics:
            if metric.direction == "none" and not limits.are_bounds:
                raise UsageError(
                    f"neither a higher nor a lower {metric} is better, so its gate has only min or max"
                )
            if limits.are_tested:
                check_tested(str(metric), metric.aggregate)
    for name in names:
        yield Gate(
            given.dataset, name, given.group, given.against, limits, protocol, given.auto_resolve
        )


def _max_ages(given: Iterable[project_file.Gate]) -> dict[str, float]:
    """Return in how many seconds each dataset has to get a run: the least of its gates."""
    found: dict[str, float] = {}
    for number, gate in enumerate(given, 1):
        if gate.max_age is not None:
            with _at("gates", number, "max_age"):
                age = duration(gate.max_age, 366 * _LONGEST)
            found[gate.dataset] = min(age, found.get(gate.dataset, age))
    return found
