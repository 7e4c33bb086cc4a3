"""Errors, in words for the people who read them.

Every error says what, where (file and line) and what to do next. The library raises; the command
line prints one line and turns the class into an exit code.
"""

from __future__ import annotations

import difflib
import re
import shlex
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

_URL = re.compile("([a-z][a-z0-9+.-]+):/+(.*)", re.DOTALL)
# Characters that move a terminal's cursor, break the line, reverse the text direction, or that Unicode
# reserves for use inside programs, as the marks of tables are.
_CONTROLS = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
    r"\ufdd0-\ufdef\ufeff\ufffe\uffff]"
)
# The same but for newlines and tabs.
_CONTROLS_IN_LINES = re.compile(_CONTROLS.pattern.replace(r"\x00-\x1f", r"\x00-\x08\x0b-\x1f"))


NO_MEMORY = (
    "out of memory: the system gives this process no more; raise its limit (ulimit -v, or that of the "
    "container), or take fewer threads"
)
# The most names with the same prefix that are suggested together.
_FEW = 6
# Whether the reader of errors has typed a command; otherwise Python.
_IN_SHELL = ContextVar("in_shell", default=False)
# The database that the reader of errors has named with --db.
_DATABASE = ContextVar[str | None]("database", default=None)
# Which of the sources of `score` is read, qrels, run or training; empty elsewhere.
_SIDE = ContextVar("side", default="")
# Options of which each of the two sources has its own.
_SIDED = ("column", "format", "where", "repeated")
# Options whose arguments in Python have another name.
_ARGUMENTS = {
    "at": "run_at", "column": "columns", "qrels-column": "qrels_columns", "from": "origin",
    "run-column": "run_columns", "global": "is_global",
}  # fmt: skip


class WarehouseError(Exception):
    """Base of every error that this package raises on purpose. Exit code 1.

    Its text has no control characters: tracebacks would put them on a terminal.
    """

    exit_code = 1

    def __str__(self) -> str:
        return visible(super().__str__(), lines=True)


class UsageError(WarehouseError):
    """A wrong name, option or argument. Exit code 2."""

    exit_code = 2


class DefinitionError(WarehouseError):
    """A metric, a protocol or a project with an error in its file. Exit code 2."""

    exit_code = 2


class InputError(WarehouseError):
    """A file or table that cannot be loaded. Exit code 2.

    `problems` holds the first problems as `(line, reason)`, `total` their number.
    """

    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        problems: Iterable[tuple[int | None, str]] = (),
        total: int | None = None,
    ) -> None:
        self.message = message
        self.problems = tuple(problems)
        self.total = len(self.problems) if total is None else total
        super().__init__(self._text())

    def _text(self) -> str:
        lines = [self.message]
        for line, reason in self.problems:
            line_text = visible(reason)
            lines.append(f"  {line_text}" if line is None else f"  line {line}: {line_text}")
        rest = self.total - len(self.problems)
        if rest > 0:
            lines.append(f"  … and {rest:,} more")
        return "\n".join(lines)


class EmptyError(InputError):
    """A source without any data; `source` is its name."""

    def __init__(self, source: str, unit: str) -> None:
        super().__init__(f"{source}: is empty: there is no {unit} of data")
        self.source = source


class ConflictError(WarehouseError):
    """A name that is taken by other content. Exit code 2."""

    exit_code = 2


class EngineError(WarehouseError):
    """A statement of this program that DuckDB does not run; its own error is the cause. Exit code 1."""


class DatabaseError(UsageError):
    """A database file that cannot be opened, or not be written. Exit code 2."""


class LockedError(WarehouseError):
    """The database file is held by another process. Exit code 3."""

    exit_code = 3


def first_line(error: Exception) -> str:
    """Return the first line of a message of the engine or a library; the rest is for its own users.

    >>> first_line(ValueError("no such type" + chr(10) + "LINE 1: select"))
    'no such type'
    """
    return str(error).strip().split("\n")[0]


