"""The problems of a record of a file, held against the struct that it should be."""

from __future__ import annotations

import datetime as dt
import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from warehouse.config.key_paths import KeyPath, key_text
from warehouse.errors import nearest

_WORDS: dict[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    tuple: "a list",
    dict: "a table",
    dt.datetime: "a date",
    dt.date: "a date",
    dt.time: "a time of day",
    type(None): "null",
}
_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}

# By struct, the tables that have keys which are looked for in it.
OtherTables = Mapping[type, Mapping[str, str]]
# Where it is, the table that is named, and the problem.
_Problem = tuple[KeyPath, KeyPath, str]


def problems(value: Any, kind: Any, path: KeyPath, elsewhere: OtherTables) -> Iterator[_Problem]:
    """Yield the problems of a value; msgspec itself stops at the first problem."""
    for one in _options(kind):
        bare = get_origin(one) or one
        inner = get_args(one)
        if isinstance(value, dict) and isinstance(bare, type) and issubclass(bare, msgspec.Struct):
            yield from _in_table(value, bare, path, elsewhere)
            return
        if isinstance(value, dict) and bare is dict:
            for key, item in value.items():
                if not isinstance(key, str):
                    yield path, path, f"key {key!r} is {word(type(key))}: put it in quotes"
                else:
                    yield from problems(item, inner[1], (*path, key), elsewhere)
            return
        if isinstance(value, list) and bare in (list, tuple) and inner:
            if bare is tuple and inner[-1] is not ... and len(value) != len(inner):
                yield path, path[:-1], f"{path[-1]!r} lists {len(inner)} values, not {len(value)}"
            for number, item in enumerate(value, 1):
                yield from problems(item, inner[0], (*path, number), elsewhere)
            return
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        yield path, path[:-1], _wrong(value, kind, path)


def _in_table(
    value: Mapping[Any, Any], kind: type[msgspec.Struct], path: KeyPath, elsewhere: OtherTables
) -> Iterator[_Problem]:
    fields = {one.encode_name: one for one in msgspec.structs.fields(kind)}
    unknown = [key for key in value if key not in fields]
    for key in unknown:
        other = elsewhere.get(kind, {}).get(key)
        hint = f"; it stands in {other}" if other else nearest(str(key), fields)
        hint = hint or f"; known are {', '.join(fields)}"
        yield (*path, key), path, f"unknown key {key!r}{hint}"
    for key, one in fields.items():
        if key in value:
            yield from problems(value[key], one.type, (*path, key), elsewhere)
        elif one.required and not unknown:  # else it may be the unknown one
            yield path, path, f"the key {key!r} is missing"


def _wrong(value: Any, kind: Any, path: KeyPath) -> str:
    """Describe the problem of one value: its type, its bounds, or that it is none of the words."""
    key = f"item {path[-1]}" if isinstance(path[-1], int) else path[-1]
    quoted = key if isinstance(path[-1], int) else repr(key)
    options = list(_options(kind))
    hint = ""
    for one in options:
        bare, *extras = get_args(one) if get_origin(one) is Annotated else (one,)
        metas = [extra for extra in extras if isinstance(extra, msgspec.Meta)]
        words = [meta.extra or {} for meta in metas]
        hint = next((extra["hint"] for extra in words if "hint" in extra), hint)
        if get_origin(bare) is Literal and isinstance(value, str):
            names = get_args(bare)
            if any(_bare(other) is float for other in options):
                return f"{key} is a number or {names[0]!r}, not {value!r}"
            return f"{key} is one of {', '.join(names)}, not {value!r}{nearest(value, names)}"
        if metas and type(value) in (bare, int if bare is float else bare):
            if isinstance(value, str) and not value.strip():
                return f"{quoted} is blank"
            rule = next((extra["rule"] for extra in words if "rule" in extra), _bounds(metas[0]))
            return f"{key} {rule}, not {value!r}"
    kinds = toml_types(kind)
    known = dict.fromkeys(word(one) for one in kinds)
    if kinds == [list] and isinstance(value, dict):
        hint = f": its head stands in [[{key}]]"
    elif list(known) == ["a table"]:
        hint = f": [{key_text(path)}]"
    written = " or ".join(known)
    return f"{quoted} has the wrong type: {word(type(value))}; write {written}{hint}"


def _bounds(meta: msgspec.Meta) -> str:
    """Say which bounds a number has."""
    bounds = {words: getattr(meta, name) for name, words in _BOUNDS.items()}
    return "is " + " and ".join(
        f"{w} {bound:g}" for w, bound in bounds.items() if bound is not None
    )


def _options(kind: Any) -> Iterator[Any]:
    """Yield the types of a union, or the type itself."""
    if get_origin(kind) in (Union, types.UnionType):
        for one in get_args(kind):
            yield from _options(one)
    else:
        yield kind


def toml_types(kind: Any) -> list[type]:
    """Return the types that TOML has for the types of a field; null and a second number are left out.

    >>> toml_types(list[str] | float | int | None)
    [<class 'list'>, <class 'float'>]
    """
    found = dict.fromkeys(map(_bare, _options(kind)))
    left_out = {type(None), int} if float in found else {type(None)}
    return [one for one in found if one not in left_out]


def _bare(kind: Any) -> type:
    """Return the type that TOML has for a field's type."""
    origin = get_origin(kind) or kind
    if origin is Annotated:
        return _bare(get_args(kind)[0])
    if origin is Literal:
        return str
    if issubclass(origin, msgspec.Struct):
        return dict
    return list if origin is tuple else origin


def word(kind: type) -> str:
    """Return the name of a TOML type, with its article."""
    return _WORDS.get(kind, f"of the kind {kind.__name__}")
