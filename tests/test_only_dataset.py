"""Without a dataset, the only one is meant; of several, one has to be named."""

from __future__ import annotations

from pathlib import Path

import pytest
from extended import needs
from projects import QRELS, command

from warehouse.errors import UsageError
from warehouse.warehouse import Warehouse

COMMANDS = [
    "leaderboard --top 3",
    "queries bm25 --worst 3",
    "agree bm25 tasb",
    "agree --of runs",
    "history -m nDCG@10",
    "show bm25",
    "holes bm25 --top 2",
    "explain bm25 nDCG@10 47923",
    "curve ROC -r bm25",
    "compare bm25 tasb -m nDCG@10",
    "check -m nDCG@10",
    "qrels diff 1 2",
    "deciles make --from qrels --parts 2",
    "deciles show",
    "slices part",
    "fuse bm25 tasb --name both",
    pytest.param("reproduce bm25 tasb -m nDCG@10", marks=needs("collections")),
]


@pytest.fixture(scope="module")
def filled(demo_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the demo's database with whatever else the commands show."""
    path = tmp_path_factory.mktemp("only") / "demo.duckdb"
    path.write_bytes(demo_file.read_bytes())
    wh = Warehouse(path)
    wh.evaluate(metrics="nDCG@10", slices="part = quantiles(num_relevant, 2)")
    wh.ingest_qrels("dl19", {"47923": {"a": 1, "b": 1}, "87452": {"a": 1}}, replace=True)
    wh.make_deciles("dl19", origin="qrels", parts=2)
    wh.fuse("dl19", ["bm25", "tasb"], name="both")
    wh.evaluate(metrics=["nDCG@10", "RR"], slices="part = quantiles(num_relevant, 2)")
    wh.curve("dl19", "ROC", runs=["bm25"])
    return path


@pytest.mark.sample(6, 3)
@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS)
def test_the_only_dataset_is_meant(filled: Path, line: str) -> None:
    words = [*line.split(), "--db", str(filled)]
    answer = command(*words)
    assert answer[0] == 0
    assert answer == command(*words, "-d", "dl19")


@pytest.mark.sample(5, 2)
@pytest.mark.parametrize("line", COMMANDS)
def test_of_several_one_has_to_be_named(tmp_path: Path, line: str) -> None:
    wh = Warehouse(tmp_path / "several.duckdb")
    for name in ("one", "two"):
        wh.ingest_qrels(name, QRELS)
    told = "name a dataset; known are one, two"
    assert command(*line.split(), "--db", str(wh.path)) == (2, "", told)
    with pytest.raises(UsageError, match=told):
        wh.leaderboard()


def test_without_any_it_is_said_how_to_load_one(tmp_path: Path) -> None:
    path = tmp_path / "empty.duckdb"
    Warehouse(path).init()
    told = "there is no dataset yet: warehouse ingest run FILE -d DATASET"
    assert command("leaderboard", "--db", str(path)) == (2, "", told)


def test_before_the_first_load_there_was_nothing(tmp_path: Path) -> None:
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_qrels("one", QRELS)
    for dataset in (None, "one"):
        with pytest.raises(
            UsageError, match="nothing was loaded yet as of the end of 2020-01-01 UTC; the"
        ):
            wh.leaderboard(dataset, as_of="2020-01-01")
