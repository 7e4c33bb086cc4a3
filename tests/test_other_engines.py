"""The engines of Ray and of Dask that the manual shows, where these are installed: the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from engines import bits, stored

from warehouse import Warehouse

ROOT = Path(__file__).resolve().parents[1]
METRICS = ("nDCG@10", "AP", "RR")
QRELS = {f"q{q}": {f"d{n}": (q * n) % 3 for n in range(0, 40, 1 + q)} for q in range(6)}
RUNS = [
    {
        f"q{q}": {f"d{(7 * d + n) % 41}": float((30 - d) // 2) for d in range(30)}
        for q in range(n, 6)
    }
    for n in range(4)
]
pytestmark = pytest.mark.slow


def shown() -> dict[str, Any]:
    """Return the classes of the page about clusters."""
    page = (ROOT / "docs/how-to/cluster.md").read_text(encoding="utf-8")
    (block,) = [one.partition("\n```")[0] for one in page.split("```py\n") if "class OnRay" in one]
    found: dict[str, Any] = {}
    exec(compile(block, "cluster.md", "exec"), found)
    return found


@pytest.fixture(params=["OnDask", "OnRay"])
def engine(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "OnDask":
        distributed = pytest.importorskip("distributed", reason="distributed is not installed")
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as here,
            distributed.Client(here) as client,
        ):
            yield shown()["OnDask"](client)
    else:
        ray = pytest.importorskip("ray", reason="ray is not installed")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield shown()["OnRay"]()
        ray.shutdown()


def test_the_same_bits(engine: Any, tmp_path: Path) -> None:
    plain = Warehouse.score(QRELS, RUNS, METRICS, per_query=True)
    for by in ("run", "query"):
        way: Literal["run", "query"] = "run" if by == "run" else "query"
        found = Warehouse.score(QRELS, RUNS, METRICS, per_query=True, engine=engine, by=way)
        assert bits(found.relation) == bits(plain.relation)
    files = [Warehouse(tmp_path / name) for name in ("plain.duckdb", "engine.duckdb")]
    for wh in files:
        wh.ingest_qrels("tiny", QRELS)
        for number, run in enumerate(RUNS):
            wh.ingest_run("tiny", run, name=f"run{number}")
    files[0].evaluate("tiny", metrics=METRICS)
    files[1].evaluate("tiny", metrics=METRICS, engine=engine)
    assert stored(files[1].path) == stored(files[0].path)
