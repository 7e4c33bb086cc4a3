"""TOML records of templates, protocols and projects: reading them, and checking them by their types.

A record is converted to a struct of msgspec, whose fields say which keys there are, with their types,
bounds and defaults. What is wrong is raised as one DefinitionError, one line a problem.
"""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from warehouse.config.key_paths import KeyPath, key_text
from warehouse.errors import DefinitionError

_T = TypeVar("_T")
_LINE = re.compile(r"(?P<what>.*?)\s*\(at (?:line (?P<line>\d+).*|end of document)\)", re.DOTALL)


@dataclass(frozen=True)
class Document:
    """The record in a file, with the TOML that it was read from, whose lines errors name.

    `first_line` is the first line of the TOML in the file, `inside` the record's table in it.
    """

    where: str
    record: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    first_line: int = 1
    inside: KeyPath = ()

    def convert(
        self, kind: type[_T], elsewhere: Mapping[type, Mapping[str, str]] | None = None
    ) -> _T:
        """Return the record as a struct. Raises DefinitionError with every problem in it.

        `elsewhere` says, by struct, which tables have keys that are looked for in it.

        >>> import msgspec
        >>> class Size(msgspec.Struct, forbid_unknown_fields=True):
        ...     width: float = 1.0
        >>> read("width = 2", "a").convert(Size)
        Size(width=2.0)
        >>> read("width = 'no'\\nheight = 1", "a").convert(Size)
        Traceback (most recent call last):
        warehouse.errors.DefinitionError: a: line 1: 'width' has the wrong type: a string; write a number
        a: line 2: unknown key 'height'; known are width
        """
        import msgspec  # a program that reads no such file starts without it

        try:
            return msgspec.convert(self.record, kind)
        except msgspec.ValidationError as error:
            from warehouse.config.problems import problems

            found = list(problems(self.record, kind, (), elsewhere or {}))
            found.sort(key=lambda one: self._line(one[0]) or 0)
            messages = [self._message(*one) for one in found] or [f"{self.where}: {error}"]
            raise DefinitionError("\n".join(messages)) from None

    def error(self, path: KeyPath, problem: str, table: KeyPath | None = None) -> DefinitionError:
        """Return the error about what is at a path, which is named unless `table` is."""
        return DefinitionError(self._message(path, path if table is None else table, problem))

    def _message(self, at: KeyPath, table: KeyPath, problem: str) -> str:
        line = self._line(at)
        parts = [self.where, "" if line is None else f"line {line}", key_text(table), problem]
        return ": ".join(filter(None, parts))

    def _line(self, path: KeyPath) -> int | None:
        """Return the first line that sets something at a path, in a table or in one around it."""
        whole = self.inside + path
        for length in range(len(whole), len(self.inside), -1):
            inner = [n for at, n in self.lines.items() if at[:length] == whole[:length]]
            if inner:
                return min(inner)
        return None

    @cached_property
    def lines(self) -> dict[KeyPath, int]:
        """Return the line on which each value is set, by the keys from the top of the TOML.

        Each prefix of the text that is valid TOML ends a statement: its new values were set there.
        """
        found: dict[KeyPath, int] = {}
        lines = self.text.splitlines()
        first = 1
        for last in range(1, len(lines) + 1):
            with contextlib.suppress(tomllib.TOMLDecodeError):
                for path, _ in leaves(tomllib.loads("\n".join(lines[:last]))):
                    found.setdefault(path, self.first_line + first - 1)
                first = last + 1
        return found


def read(text: str, where: str, *, what: str = "not TOML", first_line: int = 1) -> Document:
    """Read TOML that starts on some line of a file; errors name the line.

    >>> read("a = 1", "here").record
    {'a': 1}
    """
    try:
        return Document(where, tomllib.loads(text), text, first_line)
    except tomllib.TOMLDecodeError as error:
        found = _LINE.match(str(error))
        reason = found["what"] if found else str(error)
        line = int(found["line"]) if found and found["line"] else text.rstrip().count("\n") + 1
        raise DefinitionError(f"{where}: line {first_line + line - 1}: {what}: {reason}") from None


def leaves(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    """Yield the values in nested tables with their paths; an empty table counts as a value."""
    tables: Mapping[Any, object] | None = value if isinstance(value, dict) else None
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        tables = dict(enumerate(value, 1))
    if not tables:
        yield path, value
        return
    for key, inner in tables.items():
        yield from leaves(inner, (*path, key))
