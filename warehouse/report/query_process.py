"""Ad-hoc SQL in a separate process: the caller survives whatever it does, and can end it.

The process opens the file, closes itself to everything else, and sends the rows back as text in
frames. It is a fork of this process if that is safe (this process has one thread, so no engine has
been started in it), which takes milliseconds; otherwise it is a new interpreter.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import re
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, NoReturn

import duckdb

from warehouse import errors
from warehouse.analyze import meant_metrics, sql_query
from warehouse.config.settings import LOCK_TIMEOUT
from warehouse.errors import (
    WarehouseError,
    check_at_least,
    check_text,
    in_shell,
    is_in_shell,
    seconds,
)
from warehouse.report import exact_values, formats
from warehouse.store import database
from warehouse.store.database import Resources
from warehouse.store.file import WarehouseFile

_HEAD = struct.Struct(">cQ")
_OPENED, _TEXT, _DONE, _FAILED = b"o", b"t", b"d", b"f"
_ROWS_AT_ONCE = 2048
# memory for the interpreter and the engine, on top of the given limit
_OVERHEAD = 2**30
_START = (
    "import pickle, sys\n"
    "sys.path[:] = pickle.load(sys.stdin.buffer)\n"
    "from warehouse.report import query_process\n"
    "query_process.serve_stdin()\n"
)
Send = Callable[[bytes, bytes], None]


@dataclass(frozen=True)
class Work:
    """One statement, the file that it reads, its limits, and how to write its rows."""

    path: Path
    sql: str
    params: Mapping[str, object] = field(default_factory=dict)
    format: str | formats.Writer = "csv"
    places: int = 4
    limit: int | None = None
    # the Parquet file to write instead of text
    output: Path | None = None
    resources: Resources = field(default_factory=Resources)
    lock_timeout: float = LOCK_TIMEOUT
    in_shell: bool = field(default_factory=is_in_shell)


@dataclass(frozen=True)
class Answer:
    """The number of rows written, whether there were more, and what is not shown, or was meant."""

    rows: int
    truncated: bool = False
    note: str = field(default="", repr=False)


def answer(
    file: WarehouseFile,
    sql: str,
    params: Mapping[str, object] | None,
    write: Callable[[str], object] = lambda _: None,
    *,
    timeout: float | None,
    limit: int | None,
    format: str | formats.Writer = "csv",
    places: int = 4,
    output: Path | None = None,
    spare: Spare | None = None,
) -> Answer:
    """Run a statement on a file as `Warehouse.stream` and `stream_parquet` do."""
    check_at_least(1, limit=limit)
    work = Work(
        file.existing(), check_text("sql", sql), database.bindable(params or {}), format, places,
        limit, output, file.resources, file.lock_timeout,
    )  # fmt: skip
    found = run(work, write, timeout, spare)
    words = [] if found.rows else meant_metrics.words(work.sql, work.params)
    if not words and not sql_query.reads_lists(work.sql):
        return found
    with file.read() as con:
        notes = found.note, meant_metrics.note(con, words), sql_query.left_out(con, work.sql)
        return replace(found, note="; ".join(note for note in notes if note))


def run(
    work: Work, write: Callable[[str], object], timeout: float | None, spare: Spare | None = None
) -> Answer:
    """Do the work in another process and pass its text to `write`, piece by piece.

    `timeout` limits the seconds that the other process may take once it has opened the file.
    """
    left = None if timeout is None else seconds("timeout", timeout)
    with _process(work, spare) as frames:
        limited = False
        while True:
            since = time.monotonic()
            try:
                kind, data = frames.get(timeout=left if limited else None)
            except queue.Empty:
                raise sql_query.too_long(timeout or 0.0) from None
            if limited and left is not None:
                left = max(left - (time.monotonic() - since), 0.0)
            if kind == _OPENED:
                limited = True
            elif kind == _TEXT:
                write(data.decode())
            elif kind == _DONE:
                return Answer(**json.loads(data))
            else:
                raise _error_of(**json.loads(data))


def _error_of(error: str, text: str) -> WarehouseError:
    kind = getattr(errors, error, WarehouseError)
    return kind(text)


# ------------------------------------------------------------------ on the caller's side


class Spare:
    """An interpreter that is started and waits for work, because starting one takes half a second.

    Each does one statement: nothing of it is left for the next one.
    """

    def __init__(self) -> None:
        self._taking = threading.Lock()
        self._waiting: _Started | None = _Started()

    def take(self) -> _Started:
        """Return the waiting process, and start the next one."""
        with self._taking:
            taken, self._waiting = self._waiting, _Started()
        if taken is None or not taken.is_alive():
            return _Started()
        return taken

    def close(self) -> None:
        """End the waiting process."""
        with self._taking:
            if self._waiting is not None:
                self._waiting.end()
            self._waiting = None


@contextmanager
def _process(work: Work, spare: Spare | None) -> Iterator[queue.Queue[tuple[bytes, bytes]]]:
    """Start the process, yield its output, and end it when the block ends, whatever it is doing."""
    child: _Forked | _Started
    if spare is None and _may_fork():
        child = _Forked(work)
    else:
        child = _Started() if spare is None else spare.take()
        child.give(work)
    frames: queue.Queue[tuple[bytes, bytes]] = queue.Queue(maxsize=4)
    over = threading.Event()

    def receive() -> None:
        try:
            while not over.is_set():
                head = child.answers.read(_HEAD.size)
                if len(head) < _HEAD.size:
                    put((_FAILED, child.wait_for_error()))
                    return
                kind, size = _HEAD.unpack(head)
                put((kind, child.answers.read(size)))
        finally:
            child.answers.close()

    def put(frame: tuple[bytes, bytes]) -> None:
        while not over.is_set():
            with suppress(queue.Full):
                frames.put(frame, timeout=0.1)
                return

    reader = threading.Thread(target=receive, daemon=True)
    reader.start()
    try:
        yield frames
    finally:
        over.set()
        child.end()
        reader.join(timeout=5)


def _may_fork() -> bool:
    """Whether this process has one thread: a fork copies no other."""
    try:
        return sys.platform == "linux" and len(list(Path("/proc/self/task").iterdir())) == 1
    except OSError:
        return False


class _Forked:
    """A fork of this process."""

    def __init__(self, work: Work) -> None:
        answers, send_end = os.pipe()
        life, hold = os.pipe()
        self._status: int | None = None
        self._pid = os.fork()
        if self._pid == 0:
            with suppress(BaseException):
                os.setsid()
                os.close(answers)
                os.close(hold)
                _serve_and_exit(work, os.fdopen(send_end, "wb", 0), os.fdopen(life, "rb", 0))
            os._exit(1)
        os.close(send_end)
        os.close(life)
        self.answers: BinaryIO = os.fdopen(answers, "rb")
        self._hold = hold
        self._waiting = threading.Lock()

    def wait_for_error(self) -> bytes:
        return _death_message(os.waitstatus_to_exitcode(self._wait()))

    def _wait(self) -> int:
        with self._waiting:
            if self._status is None:
                self._status = os.waitpid(self._pid, 0)[1]
            return self._status

    def end(self) -> None:
        if self._status is None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        self._wait()
        os.close(self._hold)


class _Started:
    """A new interpreter, which reads the work from stdin and ends when stdin is closed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.answers: BinaryIO = self._process.stdout  # type: ignore[assignment]
        self._send(sys.path)

    def _send(self, value: object) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(pickle.dumps(value))
            self._process.stdin.flush()

    def give(self, work: Work) -> None:
        self._send(work)

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def wait_for_error(self) -> bytes:
        return _death_message(self._process.wait())

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()


