"""Metrics written as Python functions: a decorator that registers one for the running program."""

from __future__ import annotations

import inspect
import math
import textwrap
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, TypeVar, overload

from warehouse.errors import DefinitionError
from warehouse.metrics import catalogue
from warehouse.metrics.header import Direction
from warehouse.metrics.template import Function
from warehouse.sql_text import templates

_F = TypeVar("_F", bound=Callable[..., Any])
# The types that a parameter may have, by the type of its default.
_TYPES = {bool: "boolean", int: "integer", float: "number"}
_CUTOFF = "cutoff"


@overload
def metric(function: _F, /) -> _F: ...
@overload
def metric(
    *,
    name: str | None = None,
    direction: Direction = "higher",
    range: tuple[float, float] = (0, math.inf),
    undefined: float | None = None,
    reference: str = "",
) -> Callable[[_F], _F]: ...
def metric(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    direction: Direction = "higher",
    range: tuple[float, float] = (0, math.inf),
    undefined: float | None = None,
    reference: str = "",
) -> Any:
    """Register a function as a metric of the running program; it is then known by its name.

    The function gets two lists for each query: `grades`, the relevance of the retrieved documents
    from the first rank on, None for an unjudged one; and `judged`, the relevance of all judged
    documents, from high to low. It returns a number, or None if the query has no value; this counts
    as `undefined`, or is left out of the mean. Its other parameters are keyword-only, with a number,
    True or False as default, and belong to the metric. Every such metric takes a cutoff, which
    shortens `grades`.

    `name` is the metric's, by default the function's; `range` its lowest and highest value. The text of
    the function is part of the fingerprint of stored values: a changed function makes them stale. What
    it calls is not part of it. Other programs see stored values, and compute none.

    >>> from warehouse import Warehouse, metric
    >>> @metric
    ... def FirstGrade(grades, judged, *, scale=1.0):
    ...     '''The relevance of the first judged document.'''
    ...     return next((scale * grade for grade in grades if grade is not None), None)
    >>> qrels, run = {"q": {"a": 2, "b": 1}}, {"q": {"x": 3.0, "b": 2.0, "a": 1.0}}
    >>> Warehouse.score(qrels, run, "FirstGrade, FirstGrade(scale=3)").means()
    {'FirstGrade': 1.0, 'FirstGrade(scale=3.0)': 3.0}
    """
    header = {
        "direction": direction,
        "range": range,
        "aggregate": "mean",
        "undefined": "null" if undefined is None else undefined,
    }

    def registered(function: _F) -> _F:
        called = name or function.__name__
        where = f"the function {function.__name__} of {function.__module__}"
        words = inspect.cleandoc(function.__doc__ or called)
        first = words.split("\n")[0]
        keys = {
            "title": first.rstrip("."),
            "summary": " ".join(words.split()),
            "formula": f"computed by {where}, in Python",
            "reference": reference or where,
        }
        keywords = _keywords(function, where)
        cutoff = templates.shared_params()[_CUTOFF]
        if keywords.get(_CUTOFF) is not None:
            cutoff = cutoff | {"default": keywords[_CUTOFF]}
        declared = {_CUTOFF: cutoff} | {
            key: {
                "type": _TYPES[type(default)],
                "default": default,
                "summary": "A parameter of the function.",
            }
            for key, default in keywords.items()
            if key != _CUTOFF
        }
        catalogue.register(
            called,
            header | keys | {"param": declared},
            where,
            Function(
                call=function, source=_whole_source(function, where), keywords=tuple(keywords)
            ),
        )
        return function

    return registered if function is None else registered(function)


def _keywords(function: Callable[..., Any], where: str) -> dict[str, Any]:
    """Return the keyword-only parameters of a function with their defaults; refuse other parameters."""
    parameters = inspect.signature(function).parameters.values()
    first = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    if first != ["grades", "judged"]:
        raise DefinitionError(
            f"{where} takes ({', '.join(first)}); write (grades, judged), and after * its parameters, "
            "as in def f(grades, judged, *, alpha=0.5)"
        )
    keywords = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    for key, default in keywords.items():
        if type(default) not in _TYPES and not (key == _CUTOFF and default is None):
            raise DefinitionError(
                f"{where}: parameter {key}: give it a number, True or False as default"
            )
    return keywords


def _whole_source(function: Callable[..., Any], where: str) -> str:
    """Return the text of a function, and of the functions and constants of its module that it names."""
    texts, functions = [_source(function, where)], [function]
    for one in functions:
        for name in sorted(_names(one.__code__)):
            value = inspect.unwrap(one.__globals__.get(name))  # type: ignore[arg-type]
            if isinstance(value, FunctionType) and value.__module__ == function.__module__:
                if value not in functions:
                    functions.append(value)
                    texts.append(inspect.getsource(value.__code__))
            elif type(value) in (*_TYPES, str):
                texts.append(f"{name} = {value!r}")
    return "\n".join(texts)


def _names(code: CodeType) -> set[str]:
    """Return the names that a function looks up, also in the functions inside it."""
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _source(function: Callable[..., Any], where: str) -> str:
    """Return the text of a function without its decorators; refuse one that has none or hides some.

    Values that a function takes from the function around it would not be in the fingerprint.
    """
    code = getattr(function, "__code__", None)
    if code is None or code.co_name == "<lambda>":
        raise DefinitionError(f"{where}: write a metric as a function with def")
    if code.co_freevars:
        raise DefinitionError(
            f"{where} uses {', '.join(code.co_freevars)} of the function around it, which no "
            "fingerprint shows; make it a keyword-only parameter"
        )
    try:
        text = textwrap.dedent(inspect.getsource(code))
    except OSError:
        raise DefinitionError(
            f"{where}: its text cannot be read, so changes would go unseen; "
            "write it in a file or a notebook"
        ) from None
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("def "))
    return "\n".join(line.rstrip() for line in lines[start:])