def is_fault(error: Exception) -> bool:
    """Whether an error is of the engine itself, of memory, files or transactions, whatever the SQL.

    >>> is_fault(MemoryError())
    False
    """
    faults = {"OperationalError", "InternalError", "FatalException", "InterruptException"}
    return bool(faults & {kind.__name__ for kind in type(error).__mro__})


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean X?` for the nearest known word, or an empty string.

    If none is near, it is the only one with this prefix; with several, there is no nearest.

    >>> nearest("nDGC", ["AP", "nDCG", "ndcg"]), nearest("rr_", ["rr_v2aug_splade", "tasb"])
    ('; did you mean nDCG?', '; did you mean rr_v2aug_splade?')
    >>> nearest("trec_eval", ["ranx", "trec_eval_9", "trec_eval_10", "trec_eval_c"])
    '; did you mean trec_eval_10, trec_eval_9 or trec_eval_c?'
    """
    word = str(word)  # a wrong argument from Python, of whatever type, is an unknown name
    names = list(dict.fromkeys(known))
    begun = sorted(name for name in names if name.startswith(word))
    if len(word) > 1 and 1 < len(begun) <= _FEW:
        return f"; did you mean {', '.join(begun[:-1])} or {begun[-1]}?"
    found = nearest_name(word, names)
    return "" if found is None else f"; did you mean {found}?"


def nearest_name(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that `nearest` suggests, or None."""
    folded: dict[str, str] = {}
    for name in known:
        folded.setdefault(name.lower(), name)
    found = difflib.get_close_matches(word.lower(), list(folded), n=1, cutoff=0.6)
    if not found:
        begun = [name for name in folded if len(word) > 1 and name.startswith(word.lower())]
        found = begun if len(begun) == 1 else []
    return folded[found[0]] if found else None


def command(
    words: str,
    dataset: str,
    *,
    metrics: Iterable[str] = (),
    slice: str | None = None,
    qrels: int | None = None,
    protocol: str = "default",
) -> str:
    """Return a command of this program for a dataset, quoted for a shell.

    >>> command("evaluate", "my films", metrics=["P(rel=2)@5"], protocol="trec_eval_9")
    "warehouse evaluate -d 'my films' -m 'P(rel=2)@5' --protocol trec_eval_9"
    >>> with of_database("my.duckdb"):
    ...     command("evaluate", "films")
    'warehouse evaluate -d films --db my.duckdb'
    """
    options = ["-d", dataset]
    for metric in metrics:
        options += ["-m", metric]
    options += [] if slice is None else ["--slice", slice]
    options += [] if qrels is None else ["--qrels", str(qrels)]
    options += [] if protocol == "default" else ["--protocol", protocol]
    database = _DATABASE.get()
    options += [] if database is None else ["--db", database]
    return f"warehouse {words} {shlex.join(options)}"


@contextmanager
def in_shell(is_in_shell: bool = True) -> Iterator[None]:
    """Let errors name the options of commands, not the arguments of Python, until the block ends."""
    token = _IN_SHELL.set(is_in_shell)
    try:
        yield
    finally:
        _IN_SHELL.reset(token)


@contextmanager
def of_database(path: str) -> Iterator[None]:
    """Let commands that errors and notes name have the database that was given with --db."""
    token = _DATABASE.set(path)
    try:
        yield
    finally:
        _DATABASE.reset(token)


def is_in_shell() -> bool:
    """Whether errors name the options of commands."""
    return _IN_SHELL.get()


@contextmanager
def of_side(side: Literal["qrels", "run", "training"]) -> Iterator[None]:
    """Let errors name the options that are for one of the sources of `score`.

    For a training set it has none: those are of the command that loads one.
    """
    token = _SIDE.set(side)
    try:
        yield
    finally:
        _SIDE.reset(token)


def option(name: str, value: object = True) -> str:
    """Return an option as the reader of an error writes it: in Python, as an argument.

    A value of two parts, as for --column, is a pair, and one with commas a list. Without a value
    the option is a switch; of None, only its name is returned. A value is quoted for the shell.

    >>> option("replace"), option("column", ("score", "s")), option("lower-is-better")
    ('replace=True', "columns={'score': 's'}", 'lower_is_better=True')
    >>> with in_shell():
    ...     option("replace"), option("column", ("score", "s")), option("from", "qrels")
    ('--replace', '--column score=s', '--from qrels')
    >>> with in_shell(), of_side("run"):
    ...     option("column", ("score", "my stars"))
    "--run-column 'score=my stars'"
    >>> option("leave-out", None)
    'leave_out='
    """
    if name in _SIDED and _SIDE.get() == "training":
        token = _SIDE.set("")
        shown = option(name, value)
        _SIDE.reset(token)
        return f"{shown} of {'ingest training' if _IN_SHELL.get() else 'ingest_training'}"
    if name in _SIDED and _SIDE.get():
        name = f"{_SIDE.get()}-{name}"
    if _IN_SHELL.get():
        if value is None:
            return f"--{name}"
        shown = str(value)
        if isinstance(value, list | tuple):
            shown = ("=" if isinstance(value, tuple) else ",").join(map(str, value))
        return f"--{name}" if value is True else f"--{name} {_quoted(shown)}"
    argument = _ARGUMENTS.get(name, name.replace("-", "_"))
    if value is None:
        return f"{argument}="
    return f"{argument}={dict([value]) if isinstance(value, tuple) else value!r}"


def _quoted(text: str) -> str:
    """Quote a text for the shell; one with single quotes in double ones, if these mean nothing else."""
    if "'" in text and not set(text) & set('"$`\\!'):
        return f'"{text}"'
    return shlex.quote(text)


