"""The description of a run: from its path, a side-car file or a git commit."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from warehouse.config import times, toml, yaml_text
from warehouse.config.problems import word
from warehouse.config.project_file import Tags
from warehouse.errors import DefinitionError, InputError, UsageError
from warehouse.readers import ir_metadata
from warehouse.readers.files import default_name
from warehouse.readers.remote import Location
from warehouse.sync.declarations import ABOUT, Runs, as_text
from warehouse.sync.patterns import filled, group_names, sidecars


class _Sidecar(msgspec.Struct, forbid_unknown_fields=True):
    name: str = ""
    system: str = ""
    time: Any = None
    tags: Tags = {}


@dataclass(frozen=True)
class About:
    """The description of a run. `time` is None if it follows from the file or the commit."""

    dataset: str
    name: str
    system: str | None
    time: dt.datetime | None
    tags: Mapping[str, str]


def describe(
    source: Runs, path: Location, groups: Mapping[str, str], side_file: Location | None
) -> About:
    """Return what path pattern, project file and side-car say; the side-car takes precedence."""
    own = _Sidecar() if side_file is None else read_sidecar(side_file)
    given = dict(groups)
    tags = {key: text for key, text in given.items() if key not in ABOUT}
    tags |= {key: filled(text, given) for key, text in source.tags.items()}
    tags |= {key: as_text(value) for key, value in own.tags.items()}
    name = own.name or _filled(source.name, given) or default_name(str(path))
    system = own.system or _filled(source.system, given) or None
    time = own.time
    if time is None and group_names(source.time):
        time = _filled(source.time, given)
    return About(
        filled(source.dataset, given),
        name,
        system,
        None if time is None else moment(time, side_file or path),
        tags,
    )


def _filled(text: str | None, groups: dict[str, str]) -> str | None:
    """Return a text with its placeholders filled in, or None if a path does not have all of them."""
    if text is None or not groups.keys() >= {*group_names(text)}:
        return None
    return filled(text, groups)


def sidecar(path: Location) -> Location | None:
    """Return the file next to a run that describes it, if there is one: bm25.run.json or .yaml."""
    there = [file for file in sidecars(path) if file.is_file()]
    if len(there) > 1:
        raise InputError(f"{path}: has {len(there)} side-cars: {there[0].name}, {there[1].name}")
    return there[0] if there else None


def read_sidecar(file: Location) -> _Sidecar:
    """Read a side-car: name, system, time and a table of tags, or ir_metadata. Raises InputError."""
    try:
        content = file.read_text(encoding="utf-8-sig")
        found = (
            json.loads(content) if file.suffix == ".json" else yaml_text.load(content, str(file))
        )
        if not isinstance(found, dict):
            raise InputError(
                f"{file}: holds no object with the keys {', '.join(_Sidecar.__struct_fields__)}"
            )
        if ir_metadata.is_one(found) and found.keys().isdisjoint(_Sidecar.__struct_fields__):
            about = ir_metadata.describe(found, str(file))
            return _Sidecar(system=about.system or "", time=about.run_at, tags=dict(about.tags))
        one = toml.Document(str(file), found).convert(_Sidecar)
        if "time" in found and not isinstance(one.time, str | dt.date):
            raise DefinitionError(
                f"{file}: 'time' has the wrong type: {word(type(one.time))}; write a string or a date"
            )
        for text in (*found.values(), *one.tags, *one.tags.values()):
            str(text).encode()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error
    except DefinitionError as error:
        raise InputError(str(error)) from None
    except UnicodeEncodeError as error:
        raise InputError(
            f"{file}: holds text that is not valid Unicode: {error.object!r}"
        ) from None
    except RecursionError:
        raise InputError(f"{file}: is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{file}: not {file.suffix[1:].upper()}: {error}") from None
    return one


def moment(given: str | dt.date, path: Location) -> dt.datetime:
    """Read a time from a path or a side-car. A day means its start; without a zone it is UTC."""
    try:
        return times.begin(given)
    except ValueError as error:
        raise InputError(f"{path}: time {str(given)!r}: {error}") from None


def commit(path: Location) -> tuple[dt.datetime, str]:
    """Return the time and the hash of the last commit that touched a file. Raises InputError."""
    if not isinstance(path, Path):
        raise InputError(f'{path}: time = "git" is for files of a checkout, and this is a URL')
    if _git(path, "status", "--porcelain", "--ignored", "--", path.name):
        raise InputError(
            f"{path}: has changes that are not committed: commit them, or use another 'time'"
        )
    found = _git(path, "log", "-1", "--format=%H %ct %P", "--", path.name).split()
    if not found:
        raise InputError(f"{path}: has no commit: commit it, or use another 'time'")
    number, seconds, *parents = found
    # in a shallow clone, every older file seems to come from the oldest commit
    if not parents and _git(path, "rev-parse", "--is-shallow-repository") == "true":
        raise InputError(f"{path}: its commit is not in this shallow clone: git fetch --unshallow")
    return dt.datetime.fromtimestamp(int(seconds), dt.UTC), number


def _git(path: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(path.parent), "--literal-pathspecs", *words],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError(f'{path}: time = "git" needs the program git; it is not there') from None
    if done.returncode:
        reason = done.stderr.strip().splitlines() or ["no reason given"]
        raise InputError(f"{path}: git: {reason[0]}")
    return done.stdout.strip()
