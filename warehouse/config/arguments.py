"""Checks of the arguments of public methods against their signatures, with one-sentence errors."""

from __future__ import annotations

import datetime as dt
import inspect
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

from warehouse.errors import UsageError

_P = ParamSpec("_P")
_T = TypeVar("_T")


def checked(verb: Callable[_P, _T]) -> Callable[_P, _T]:
    """Refuse arguments of another type than a method's signature says; convert NumPy's scalars.

    Arguments of any type, and types that none of the readers below handles, are passed on
    unchanged.

    >>> @checked
    ... def top(name: str, number: int = 1) -> str:
    ...     return name * number
    >>> top("a", 2)
    'aa'
    >>> top(5)
    Traceback (most recent call last):
    ...
    warehouse.errors.UsageError: name is a text, not 5
    """
    # On the first call: there are many methods, and most programs use few.
    parameters = cache(lambda: _parameters(verb))

    @wraps(verb)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        by_place, by_name = parameters()
        # Python reports missing and extra ones
        placed = [one.read(value) for one, value in zip(by_place, args, strict=False)]
        named = {
            name: by_name[name].read(value) if name in by_name else value
            for name, value in kwargs.items()
        }
        return verb(*placed, *args[len(placed) :], **named)  # type: ignore[arg-type]

    return call


@dataclass(frozen=True)
class _Parameter:
    name: str
    default: object
    reader: Callable[[str, Any], Any] | None

    def read(self, value: Any) -> Any:
        return (
            value if self.reader is None or value is self.default else self.reader(self.name, value)
        )


def _parameters(verb: Callable[..., Any]) -> tuple[list[_Parameter], dict[str, _Parameter]]:
    """Return the parameters of a method that may be positional, and those passed by name."""
    by_place, by_name = [], {}
    for given in inspect.signature(verb).parameters.values():
        one = _Parameter(given.name, given.default, _reader(str(given.annotation)))
        if given.kind in (given.POSITIONAL_ONLY, given.POSITIONAL_OR_KEYWORD):
            by_place.append(one)
        if given.kind in (given.POSITIONAL_OR_KEYWORD, given.KEYWORD_ONLY):
            by_name[given.name] = one
    return by_place, by_name


def bindable(value: Any) -> Any:
    """Return a value as DuckDB can bind it: NumPy's scalars as Python's, collections as lists.

    >>> bindable({"runs": {"tasb", "bm25"}, "places": range(3)})
    {'runs': ['bm25', 'tasb'], 'places': [0, 1, 2]}
    """
    if isinstance(value, Mapping):
        return {name: bindable(one) for name, one in value.items()}
    if getattr(value, "ndim", None) == 0:
        # DuckDB and NumPy read nanoseconds since 1970 as a number
        return (value.astype("M8[us]") if value.dtype.kind == "M" else value).item()
    is_one = isinstance(value, str | bytes | bytearray) or hasattr(value, "columns")
    if is_one or not isinstance(value, Iterable):
        return value
    return [bindable(one) for one in _in_order(value)]


def _reader(annotation: str) -> Callable[[str, Any], Any] | None:
    """Return the function that reads an argument with this annotation."""
    words = annotation.removesuffix(" | None")
    reader = _READERS.get(words.partition("[")[0] if words not in _READERS else words)
    if reader is None or words == annotation:
        return reader
    return lambda name, value: None if value is None else reader(name, value)


def _refuse(name: str, what: str, value: object) -> UsageError:
    shown = repr(value)
    kind = type(value).__name__
    return UsageError(f"{name} is {what}, not {shown if len(shown) < 80 else f'of type {kind}'}")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _refuse(name, "a text", value)
    return str.__str__(value)


def _texts(name: str, value: Any) -> Any:
    """Return a text unchanged, and several as a list; a set is sorted."""
    if isinstance(value, str):
        return _text(name, value)
    return [_text(f"each of {name}", one) for one in _several(name, value)]


def _several(name: str, value: Any) -> list[Any]:
    if isinstance(value, bytes | Mapping) or not isinstance(value, Iterable):
        raise _refuse(name, "a text or a list of texts", value)
    return _in_order(value)


def _in_order(several: Iterable[Any]) -> list[Any]:
    """Return several as a list; a set is sorted."""
    return sorted(several, key=str) if isinstance(several, set | frozenset) else list(several)


def _metrics(name: str, value: Any) -> Any:
    """Return metrics as `_texts` does; the notation checks each one."""
    return _text(name, value) if isinstance(value, str) else _several(name, value)


def _whole(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise _refuse(name, "a whole number", value) from None


def _number(name: str, value: Any) -> float:
    if isinstance(value, str) or not hasattr(value, "__float__"):
        raise _refuse(name, "a number", value)
    return value if isinstance(value, int) else float(value)


def _numbers(name: str, value: Any) -> list[float]:
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise _refuse(name, "a list of numbers", value)
    return [_number(f"each of {name}", one) for one in value]


def _truth(name: str, value: Any) -> bool:
    plain = value.item() if hasattr(value, "item") else value
    if not isinstance(plain, int) or plain not in (0, 1):
        raise _refuse(name, "True or False", value)
    return bool(plain)


def _mapping(name: str, value: Any) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise _refuse(name, "a dict", value)
    return value


def _weights(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return _text(name, value)
    return {one: _number(f"{name} of {one}", of) for one, of in _mapping(name, value).items()}


def _path(name: str, value: Any) -> Any:
    if not isinstance(value, str | os.PathLike):
        raise _refuse(name, "a path", value)
    return value


def _moment(name: str, value: Any) -> Any:
    if not isinstance(value, str | dt.date):
        raise _refuse(name, "a date, a datetime or a text", value)
    return value


def _function(name: str, value: Any) -> Any:
    if not callable(value):
        raise _refuse(name, "a function", value)
    return value


# By the annotation, or by its part before the bracket.
_READERS: dict[str, Callable[[str, Any], Any]] = {
    "str": _text,
    "Literal": _text,
    "Texts": _texts,
    "Metrics": _metrics,
    "notation.Metrics": _metrics,
    "bool": _truth,
    "int": _whole,
    "tuple[str, str]": _texts,
    "float": _number,
    "Sequence[float]": _numbers,
    "Mapping": _mapping,
    "across_datasets.Weights": _weights,
    "str | os.PathLike": _path,
    "past.Moment": _moment,
    "Callable": _function,
}
