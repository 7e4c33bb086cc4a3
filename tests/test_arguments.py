"""The mistakes that people make with arguments, and what stands for a text or a number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warehouse import Warehouse
from warehouse.errors import UsageError, WarehouseError
from warehouse.metrics.notation import parse_one

QRELS = {"q": {"a": 1}, "r": {"b": 1}}
RUNS = {"low": {"q": {"b": 2.0, "a": 1.0}}, "high": {"q": {"a": 2.0}, "r": {"b": 1.0}}}


@pytest.fixture(scope="module")
def wh(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    wh = Warehouse(tmp_path_factory.mktemp("arguments") / "a.duckdb")
    wh.ingest_qrels("tiny", QRELS)
    for name, run in RUNS.items():
        wh.ingest_run("tiny", run, name=name)
    wh.evaluate("tiny", metrics=["RR", "AP"])
    return wh


WRONG: list[tuple[str, Callable[[Any], Any]]] = [
    ("the name of the dataset is a text, not {.*: the dataset comes first, then what to load",
     lambda wh: wh.ingest_qrels(QRELS, "tiny")),
    ("the name of the dataset is a text, not PosixPath",
     lambda wh: wh.ingest_run(Path("a.run"), "tiny")),
    ("there is nothing to load: the dataset comes first", lambda wh: wh.ingest_run("a.run")),
    ("run is missing: it comes after the dataset, or by its name", lambda wh: wh.queries("low")),
    ("dataset is a text, not .*; the dataset comes first", lambda wh: wh.holes(["low"])),
    ("metrics is a text or a list of texts, not None", lambda wh: wh.evaluate(metrics=None)),
    ("metrics is a text or a list of texts, not 5", lambda wh: Warehouse.sql(5)),
    ("metrics is a text or a list of texts, not {", lambda wh: wh.leaderboard(metrics={"AP": 1})),
    ("metrics is .*, not b'RR'", lambda wh: Warehouse.score(QRELS, RUNS["low"], b"RR")),
    ("each of runs is a text, not 5", lambda wh: wh.compare("tiny", ["low", 5])),
    ("top is at least 1, not 0", lambda wh: wh.leaderboard(top=0)),
    ("qrels is a whole number, not '1'", lambda wh: wh.leaderboard(qrels="1")),
    ("tags is a dict, not ", lambda wh: wh.ingest_run("tiny", RUNS["low"], name="x", tags=["x"])),
    *((f"{name} is a text, not 3", lambda wh, name=name: wh.ingest_run("tiny", RUNS["low"], **{name: 3}))
      for name in ("format", "system", "normalise", "where", "repeated")),
    ("columns is a dict, not 3", lambda wh: wh.ingest_qrels("tiny", QRELS, columns=3)),
    ("relevance is a text, not 3", lambda wh: wh.ingest_qrels("tiny", QRELS, relevance=3)),
    ("3: no such protocol", lambda wh: wh.evaluate("tiny", protocol=3)),
    ("3: dataset tiny has no run of that name", lambda wh: wh.forget("tiny", 3)),
    ("sql is a text, not None", lambda wh: wh.query(None)),
]  # fmt: skip


@pytest.mark.parametrize(("told", "call"), WRONG)
def test_common_mistakes(told: str, call: Callable[[Any], Any], wh: Warehouse) -> None:
    with pytest.raises(UsageError, match=f"^{told}"):
        call(wh)


@pytest.mark.slow
def test_what_stands_for_the_type(wh: Warehouse, tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    assert Warehouse(tmp_path / "b.duckdb", threads=np.int64(1)).init() is True
    board = wh.leaderboard(np.array(["tiny"]), metrics=(m for m in ["RR", "AP"]), top=np.int8(1))
    assert board.columns[3:5] == ["RR", "AP"]
    # a set has no order of its own: the first run would be one or the other
    pairs = wh.compare("tiny", {"low", "high"}, {"RR"}, alpha=np.float32(0.5))
    assert pairs.relation.project("base, run").fetchall() == [("high", "low")]
    several = wh.compare("tiny", (run for run in ["low", "high"]), [parse_one("RR").metric]).pairs
    assert several.relation.project("base, run").fetchall() == [("low", "high")]
    assert wh.evaluate(qrels=np.int64(1), dataset="tiny", dry_run=np.True_).computed == 0
    loaded = wh.ingest_run(np.str_("tiny"), RUNS["low"], name=np.str_("low"))
    assert (type(loaded.dataset), type(loaded.name)) == (str, str)


@pytest.mark.slow
def test_values_that_are_bound(wh: Warehouse) -> None:
    np, pd = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    for given, bound in (
        (np.int64(5), "5"), (np.float32(0.5), "0.5"), (np.True_, "true"), ({"b", "a"}, "[a, b]"),
        (list(np.arange(2)), "[0, 1]"), (pd.Series(["a", "b"]), "[a, b]"), ({"a": 1}.keys(), "[a]"),
        # nanoseconds, which were taken for a number
        (np.datetime64("2020-01-01T10:00:00", "ns"), "2020-01-01 10:00:00"),
        (np.array(["2020-01-01"], "M8[ns]"), "['2020-01-01 00:00:00']"),
    ):  # fmt: skip
        assert wh.query("select $a::varchar", a=given).fetchall() == [(bound,)]
    assert wh.query("select $params + $sql as a", params=5, sql=np.int8(1)).fetchall() == [(6,)]
    written: list[str] = []
    wh.stream("select $a as a", {"a": np.int64(5)}, write=written.append)
    assert "".join(written).split() == ["a", "5"]
    with pytest.raises(WarehouseError, match="DataFrame"):
        wh.query("select $a", a=pd.DataFrame({"a": [1]}))
