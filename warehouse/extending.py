"""Extensions: packages that add formats, metrics, fusion methods, protocols, names, commands and pages.

An extension is an `Extension` that the entry points of an installed package name:

    [project.entry-points."warehouse.extensions"]
    music = "warehouse_music:EXTENSION"

Our own are in `warehouse/extensions`, in the same form. Modules and classes are given as texts and
imported where they are used. An extension, or a part of one, that does not work is left out with one
warning. Entry points are read where Python finds packages, but never in the current folder or in one
that another user could have written.
"""

from __future__ import annotations

import os
import stat
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from warehouse.errors import UsageError

# The version of this interface: an extension for another one is left out.
API = 1
GROUP = "warehouse.extensions"
_TYPES = dict.fromkeys(("functions", "formats", "logs", "lakes", "pages"), list) | dict.fromkeys(
    ("commands", "engines", "protocols", "names"), dict
)
_METADATA = (".dist-info", ".egg-info")
_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Extension:
    """The parts that an extension adds; it is named after its entry point.

    `api` is the version of this interface for which it is written: now 1. `sql` is a folder laid out
    like ours: the metrics are in `metrics`, the fusion methods in `fusion`, the orders of unjudged
    documents in `holes`. `functions` names modules
    in which functions are metrics (`@metric`), `formats` the classes of formats, as in
    "music.formats:Playlists", `logs` modules that read values of other programs, and `lakes` modules
    that share values. `pages` names pages of datasets (`DatasetPage`). `commands` has the modules of
    commands by their names, as in {"songs": "music.songs", "ingest songs": "music.loading"}, and
    `engines` modules of engines.
    `protocols` has records like those of `warehouse.toml`, and `names` other names for metrics, as in
    {"hit@10": "Success@10"}. For examples of such modules, see our own extensions.
    """

    summary: str
    api: int
    sql: Path | None = None
    functions: list[str] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    lakes: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    commands: dict[str, str] = field(default_factory=dict)
    engines: dict[str, str] = field(default_factory=dict)
    protocols: dict[str, dict[str, Any]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def files(self, kind: str) -> list[Path]:
        """Return its files of metrics or of fusion methods."""
        return [] if self.sql is None else sorted((self.sql / kind).glob("[!.]*.sql.j2"))

    def check(self) -> None:
        """Refuse another version, a folder that is not there, and fields of another type."""
        if self.api != API:
            raise ValueError(f"is for API {self.api}, and this program has {API}")
        if self.sql is not None and not (isinstance(self.sql, Path) and self.sql.is_dir()):
            raise ValueError(f"sql: no folder {self.sql!r}")
        for kind, type_ in _TYPES.items():
            if not isinstance(getattr(self, kind), type_):
                raise TypeError(f"{kind}: is no {type_.__name__}")


class Found(NamedTuple):
    """An extension with its name and its distribution, which is empty for our own."""

    name: str
    distribution: str
    extension: Extension


# The problems of extensions, by their names.
problems: dict[str, list[str]] = {}


def leave_out(name: str, problem: object) -> None:
    """Warn, once, that an extension or a part of one is left out."""
    known = problems.setdefault(name, [])
    line = str(problem).partition("\n")[0]
    if line not in known:
        known.append(line)
        warnings.warn(f"extension {name}: left out: {line}", stacklevel=2)


def attempt(name: str, part: str, make: Callable[[], _T]) -> Iterator[_T]:
    """Yield the objects made of a part of an extension; if it fails, warn and yield nothing."""
    try:
        made = make()
    except (Exception, SystemExit) as error:
        leave_out(name, f"{part}: {type(error).__name__}: {error}")
    else:
        yield made


@cache
def found() -> tuple[Found, ...]:
    """Return the extensions that work: our own, then the installed ones by their names."""
    every = [*_own()]
    for name, distribution, load in sorted(_installed(), key=lambda one: one[:2]):
        if name in (other.name for other in every):
            leave_out(name, f"{distribution}: there is another extension of that name")
        else:
            every += attempt(name, distribution, lambda: _checked(name, distribution, load()))  # noqa: B023
    return tuple(every)


def _checked(name: str, distribution: str, extension: object) -> Found:
    if not isinstance(extension, Extension):
        raise TypeError("the entry point names no Extension")
    extension.check()
    return Found(name, distribution, extension)


def others() -> Iterator[Found]:
    """Yield the extensions that are not our own."""
    return (one for one in found() if one.distribution)


def objects(kind: str) -> Iterator[tuple[str, Any]]:
    """Yield the modules, or what is named in them, that extensions give as texts, with their names."""
    for name, _, extension in found():
        for text in getattr(extension, kind):
            yield from ((name, one) for one in attempt(name, text, lambda: loaded(text)))  # noqa: B023


def first(kind: str, asked: str) -> Any:
    """Return the first module of a kind for what is asked. Raises UsageError if there is none."""
    found = next(objects(kind), None)
    if found is None:
        raise UsageError(f"{asked}: no extension is installed that gives {kind}")
    return found[1]


def loaded(text: str) -> Any:
    """Import "package.module", or what "package.module:name" names in it."""
    module, _, name = text.partition(":")
    return getattr(import_module(module), name) if name else import_module(module)


def _own() -> Iterator[Found]:
    """Yield our own extensions whose folders are there."""
    if find_spec(GROUP) is not None:
        package = import_module(GROUP)
        for name, extension in package.EXTENSIONS.items():
            if Path(package.__path__[0], name).is_dir():
                yield Found(name, "", extension)


def _installed() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Yield the name, the distribution and the loader of each installed extension."""
    folders = [folder for folder in dict.fromkeys(sys.path) if _has_some(Path(folder).absolute())]
    if folders:
        from importlib.metadata import distributions  # slow, and hardly ever needed

        for one in distributions(path=folders):
            for point in one.entry_points.select(group=GROUP):
                yield point.name, f"{one.name} {one.version}", point.load


def _has_some(folder: Path) -> bool:
    """Whether a folder is trusted and has packages with entry points for extensions."""
    try:
        if not _is_trusted(folder) or folder.samefile(Path.cwd()):
            return False
        with os.scandir(folder) as inside:
            known = [Path(one.path) for one in inside if one.name.endswith(_METADATA)]
        return any(_names_group(one) for one in known)
    except OSError:
        return False


def _names_group(metadata: Path) -> bool:
    try:
        text = (metadata / "entry_points.txt").read_bytes()
    except OSError:
        return False
    return f"[{GROUP}]".encode() in text and _is_trusted(metadata)


def _is_trusted(path: Path) -> bool:
    """Whether a folder belongs to the caller or the system, and not everybody can write it."""
    found = path.stat()
    if not hasattr(os, "geteuid"):
        return True
    return found.st_uid in (0, os.geteuid()) and not found.st_mode & stat.S_IWOTH
