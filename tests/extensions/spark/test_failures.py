"""What a user is told if a cluster is not there, or its machines are not as they must be."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
from clusters import needs_spark
from refusals import expect_refusal

from warehouse import Warehouse
from warehouse.errors import EngineError, UsageError
from warehouse.evaluate.engines import tasks
from warehouse.extensions.spark import engine

RUN = "q1 Q0 a 1 2 t\n"


class Machines:
    """An engine of two machines, one of which finds other files or programs."""

    def __init__(self, **other: Any) -> None:
        self.other = other

    def map(self, function: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
        return [function(part) for part in parts]

    def look_around(self, look: Callable[[], tasks.Host]) -> list[tasks.Host]:
        return [look(), tasks.Host(**{"name": "node7", "missing": (), **self.other})]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    for name in ("one.run", "two.run"):
        Path(name).write_text(RUN)
    return ["one.run", "two.run"]


def score(files: list[str], engine: object) -> Any:
    return Warehouse.score({"q1": {"a": 1}}, files, "RR", engine=engine)


def test_a_machine_that_does_not_see_the_files(files: list[str]) -> None:
    seen = [str(Path(name).absolute()) for name in files]
    with expect_refusal(
        f"machine node7 does not see {seen[1]} (1 of 2 files) … mount", EngineError
    ):
        score(files, Machines(missing=(seen[1],)))
    with expect_refusal("1 task ran … 0.0.1 … same versions", EngineError):
        score(files, Machines(versions=tasks.Versions("0.0.1", "1.0")))
    # a file that is nowhere is refused as ever, with its absolute path
    assert score(files, Machines()).board().fetchall() == [("one", 1.0), ("two", 1.0)]
    found = score([*files, "none.run"], Machines(missing=(str(Path("none.run").absolute()),)))
    assert "no such file" in str(found.refused["none"])


def test_each_machine_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """In as many tasks as run at once, or in eight where Spark does not say how many."""
    monkeypatch.setattr(
        engine.Spark, "map", lambda _, function, parts: [function(part) for part in parts]
    )
    session = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=3))
    assert engine.Spark(session).look_around(lambda: 1) == [1, 1, 1]
    assert len(engine.Spark(SimpleNamespace()).look_around(lambda: 1)) == 8


def test_only_files_on_a_disk_are_looked_for() -> None:
    sources = ("s3://team/a.run", "/runs/b.run", {"q1": {"a": 1.0}})
    assert tasks.local_files([tasks.RunFiles(0, ("a", "b", "c"), sources)]) == ["/runs/b.run"]


def test_standard_input_is_no_file_of_a_task(files: list[str]) -> None:
    with expect_refusal("standard input", UsageError):
        score(["-", *files], Machines())


def test_no_master_answers() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for master in (f"spark://127.0.0.1:{port}", f"sc://127.0.0.1:{port}/;token=x"):
        with expect_refusal(f"no master answers at {master}", EngineError):
            engine._call(master)
    with socket.socket() as there:
        there.bind(("127.0.0.1", 0))
        there.listen()
        engine._call(f"spark://127.0.0.1:{port},127.0.0.1:{there.getsockname()[1]}")


@pytest.mark.slow
@needs_spark
def test_spark_is_quiet_and_says_why_a_task_died(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with engine.connected("local[1]") as spark:
        assert spark.map(lambda part: part + 1, [1, 2]) == [2, 3]
    assert not list(tmp_path.glob("warehouse-spark-*"))
    assert capfd.readouterr().err == ""
    with (
        expect_refusal("want of memory … --memory-limit … Spark's own messages", EngineError),
        engine.connected("local[1]") as spark,
    ):
        spark.map(lambda _: os.kill(os.getpid(), signal.SIGKILL), [1])


@pytest.mark.slow
@needs_spark
def test_the_process_of_java_is_killed() -> None:
    """In a process of its own, as pyspark cannot start another Java in the same one."""
    lines = """
import os
from warehouse.extensions.spark import engine
with engine.connected("local[1]") as spark:
    java = spark.session.sparkContext._gateway.proc.pid
    spark.map(lambda _: os.kill(java, 9), [1])
"""
    command = [sys.executable, "-c", lines]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert "process of Java on this machine has ended" in done.stderr


@pytest.mark.parametrize("also", [None, "wrong.run"])
def test_tasks_write_the_values_of_queries(files: list[str], also: str | None) -> None:
    """Into a new folder, as the rows of one process; what a lost task has left there is removed."""
    more = [] if also is None else [also]
    Path("wrong.run").write_text("q1 Q0 a 1 high t\n")
    Path("two.run").write_text("q1 Q0 b 1 3 t\n" + RUN)

    class Lossy(Machines):
        def map(self, function: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
            given = list(parts)
            return [[function(part) for _ in range(2)][-1] for part in given]  # each done twice

    plain = Warehouse.score({"q1": {"a": 1}}, files, "RR P@1")
    found = Warehouse.score(
        {"q1": {"a": 1}}, [*files, *more], "RR P@1", engine=Lossy(), into="values"
    )
    names = sorted(Path("values").iterdir())
    assert len(names) == 2
    # who can write to the folder around it can write the values
    assert Path("values").stat().st_mode == Path().stat().st_mode
    rows = duckdb.sql("from 'values/*.parquet' order by all").fetchall()
    assert rows == plain.relation.order("all").fetchall()
    assert found.board().fetchall() == plain.board().fetchall()
    assert {row[1] for row in found.relation.fetchall()} == {"all"}
    assert not list(Path().glob("*.scratch"))
    for into, how, said in (
        ("values", {}, "values: is there already"),
        ("no/values", {}, "no folder … no"),
        ("other", {"by": "query"}, "divide by run"),
        ("other", {"engine": "local"}, "engine; name one"),
    ):
        with expect_refusal(said, UsageError):
            given: dict[str, Any] = {"engine": Machines(), **how}
            Warehouse.score({"q1": {"a": 1}}, files, "RR", into=into, **given)
    with expect_refusal("node7 does not see", EngineError):
        score_into = Machines(missing=(files[0],))
        Warehouse.score({"q1": {"a": 1}}, files, "RR", engine=score_into, into="other")
    assert not Path("other").exists()
    assert not list(Path().glob("*.scratch"))
