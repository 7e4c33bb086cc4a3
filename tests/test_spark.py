"""Spark on a cluster that is started here: the same bits as in one process, whatever ends meanwhile."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from clusters import cluster, needs_spark
from engines import bits, computable, first_files, stored
from shared_cases import CASES, needs_cases

from warehouse import Warehouse
from warehouse.errors import InputError

pytestmark = [pytest.mark.slow, needs_spark]
PROTOCOLS = ("default", "trec_eval_9", "trec_eval_c", "ranx", "ir_measures")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a session on a cluster of two workers."""
    with cluster(tmp_path_factory.mktemp("spark")) as started:
        session = started.session()
        try:
            yield session
        finally:
            session.stop()


def divided(
    spark: Any, case: str, protocol: str, num_buckets: int, num_runs: int | None = None
) -> int:
    """Score a case in one process and on a cluster, by run if there are no buckets; count the values."""
    qrels, runs = first_files(case, num_runs)
    metrics = computable(protocol, pooled=not num_buckets)
    how: dict[str, Any] = {"by": "query", "buckets": num_buckets} if num_buckets else {}
    plain = Warehouse.score(qrels, runs, metrics, protocol=protocol)
    found = Warehouse.score(qrels, runs, metrics, protocol=protocol, engine=spark, **how)
    rows = bits(plain.relation)
    assert bits(found.relation) == rows
    assert bits(found.board()) == bits(plain.board())
    assert (found.read, found.num_judged) == (plain.read, plain.num_judged)
    return len(rows)


@needs_cases
@pytest.mark.parametrize(
    ("case", "protocol", "num_buckets"),
    [
        ("edge_basic/ties_float32", "trec_eval_9", 0),
        ("dl19_passage", "default", 0),
        ("dl19_passage", "trec_eval_9", 3),
    ],
)
def test_the_same_bits(spark: Any, case: str, protocol: str, num_buckets: int) -> None:
    assert divided(spark, case, protocol, num_buckets, 4) > 0


@pytest.mark.long
@needs_cases
@pytest.mark.parametrize("num_workers", [2, 1])
def test_the_same_bits_of_every_case(
    num_workers: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each case, metric, protocol and division; says how many values were the same."""
    cases = [path.parent.relative_to(CASES) for path in CASES.glob("**/runs") if path.is_dir()]
    total = 0
    with cluster(tmp_path, num_workers) as started:
        session = started.session()
        try:
            for case in sorted(map(str, cases)):
                for protocol in PROTOCOLS:
                    if not is_scored(case, protocol):
                        continue
                    for num_buckets in (0, 1, 3, 32):
                        count = divided(session, case, protocol, num_buckets)
                        total += count
                        with capsys.disabled():
                            print(
                                num_workers, case, protocol, num_buckets, count, total, flush=True
                            )
        finally:
            session.stop()


def is_scored(case: str, protocol: str) -> bool:
    """Whether the runs of a case can be read: some cases are about what is refused."""
    qrels, runs = first_files(case, None)
    try:
        Warehouse.score(qrels, runs, "AP", protocol=protocol)
    except InputError:
        return False
    return True


@needs_cases
@pytest.mark.parametrize("by", ["run", pytest.param("query", marks=pytest.mark.long)])
def test_stored_runs(spark: Any, tmp_path: Path, by: Literal["run", "query"]) -> None:
    """The tasks read predictions in the folder of the database, and leave their values there."""
    qrels, runs = first_files("dl19_passage")
    metrics = computable("default", pooled=by == "run")[:: 6 if by == "run" else 1]
    plain, parts = tmp_path / "plain.duckdb", tmp_path / "parts.duckdb"
    warehouse = Warehouse(plain)
    warehouse.ingest_qrels("dl19", qrels)
    for run in runs:
        warehouse.ingest_run("dl19", run)
    shutil.copy(plain, parts)
    warehouse.evaluate(metrics=metrics)
    Warehouse(parts).evaluate(metrics=metrics, engine=spark, by=by)
    assert stored(parts) == stored(plain)


@pytest.mark.long
@needs_cases
@pytest.mark.parametrize("by", ["run", "query"])
def test_a_worker_is_killed(tmp_path: Path, by: Literal["run", "query"]) -> None:
    """With its executor, in the middle of the work."""
    qrels, runs = first_files("dl19_passage")
    copies = [tmp_path / f"copy{n}{run.name}" for n in range(10) for run in runs]
    for n, copy in enumerate(copies):
        copy.symlink_to(runs[n % len(runs)])
    metrics = computable("default", pooled=False)
    plain = Warehouse.score(qrels, copies, metrics)
    folder = tmp_path / "cluster"
    folder.mkdir()
    with cluster(folder) as started:
        session = started.session()
        try:
            killer = threading.Timer(10, started.kill_worker, ["worker1"])
            killer.start()
            found = Warehouse.score(qrels, copies, metrics, engine=session, by=by)
            killer.join()
        finally:
            session.stop()
        assert started.processes["worker1"].poll() is not None
    assert bits(found.relation) == bits(plain.relation)
