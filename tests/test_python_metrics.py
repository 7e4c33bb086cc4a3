"""Metrics written in Python: their values, their fingerprints, and what is refused."""

from __future__ import annotations

import linecache
import math
from pathlib import Path
from typing import Any

import pytest
from projects import QRELS, RUN, stored
from refusals import expect_refusal

import warehouse
from warehouse.analyze import metric_catalogue
from warehouse.config import project
from warehouse.errors import DefinitionError, WarehouseError
from warehouse.evaluate import python_values
from warehouse.metrics import catalogue, notation
from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.usefixtures("registered")


def early(grades: list[float | None], judged: list[float], *, cutoff: int = 10) -> float:
    """The share of relevant documents among the first k."""
    return sum(grade is not None and grade >= 1 for grade in grades) / cutoff


def average_precision(
    grades: list[float | None], judged: list[float], *, rel: float = 1.0
) -> float | None:
    total, found = 0.0, 0
    for rank, grade in enumerate(grades, 1):
        if grade is not None and grade >= rel:
            found += 1
            total += found / rank
    relevant = sum(grade >= rel for grade in judged)
    return total / relevant if relevant else None


def by_metric(qrels: object, run: object, metrics: list[str], **options: str) -> dict[str, dict]:
    """Return the values of a run by metric and query."""
    rows = Warehouse.score(qrels, run, metrics, **options).relation.fetchall()
    found: dict[str, dict] = {}
    for query, metric, value in rows:
        found.setdefault(metric, {})[query] = value
    return found


def test_values_are_those_of_the_same_metric_in_sql_under_every_protocol() -> None:
    warehouse.metric(early)
    warehouse.metric(undefined=0, name="MyAP")(average_precision)
    names = {
        "early@3": "P@3", "early@10": "P@10", "MyAP": "AP", "MyAP@2": "AP@2",
        "MyAP(rel=2.0)": "AP(rel=2)",
    }  # fmt: skip
    # ties, an unjudged document, a query without relevant documents, one that is not answered
    qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0}, "q3": {"a": 1}, "q4": {"d": 1, "e": 3}}
    run = {
        "q1": {"x": 3.0, "a": 2.0, "b": 2.0, "c": 2.0},
        "q2": {"a": 1.0},
        "q4": {f"y{n}": 9.0 - n for n in range(8)} | {"e": 1.5, "d": 0.5},
    }
    assert [str(metric) for metric in notation.parse("early")] == ["early@10"]
    for protocol in ("default", "trec_eval_9", "trec_eval_c", "ranx"):
        rows = by_metric(qrels, run, [*names, *names.values()], protocol=protocol)
        for own, other in names.items():
            assert rows[own] == pytest.approx(rows[other], abs=1e-15), (protocol, own)


def test_by_hand_with_the_functions_own_cutoff() -> None:
    @warehouse.metric(direction="lower", range=(0, math.inf))
    def gap(grades, judged, *, cutoff=None, add=False):  # type: ignore[no-untyped-def]
        """How many documents are above the first relevant one."""
        first = next((n for n, grade in enumerate(grades) if grade), None)
        assert cutoff is None or len(grades) <= cutoff
        return None if first is None else first + (cutoff or 0) + add

    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"x": 4.0, "b": 3.0, "a": 2.0}}
    means = Warehouse.score(qrels, run, "gap gap@3 gap@2 gap(add=True)").means()
    # two documents above a; with @3 the cutoff is added; the first two documents hold nothing relevant
    assert means == {"gap": 2.0, "gap@3": 5.0, "gap@2": None, "gap(add=True)": 3.0}
    listed = {row[0]: row[-2] for row in metric_catalogue.metrics().fetchall()}
    assert listed[next(name for name in listed if name.startswith("gap"))] == "Python"
    assert "computes the values" in Warehouse.sql("gap")


