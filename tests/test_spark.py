"""Spark on a cluster that is started here: the same bits as in one process, whatever ends meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clusters import cluster, needs_spark
from engines import bits, computable
from shared_cases import CASES, needs_cases

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
    qrels, runs = _files(case)
    metrics = computable(protocol, pooled=True)
    plain = Warehouse.score(qrels, runs, metrics, protocol=protocol)
    found = Warehouse.score(qrels, runs, metrics, protocol=protocol, engine=spark)
    assert bits(found.relation) == bits(plain.relation)
    assert bits(found.board()) == bits(plain.board())
    assert (found.read, found.num_judged) == (plain.read, plain.num_judged)


def _files(case: str) -> tuple[Path, list[Path]]:
    """Return the qrels and the first runs of a case."""
    folder = CASES / case
    qrels, *_ = sorted(folder.glob("qrels*"))
    return qrels, sorted((folder / "runs").iterdir())[:4]