def _death_message(code: int) -> bytes:
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    text = f"the process of the query ended unexpectedly ({how}); nothing else is harmed"
    if code == -signal.SIGKILL:
        text = str(sql_query.out_of_memory("the system ended the process of the query"))
    return _failure(WarehouseError(text))


# ------------------------------------------------------------------ on the other side


def serve_stdin() -> NoReturn:
    """Do the work described on stdin and write its result to stdout."""
    work = pickle.load(sys.stdin.buffer)
    answers = os.fdopen(os.dup(1), "wb", 0)
    _serve_and_exit(work, answers, sys.stdin.buffer)


def _serve_and_exit(work: Work, answers: BinaryIO, life: BinaryIO) -> NoReturn:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nowhere, stream)

    def leave_with_caller() -> None:
        life.read(1)
        os._exit(1)

    threading.Thread(target=leave_with_caller, daemon=True).start()

    def send(kind: bytes, data: bytes) -> None:
        message = memoryview(_HEAD.pack(kind, len(data)) + data)
        while message:
            message = message[answers.write(message) :]

    with suppress(OSError):
        # when the machine runs out of memory, this process goes first
        Path("/proc/self/oom_score_adj").write_text("1000")
    with suppress(BrokenPipeError), in_shell(work.in_shell):
        try:
            answer = serve(work, send)
        except BrokenPipeError:
            raise
        except BaseException as error:
            send(_FAILED, _failure(error))
        else:
            send(_DONE, json.dumps(asdict(answer)).encode())
    os._exit(0)


