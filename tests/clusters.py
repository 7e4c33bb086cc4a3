"""A standalone cluster of Spark on this machine: a master and two workers, ended by their ids."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_LACKS = [
    *(["Java"] if shutil.which("java") is None and "JAVA_HOME" not in os.environ else []),
    *(["pyspark"] if importlib.util.find_spec("pyspark") is None else []),
]
needs_spark = pytest.mark.skipif(
    bool(_LACKS), reason=f"{' and '.join(_LACKS)} not installed: see the extra spark"
)
# Compiling less takes half the processor time of such short programs.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_WAIT = 120.0


class Cluster:
    """A master and two workers on loopback, one processor each, and a session on them."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self.folder = folder
        self.home = Path(pyspark.__file__).parent
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.environment = os.environ | {
            "SPARK_HOME": str(self.home),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": _JAVA,
        }
        self._start(
            "master", "master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"
        )
        self.url = self._line("master", r"Starting Spark master at (spark://\S+)")

    def start_worker(self, name: str) -> None:
        """Start a worker, and wait until the master knows it."""
        self._start(
            name, "worker.Worker", "-c", "1", "-m", "1g", "--host", "127.0.0.1", "--webui-port", "0",
            "-d", str(self.folder / name), self.url,
        )  # fmt: skip
        self._line(name, r"Successfully registered with (master)")

    def session(self, **more: str) -> Any:
        """Open a session whose executors run on the workers."""
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        builder = SparkSession.builder.master(self.url).appName("tests")
        options = {
            "spark.ui.enabled": "false",
            "spark.log.level": "ERROR",
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.driver.extraJavaOptions": _JAVA,
            "spark.executor.extraJavaOptions": _JAVA,
            "spark.local.dir": str(self.folder / "local"),
        } | more
        for name, value in options.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()

    def kill(self, name: str, what: str) -> int:
        """Kill a worker with its executors, as a machine that fails would, or only what runs on it.

        `what` is worker, executor or python: the Python of an executor's tasks. Returns how many died.
        """
        worker = self.processes[name].pid
        executors = _children(worker)
        daemons = [one for executor in executors for one in _children(executor)]
        pythons = [one for daemon in daemons for one in _children(daemon)]
        found = {"worker": [worker, *executors], "executor": executors, "python": pythons}[what]
        for pid in found:
            os.kill(pid, signal.SIGKILL)
        return len(found)

    def close(self) -> None:
        """End the processes that were started here, the workers first."""
        for process in reversed(self.processes.values()):
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, name: str, main: str, *arguments: str) -> None:
        log = self.folder / f"{name}.log"
        command = [
            str(self.home / "bin/spark-class"),
            f"org.apache.spark.deploy.{main}",
            *arguments,
        ]
        with log.open("wb") as out:
            self.processes[name] = subprocess.Popen(
                command, env=self.environment, stdout=out, stderr=out, start_new_session=True
            )

    def _line(self, name: str, wanted: str) -> str:
        log, end = self.folder / f"{name}.log", time.monotonic() + _WAIT
        while time.monotonic() < end:
            if found := re.search(wanted, log.read_text()):
                return found[1]
            assert self.processes[name].poll() is None, log.read_text()
            time.sleep(0.2)
        raise AssertionError(log.read_text())


def _children(pid: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(word) for word in listed.stdout.split()]


@contextmanager
def cluster(folder: Path, num_workers: int = 2) -> Iterator[Cluster]:
    """Start a cluster for the block."""
    made = Cluster(folder)
    try:
        for number in range(num_workers):
            made.start_worker(f"worker{number}")
        yield made
    finally:
        made.close()
