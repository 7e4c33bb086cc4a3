"""The parameters of metrics: their types, and how to write and read values."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from warehouse.errors import nearest

# Characters that names cannot have in the notation.
_NOT_IN_A_NAME = re.compile(r"[(),'\"\\]")
# Types whose values are names, with the things that they name.
_NAMES = {"attribute": "the name of an attribute", "name": "a name"}
# Those that need no quotes.
_PLAIN = {"attribute": re.compile(r"\w+"), "name": re.compile(r"[\w.:@+-]+")}
# More than any number of documents, and below the overflow of SQL's integers.
_LARGEST = 10**14
_OPENING = {"(": ")", "[": "]", "{": "}"}


def _written(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)


class Gains(tuple[tuple[int | float, float], ...]):
    """The gains of relevance grades: pairs of a grade and its gain, by grade.

    >>> str(Gains([(1, 3.0), (3.5, 4.5)]))
    '{1:3,3.5:4.5}'
    """

    def __str__(self) -> str:
        return "{" + ",".join(f"{_written(grade)}:{_written(gain)}" for grade, gain in self) + "}"


class Levels(tuple[float, ...]):
    """A list of numbers, smallest first.

    >>> str(Levels([0.0, 0.25]))
    '[0,0.25]'
    """

    def __str__(self) -> str:
        return "[" + ",".join(map(_written, self)) + "]"


Value = int | float | str | bool | Gains | Levels | None


class Declaration(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A parameter as a header declares it.

    `above` names another parameter, whose value must be smaller. `replaces` names parameters that
    are ignored if this one is given. `needs` has, by choice, the parameter that the choice needs,
    and `at_most` the maximum of that one. `excludes` has, by choice, values of other parameters
    that do not go with it. `is_rank` says that only so many documents of a list
    count, as with every parameter of the name cutoff; `follows_level` that an option for the lowest
    relevance sets it, as with rel.
    """

    type: Literal[
        "integer", "number", "grade", "choice", "boolean", "gains", "levels", "attribute", "name"
    ]
    summary: str
    default: Any = None
    required: bool = False
    minimum: int | float | None = field(default=None, name="min")
    maximum: int | float | None = field(default=None, name="max")
    above: str | None = None
    choices: tuple[str, ...] = ()
    follows_level: bool | None = None
    is_rank: bool | None = None
    needs: dict[str, str] = {}
    at_most: dict[str, int | float] = {}
    excludes: dict[str, dict[str, str]] = {}
    replaces: tuple[str, ...] = ()


class Parameter(Declaration, frozen=True, kw_only=True):
    """A parameter of a metric.

    `only_for` is another parameter and its only value for which this one is allowed. `inherited`
    parameters belong to every metric, or to every metric that reads the same relation.
    """

    name: str
    follows_level: bool = False
    is_rank: bool = False
    only_for: tuple[str, str] | None = None
    inherited: bool = False

    def write(self, value: Value) -> str:
        """Write a value as `read` reads it: names that are not plain get quotes."""
        if self.type in _NAMES and not _PLAIN[self.type].fullmatch(str(value)):
            return f"'{value}'"
        return str(value)

    def read(self, text: str) -> Value:
        """Read a value from the notation. Raises ValueError with a message for people.

        >>> Parameter(name="gains", type="gains", summary="").read("{2: 9, 1: 3}")
        ((1, 3.0), (2, 9.0))
        """
        word = unquoted(text)
        if self.type == "number" and word in self.choices:
            return word
        if self.type == "choice":
            if word not in self.choices:
                raise ValueError(f"{self.name} is one of {', '.join(self.choices)}, not {text}")
            return word
        if self.type in _NAMES:
            word = unquoted(text)
            if not word.strip() or _NOT_IN_A_NAME.search(word):
                raise ValueError(
                    f"{self.name} is {_NAMES[self.type]}, without commas, parentheses and quotes, "
                    f"not {text}"
                )
            return word
        if self.type == "gains":
            return self.gains(_pairs(self.name, text))
        if self.type == "levels":
            return self.levels(_items(self.name, text))
        if self.type == "boolean":
            if text not in ("True", "False"):
                raise ValueError(f"{self.name} is True or False, not {text}")
            return text == "True"
        return self._number(text)

    def from_toml(self, value: Value | list[float] | Mapping[str, float]) -> Value:
        """Convert a TOML value: a list of levels, a table of gains by grade.

        Raises ValueError for these if the parameter has another type.

        >>> Parameter(name="gains", type="gains", summary="").from_toml({"2": 9, "1": 3})
        ((1, 3.0), (2, 9.0))
        """
        if isinstance(value, Mapping):
            self._check_type("gains", "a table")
            return self.gains((str(grade), repr(gain)) for grade, gain in value.items())
        if isinstance(value, list):
            self._check_type("levels", "a list")
            return self.levels(map(repr, value))
        return value

    def _check_type(self, wanted: str, given: str) -> None:
        if self.type != wanted:
            raise ValueError(f"{self.name} is of the type {self.type}, not {given}")

    def read_toml(self, value: Value | list[float] | Mapping[str, float]) -> Value:
        """Convert a TOML value and read it like the notation's. Raises ValueError.

        >>> Parameter(name="beta", type="number", summary="").read_toml(2)
        2.0
        """
        adopted = self.from_toml(value)
        return None if adopted is None else self.read(str(adopted))

    def gains(self, pairs: Iterable[tuple[str, str]]) -> Gains | None:
        """Read pairs of a grade and its gain; None if every grade keeps its own.

        By default a grade is its own gain, and one below 0 has none. Pairs that repeat the default
        are dropped, so that every meaning has one name.
        """
        found: dict[int | float, float] = {}
        for grade, gain in pairs:
            key = _grade(_finite(grade, f"{self.name}: a grade"))
            if key in found:
                raise ValueError(f"{self.name}: the grade {key} is there twice")
            found[key] = float(self._number(gain, f"{self.name}: the gain of {key}"))
        return Gains(pair for pair in sorted(found.items()) if pair[1] != max(pair[0], 0)) or None

    def levels(self, items: Iterable[str]) -> Levels:
        """Read a list of distinct numbers in any order."""
        found = sorted(float(self._number(item)) for item in items)
        if not found:
            raise ValueError(f"{self.name} lists a number at least")
        if len(set(found)) < len(found):
            raise ValueError(f"{self.name}: a number is there twice")
        return Levels(found)

    def _number(self, text: str, what: str | None = None) -> int | float:
        what = what or self.name
        value = _finite(text, what)
        if self.type == "grade":
            value = _grade(value)
        elif self.type == "integer":
            if value != int(value):
                raise ValueError(f"{what} is a whole number, not {text}")
            value = int(value)
            if abs(value) > _LARGEST:
                raise ValueError(f"{what} is too great a number: {text}; at most {bound(_LARGEST)}")
        else:
            value = float(value)
        if self.minimum is not None and value < self.minimum:
            raise ValueError(f"{what} is at least {bound(self.minimum)}, not {text}")
        if self.maximum is not None and value > self.maximum:
            raise ValueError(f"{what} is at most {bound(self.maximum)}, not {text}")
        return value


