"""Engines: what is computed in parts, here or elsewhere, is to the bit what one process computes."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from engines import InTurn, Older, bits, computable, stored
from refusals import expect_refusal

from warehouse import Warehouse
from warehouse.errors import EngineError, InputError, UsageError
from warehouse.evaluate.stored_runs import Outcome

METRICS = ("nDCG@10", "AP", "Coverage(catalogue=41)@5", "P(aggregate=weighted, weight=relevant)@2")
QRELS = {f"q{q}": {f"d{n}": (q * n) % 3 for n in range(0, 40, 1 + q)} for q in range(6)}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Write three runs, the second of which has a line without a score."""
    paths = [tmp_path / f"run{n}.run" for n in range(3)]
    for n, path in enumerate(paths):
        lines = [
            f"q{q} Q0 d{(7 * d + n) % 41} {d} {(30 - d) // 2} run{n}"
            for q in range(n, 7)
            for d in range(30)
        ]
        path.write_text("\n".join(lines) + "\n")
    with paths[1].open("a") as file:
        file.write("q9 Q0 d1 1 high run1\n")
    return paths


@pytest.mark.slow
def test_parts_are_scored_as_the_whole(files: list[Path]) -> None:
    good = [files[0], files[2]]
    plain = Warehouse.score(QRELS, good, METRICS)
    engine = InTurn()
    found = Warehouse.score(QRELS, files, METRICS, engine=engine)
    assert engine.num_parts == 3
    assert bits(found.relation) == bits(plain.relation)
    assert bits(found.board()) == bits(plain.board())
    assert (found.names, found.read, found.num_judged) == (plain.names, plain.read, 6)
    assert list(found.refused) == ["run1"]
    assert "line 181: score 'high' is not a number" in str(found.refused["run1"])
    with expect_refusal("run1.run", InputError):
        Warehouse.score(QRELS, [files[1]], METRICS, engine=engine)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "num_buckets", "every"),
    [
        ("trec_eval_9", 3, 8),
        *(
            pytest.param(name, count, 1, marks=mark)
            for name, count, mark in (
                ("default", 5, pytest.mark.slow),
                ("ranx", 1, pytest.mark.long),
                ("trec_eval_c", 32, pytest.mark.long),
            )
        ),
    ],
)
def test_buckets_of_queries_are_scored_as_the_whole(
    files: list[Path], tmp_path: Path, protocol: str, num_buckets: int, every: int
) -> None:
    """With ties, a run by rank, a list without a document, queries that only some runs answer."""
    ranked, empty, alone = (tmp_path / name for name in ("ranked.csv", "empty.json", "alone.run"))
    ranked.write_text("query_id,doc_id,rank\n" + "".join(f"q5,d{n},{n}\n" for n in range(1, 9)))
    empty.write_text('{"q1": {"d7": 1.5, "d1": 1.5}, "q2": {}}')
    alone.write_text("zz Q0 d1 1 1 alone\n")
    good = [files[0], files[2], ranked, empty]
    metrics = computable(protocol, pooled=False)[::every]
    plain = Warehouse.score(QRELS, good, metrics, protocol=protocol)
    engine = InTurn()
    found = Warehouse.score(
        QRELS, [*good, files[1], alone], metrics, protocol=protocol, engine=engine, by="query",
        buckets=num_buckets,
    )  # fmt: skip
    assert bits(found.relation) == bits(plain.relation)
    assert bits(found.board()) == bits(plain.board())
    assert (found.names, found.read, found.num_judged) == (plain.names, plain.read, 6)
    assert list(found.refused) == ["run1", "alone"]
    assert "no query of the run is judged" in str(found.refused["alone"])
    assert engine.num_parts == 6 + num_buckets + 1


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of two datasets, one with numbers for documents, with ties and empty lists."""
    file = tmp_path_factory.mktemp("stored") / "loaded.duckdb"
    warehouse = Warehouse(file)
    for dataset, letter in (("words", "d"), ("numbers", "")):
        named = {
            q: {letter + d[1:]: grade for d, grade in docs.items()} for q, docs in QRELS.items()
        }
        warehouse.ingest_qrels(dataset, named)
        for n in range(3):
            lists = {
                f"q{q}": {f"{letter}{(7 * d + n) % 41}": float((30 - d) // 2) for d in range(30)}
                for q in range(n, 7)
            }
            warehouse.ingest_run(dataset, lists, name=f"run{n}")
        warehouse.ingest_run(
            dataset, {"q1": {f"{letter}7": 1.5, f"{letter}1": 1.5}, "q2": {}}, name="few"
        )
        warehouse.ingest_run(dataset, {"q1": {}}, name="none")
    ranked = file.with_name("ranked.csv")
    ranked.write_text("query_id,doc_id,rank\n" + "".join(f"q5,d{n},{n}\n" for n in range(1, 9)))
    warehouse.ingest_run("words", ranked)
    return file


def evaluated(
    loaded: Path, file: Path, calls: Iterable[list[str]], **options: Any
) -> list[Outcome]:
    """Evaluate a copy of a file, once for each list of metrics; return what was done."""
    shutil.copy(loaded, file)
    return [Warehouse(file).evaluate(metrics=metrics, **options) for metrics in calls]


@pytest.mark.sample(2, 2)
@pytest.mark.parametrize(
    ("protocol", "buckets", "every"),
    [
        pytest.param("ranx", None, 12, marks=pytest.mark.slow),
        *(
            pytest.param(protocol, buckets, 1, marks=mark)
            for protocol, buckets, mark in (
                ("trec_eval_c", 5, pytest.mark.slow),
                ("default", None, pytest.mark.long),
                ("default", 1, pytest.mark.long),
                ("default", 32, pytest.mark.long),
                ("ranx", 3, pytest.mark.long),
            )
        ),
    ],
)
def test_stored_runs_are_evaluated_as_in_one_process(
    loaded: Path, tmp_path: Path, protocol: str, buckets: int | None, every: int
) -> None:
    """Some metrics first: then the hits are there, and the others are computed from them."""
    metrics = computable(protocol, pooled=buckets is None)[::every]
    calls = [metrics[::5], metrics]
    plain = evaluated(loaded, tmp_path / "plain.duckdb", calls, protocol=protocol)
    by: Any = "run" if buckets is None else "query"
    found = evaluated(
        loaded, tmp_path / "parts.duckdb", calls, protocol=protocol, engine=InTurn(), by=by,
        buckets=buckets,
    )  # fmt: skip
    assert stored(tmp_path / "parts.duckdb") == stored(tmp_path / "plain.duckdb")
    for one, other in zip(found, plain, strict=True):
        # queries without relevant documents are told of by this process alone
        assert replace(one, at=other.at, notes=other.notes) == other
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts.duckdb", "plain.duckdb"]


@pytest.mark.slow
def test_what_evaluate_refuses_to_divide(loaded: Path, tmp_path: Path) -> None:
    file = tmp_path / "same.duckdb"
    for options, words in (
        ({"engine": "locl"}, "locl … local"),
        ({"engine": InTurn(), "by": "query"}, "Coverage(catalogue=41)@5 … all queries at once"),
    ):
        with expect_refusal(words, UsageError):
            evaluated(loaded, file, [list(METRICS)], **options)
    with pytest.raises(EngineError, match=r"1 task ran .*DuckDB 1\.4\.0, and this process runs"):
        evaluated(loaded, file, [["AP"]], engine=Older())
    assert [path.name for path in tmp_path.iterdir()] == ["same.duckdb"]
    assert stored(file) == stored(loaded)


def test_versions_are_not_mixed(files: list[Path]) -> None:
    with pytest.raises(EngineError, match=r"1 task ran .*DuckDB 1\.4\.0, and this process runs"):
        Warehouse.score(QRELS, [files[0], files[2]], METRICS, engine=Older())


def test_refusals_before_any_task(files: list[Path]) -> None:
    for options, words in (
        ({"engine": "locl"}, "locl … local"),
        ({"engine": 3}, "map"),
        ({"engine": InTurn(), "is_global": True}, "is_global=True"),
        ({"engine": InTurn(), "by": "query"}, "Coverage(catalogue=41)@5"),
        ({"engine": InTurn(), "by": "querry"}, "querry … query"),
    ):
        qrels = {"d1"} if "is_global" in options else QRELS
        with expect_refusal(words, UsageError):
            Warehouse.score(qrels, files, METRICS, **options)
    with expect_refusal("a list", UsageError):
        Warehouse.score(QRELS, files[0], METRICS, engine=InTurn())


@pytest.mark.slow
def test_a_pool_of_processes(files: list[Path]) -> None:
    good = [files[0], files[2]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the tests have threads, and it forks
        with ProcessPoolExecutor(2) as pool:
            found = Warehouse.score(QRELS, good, METRICS, engine=pool)
    assert bits(found.relation) == bits(Warehouse.score(QRELS, good, METRICS).relation)
