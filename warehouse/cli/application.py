"""The application, made of the modules in `commands`.

A module is one command, or one command with further ones below it, and is named after it (trec-eval
is in `trec_eval`). It has:

- `SECTION` and `PLACE`: where `warehouse --help` lists it.
- `EXAMPLES`: for each command its examples, which end its help and are run by a test. The function
  of `metrics` is called metrics, and of `metrics show`, show.
- perhaps `ALSO`: other names of the commands below it.
- perhaps `INSTEAD`: options of other programs that people try, with their substitutes.
- perhaps `SETTINGS`: settings of Typer's context.

Nothing else lists the commands; extensions name their modules. A call imports only the module of
the command that it needs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial
from importlib import import_module
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from warehouse import extending
from warehouse.cli import commands
from warehouse.cli.signatures import expanded
from warehouse.config.settings import VERSION
from warehouse.errors import in_shell, is_utf8
from warehouse.extending import Found

SECTIONS = ("Begin", "Load", "Evaluate", "Look", "Compare", "History", "Share", "Catalogue")
# The commands that most people need.
FIRST = (
    "demo", "init", "ingest", "sync", "evaluate", "score", "fuse", "leaderboard", "queries", "curve",
    "explain", "query", "sql", "compare", "history", "report", "export",
)  # fmt: skip
# The options that few need: --help leaves them out, --help-all shows them.
_RARE = frozenset(
    (
        "--safe-csv", "--wide", "--names", "--columns", "--label", "--percent", "--places", "--threads",
        "--memory-limit", "--lock-timeout", "--master", "--qrels-column", "--run-column",
        "--qrels-where", "--run-where", "--qrels-repeated", "--run-repeated", "--weights", "--by",
        "--each", "--together", "--wins", "--alpha", "--resamples", "--seed", "--storage-version",
    )
)  # fmt: skip
# How many lines of examples --help shows, with their head.
_EXAMPLES = 7
_TYPE = re.compile("<([^<>]+)>")
_TYPES = {"str": "TEXT", "path": "PATH", "int": "N", "float": "NUMBER"}
# More characters than a summary has: lines are wrapped, not cut.
_WHOLE = 1000


class _Help:
    """The help of a command: types as people write them, without the options that few need.

    Typer imports Pydantic to convert values; values that need no conversion skip it.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with our conversion of their values."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in found:
            typers = getattr(parameter, "get_runtime_param", None)  # since Typer 0.29
            if typers is not None and not isinstance(typers, partial):
                parameter.get_runtime_param = partial(_Conversion, typers)
        return found

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options, and after them the commands of a group."""
        shows_all = ctx.find_root().command.shows_all
        arguments, given = help_records(self, ctx, shows_all=shows_all)
        for title, records in (("Arguments", arguments), ("Options", given)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if isinstance(self, TyperGroup):
            self.format_commands(ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the first examples, or all."""
        lines = str(getattr(self, "epilog", None) or "").splitlines()
        if not ctx.find_root().command.shows_all:
            lines = lines[:_EXAMPLES]
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("\n".join(lines))


class _Command(_Help, TyperCommand):
    """A command."""


@dataclass(frozen=True)
class _Conversion:
    """The conversion of a parameter's values: Typer's, which is asked for when it is needed."""

    typers: Callable[[], Any]

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return a value as Typer would."""
        is_many = param.multiple or param.nargs == -1
        if value is None:
            return () if is_many else None
        about = param.type_descriptor
        kind = get_args(about.annotation)[0] if is_many else about.annotation
        done = [_converted(kind, word) for word in (value if is_many else [value])]
        if None in done or about.parameter_info.parser is not None:
            return self.typers().coerce(value, param=param, ctx=ctx)
        return done if is_many else done[0]


def _converted(kind: Any, word: Any) -> Any:
    """Return a word as a value of a plain kind, or None if that is not certain."""
    if kind is Path:
        is_closed = os.access(word, os.F_OK) and not os.access(word, os.R_OK)
        return None if is_closed else Path(word)
    if get_origin(kind) is Literal:
        return word if word in get_args(kind) else None
    return word if type(word) is kind and (kind is not str or is_utf8(word)) else None


class _Group(_Help, TyperGroup):
    """A group of commands."""


class _Root(_Group):
    """The group of all commands, whose help lists them under the names of their sections."""

    shows_all = False

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of the commands that most people need, or of all."""
        shown = [one for one in self.commands.values() if self.shows_all or one.name in FIRST]
        longest = max(len(str(one.name)) for one in shown)
        for section, found in groupby(shown, attrgetter("rich_help_panel")):
            with formatter.section(section):
                formatter.write_dl(
                    [(f"{one.name:{longest}}", one.get_short_help_str(_WHOLE)) for one in found]
                )
        if not self.shows_all:
            formatter.write("\n")
            formatter.write_text("More commands: warehouse help all")


