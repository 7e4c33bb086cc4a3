"""ir_metadata: how a run was made, in YAML, in the first lines of its file or in a file next to it.

The header of a run, as repro_eval writes it, stands between two lines, each line behind a `#`:

    # ir_metadata.start
    # tag: bm25
    # actor:
    #   team: ours
    # ir_metadata.end
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from warehouse.config import times, yaml_text
from warehouse.errors import InputError, UsageError
from warehouse.readers.files import LocalFile

START, END = "# ir_metadata.start", "# ir_metadata.end"
SECTIONS = frozenset(
    {"tag", "platform", "implementation", "research goal", "actor", "data", "method", "resources",
     "schema version"}
)  # fmt: skip
_MOST_LINES = 100_000
# Measures of tirex_tracker over time: too long for a tag, and no description of the run.
_SERIES = "timeseries"
_NANOSECONDS, _ZONE = r"(\.\d{6})\d+", r"([+-]\d\d)(\d\d)$"


@dataclass(frozen=True)
class Description:
    """A run's system (ir_metadata's `tag`), its start, and all else as tags: `actor.team`."""

    system: str | None = None
    run_at: dt.datetime | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Header:
    """The header of a file: its number of lines, and its contents.

    `about` is None, with a warning, if it cannot be read.
    """

    num_lines: int
    about: Description | None
    warnings: tuple[str, ...] = ()


def has_header(file: LocalFile) -> bool:
    """Whether the first line of a file begins a header."""
    return file.text.partition("\n")[0].rstrip() == START


def header(file: LocalFile) -> Header | None:
    """Read the header of a run, if it has one. Raises InputError."""
    if not has_header(file):
        return None
    lines: list[str] = []
    with Path(file.path).open(encoding="utf-8", errors="replace") as handle:
        for line in islice(handle, _MOST_LINES):
            lines.append(line.rstrip("\r\n"))
            if lines[-1].rstrip() == END:
                break
        else:
            raise InputError(
                f"{file.source}: 1 problem",
                problems=[(1, f"the header that begins here has no line {END!r}")],
            )
    where = f"{file.source}, line 1"
    try:
        found = yaml_text.load("\n".join(line[1:] for line in lines[1:-1]), where)
        return Header(len(lines), describe(found, where))
    except UsageError as error:  # without PyYAML, the run itself can be read
        return Header(len(lines), None, (f"the header of ir_metadata is left out: {error}",))
    except ValueError as error:
        raise InputError(f"{where}: the header of ir_metadata is no YAML: {error}") from None


def is_one(found: object) -> bool:
    """Whether the content of a YAML file is of ir_metadata, by its sections."""
    return isinstance(found, Mapping) and not SECTIONS.isdisjoint(found)


def describe(found: object, where: str) -> Description:
    """Return a run's description from ir_metadata. Raises InputError.

    >>> method = {"automatic": True, "retrieval": [{"name": "BM25"}]}
    >>> found = describe({"tag": "bm25", "method": method}, "bm25.yml")
    >>> found.system, found.tags
    ('bm25', {'method.automatic': 'true', 'method.retrieval.1.name': 'BM25'})
    """
    if not isinstance(found, Mapping):
        raise InputError(f"{where}: ir_metadata has named sections, as tag and actor")
    rest = {key: value for key, value in found.items() if key != "tag"}
    tag = found.get("tag")
    return Description(
        None if tag is None else str(tag).strip() or None,
        _start(found, where),
        dict(_leaves(rest, ())),
    )


def _start(found: Mapping[Any, Any], where: str) -> dt.datetime | None:
    """Return when the run was started, as tirex_tracker measures it."""
    runtime = (found.get("resources") or {}) if isinstance(found.get("resources"), Mapping) else {}
    runtime = runtime.get("runtime") if isinstance(runtime.get("runtime"), Mapping) else {}
    given = (runtime or {}).get("start time")
    if given is None:
        return None
    if isinstance(given, str):
        given = re.sub(_ZONE, r"\1:\2", re.sub(_NANOSECONDS, r"\1", given.strip()))
    try:
        return times.begin(given)
    except (ValueError, TypeError) as error:
        raise InputError(f"{where}: 'start time' of the runtime: {error}") from None


def _leaves(value: object, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the values below a value as tags; a list of plain values is one."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            if key != _SERIES:
                yield from _leaves(below, (*path, str(key)))
    elif isinstance(value, list) and any(isinstance(one, Mapping | list) for one in value):
        for number, below in enumerate(value, start=1):
            yield from _leaves(below, (*path, str(number)))
    elif isinstance(value, list):
        if value:
            yield ".".join(path), ", ".join(map(_text, value))
    elif value is not None and _text(value):
        yield ".".join(path), _text(value)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value).strip()