def _finite(text: str, what: str) -> int | float:
    """Read a finite number. Raises ValueError with a message for people."""
    try:
        value: object = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        value = text
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{what} is a number, not {text.strip() or 'nothing'}")
    if not math.isfinite(value):
        raise ValueError(f"{what} is a finite number, not {text}")
    return value


def _grade(number: float) -> int | float:
    """Return a grade, as an integer if it is whole, so that each has one name."""
    return int(number) if number == int(number) else number


def parameter(name: str, declared: Declaration, *, inherited: bool = False) -> Parameter:
    """Return the parameter of a name. Raises ValueError for a default that it cannot have."""
    fields = asdict(declared)
    for key, usual in (("follows_level", name == "rel"), ("is_rank", name == "cutoff")):
        fields[key] = usual if fields[key] is None else fields[key]
    found = Parameter(name=name, inherited=inherited, **fields)
    default = found.from_toml(found.default)
    if default is not None:
        read = found.read(str(default))
        if repr(read) != repr(default):
            raise ValueError(f"write {read!r}, not {default!r}")
    return replace(found, default=default)


def read_values(parameters: Iterable[Parameter], given: Mapping[str, Any]) -> dict[str, Value]:
    """Return TOML values of parameters, each read by its type. Raises ValueError."""
    known = {p.name: p for p in parameters}
    for key in given:
        if key not in known:
            raise ValueError(f"no parameter {key!r}{nearest(key, known)}")
    return {key: known[key].read_toml(value) for key, value in given.items()}


def bound(number: float) -> str:
    """Return a bound as people read it.

    >>> bound(1000000), bound(0.5)
    ('1,000,000', '0.5')
    """
    return f"{number:,.15g}"


def unquoted(text: str) -> str:
    """Return a word without the quotes around it, if there are any."""
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return text[1:-1] if quoted else text


def split(text: str, separator: str = ",") -> list[str]:
    """Split at a separator outside quotes, braces, brackets and parentheses.

    Raises ValueError if these do not match.

    >>> split("rel=2, gains={0:0, 1:3}")
    ['rel=2', 'gains={0:0, 1:3}']
    """
    parts, start = [], 0
    closing: list[str] = []
    for at, sign in enumerate(text):
        if closing and closing[-1] in "'\"":
            if sign == closing[-1]:
                closing.pop()
        elif sign in "'\"":
            closing.append(sign)
        elif sign in _OPENING:
            closing.append(_OPENING[sign])
        elif sign in ")]}":
            if not closing or closing.pop() != sign:
                raise ValueError(f"{sign} closes nothing in {text.strip()}")
        elif sign == separator and not closing:
            parts.append(text[start:at].strip())
            start = at + 1
    if closing:
        raise ValueError(f"{closing[-1]} is missing in {text.strip()}")
    return [*parts, text[start:].strip()]


def _inside(name: str, text: str, brackets: str, example: str) -> list[str]:
    """Return the text between two brackets."""
    text = text.strip()
    if len(text) < 2 or text[0] != brackets[0] or text[-1] != brackets[1]:
        raise ValueError(f"{name} is written as in {name}={example}, not {text or 'nothing'}")
    return [item for item in split(text[1:-1]) if item]


def _pairs(name: str, text: str) -> list[tuple[str, str]]:
    example = "{1:3,2:9}"
    pairs = []
    for item in _inside(name, text, "{}", example):
        grade, colon, gain = item.partition(":")
        if not colon:
            raise ValueError(f"{name} pairs grades and gains, as in {name}={example}, not {item}")
        pairs.append((grade.strip(), gain.strip()))
    return pairs


def _items(name: str, text: str) -> list[str]:
    return _inside(name, text, "[]", "[0.25,0.5]")
