"""The declarations in a project's file: datasets, sources of runs, evaluations, gates."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from warehouse.config import project, toml
from warehouse.config.settings import DEFAULT_METRICS
from warehouse.errors import DefinitionError, UsageError, listing, nearest
from warehouse.metrics import notation, protocols
from warehouse.readers import qrels_kind
from warehouse.readers.kinds import column_mapping
from warehouse.readers.registry import find
from warehouse.sync.patterns import Pattern, places, runs_beside

GroundKind = Literal["qrels", "training", "docs", "queries"]
# Placeholders that describe a run; every other one is a tag.
ABOUT = ("dataset", "name", "system", "time")
TIMES = ("file", "git", "now")
SETTLE = "2s"
BEST, LAST = "best", "last"
# For finding the line of a key in a table: the table goes from its head to the next head.
_ABOVE = dict.fromkeys(("database", "settle"), "the lines above the first table")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST = 86_400
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)")

_READING: dict[str, toml.Kinds] = {"format": str, "columns": dict, "normalise": str}
_GROUND_KEYS: Mapping[str, Mapping[str, toml.Kinds]] = {
    "qrels": {
        "file": str, "label": str, **_READING, "iterations": bool, "global": bool, "queries": str,
    },
    "training": {"file": str, "label": str, **_READING},
    "attributes": {
        "file": str, "of": str, "name": str, "id": str, "split": dict, "format": str, "normalise": str,
    },
}  # fmt: skip
_EVALUATE_KEYS: dict[str, toml.Kinds] = {"metrics": list, "protocols": list, "slices": list}
_DATASET_KEYS: dict[str, toml.Kinds] = {
    "qrels": (str, dict),
    "training": (str, dict),
    "attributes": list,
    **_EVALUATE_KEYS,
}
_RUN_KEYS: dict[str, toml.Kinds] = {
    "files": (str, list),
    "dataset": str,
    "name": str,
    "system": str,
    "tags": dict,
    "time": str,
    "sidecar": bool,
    **_READING,
    "lower_is_better": bool,
}
_GATE_KEYS: dict[str, toml.Kinds] = {
    "dataset": str,
    "metric": str,
    "against": str,
    "max_drop": (int, float),
    "alpha": (int, float),
    "protocol": str,
}


@dataclass(frozen=True)
class Ground:
    """A file with qrels, a training set or attributes; `options` are those of loading it."""

    kind: GroundKind
    file: Path
    options: Mapping[str, Any]
    queries: Path | None = None


@dataclass(frozen=True)
class Evaluation:
    """What to compute for the runs of a dataset."""

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


@dataclass(frozen=True)
class Gate:
    """A limit for new runs: no more than `max_drop` below, or not significantly below.

    The metric is a canonical name, and the protocol one of those that the dataset is evaluated
    with.
    """

    dataset: str
    metric: str
    against: str = BEST
    max_drop: float | None = None
    alpha: float | None = None
    protocol: str = protocols.DEFAULT


@dataclass(frozen=True)
class Declared:
    """Everything that a project's file declares; paths are absolute, patterns relative to `folder`."""

    folder: Path
    settle: float
    datasets: Mapping[str, Dataset] = field(default_factory=dict)
    runs: tuple[Runs, ...] = ()
    gates: tuple[Gate, ...] = ()

    @property
    def watched(self) -> list[Path]:
        """Return the files and folders in which a change may matter."""
        folders = (
            self.folder / pattern.folder for source in self.runs for pattern in source.patterns
        )
        paths = self._ground_files.union(folders)
        # for a missing or unreadable path, the nearest readable folder above
        return sorted(
            {next(p for p in (path, *path.parents) if os.access(p, os.R_OK)) for path in paths}
        )

    @property
    def _ground_files(self) -> set[Path]:
        grounds = (ground for dataset in self.datasets.values() for ground in dataset.grounds)
        return {file for ground in grounds for file in (ground.file, ground.queries) if file}

    def concerns(self, path: Path) -> bool:
        """Whether a file is declared, or is the side-car of a declared file."""
        if path in self._ground_files:
            return True
        return any(
            pattern.matches(str(file), self.folder)
            for source in self.runs
            for file in (path, *(runs_beside(path) if source.sidecar else ()))
            for pattern in source.patterns
        )


@project.per_project
def declared() -> Declared:
    """Return the declarations of the project's file; any error in it is raised at once."""
    here = project.current()
    record, where = here.record, here.where
    usual = _evaluation(record.get("evaluate", {}), f"{where}: evaluate", Evaluation())
    datasets = {
        name: _dataset(name, given, f"{where}: datasets.{name}", usual, here)
        for name, given in record.get("datasets", {}).items()
    }
    runs = _each(record, "runs", where)
    gates = _each(record, "gates", where)
    return Declared(
        folder=here.folder,
        settle=duration(record.get("settle", SETTLE), f"{where}: settle"),
        datasets=datasets,
        runs=tuple(_runs(given, place, datasets) for place, given in runs),
        gates=tuple(_gate(given, place, datasets) for place, given in gates),
    )


