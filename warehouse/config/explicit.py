"""Arguments that several functions share: declared once, shown and checked as their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


def explicit(shared: type, **defaults: object) -> Callable[[_F], _F]:
    """Give a function with `**how` the keyword arguments of a TypedDict, as help shows them.

    The function gets all of them: by default None, or False where it is a bool.

    >>> from typing import TypedDict
    >>> class Rows(TypedDict, total=False):
    ...     format: "str | None"
    ...     replace: "bool"
    >>> @explicit(Rows)
    ... def load(source, **how):
    ...     return source, how
    >>> load("a.run", replace=True)
    ('a.run', {'format': None, 'replace': True})
    >>> load("a.run", formt="trec")
    Traceback (most recent call last):
    TypeError: load() got an unexpected keyword argument 'formt'
    """
    added = []
    for name, kind in shared.__annotations__.items():
        text = getattr(kind, "__forward_arg__", kind)
        default = defaults.get(name, False if text == "bool" else None)
        added.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=text))

    def decorate(function: _F) -> _F:
        own = signature(function)
        kept = [one for one in own.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        whole = own.replace(parameters=[*kept, *added])

        @wraps(function)
        def called(*args: Any, **given: Any) -> Any:
            try:
                bound = whole.bind(*args, **given)
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            bound.apply_defaults()
            return function(*bound.args, **bound.kwargs)

        called.__signature__ = whole  # type: ignore[attr-defined]
        return called  # type: ignore[return-value]

    return decorate
