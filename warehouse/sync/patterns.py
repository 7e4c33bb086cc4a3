"""Path patterns: globs with placeholders that capture parts of the path; side-cars."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

from warehouse.errors import UsageError, url
from warehouse.readers import remote
from warehouse.readers.files import COMPRESSED
from warehouse.readers.remote import Location

_PIECE = re.compile(
    r"\{(?P<group>[A-Za-z_]\w*)\}|(?P<any>\*+)|(?P<one>\?)|\[(?P<no>!?)(?P<among>[^\]/]+)\]"
)
_GROUP = re.compile(r"\{(\w+)\}")
# A name that begins with a dot is matched by a dot alone.
_NO_DOT = r"(?!\.)"
# The suffixes of side-cars.
SIDECARS = (".json", ".yaml", ".yml")


@dataclass(frozen=True)
class Pattern:
    """Paths such as `runs/{system}/{name}.run.gz`: `*`, `?`, `[ab]` and `**` as in globs.

    A placeholder stands for a part of a folder's or file's name, as short as possible; a repeated
    placeholder stands for the same text. As in globs, names that begin with a dot are ignored. The
    path may be the URL of a store that lists its files; its %20 is the blank of a name.

    >>> Pattern("runs/{system}/{name}.run*").groups_of("runs/bm25/k1.run.gz")
    {'system': 'bm25', 'name': 'k1'}
    """

    text: str

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Return the placeholders. Raises UsageError for a brace that is not part of one."""
        if "{" in _PIECE.sub("", self.text) or "}" in _PIECE.sub("", self.text):
            raise UsageError(
                f"{self.text}: braces hold a name of letters, digits and _, as in {{name}}"
            )
        return tuple(dict.fromkeys(m["group"] for m in _PIECE.finditer(self.text) if m["group"]))

    @property
    def is_remote(self) -> bool:
        """Whether it is a URL."""
        return url(self.text) is not None

    @cached_property
    def folder(self) -> str:
        """Return the folders before the first wildcard, or an empty text."""
        first = _PIECE.search(self.text)
        return os.path.dirname(self.text[: first.start()] if first else self.text)  # noqa: PTH120

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        parts = os.path.normpath(self.text).split("/")
        made: list[str] = []
        seen: set[str] = set()
        for number, part in enumerate(parts, 1):
            last = number == len(parts)
            if part == "**":
                made.append(f"(?:{_NO_DOT}[^/]+/)*" + (f"{_NO_DOT}[^/]+" if last else ""))
            else:
                segment = _segment(part, seen, is_quoted=self.is_remote)
                made.append(
                    (_NO_DOT if _PIECE.match(part) else "") + segment + ("" if last else "/")
                )
        return re.compile("".join(made), re.DOTALL)

    def groups_of(self, path: str) -> dict[str, str] | None:
        """Return the values of the placeholders in a path, or None if it does not match."""
        plain = unquote(path) if self.is_remote else path
        found = self._expression.fullmatch(os.path.normpath(plain))
        return None if found is None else found.groupdict()

    def matches(self, path: str, root: Path) -> bool:
        """Whether a file's path relative to a folder, or an absolute path, matches."""
        if self.is_remote != (url(path) is not None):
            return False
        absolute = self.is_remote or os.path.isabs(self.text)  # noqa: PTH117
        return self.groups_of(path if absolute else os.path.relpath(path, root)) is not None

    def files(self, root: Path) -> Iterator[tuple[Location, dict[str, str]]]:
        """Yield the files below a folder that match, ordered by path.

        Raises InputError if a store does not list its files.
        """
        if self.is_remote:
            for file in remote.files_in(self.folder):
                groups = self.groups_of(file.url)
                if groups is not None:
                    yield file, groups
            return
        for name in sorted(glob.glob(self._wild, root_dir=root, recursive=True)):
            groups = self.groups_of(name)
            path = Path(os.path.normpath(root / name))
            # unlike Path.is_file, this passes over unreadable folders
            if groups is not None and os.path.isfile(path):  # noqa: PTH113
                yield path, groups

    def closed(self, root: Path) -> Iterator[Path]:
        """Yield unreadable folders on the way to possible matches."""
        if self.is_remote:
            return
        parts = self._wild.split("/")
        wanted: dict[str, int] = {}
        for number, part in enumerate(parts):
            above = "/".join(parts[: number + (part == "**")])
            for name in glob.glob(f"{above}/", root_dir=root, recursive=True) if above else [""]:
                mode = os.R_OK | os.X_OK if glob.has_magic(part) else os.X_OK
                wanted[name] = wanted.get(name, 0) | mode
        for name in sorted(wanted):
            if not os.access(root / name, wanted[name]):
                yield Path(os.path.normpath(root / name))

    @property
    def _wild(self) -> str:
        return os.path.normpath(_PIECE.sub(lambda m: "*" if m["group"] else m[0], self.text))


def _segment(part: str, seen: set[str], *, is_quoted: bool) -> str:
    made: list[str] = []

    def literal(text: str) -> str:
        return re.escape(unquote(text) if is_quoted else text)

    end = 0
    for found in _PIECE.finditer(part):
        made.append(literal(part[end : found.start()]))
        end = found.end()
        group = found["group"]
        if group is not None:
            made.append(f"(?P={group})" if group in seen else f"(?P<{group}>[^/]+?)")
            seen.add(group)
        elif found["any"]:
            made.append("[^/]*")
        elif found["one"]:
            made.append("[^/]")
        else:
            among = re.sub(r"([\\\[\]^&~|])", r"\\\1", found["among"])
            made.append(f"[{'^' if found['no'] else ''}{among}]")
    return "".join(made) + literal(part[end:])


def group_names(text: str) -> list[str]:
    """Return the placeholders of a text that `filled` replaces.

    >>> group_names("{system}-{name}")
    ['system', 'name']
    """
    return _GROUP.findall(text)


def filled(text: str, groups: dict[str, str]) -> str:
    """Return a text with its placeholders replaced.

    >>> filled("{system}-{name}", {"system": "bm25", "name": "a"})
    'bm25-a'
    """
    return _GROUP.sub(lambda found: groups[found[1]], text)


def sidecars(run: Location) -> Sequence[Location]:
    """Return the possible side-cars of a run; a compressed run's may omit the suffix.

    >>> [path.name for path in sidecars(Path("bm25.run.gz")) if path.suffix == ".json"]
    ['bm25.run.gz.json', 'bm25.run.json']
    """
    names = [run.name, *([run.stem] if run.suffix in COMPRESSED else [])]
    return [run.with_name(name + end) for name in names for end in SIDECARS]


def runs_described_by(path: Location) -> Sequence[Location]:
    """Return the runs of which a file is the side-car, if it is one."""
    if path.suffix not in SIDECARS:
        return []
    return [path.with_name(path.stem + end) for end in ("", *COMPRESSED)]
