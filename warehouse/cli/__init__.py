"""The command line: options in, one library call, output. The only place that prints."""

from __future__ import annotations

import atexit
import gc
import io
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

from warehouse.errors import NO_MEMORY, UsageError, WarehouseError, visible

INTERRUPTED = 130
# The exit code if the reader of a pipe is gone: as of a program ended by SIGPIPE, such as cat.
PIPE_CLOSED = 141
# How the import of a library ends for which there is no memory.
_NOT_MAPPED = "failed to map segment"
_HELP = {"-h", "--help"}
# The share of the memory a process may map that DuckDB and its libraries take.
_LEAST = 256 << 20
# Signals other than Ctrl-C: a service is stopped, its time is up, its terminal is closed.
_END_SIGNALS = ("SIGTERM", "SIGHUP")
# Number of new objects before the first garbage collection: imports make many, and few are garbage.
_GARBAGE_THRESHOLD = 100_000


def main() -> None:
    """Run the command line in a process of its own, and end the process.

    Dismantling the interpreter, module by module, takes longer than many commands do.
    """
    _open_streams()
    gc.set_threshold(_GARBAGE_THRESHOLD)
    warnings.showwarning = _show_warning
    code: int | str = 0
    with _signals_interrupt() as received:
        try:
            run()
        except SystemExit as end:
            code = end.code or 0
    try:
        if not sys.stdout.closed:
            sys.stdout.flush()
    except OSError as error:
        code = code or _say_os_error(error)
    sys.stderr.flush()
    if not isinstance(code, int):
        sys.exit(str(code))
    if "warehouse.store.database" in sys.modules:
        from warehouse.store import database

        database.leave()
    atexit._run_exitfuncs()
    for number in received:  # for the sender to see
        os.kill(os.getpid(), number)
    os._exit(code)


@contextmanager
def _signals_interrupt() -> Iterator[list[int]]:
    """Let signals interrupt the program as Ctrl-C does; yield a list of those received.

    Otherwise nothing would remove its temporary files. Ignored signals, as under nohup, stay
    ignored; a second signal ends the program at once.
    """
    received: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        received.append(number)
        if "warehouse.store.database" in sys.modules:
            from warehouse.store import interrupts

            return interrupts.break_off(signal.SIGINT, frame)
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in _END_SIGNALS if hasattr(signal, name)]
    ours = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]
    for number in ours:
        signal.signal(number, interrupt)
    try:
        yield received
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


class _LossyStream(io.FileIO):
    """The stream of narration; if it is full or closed, only narration is lost."""

    def write(self, text: Any, /) -> int:
        with suppress(OSError):
            super().write(text)
        return len(text)


def _open_streams() -> None:
    """Connect closed standard streams to nothing, and let all of them take any text.

    Otherwise an opened database would get the number of a closed stream, and with it the output.
    Input is UTF-8, as in a file; characters that a terminal cannot show are replaced.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nowhere, mode, encoding="utf-8", closefd=False))
    for stream, encoding, errors in (
        (sys.stdin, "utf-8", "surrogateescape"),
        (sys.stdout, None, "replace"),
        (sys.stderr, None, "backslashreplace"),
    ):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=encoding or stream.encoding, errors=errors)
    buffer = io.BufferedWriter(_LossyStream(sys.stderr.fileno(), "w", closefd=False))
    sys.stderr = io.TextIOWrapper(
        buffer, encoding=sys.stderr.encoding, errors=sys.stderr.errors, line_buffering=True
    )


def run() -> None:
    """Run the command line; turn errors into one line and an exit code."""
    try:
        _call()
    except WarehouseError as error:
        _say(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        _leave_interrupted()
    except SystemExit as end:
        # Typer has turned the interrupt, or the error of a closed pipe, into its own exit.
        if end.code == INTERRUPTED:
            _leave_interrupted()
        if isinstance(end.__context__, BrokenPipeError):
            sys.exit(PIPE_CLOSED)
        raise
    except OSError as error:
        sys.exit(_say_os_error(error))
    except MemoryError:
        _say(NO_MEMORY)
        sys.exit(UsageError.exit_code)
    except Exception as error:
        # An interrupt during a statement comes back as DuckDB's own error.
        if "Query interrupted" in str(error) or "INTERRUPT" in str(error):
            _leave_interrupted()
        if isinstance(error, ImportError) and _NOT_MAPPED in str(error):
            _say(NO_MEMORY)
            sys.exit(UsageError.exit_code)
        if type(error).__module__.split(".")[0] not in ("duckdb", "_duckdb"):
            raise
        _say(error)
        sys.exit(1)


def _call() -> None:
    import typer

    from warehouse.cli.application import application, completed, explained
    from warehouse.config import system_memory
    from warehouse.config.project import request

    words = completed(sys.argv[1:])
    shows_all = "--help-all" in words
    words = ["--help" if word == "--help-all" else word for word in words]
    if not _HELP.intersection(words):
        system_memory.check(_LEAST)
    if words[0] in ("score", "trec-eval") and not _HELP.intersection(words):
        from warehouse.store import database

        database.open_early()
    with request():
        try:
            app = application(words, shows_all=shows_all)
            code = app(words, prog_name="warehouse", standalone_mode=False)
        except typer.TyperException as error:
            _say(explained(error, words))
            code = UsageError.exit_code
    sys.exit(code)


def _say_os_error(error: OSError) -> int:
    """Report an error of the system, unless it is a closed pipe; return the exit code."""
    if isinstance(error, BrokenPipeError):
        return PIPE_CLOSED
    where = f"{error.filename}: " if error.filename else ""
    if isinstance(error, FileNotFoundError) and not where:  # the error of getcwd
        where = "the current folder is gone, change to another: "
    _say(f"{where}{error.strerror or error}")
    return UsageError.exit_code


def _say(problem: object) -> None:
    """Print an error with control characters from the input escaped."""
    print(f"warehouse: {visible(str(problem), lines=True)}", file=sys.stderr)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning of another package without the line of code that it is from."""
    print(f"warning: {visible(str(message), lines=True)}", file=sys.stderr)


def _leave_interrupted() -> NoReturn:
    _say("interrupted; nothing of the last step was stored")
    sys.exit(INTERRUPTED)
