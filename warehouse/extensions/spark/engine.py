"""Spark as an engine: a part is a task, and its reply comes back as one row."""

from __future__ import annotations

import os
import pickle
import re
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

from warehouse.config.installation import adding
from warehouse.errors import EngineError, UsageError, first_line
from warehouse.evaluate.engines.by_query import Bucket
from warehouse.extensions.spark.run_tables import table_of

__all__ = ["Spark", "connected", "table_of", "takes", "wrapped"]

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")

_REPLY = "index long, reply binary"
_LOCAL = "local[*]"
# The tasks that look around where Spark does not say how many run at once.
_TASKS = 8
# Seconds in which a master answers, and in which a process ends that has closed its connections.
_ANSWER = 15
_END = 5
_SERVER = re.compile(r"(\[[^\]]+\]|[^\[\]/:,]+):(\d+)")


class Spark:
    """An engine over a session of Spark, or of Spark Connect."""

    def __init__(self, session: Any) -> None:
        self.session = session

    def map(self, function: Callable[[_Part], _Result], parts: Iterable[_Part]) -> list[_Result]:
        """Call the function for each part, in a task of its own."""
        given = list(parts)

        def tasks(batches: Iterable[Any]) -> Iterator[Any]:
            import pyarrow as pa

            for batch in batches:
                for index in batch.column("id").to_pylist():
                    reply = pickle.dumps(function(given[index]))
                    yield pa.record_batch({"index": [index], "reply": [reply]})

        indices = self.session.range(0, len(given), 1, len(given))
        with failures():
            frame = indices.mapInArrow(tasks, _REPLY)
        return self.replies(frame)

    def look_around(self, look: Callable[[], _Result]) -> list[_Result]:
        """Call the function in as many tasks as run at once, so that each machine should have one."""
        try:
            number = self.session.sparkContext.defaultParallelism
        except Exception:  # Spark Connect has no context
            number = _TASKS
        return self.map(lambda _: look(), range(number))

    def by_bucket(
        self,
        read: Callable[[_Part], Iterable[Any]],
        score: Callable[[Bucket], _Result],
        parts: Iterable[_Part],
        columns: str,
        num_buckets: int,
    ) -> list[_Result]:
        """Read each part in a task, shuffle its rows by their bucket, and score each bucket in one."""
        given = list(parts)

        def rows(batches: Iterable[Any]) -> Iterator[Any]:
            for batch in batches:
                for index in batch.column("id").to_pylist():
                    yield from read(given[index])

        def reply(rows: Any) -> Any:
            import pyarrow as pa

            number = rows.column("bucket")[0].as_py()
            found = pickle.dumps(score(Bucket(number, rows)))
            return pa.table({"index": pa.array([number], pa.int64()), "reply": [found]})

        indices = self.session.range(0, len(given), 1, len(given))
        with failures():
            frame = indices.mapInArrow(rows, columns)
        return self._by_bucket(frame, reply, num_buckets)

    def by_table(
        self, frame: Any, score: Callable[[int, Any], _Result], num_buckets: int
    ) -> list[_Result]:
        """Shuffle the rows of a frame by the bucket of their query, and score each bucket in a task."""

        def reply(rows: Any) -> Any:
            import pyarrow as pa

            number = rows.column("bucket")[0].as_py()
            found = pickle.dumps(score(number, rows))
            return pa.table({"index": pa.array([number], pa.int64()), "reply": [found]})

        with failures():
            # each bucket is there, if only by a row without a run; crc32 is the hash of `bucket_of`
            hashed = f"crc32(encode(query_id, 'UTF-8')) % {num_buckets}"
            rows = frame.selectExpr("*", f"cast({hashed} as int) bucket")
            nothing = [f"cast(null as {kind}) {name}" for name, kind in frame.dtypes]
            numbers = self.session.range(num_buckets)
            rows = rows.unionByName(numbers.selectExpr(*nothing, "cast(id as int) bucket"))
        return self._by_bucket(rows, reply, num_buckets)

    def counts(self, frame: Any) -> dict[Any, int]:
        """Run a frame of values and counts; return the counts by the values."""
        with failures():
            return {row[0]: row[1] for row in frame.collect()}

    def _by_bucket(self, frame: Any, reply: Callable[[Any], Any], num_buckets: int) -> list[Any]:
        """Have each bucket of the rows of a frame answered in a task."""
        conf = self.session.conf
        # joined, buckets would be one task for one processor
        settings = {
            "spark.sql.adaptive.coalescePartitions.enabled": "false",
            "spark.sql.shuffle.partitions": str(num_buckets),
        }
        before = {name: conf.get(name, None) for name in settings}
        try:
            for name, value in settings.items():
                conf.set(name, value)
            with failures():
                replied = frame.groupBy("bucket").applyInArrow(reply, _REPLY)
            return self.replies(replied)
        finally:
            with suppress(Exception):  # the error of the block is raised
                for name, old in before.items():
                    if old is not None:
                        conf.set(name, old)

    def replies(self, frame: Any) -> list[Any]:
        """Run a frame with the columns `index, reply`; return the replies by index."""
        with failures():
            found = frame.toArrow()
        rows = zip(found.column("index").to_pylist(), found.column("reply"), strict=True)
        return [pickle.loads(reply.as_py()) for _, reply in sorted(rows, key=lambda row: row[0])]