def column_options(pairs: Iterable[tuple[str, str]]) -> str:
    """Return the options that name columns of a source, ours before theirs.

    >>> with in_shell():
    ...     column_options([("query_id", "reader"), ("doc_id", "$(book)")])
    "--column query_id=reader --column 'doc_id=$(book)'"
    """
    given = list(pairs)
    if _IN_SHELL.get():
        return " ".join(option("column", pair) for pair in given)
    return f"{option('column', None)}{dict(given)}"


def none_yet(what: str, dataset: str) -> str:
    """Return the sentence about a dataset without qrels, or without runs.

    >>> none_yet("run", "dl19")
    'dl19: it has no runs yet: warehouse ingest run FILE -d dl19'
    """
    many = what if what == "qrels" else f"{what}s"
    return f"{dataset}: it has no {many} yet: {command(f'ingest {what} FILE', dataset)}"


def no_such_run(run: str, dataset: str, known: Iterable[str]) -> str:
    """Return the sentence about a run that a dataset does not have.

    >>> no_such_run("x", "dl19", ["tasb", "bm25"])
    'x: dataset dl19 has no run of that name; it has bm25, tasb'
    """
    names = sorted(known)
    hint = nearest(run, names) or f"; it has {listing(names) or 'none yet'}"
    return f"{run}: dataset {dataset} has no run of that name{hint}"


def check_word(what: str, given: str, known: Iterable[str]) -> str:
    """Return a word if it is known. Raises UsageError with the nearest one.

    >>> check_word("test", "t", ("t", "sign"))
    't'
    """
    words = list(known)
    if given not in words:
        hint = nearest(given, words) or f"; known are {listing(words) or 'none yet'}"
        raise UsageError(f"{given}: no such {what}{hint}")
    return given


def check_text(what: str, given: object, hint: str = "") -> str:
    """Return a text, as Python's own type. Raises UsageError for anything else.

    >>> check_text("run", "bm25")
    'bm25'
    """
    if not isinstance(given, str):
        raise UsageError(f"{what} is a text, not {_shown(given)}{hint}")
    return str.__str__(given)


