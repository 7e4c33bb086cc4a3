"""The signature of a command as Typer reads it, with groups of options as single options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.models import OptionInfo


def expanded(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command without groups of options: each field of a group is a parameter.

    A group is a parameter whose type is a dataclass. `Annotated[int, "How many.", "-n", {"min": 1}]` is
    an option with this help, short name and bound, which is called like its parameter if no name begins
    with --. Without names and without a default, it is an argument. `Annotated[Group, one]` has the
    option `one` in the place of the group's format.
    """
    groups: dict[str, tuple[Callable[..., Any], list[str]]] = {}
    single: list[Parameter] = []
    for parameter in signature(function, eval_str=True).parameters.values():
        group, *about = _parts(parameter.annotation)
        if is_dataclass(group) and isinstance(group, type):
            fields = list(_fields(group, about))
            groups[parameter.name] = group, [field.name for field in fields]
            single += fields
        else:
            single.append(_named(parameter))

    @wraps(function)
    def command(**given: Any) -> None:
        made = {
            name: group(**{field: given.pop(field) for field in fields})
            for name, (group, fields) in groups.items()
        }
        function(**given, **made)

    command.__signature__ = Signature(single)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in single}
    return command


def _fields(group: type, about: list[Any]) -> Iterator[Parameter]:
    for one in signature(group, eval_str=True).parameters.values():
        is_format = one.name == "format" and about
        kind = Annotated[_parts(one.annotation)[0], about[0]] if is_format else one.annotation
        yield _named(one.replace(annotation=kind))


def _named(parameter: Parameter) -> Parameter:
    """Return a keyword parameter whose annotation has an argument, or an option with a long name."""
    kind, *about = _parts(parameter.annotation)
    found = copy(about[0]) if about else None
    if isinstance(found, str):
        _, *names = (one for one in about if isinstance(one, str))
        more = next((one for one in about if isinstance(one, dict)), {})
        is_argument = parameter.default is Parameter.empty and not names
        found = (typer.Argument if is_argument else typer.Option)(*names, help=found, **more)
    if isinstance(found, OptionInfo):
        names = [str(name) for name in (found.default, *(found.param_decls or ())) if name != ...]
        if not any(name.startswith("--") for name in names):
            names.insert(0, f"--{parameter.name.replace('_', '-')}")
        found.default, found.param_decls = ..., names
    if found is not None:
        kind = Annotated[kind, found]
    return parameter.replace(annotation=kind, kind=Parameter.KEYWORD_ONLY)


def _parts(annotation: Any) -> list[Any]:
    return list(get_args(annotation)) if get_origin(annotation) is Annotated else [annotation]