def test_stored_values_go_stale_with_the_function_and_are_read_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", RUN, name="one")

    def define(text: str) -> None:
        path = tmp_path / "mine.py"
        path.write_text(f"def Mine(grades, judged):\n    {text}\n")
        space: dict[str, Any] = {"__name__": "mine"}
        exec(compile(path.read_text(), path, "exec"), space)

        linecache.checkcache()
        warehouse.metric(space["Mine"])

    define("return len(judged)")
    assert wh.evaluate(metrics="Mine").computed == 1
    assert wh.evaluate(metrics="Mine").computed == 0
    define("return len(judged)")
    assert wh.evaluate(metrics="Mine").computed == 0
    define("return len(grades)")
    assert wh.evaluate(metrics="Mine").computed == 1
    ((before,),) = stored(wh, "select count(distinct fingerprint) from store.evaluation")[:1]
    assert before == 2
    board = wh.leaderboard("tiny", metrics="Mine").fetchall()
    monkeypatch.setattr(catalogue, "_functions", {})
    project.registered.count += 1
    assert wh.leaderboard("tiny", metrics="Mine").fetchall() == board
    assert [row[1] for row in wh.status().fetchall()] == ["orphaned"]
    with expect_refusal("Mine … metric"):
        wh.evaluate(metrics="Mine")


def test_helpers_and_constants_of_its_module_are_in_the_fingerprint(tmp_path: Path) -> None:
    found = []
    for number, (limit, helper) in enumerate([(1, "x"), (2, "x"), (1, "x + 1"), (1, "x")]):
        path = tmp_path / f"mine{number}.py"
        path.write_text(
            f"LIMIT = {limit}\n"
            f"def inner(x):\n    return {helper}\n"
            "def outer(x):\n    return [inner(x) for _ in range(LIMIT)]\n"
            "def Mine(grades, judged):\n    return outer(len(grades))[0]\n"
        )
        space: dict[str, Any] = {"__name__": "mine"}
        exec(compile(path.read_text(), path, "exec"), space)
        warehouse.metric(space["Mine"])
        function = notation.parse("Mine")[0].definition.function
        assert function is not None
        found.append(function.source)
    assert found[0] == found[3]
    assert len(set(found)) == 3


def test_a_function_that_fails_or_returns_no_number_stores_nothing(tmp_path: Path) -> None:
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", RUN, name="one")

    @warehouse.metric
    def broken(grades, judged):  # type: ignore[no-untyped-def]
        return 1 / 0

    @warehouse.metric
    def endless(grades, judged):  # type: ignore[no-untyped-def]
        return math.inf

    @warehouse.metric
    def wordy(grades, judged):  # type: ignore[no-untyped-def]
        return "much"

    for name, problem in {
        "broken": "q1 … division",
        "endless": "inf … q1",
        "wordy": "q1 … much",
    }.items():
        with expect_refusal(f"{name} … {problem}", WarehouseError):
            wh.evaluate(metrics=f"RR {name}")
    assert stored(wh, "select count(*) from store.evaluation") == [(0,)]


def test_functions_that_are_refused() -> None:
    around = 3

    def hidden(grades, judged):  # type: ignore[no-untyped-def]
        return around

    def lists(ranks):  # type: ignore[no-untyped-def]
        return 1

    def worded(grades, judged, *, way="up"):  # type: ignore[no-untyped-def]
        return 1

    def required(grades, judged, *, alpha):  # type: ignore[no-untyped-def]
        return 1

    def ndcg(grades, judged):  # type: ignore[no-untyped-def]
        return 1

    for function, problem in (
        (hidden, "around"), (lists, "ranks … grades, judged"), (worded, "way"), (required, "alpha"),
        (ndcg, "ndcg"), (lambda grades, judged: 1, "def"),
    ):  # fmt: skip
        with expect_refusal(problem, DefinitionError):
            warehouse.metric(function)
    with expect_refusal("range", DefinitionError):
        warehouse.metric(range=(1, 0))(early)
    assert catalogue._functions == {}


def test_many_rankings_are_computed_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_values, "_BATCH", 3)
    warehouse.metric(early)
    qrels = {f"q{n}": {f"d{n}": 1} for n in range(10)}
    run = {f"q{n}": {f"d{n % 7}": 1.0} for n in range(10)}
    rows = by_metric(qrels, run, ["early@1", "P@1"])
    assert rows["early@1"] == rows["P@1"]
    assert sum(rows["P@1"].values()) == pytest.approx(7.7)  # and their mean
