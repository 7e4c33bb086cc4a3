"""A fast path for values of the command line that need no conversion by typer.

Typer converts every option with a model of pydantic, even those that were not given. Importing
pydantic and making the models takes longer than many commands do (50 ms, a tenth of `score` on 54
queries). Values that already have the wanted type are therefore used as they are; typer converts or
refuses the others, in its own words.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args, get_origin

from typer.core import TyperCommand, TyperGroup

from warehouse.cli import habits
from warehouse.errors import UsageError, is_utf8, visible

_DIGITS = re.compile("[0-9]{1,15}")


class _NotPlainError(Exception):
    """A value for typer to convert or to refuse."""


class _Taken:
    """A converter of the kind that typer asks parameters for."""

    def __init__(self, wanted: Any, converter: Callable[[], Any]) -> None:
        self._wanted = wanted
        self._converter = converter

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value in the form that the command takes."""
        try:
            return taken(value, self._wanted.annotation, self._wanted.parameter_info)
        except _NotPlainError:
            return self._converter().coerce(value, param=param, ctx=ctx)


def taken(value: Any, kind: Any, declared: Any) -> Any:
    """Return a value that has the declared type already, or one of its list types.

    Raises _NotPlainError if typer must decide, and UsageError for a text in an unknown encoding.
    """
    if get_origin(kind) is list:
        (kind,) = get_args(kind)
        return [taken(one, kind, declared) for one in value or ()]
    if declared.parser is not None:
        raise _NotPlainError
    if isinstance(value, str) and kind is str and not is_utf8(value) and not os.path.lexists(value):
        raise UsageError(f"{value}: is neither UTF-8 text nor the name of a file that is there")
    if value is None or (kind in (bool, int, float, str, Path) and isinstance(value, kind)):
        return value  # not given, a text, or the default in the command's signature
    if kind is Path and _is_plain_path(value, declared):
        return Path(value)
    if kind is int and isinstance(value, str) and _DIGITS.fullmatch(value):
        number = int(value)
        if (declared.min or 0) <= number <= (number if declared.max is None else declared.max):
            return number
    raise _NotPlainError


def _is_plain_path(value: Any, declared: Any) -> bool:
    if not (isinstance(value, str) and value):
        return False
    if declared.exists or declared.writable or declared.resolve_path or declared.path_type:
        return False
    if not (declared.file_okay and declared.dir_okay):
        return False
    return not Path(value).exists() or os.access(value, os.R_OK)


class _Plain:
    """A command whose parameters use typer's models only for values that need conversion."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, as typer does."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            # typer before 0.29 has no such method, and needs no pydantic
            if hasattr(param, "get_runtime_param") and "get_runtime_param" not in vars(param):
                through = _Taken(param.type_descriptor, param.get_runtime_param)
                param.get_runtime_param = lambda through=through: through
        return params


class Command(_Plain, TyperCommand):
    """A command that uses the fast path and recognises options of other programs."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, as typer does; suggest what to write for those that it refuses."""
        allows_more, ctx.allow_extra_args = ctx.allow_extra_args, True
        try:
            more: list[str] = super().parse_args(ctx, args)
        except Exception as refused:  # typer's class has no public name
            option = getattr(refused, "option_name", None) or ""
            way = habits.instead(self.name, option)
            if way is None:
                raise
            raise UsageError(f"{option}: no such option; {way}") from None
        if more and not allows_more and not ctx.resilient_parsing:
            ctx.fail(self._unexpected(ctx, more))
        return more

    def _unexpected(self, ctx: Any, words: list[str]) -> str:
        """Say that the command has no place for some words, one of which may be a dataset's name."""
        told = f"Got unexpected extra argument(s) ({' '.join(map(visible, words))})"
        if len(words) > 1 or not any("--dataset" in param.opts for param in self.params):
            return told
        name = shlex.quote(visible(words[0]))
        return f"{told}; a dataset is named with -d: {ctx.command_path} -d {name}"


class Group(_Plain, TyperGroup):
    """A group of commands that uses the fast path."""


class Listing(Group):
    """A group that lists things, some of which its command `show` can show."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the named command; for a thing in its place, say how to show it."""
        name = args[0]
        shows = self.commands.get("show")
        takes_names = shows is not None and any(
            param.param_type_name == "argument" for param in shows.params
        )
        if takes_names and not get_close_matches(name, self.commands):
            path = ctx.command_path
            raise UsageError(f"{name}: no such command; did you mean {path} show {name}?")
        return super().resolve_command(ctx, args)