def takes(engine: object) -> bool:
    """Whether an object is a session of Spark."""
    return hasattr(engine, "createDataFrame")


def wrapped(session: Any) -> Spark:
    """Return the engine over a session of Spark."""
    return Spark(session)


@contextmanager
def connected(master: str | None) -> Iterator[Spark]:
    """Use the active session; if there is none, open one for the block."""
    try:
        import pyarrow  # noqa: F401
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise UsageError(f"the engine spark needs {error.name}: {adding('spark')}") from None
    active = SparkSession.getActiveSession()
    if active is not None and master is None:
        yield Spark(active)
        return
    master = master or os.environ.get("SPARK_MASTER") or _LOCAL
    _call(master)
    with _log() as log:
        with _stderr_in(log):
            session = _open(SparkSession.builder, master)
        try:
            yield Spark(session)
        finally:
            with suppress(Exception):  # the error of the block is raised
                session.stop()


def _call(master: str) -> None:
    """Refuse a master that does not answer: Spark itself would try for minutes."""
    scheme, _, servers = master.partition("://")
    if scheme not in ("spark", "sc"):
        return
    found = _SERVER.findall(servers) or [(servers.partition("/")[0], "15002")]
    reason: OSError | None = None
    for host, port in found:
        try:
            socket.create_connection((host.strip("[]"), int(port)), _ANSWER / len(found)).close()
        except OSError as error:
            reason = error
        else:
            return
    raise EngineError(f"spark: no master answers at {master}: {reason}")


@contextmanager
def _log() -> Iterator[IO[bytes]]:
    """Yield a file for Spark's own messages; it stays if there is an error, which names it."""
    with tempfile.NamedTemporaryFile(prefix="warehouse-spark-", suffix=".log", delete=False) as log:
        try:
            yield log
        except EngineError as error:
            raise EngineError(f"{error}; Spark's own messages are in {log.name}") from error
        except BaseException:
            Path(log.name).unlink(missing_ok=True)
            raise
        Path(log.name).unlink(missing_ok=True)


@contextmanager
def _stderr_in(log: IO[bytes]) -> Iterator[None]:
    """Have a file get what is written to stderr in the block, and by processes that start in it."""
    sys.stderr.flush()
    ours = os.dup(2)
    try:
        os.dup2(log.fileno(), 2)
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)


def _open(builder: Any, master: str) -> Any:
    if master.startswith("sc://"):
        builder = builder.remote(master)
    else:
        builder = builder.master(master).config("spark.ui.enabled", "false")
        builder = builder.config("spark.log.level", "ERROR")
        if master.startswith("local"):
            # tasks on this machine run on the Python that has this package
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            os.environ.setdefault("SPARK_LOCAL_HOSTNAME", "localhost")
    with failures():
        return builder.appName("warehouse").getOrCreate()


# Errors of a connection to the process of Java, which may have ended.
_OF_CONNECTION = (
    "Py4JError", "Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError", "ArrowInvalid",
)  # fmt: skip
# Spark's errors, and advice on each.
_KNOWN = {
    "No module named 'warehouse'": "the Python of the workers does not have this package: install "
    "'ranking-warehouse[spark]' on each, in the same version, and name that Python in PYSPARK_PYTHON",
    "PYTHON_VERSION_MISMATCH": "the Python of the workers is of another version than this one: "
    "PYSPARK_PYTHON names the one that they run",
    "stopped SparkContext": "the master did not take up the work, or ended it: it must run the same "
    "version of Spark as pyspark here",
    "Python worker exited unexpectedly": "the Python of a task was ended, probably for want of memory: "
    "raise spark.executor.memoryOverhead or spark.executor.pyspark.memory, or give a task less with "
    "--memory-limit",
}


def _has_ended() -> bool:
    """Whether the process of Java that this one has started is gone."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    try:
        return process is not None and process.wait(_END) is not None
    except subprocess.TimeoutExpired:
        return False


@contextmanager
def failures() -> Iterator[None]:
    """Say in our words why a job of Spark failed, and not which pandas it would like."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
            yield
    except Exception as error:
        if type(error).__name__ in _OF_CONNECTION and _has_ended():
            raise EngineError(
                "spark: its process of Java on this machine has ended, probably for want of memory: "
                "raise spark.driver.memory"
            ) from error
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        text = str(error)
        for words, advice in _KNOWN.items():
            if words in text:
                raise EngineError(f"spark: {advice}") from error
        if "JAVA_GATEWAY" in text or "Java" in text.split("\n")[0]:
            raise UsageError(
                f"spark: {first_line(error)}: Spark needs Java 17 or newer; JAVA_HOME names its folder"
            ) from error
        causes = [
            line.strip() for line in text.splitlines() if "Error: " in line or "Caused by" in line
        ]
        raise EngineError(f"spark: {causes[-1] if causes else first_line(error)}") from error