def _failure(error: BaseException) -> bytes:
    if isinstance(error, MemoryError):
        error = sql_query.out_of_memory()
    text = str(error).strip() or type(error).__name__
    return json.dumps({"error": type(error).__name__, "text": text}).encode()


def serve(work: Work, send: Send) -> Answer:
    """Open the file, run the statement and send its rows."""
    resources = sql_query.caps(work.resources)
    with database.read(work.path, resources=resources, lock_timeout=work.lock_timeout) as con:
        database.check_schema(con, work.path)
        send(_OPENED, b"")
        sql_query.close(con, work.sql, work.output)
        text = sql_query.statement(con, work.sql, work.params)
        _limit_memory(con)
        if work.output is not None:
            rows = sql_query.write_parquet(con, text, work.params, work.output, work.limit)
            return Answer(
                rows, rows == work.limit and sql_query.has_more(con, text, work.params, rows)
            )
        with sql_query.in_words(), sql_query.hinted(con, text):
            con.execute(text, work.params)
        columns, types = zip(*((d[0], d[1]) for d in con.description or ()), strict=True)
        exactly = exact_values.select_list(columns, types)
        if exactly is not None:
            with sql_query.in_words():
                con.execute(f"select {exactly} from (\n{text}\n)", work.params)
        chunks = _Chunks(con, work.limit)
        for piece in formats.pieces(columns, types, chunks, work.format, digits=work.places):
            send(_TEXT, piece.encode())
        note = "" if isinstance(work.format, str) else work.format.note()
        return Answer(chunks.rows, chunks.truncated, note)


class _Chunks:
    """The rows of an executed statement, in chunks, up to a limit."""

    def __init__(self, con: duckdb.DuckDBPyConnection, limit: int | None) -> None:
        self.rows = 0
        self.truncated = False
        self._con = con
        self._limit = limit

    def __iter__(self) -> Iterator[list[tuple[object, ...]]]:
        while True:
            with sql_query.in_words():
                chunk = self._con.fetchmany(_ROWS_AT_ONCE)
            if self._limit is not None and self.rows + len(chunk) > self._limit:
                chunk = chunk[: self._limit - self.rows]
                self.truncated = True
            if chunk:
                self.rows += len(chunk)
                yield chunk
            if not chunk or self.truncated:
                return


def _limit_memory(con: duckdb.DuckDBPyConnection) -> None:
    """Let the system refuse memory that the engine does not count, such as one gigantic text."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        given = con.execute("select current_setting('memory_limit')").fetchall()[0][0]
        most = _in_bytes(str(given)) + _OVERHEAD
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _in_bytes(size: str) -> int:
    """Read a size as DuckDB writes it.

    >>> _in_bytes("1.5 GiB"), _in_bytes("976.5 KiB")
    (1610612736, 999936)
    """
    number, unit = re.fullmatch(r"([\d.]+) (\w+)", size).groups()  # type: ignore[union-attr]
    powers = {"bytes": 0, "KiB": 1, "MiB": 2, "GiB": 3, "TiB": 4, "PiB": 5}
    return int(float(number) * 1024 ** powers[unit])
