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
from shared_cases import needs_cases

from warehouse import Warehouse

pytestmark = [pytest.mark.slow, needs_spark]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a session on a cluster of two workers."""
    with cluster(tmp_path_factory.mktemp("spark")) as started:
        session = started.session()
        try:
            yield session
        finally:
            session.stop()


@needs_cases
@pytest.mark.parametrize(
    ("case", "protocol"),
    [
        ("edge_basic/ties_float32", "trec_eval_9"),
        ("dl19_passage", "default"),
        *(
            pytest.param(case, protocol, marks=pytest.mark.long)
            for case in (
                "edge_basic/interleaved_queries",
                "dl19_passage",
                "ml_latest_small",
                "mptp2078",
            )
            for protocol in ("default", "trec_eval_9", "trec_eval_c", "ranx", "ir_measures")
        ),
    ],
)
def test_by_run(spark: Any, case: str, protocol: str) -> None:
    qrels, runs = first_files(case)
    metrics = computable(protocol, pooled=True)
    plain = Warehouse.score(qrels, runs, metrics, protocol=protocol)
    found = Warehouse.score(qrels, runs, metrics, protocol=protocol, engine=spark)
    assert bits(found.relation) == bits(plain.relation)
    assert bits(found.board()) == bits(plain.board())
    assert (found.read, found.num_judged) == (plain.read, plain.num_judged)


@needs_cases
@pytest.mark.parametrize(
    ("case", "protocol", "num_buckets"),
    [
        ("dl19_passage", "trec_eval_9", 3),
        *(
            pytest.param(case, protocol, buckets, marks=pytest.mark.long)
            for case in ("edge_basic/interleaved_queries", "dl19_passage", "ml_latest_small")
            for protocol in ("default", "trec_eval_c", "ranx")
            for buckets in (1, 32)
        ),
    ],
)
def test_by_query(spark: Any, case: str, protocol: str, num_buckets: int) -> None:
    qrels, runs = first_files(case)
    metrics = computable(protocol, pooled=False)
    plain = Warehouse.score(qrels, runs, metrics, protocol=protocol)
    found = Warehouse.score(
        qrels, runs, metrics, protocol=protocol, engine=spark, by="query", buckets=num_buckets
    )
    assert bits(found.relation) == bits(plain.relation)
    assert bits(found.board()) == bits(plain.board())
    assert (found.read, found.num_judged) == (plain.read, plain.num_judged)


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