class _RootOfAll(_Root):
    shows_all = True


def help_records(
    command: Any, context: Any, *, shows_all: bool = True
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the arguments and the options of a command with their help; without all, fewer options."""
    arguments: list[tuple[str, str]] = []
    given: list[tuple[str, str]] = []
    left_out = False
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:
            continue
        names, text = record
        if parameter.param_type_name == "argument":
            arguments.append((names.partition(" <")[0], text))
        elif shows_all or _RARE.isdisjoint(parameter.opts):
            given.append((_TYPE.sub(_as_people_write, names), text))
        else:
            left_out = True
    if left_out:
        given.append(("--help-all", "Show all options, also those that few need."))
    return arguments, given


def _as_people_write(found: re.Match[str]) -> str:
    """Return a type as people write it: TEXT in place of <list[str]>."""
    name = found[1].removeprefix("list[").removesuffix("]").removesuffix(" range")
    return _TYPES.get(name, name)


@cache
def _core() -> dict[str, str]:
    """Return the modules in `commands` by the names of their commands."""
    found = (module.name for module in iter_modules(commands.__path__))
    return {name.replace("_", "-"): f"{commands.__name__}.{name}" for name in found}


@cache
def _added() -> dict[str, tuple[Found, str]]:
    """Return the modules of the commands that extensions add, by the names of these commands."""
    found: dict[str, tuple[Found, str]] = {}
    for one in extending.found():
        for name, module in one.extension.commands.items():
            if name in _core() or name in found:
                extending.leave_out(one.name, f"command {name}: the name is taken")
            else:
                found[name] = one, module
    return found


def names() -> list[str]:
    """Return the names of the commands, in alphabetical order."""
    return sorted([*_core(), *(name for name in _added() if " " not in name)])


@cache
def module(name: str) -> ModuleType | None:
    """Return the module of a command, or None; extensions are only looked for if none is ours."""
    if name in _core():
        return import_module(_core()[name])
    if name not in _added():
        return None
    one, path = _added()[name]
    part = f"command {name}"
    return next(extending.attempt(one.name, part, lambda: _checked(one, name, path)), None)


def _checked(extension: Found, name: str, path: str) -> ModuleType:
    """Return the module of a command of an extension. Raises an error if it makes no command."""
    found = import_module(path)
    if extension.distribution:
        app = typer.Typer()
        if " " in name:
            _add_below(app, {name: found})
        else:
            SECTIONS.index(found.SECTION)
            _add(app, found)
        typer.main.get_command(app)
    return found


def _below(name: str) -> dict[str, ModuleType]:
    """Return the modules of the commands that extensions add below a command, by their names."""
    found = {one: module(one) for one in _added() if one.startswith(f"{name} ")}
    return {one: source for one, source in found.items() if source is not None}


def modules() -> list[ModuleType]:
    """Return the modules of all commands, in the order of the help."""
    found = dict.fromkeys(filter(None, map(module, names())))
    return sorted(found, key=lambda one: (SECTIONS.index(one.SECTION), one.PLACE))


def examples() -> dict[str, Sequence[str]]:
    """Return the examples of all commands, by their full names."""
    every = [*modules(), *(one for name in names() for one in _below(name).values())]
    return {name: lines for one in every for name, lines in one.EXAMPLES.items()}


def application(words: Sequence[str] = (), *, shows_all: bool = False) -> typer.Typer:
    """Return the application with the command that some words call, or with all if it is none of ours.

    Its help leaves out options that few need, unless it `shows_all`.
    """
    app = typer.Typer(
        name="warehouse",
        cls=_RootOfAll if shows_all else _Root,
        help="""Ranking evaluation in one DuckDB file: load runs and qrels, compute every metric in SQL,
        read leaderboards.

        New here? Start with: warehouse demo
        """,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback()(_root)
    known = module(words[0]) if words else None
    for one in modules() if known is None else [known]:
        _add(app, one, " ".join(words[:2]))
    return app


def _add(app: typer.Typer, source: ModuleType, called: str = "") -> None:
    """Add the command of a module, with those below it, or with the one that is called."""
    name = _name(source)
    function = name.replace("-", "_")
    below = {path: source for path in source.EXAMPLES if path != name}
    if called in below:
        below = {called: source}
    group = typer.Typer(cls=_Group, rich_markup_mode=None)
    about: dict[str, Any] = {"rich_help_panel": source.SECTION}
    if name in source.EXAMPLES:
        about["epilog"] = _epilog(source.EXAMPLES[name])
    if not below:
        about["context_settings"] = getattr(source, "SETTINGS", None)
        group.command(name, cls=_Command, **about)(expanded(getattr(source, function)))
        app.add_typer(group)
        return
    _add_below(group, below if called in below else below | _below(name))
    if name in source.EXAMPLES:
        about |= {"callback": expanded(getattr(source, function)), "invoke_without_command": True}
    else:
        about["help"] = source.__doc__
    app.add_typer(group, name=name, **about)


def _name(source: ModuleType) -> str:
    """Return the name of the command of a module; extensions can give it others, too."""
    return source.__name__.rpartition(".")[2].replace("_", "-")


def _add_below(group: typer.Typer, below: Mapping[str, ModuleType]) -> None:
    """Add the commands of these full names, each with its module, to their group."""
    for path, source in below.items():
        word = path.split()[1]
        command = expanded(getattr(source, word))
        group.command(word, cls=_Command, epilog=_epilog(source.EXAMPLES[path]))(command)


def _epilog(lines: Sequence[str]) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _is_path(word: str) -> bool:
    return os.sep in word or (len(word) < 256 and Path(word).is_dir())


def completed(words: Sequence[str]) -> list[str]:
    """Return the words of a call, with those that may be left out.

    >>> completed([])
    ['--help']
    >>> completed(["metrics", "nDCG@10"])
    ['metrics', 'show', 'nDCG@10']
    >>> completed(["ingest", "runs", "bm25.run"]), completed(["ingest", ".", "-d", "mine"])
    (['ingest', 'run', 'bm25.run'], ['ingest', 'folder', '.', '-d', 'mine'])
    >>> completed(["help", "all"]), completed(["help", "ingest", "run"])
    (['--help-all'], ['ingest', 'run', '--help'])
    """
    if not words:
        return ["--help"]
    name, *others = words
    if name == "help":
        return ["--help-all"] if others == ["all"] else completed([*others, "--help"])
    if (source := module(name)) is None:
        return list(words)
    name = _name(source)
    if not others or others[0].startswith("-"):
        return [name, *others]
    others[0] = getattr(source, "ALSO", {}).get(others[0], others[0])
    shows_one = source.SECTION == "Catalogue" and f"{name} show" in source.EXAMPLES
    if shows_one and not get_close_matches(others[0], ["show"]):
        return [name, "show", *others]
    below = {path.split()[-1] for path in (*source.EXAMPLES, *_below(name))}
    if name == "ingest" and others[0] not in below and _is_path(others[0]):
        return [name, "folder", *others]
    return [name, *others]


def explained(error: typer.TyperException, words: Sequence[str]) -> str:
    """Return Typer's message about wrong words, with advice."""
    name = words[0]
    option = getattr(error, "option_name", "")
    instead = getattr(module(name), "INSTEAD", {}).get(option)
    if instead is not None:
        return f"{option}: no such option; {instead}"
    message = error.format_message()
    context: typer.Context | None = getattr(error, "ctx", None)
    if context is None:
        return message
    takes_dataset = any("--dataset" in parameter.opts for parameter in context.command.params)
    if takes_dataset and "unexpected extra argument" in message:
        message += "; a dataset is named with -d"
    end = "" if message.endswith((".", "?")) else "."
    return f"{message}{end} See: {context.command_path} --help"


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"warehouse {VERSION}")
        raise typer.Exit


def _root(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    ctx.with_resource(in_shell())