def duration(given: str | float, where: str) -> float:
    """Read a time in seconds, up to a day. Raises DefinitionError.

    >>> duration("500ms", "settle"), duration(3, "settle")
    (0.5, 3.0)
    """
    seconds: float
    if isinstance(given, str):
        found = _DURATION.fullmatch(given.strip())
        if found is None:
            raise DefinitionError(f"{where}: {given!r}: write a time as in 2s, 500ms or 1m")
        seconds = float(found[1]) * _UNITS[found[2]]
    else:
        seconds = given
    if not 0 <= seconds <= _LONGEST:
        raise DefinitionError(f"{where}: {given}: seconds are 0 or more, up to a day (86400)")
    return float(seconds)


def known_dataset(name: str, datasets: Mapping[str, Any]) -> str:
    """Return a dataset's name. Raises UsageError if it is not declared."""
    if name in datasets:
        return name
    hint = nearest(name, datasets) or f"; add a table [datasets.{name}]"
    raise UsageError(f"dataset {name!r} is not declared{hint}")


@contextmanager
def _at(where: str) -> Iterator[None]:
    """Add the place to errors raised inside."""
    try:
        yield
    except UsageError as error:
        raise DefinitionError(f"{where}: {error}") from None


def _each(record: Mapping[str, Any], key: str, where: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the tables of a list, each with its place; a table is written as [[key]]."""
    found = []
    for number, given in enumerate(record.get(key, ()), 1):
        if not isinstance(given, dict):
            raise DefinitionError(f"{where}: {key}: write tables: [[{key}]]")
        found.append((f"{where}: {key} {number}", given))
    return found


def _texts(given: object, where: str) -> tuple[str, ...]:
    items = given if isinstance(given, list) else [given]
    for item in items:
        if not isinstance(item, str) or not item.strip():
            raise DefinitionError(f'{where}: write a list of texts, as in ["a", "b"]')
    return tuple(dict.fromkeys(items))


def _words(given: Mapping[str, Any], where: str) -> dict[str, str]:
    """Return a table of texts; numbers and booleans are kept as written in TOML."""
    toml.check(given, dict.fromkeys(given, (str, int, float, bool)), where)
    return {key: as_text(value) for key, value in given.items()}


def as_text(value: str | float | bool) -> str:
    """Return a value as a tag.

    >>> as_text(True), as_text(0.9), as_text("on")
    ('true', '0.9', 'on')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def _evaluation(given: Mapping[str, Any], where: str, usual: Evaluation) -> Evaluation:
    toml.check(given, _EVALUATE_KEYS, where, elsewhere=_ABOVE)
    said = {key: _texts(value, f"{where}: {key}") for key, value in given.items()}
    found = Evaluation(
        metrics=said.get("metrics", usual.metrics),
        protocols=said.get("protocols", usual.protocols) or usual.protocols,
        slices=said.get("slices", usual.slices),
    )
    for name in found.protocols:
        with _at(f"{where}: protocols"):
            rules = protocols.get(name)
        with _at(f"{where}: metrics"):
            notation.parse(*found.metrics, defaults=rules.defaults())
    return found


def _dataset(
    name: str, given: object, where: str, usual: Evaluation, here: project.Project
) -> Dataset:
    if not name.strip():
        raise DefinitionError(f"{where}: the name of the dataset is empty")
    if not isinstance(given, dict):
        raise DefinitionError(f"{where}: write a table: [datasets.{name}]")
    tables = {key: f'[[{key}]] with dataset = "{name}"' for key in ("runs", "gates")}
    toml.check(given, _DATASET_KEYS, where, elsewhere=_ABOVE | tables)
    grounds: list[Ground] = []
    for key in ("qrels", "training"):
        if key in given:
            value = given[key]
            table = {"file": value} if isinstance(value, str) else value
            grounds.append(_ground(key, table, f"{where}.{key}", here))
    for place, table in _each(given, "attributes", where):
        ground = _ground("attributes", table, place, here)
        if (ground.kind, ground.file) in ((one.kind, one.file) for one in grounds):
            twice = f"has another table with of = {ground.kind!r}; name a copy of it, or a link"
            raise DefinitionError(f"{place}: file: {table['file']} {twice}")
        grounds.append(ground)
    own = {key: value for key, value in given.items() if key in _EVALUATE_KEYS}
    return Dataset(tuple(grounds), _evaluation(own, where, usual))


def _ground(key: str, given: Mapping[str, Any], where: str, here: project.Project) -> Ground:
    required = ("file", "of") if key == "attributes" else ("file",)
    toml.check(given, _GROUND_KEYS[key], where, required=required, elsewhere=_ABOVE)
    options = {k: v for k, v in given.items() if k not in ("file", "of", "global", "queries")}
    kind: Any = given["of"] if key == "attributes" else key
    if key == "attributes":
        if kind not in ("docs", "queries"):
            raise DefinitionError(f"{where}: 'of' is docs or queries, not {kind!r}")
        options["split"] = _words(given.get("split", {}), f"{where}: split")
    else:
        with _at(where):
            _check_reading(options, qrels_kind(options.get("format"), iterations=False))
    if given.get("global"):
        options["is_global"] = True
    elif "queries" in given:
        raise DefinitionError(f"{where}: 'queries' goes with global = true")
    for name in ("file", "queries"):
        if not given.get(name, name).strip():
            raise DefinitionError(f"{where}: {name!r} is blank")
    queries = here.path(given["queries"]) if "queries" in given else None
    return Ground(kind, here.path(given["file"]), options, queries)


def _check_reading(options: Mapping[str, Any], kind: Any) -> None:
    if "format" in options:
        find(options["format"], "qrels" if kind == "preferences" else kind)
    column_mapping(kind, options.get("columns"))


def _runs(given: Mapping[str, Any], where: str, datasets: Mapping[str, Dataset]) -> Runs:
    tables = dict.fromkeys(_EVALUATE_KEYS, "[evaluate]")
    toml.check(given, _RUN_KEYS, where, required=("files",), elsewhere=_ABOVE | tables)
    texts = _texts(given["files"], f"{where}: files")
    if not texts:
        raise DefinitionError(f"{where}: files: the list is empty")
    with _at(f"{where}: files"):
        patterns = tuple(Pattern(str(project.local(text))) for text in texts)
        of_each = [set(pattern.groups) for pattern in patterns]
    groups, some = set.intersection(*of_each), set.union(*of_each)
    tags = _words(given.get("tags", {}), f"{where}: tags")
    texts_given = {key: given[key] for key in ABOUT if key in given}
    texts_given |= {f"tags.{key}": text for key, text in tags.items()}
    for key, text in texts_given.items():
        for name in places(text):
            if name not in groups:
                raise DefinitionError(f"{where}: {key}: {_nowhere(name, groups, some)}")
    said = {key: given.get(key, f"{{{key}}}" if key in some else None) for key in ABOUT}
    if "dataset" not in {*given, *groups}:
        raise DefinitionError(
            f"{where}: the key 'dataset' is missing, and {_nowhere('dataset', groups, some)}"
        )
    if not places(said["dataset"]):
        with _at(f"{where}: dataset"):
            known_dataset(said["dataset"], datasets)
    time = said["time"] or TIMES[0]
    if time not in TIMES and not places(time):
        raise DefinitionError(
            f"{where}: time is one of {listing(TIMES)}, or made of the path, as in {{time}}"
        )
    options = {k: given[k] for k in (*_READING, "lower_is_better") if k in given}
    with _at(where):
        _check_reading(options, "run")
    return Runs(
        where, patterns, said["dataset"], said["name"], said["system"], time, tags,
        given.get("sidecar", False), options,
    )  # fmt: skip


def _nowhere(name: str, groups: Set[str], some: Set[str]) -> str:
    """Return the error for a placeholder that is in no pattern, or not in all of them."""
    if name in some:
        return f"{{{name}}} is not in all of the patterns"
    hint = nearest(name, groups) or f"; there are {listing(sorted(groups)) or 'none'}"
    return f"no {{{name}}} in the pattern{hint}"


def _gate(given: Mapping[str, Any], where: str, datasets: Mapping[str, Dataset]) -> Gate:
    required = ("dataset", "metric")
    toml.check(given, _GATE_KEYS, where, required=required, elsewhere=_ABOVE)
    with _at(f"{where}: dataset"):
        known_dataset(given["dataset"], datasets)
    evaluated = datasets[given["dataset"]].evaluation.protocols
    protocol = given.get("protocol", evaluated[0])
    if protocol not in evaluated:
        hint = nearest(protocol, evaluated) or f"; it is by {listing(evaluated)}"
        raise DefinitionError(
            f"{where}: protocol: {given['dataset']} is not evaluated by {protocol}{hint}"
        )
    with _at(f"{where}: metric"):
        defaults = protocols.get(protocol).defaults()
        metric = notation.parse_one(given["metric"], defaults=defaults).metric
    if metric.direction == "none":
        raise DefinitionError(f"{where}: metric: neither a higher nor a lower {metric} is better")
    if not 0 <= given.get("max_drop", 0) < float("inf"):
        raise DefinitionError(f"{where}: max_drop is 0 or more, not {given['max_drop']}")
    if not 0 < given.get("alpha", 0.5) < 1:
        raise DefinitionError(f"{where}: alpha lies between 0 and 1, not {given['alpha']}")
    return Gate(**{**given, "metric": str(metric), "protocol": protocol})
