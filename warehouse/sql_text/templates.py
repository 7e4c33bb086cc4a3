"""The Jinja environment of the SQL templates: strict, with quoting filters, and the header reader.

A template is `sql/<folder>/<name>.sql.j2`. It may open with a block comment that holds a TOML header.
Values reach SQL as bound parameters or through the filters `literal` and `ident`, never otherwise.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Mapping, MutableMapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
import jinja2.sandbox

from warehouse import extending
from warehouse.config import project, toml
from warehouse.config.ownership import is_private
from warehouse.config.settings import VERSION, resource_folder
from warehouse.errors import DefinitionError, WarehouseError, nearest
from warehouse.sql_text.quoting import ident, literal

SUFFIX = ".sql.j2"
_HEADER = re.compile(r"\A\s*/\*(.*?)\*/", re.DOTALL)
_BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_LINE_COMMENT = re.compile(r"--[^\n]*")


class _Kept(jinja2.FileSystemBytecodeCache):
    """Rendered templates, kept between processes in the user's cache folder.

    It is executed when it is read: a folder or a file that others could have written is not used. What
    cannot be read or written is made again.
    """

    def __init__(self) -> None:
        # a relative path would name a folder of whoever made the current one
        given = Path(os.environ.get("XDG_CACHE_HOME") or "")
        base = given if given.is_absolute() else project.expanded("~/.cache")
        kept = base / "ranking-warehouse" / "templates"
        self._folder = kept if base.is_absolute() else Path(os.devnull)
        super().__init__(str(self._folder), "%s")

    def get_source_checksum(self, source: str) -> str:
        """Filters are applied to constants when a template is compiled, so versions count."""
        return super().get_source_checksum(f"{jinja2.__version__} {VERSION} {source}")

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        with contextlib.suppress(Exception):  # whatever a file that was cut off makes of pickle
            if all(is_private(one.lstat()) for one in (self._folder, self._folder / bucket.key)):
                super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            super().dump_bytecode(bucket)


@cache
def _kept() -> _Kept:
    return _Kept()


class _Sandbox(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """Templates of a project may come from others: they have no access to Python."""

    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """Return one dictionary: every call of a macro copies the globals, and a ChainMap slowly."""
        return {**self.globals, **d} if d else self.globals


@cache
def folders(*, ours: bool = False) -> tuple[Path, ...]:
    """Return `sql`, and the folders of SQL of all extensions, or of our own."""
    found = (one for one in extending.found() if not (ours and one.distribution))
    return resource_folder("sql"), *(one.extension.sql for one in found if one.extension.sql)


@cache
def environment() -> jinja2.Environment:
    """Return the environment; every macro of `sql/macros` is available in every template."""
    env = _Sandbox(
        loader=jinja2.FileSystemLoader(folders()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        autoescape=False,
        bytecode_cache=_kept(),
    )
    env.filters["ident"] = ident
    env.filters["literal"] = literal
    for path in sorted((resource_folder("sql") / "macros").glob("*" + SUFFIX)):
        module = env.get_template(f"macros/{path.name}").module
        env.globals |= {k: v for k, v in vars(module).items() if not k.startswith("_")}
    return env


class Mention:
    """The name of a table in a template's values: writing it notes that the table is read."""

    def __init__(self, name: str, noted: dict[str, None]) -> None:
        self._name = name
        self._noted = noted

    def __str__(self) -> str:
        self._noted[self._name] = None
        return self._name


def render(name: str, **values: Any) -> str:
    """Render `sql/<name>.sql.j2` with its variables, without its header."""
    try:
        text = environment().get_template(name + SUFFIX).render(**values)
    except jinja2.TemplateError as error:
        raise WarehouseError(f"sql/{name}{SUFFIX}: {error}") from error
    return _HEADER.sub("", text, count=1).strip()


@cache
def compiled(text: str) -> jinja2.Template:
    """Return the compiled template of a text, compiled once for all processes."""
    env, name = environment(), _digest(text)
    return jinja2.DictLoader({name: text}).load(env, name, env.make_globals(None))


def source(name: str) -> str:
    """Return the unchanged text of `sql/<name>.sql.j2`."""
    paths = (folder / (name + SUFFIX) for folder in folders())
    return next(path for path in paths if path.is_file()).read_text(encoding="utf-8")


def header(text: str, where: str) -> toml.Document:
    """Read the TOML header in the leading block comment of a template's text."""
    match = _HEADER.match(text)
    if match is None:
        lacks = "the header has no end: */" if text.lstrip().startswith("/*") else "no header"
        raise DefinitionError(f"{where}: {lacks}; a template opens with /* TOML */")
    first_line = text.count("\n", 0, match.start(1)) + 1
    found = toml.read(match[1], where, what="the header is not TOML", first_line=first_line)
    return _withshared_params(found)


def _withshared_params(document: toml.Document) -> toml.Document:
    """Return a header with the parameters that it lists: shared ones, and its own tables over them."""
    record = dict(document.record)
    listed, own = record.pop("params", []), record.get("param", {})
    if not isinstance(listed, list) or not isinstance(own, dict):
        problem = "write params = [NAMES], and a table [param.NAME] for each that is not shared"
        raise document.error(("params",), problem)
    found = {}
    for name in listed:
        if name not in shared_params() and name not in own:
            hint = nearest(str(name), shared_params()) or f"; or declare it: [param.{name}]"
            raise document.error(("params",), f"no parameter {name!r} is shared{hint}")
        over = own.get(name, {})
        found[name] = shared_params().get(name, {}) | over if isinstance(over, dict) else over
    if found or own:
        record["param"] = found | {key: one for key, one in own.items() if key not in found}
    return replace(document, record=record)


@cache
def shared_params() -> Mapping[str, dict[str, Any]]:
    """Return the parameters that templates share, as their headers would declare them."""
    path = resource_folder("sql") / "params.toml"
    return toml.read(path.read_text(encoding="utf-8"), "sql/params.toml").record


def body(text: str) -> str:
    """Return a template's text without its header."""
    return _HEADER.sub("", text, count=1).strip()


def variables(text: str, where: str = "template") -> set[str]:
    """Return the variables of a template's text, without macros and header."""
    # blank lines replace the header, so that line numbers in errors fit the file
    plain = _HEADER.sub(lambda found: "\n" * found[0].count("\n"), text, count=1)
    try:
        return _undeclared(plain) - set(environment().globals)
    except jinja2.TemplateSyntaxError as error:
        raise DefinitionError(f"{where}: line {error.lineno}: {error.message}") from None


def _undeclared(text: str) -> set[str]:
    """Return the names that a text uses and does not set itself, parsed once for all processes."""
    bucket: Any = _kept().get_bucket(environment(), _digest(f"undeclared {text}"), None, text)
    if bucket.code is None:
        # no code, but written and read like it
        bucket.code = sorted(jinja2.meta.find_undeclared_variables(environment().parse(text)))
        _kept().set_bucket(bucket)
    return set(bucket.code)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def names_in(folder: str) -> tuple[str, ...]:
    """Return the names of the templates in `sql/<folder>` and of our own extensions, sorted."""
    files = [path for one in folders(ours=True) for path in (one / folder).glob("*" + SUFFIX)]
    return tuple(sorted(path.name.removesuffix(SUFFIX) for path in files))


def normalised(sql: str) -> str:
    """Return SQL without comments and with single blanks, the basis of a fingerprint.

    >>> normalised("select  1 -- one\\n  /* two */ as x")
    'select 1 as x'
    """
    return " ".join(_LINE_COMMENT.sub(" ", _BLOCK_COMMENT.sub(" ", sql)).split())