def check_several(what: str, given: object) -> list[Any]:
    """Return one text, or several things, as a list; a set is sorted. Raises UsageError.

    >>> check_several("metrics", "AP RR"), check_several("metrics", {"RR", "AP"})
    (['AP RR'], ['AP', 'RR'])
    """
    if isinstance(given, str):
        return [given]
    if isinstance(given, bytes | Mapping) or not isinstance(given, Iterable):
        raise UsageError(f"{what} is a text or a list of texts, not {_shown(given)}")
    return sorted(given, key=str) if isinstance(given, set | frozenset) else list(given)


def check_names(what: str, given: object) -> list[str]:
    """Return one name, or several, as a list; a set is sorted. Raises UsageError.

    >>> check_names("runs", "bm25"), check_names("runs", {"tasb", "bm25"})
    (['bm25'], ['bm25', 'tasb'])
    """
    return [check_text(f"each of {what}", one) for one in check_several(what, given)]


def _shown(given: object) -> str:
    shown = repr(given)
    return shown if len(shown) < 80 else f"of type {type(given).__name__}"


def visible(text: str, *, lines: bool = False) -> str:
    """Return a text with its control characters escaped; with `lines`, not newlines and tabs.

    Every name that is shown to people, in whatever format, passes through it.

    >>> visible("a\\x1b[2J\\n"), visible("a\\x1b[2J\\n", lines=True)
    ('a\\\\x1b[2J\\\\n', 'a\\\\x1b[2J\\n')
    """
    if text.isprintable():  # as most names are
        return text
    controls = _CONTROLS_IN_LINES if lines else _CONTROLS
    return controls.sub(lambda found: repr(found[0])[1:-1], text)


def url(text: str) -> str | None:
    """Return the URL in a text, even if it was turned into a path, or None.

    >>> url("s3:/bucket/a.run"), url("C:/runs/a.run"), url("runs/a.run")
    ('s3://bucket/a.run', None, None)
    """
    found = _URL.fullmatch(text)
    return None if found is None else f"{found[1]}://{found[2]}"


def is_utf8(text: str) -> bool:
    """Whether a text can be written as UTF-8; a file name in another encoding cannot.

    >>> is_utf8("é"), is_utf8("\\udce9")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_effect(needs: str, *, has_effect: bool, **given: object) -> None:
    """Refuse options that are given, as they are true, where they would have no effect.

    >>> check_effect("ranks", has_effect=False, seed=False)
    """
    idle = [option(name.replace("_", "-"), None).rstrip("=") for name, one in given.items() if one]
    if idle and not has_effect:
        raise UsageError(f"{listing(idle)}: has no effect here, as it goes with {needs}")


def check_at_least(least: int, **numbers: object) -> None:
    """Refuse given numbers that are not whole or are below the minimum.

    >>> check_at_least(1, top=5, depth=None)
    """
    for what, number in numbers.items():
        if number is None:
            continue
        if not hasattr(number, "__index__"):
            raise UsageError(f"{what} is a whole number, not {number!r}")
        if number.__index__() < least:
            raise UsageError(f"{what} is at least {least}, not {number}")


def seconds(what: str, given: float) -> float:
    """Return a waiting time, limited to the longest that a thread can wait: hundreds of years.

    >>> seconds("timeout", 60.0), seconds("timeout", float("inf")) == threading.TIMEOUT_MAX
    (60.0, True)
    """
    if not (hasattr(given, "__float__") and given >= 0):
        raise UsageError(f"{what} is a number of seconds, 0 or more, not {given!r}")
    return min(given, threading.TIMEOUT_MAX)


def listing(names: Iterable[str], limit: int = 12) -> str:
    """Return the names as one line, cut at `limit` with the count of the rest.

    >>> listing(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    all_names = list(names)
    shown = ", ".join(map(visible, all_names[:limit]))
    rest = len(all_names) - limit
    return f"{shown} and {rest} more" if rest > 0 else shown


def counted(number: int, word: str) -> str:
    """Return a number with its word in the singular or plural.

    >>> counted(1, "run"), counted(1200, "run"), counted(2, "query")
    ('1 run', '1,200 runs', '2 queries')
    """
    many = word[:-1] + "ies" if word.endswith("y") else word + "s"
    return f"{number:,} {word if number == 1 else many}"
