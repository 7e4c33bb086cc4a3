"""TOML records of metrics, protocols and projects: reading, and checking their keys."""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from warehouse.errors import DefinitionError, nearest

Kinds = type | tuple[type, ...]
_WORDS: dict[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
    dt.datetime: "a date",
    dt.date: "a date",
    dt.time: "a time of day",
    type(None): "null",
}
_PLACE = re.compile(r"(?P<what>.*?)\s*\(at (?:line (?P<line>\d+).*|end of document)\)", re.DOTALL)


def read(text: str, where: str, *, what: str = "not TOML", first_line: int = 1) -> dict[str, Any]:
    """Read TOML that starts on some line of a file; errors name the line.

    >>> read("a = 1", "here")
    {'a': 1}
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.match(str(error))
        reason = found["what"] if found else str(error)
        line = int(found["line"]) if found and found["line"] else text.rstrip().count("\n") + 1
        raise DefinitionError(f"{where}: line {first_line + line - 1}: {what}: {reason}") from None


def check(
    record: Mapping[str, Any],
    keys: Mapping[str, Kinds],
    where: str,
    required: Iterable[str] = (),
    elsewhere: Mapping[str, str] | None = None,
) -> None:
    """Refuse unknown keys with the nearest known one, values of a wrong type, and missing keys.

    A key that is not a text, as YAML allows, counts as having the wrong type. `elsewhere` says
    which tables have keys that are looked for here.

    >>> check({"a": None}, {"a": (int, float)}, "here")
    Traceback (most recent call last):
    warehouse.errors.DefinitionError: here: 'a' has the wrong type: null; write a number
    """
    for key, value in record.items():
        if key not in keys:
            place = (elsewhere or {}).get(key)
            hint = f"; it stands in {place}" if place else nearest(str(key), keys)
            hint = hint or f"; known are {', '.join(keys)}"
            raise DefinitionError(f"{where}: unknown key {key!r}{hint}")
        if not isinstance(key, str):
            raise DefinitionError(f"{where}: key {key!r} is {_word(type(key))}: put it in quotes")
        wanted = keys[key]
        kinds = wanted if isinstance(wanted, tuple) else (wanted,)
        # in Python, not in TOML, true is a whole number
        fits = isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)
        if not fits:
            words = dict.fromkeys(_word(k) for k in kinds if k is not int or float not in kinds)
            hint = (
                ": its head stands in [[ ]]" if kinds == (list,) and isinstance(value, dict) else ""
            )
            raise DefinitionError(
                f"{where}: {key!r} has the wrong type: {_word(type(value))}; "
                f"write {' or '.join(words)}{hint}"
            )
    for key in required:
        if key not in record:
            raise DefinitionError(f"{where}: the key {key!r} is missing")


def _word(kind: type) -> str:
    return _WORDS.get(kind, f"of the kind {kind.__name__}")
