"""Arguments of another type than the signature says are refused; NumPy's scalars are read."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warehouse import Warehouse
from warehouse.config import arguments
from warehouse.errors import UsageError, WarehouseError
from warehouse.metrics.notation import parse_one

QRELS = {"q": {"a": 1}, "r": {"b": 1}}
RUNS = {"low": {"q": {"b": 2.0, "a": 1.0}}, "high": {"q": {"a": 2.0}, "r": {"b": 1.0}}}
# Which say themselves what they take: sources of tables, and what is of one verb only.
OF_ANY_TYPE = {
    "object", "object | None", "Iterable[object]", "dt.datetime | None",
}  # fmt: skip


@pytest.fixture(scope="module")
def wh(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    wh = Warehouse(tmp_path_factory.mktemp("arguments") / "a.duckdb")
    wh.ingest_qrels(QRELS, "tiny")
    for name, run in RUNS.items():
        wh.ingest_run(run, "tiny", name=name)
    wh.evaluate("tiny", metrics=["RR", "AP"])
    return wh


def test_every_argument_of_every_verb_is_read() -> None:
    verbs = [verb for name, verb in inspect.getmembers(Warehouse, callable) if name[0] != "_"]
    every = [p for verb in (*verbs, Warehouse) for p in inspect.signature(verb).parameters.values()]
    given = {str(p.annotation) for p in every if p.name != "self"}
    assert {annotation for annotation in given if not arguments._reader(annotation)} == OF_ANY_TYPE
    assert all(hasattr(verb, "__wrapped__") for verb in verbs)


WRONG: list[tuple[str, Callable[[Warehouse], Any]]] = [
    ("path is a path, not 5", lambda wh: Warehouse(5)),  # type: ignore[arg-type]
    ("metrics is a text or a list of texts, not None", lambda wh: wh.evaluate(metrics=None)),
    ("metrics is a text or a list of texts, not 5", lambda wh: Warehouse.sql(5)),
    ("metrics is a text or a list of texts, not {", lambda wh: wh.evaluate(metrics={"AP": 1})),
    ("metrics is .*, not b'RR'", lambda wh: Warehouse.score(QRELS, RUNS["low"], b"RR")),
    ("protocol is a text, not None", lambda wh: Warehouse.score(QRELS, RUNS["low"], protocol=None)),
    ("each of runs is a text, not 5", lambda wh: wh.compare(["low", 5], "tiny")),
    ("run is a text, not of type list", lambda wh: wh.queries(["low" * 40], "tiny")),
    ("dataset is a text, not ", lambda wh: wh.evaluate(["tiny"])),
    ("slice is a text, not 5", lambda wh: wh.leaderboard("tiny", slice=5)),
    ("by is a text, not 5", lambda wh: wh.leaderboard("tiny", by=5)),
    ("alpha is a number, not '5'", lambda wh: wh.leaderboard("tiny", ci=True, alpha="5")),
    ("qrels is a whole number, not '1'", lambda wh: wh.leaderboard("tiny", qrels="1")),
    ("qrels is a whole number, not 1.0", lambda wh: wh.evaluate(qrels=1.0)),
    ("as_of is a date, a datetime or a text, not 5", lambda wh: wh.leaderboard("tiny", as_of=5)),
    ("weights of A is a number, not 'x'", lambda wh: wh.leaderboard("tiny", weights={"A": "x"})),
    ("each of weights is a number, not 'x'", lambda wh: wh.fuse("low", "tiny", name="x", weights=["x"])),
    ("lower_is_better is True or False, not 'no'",
     lambda wh: Warehouse.score(QRELS, RUNS["low"], lower_is_better="no")),
    ("columns is a dict, not 'x'", lambda wh: wh.ingest_qrels(QRELS, "new", columns="x")),
    ("base is a text or a list of texts, not 5", lambda wh: wh.reproduce("low", "high", "tiny", base=5)),
    ("tags is a dict, not ", lambda wh: wh.ingest_run(RUNS["low"], "tiny", name="x", tags=["x"])),
    ("on_metric is a function, not 5", lambda wh: wh.evaluate(on_metric=5)),
    ("sql is a text, not None", lambda wh: wh.query(None)),
    ("params is a dict, not ", lambda wh: wh.query("select ?", [5])),
]  # fmt: skip


@pytest.mark.parametrize(("told", "call"), WRONG)
def test_what_is_of_another_type(told: str, call: Callable[[Any], Any], wh: Warehouse) -> None:
    with pytest.raises(UsageError, match=f"^{told}"):
        call(wh)


def test_what_stands_for_the_type(wh: Warehouse, tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    assert Warehouse(tmp_path / "b.duckdb", threads=np.int64(1)).init() is True
    board = wh.leaderboard(np.array(["tiny"]), metrics=(m for m in ["RR", "AP"]), top=np.int8(1))
    assert board.columns[3:5] == ["RR", "AP"]
    # a set has no order of its own: the first run would be one or the other
    pairs = wh.compare({"low", "high"}, "tiny", {"RR"}, alpha=np.float32(0.5)).pairs
    assert pairs.project("base, run").fetchall() == [("high", "low")]
    several = wh.compare((run for run in ["low", "high"]), "tiny", [parse_one("RR").metric]).pairs
    assert several.project("base, run").fetchall() == [("low", "high")]
    assert wh.evaluate(qrels=np.int64(1), dataset="tiny", dry_run=np.True_).computed == 0
    loaded = wh.ingest_run(RUNS["low"], np.str_("tiny"), name=np.str_("low"))
    assert (type(loaded.dataset), type(loaded.name)) == (str, str)


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
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'dataset'"):
        wh.leaderboard()  # type: ignore[call-arg]
    written: list[str] = []
    wh.stream("select $a as a", {"a": np.int64(5)}, write=written.append)
    assert "".join(written).split() == ["a", "5"]
    with pytest.raises(WarehouseError, match="DataFrame"):
        wh.query("select $a", a=pd.DataFrame({"a": [1]}))
