"""What a dataset is told of does not depend on what else the file holds: each answer is asked for twice.

Another dataset stands beside it, with more versions of the qrels, with later runs, and with the same
names of runs, queries, documents, attributes and slices, and other contents under them.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from warehouse.warehouse import Result, Warehouse

DOCS = [f"d{n}" for n in range(12)]
QUERIES = [f"q{n}" for n in range(6)]
METRICS = ("nDCG@3", "AP", "MaxRank", "NumRet")


def fill(wh: Warehouse, dataset: str, seed: int) -> None:
    """Fill a dataset: versions of its qrels and of a run, attributes, deciles, slices, a merged run."""
    rng = random.Random(seed)

    def picked() -> list[str]:
        return rng.sample(DOCS, rng.randint(3, 8))

    def run() -> dict[str, dict[str, float]]:
        lists = {q: {d: rng.random() for d in picked()} for q in QUERIES}
        del lists[rng.choice(QUERIES)]
        return lists

    def when(day: int) -> dt.datetime:
        return dt.datetime(2026, 1, day, 1 - seed, tzinfo=dt.UTC)

    for label in ("first", "second", "third")[seed:]:
        qrels = {q: {d: rng.randint(0, 2) for d in [*picked(), DOCS[0]]} for q in QUERIES}
        wh.ingest_qrels(dataset, qrels, label=label, replace=True)
    wh.ingest_training(dataset, {str(n): dict.fromkeys(picked(), 1) for n in range(8)})
    years = {d: {"year": rng.choice([1999, 2009])} for d in DOCS}
    words = {q: {"words": rng.randint(1, 2)} for q in QUERIES}
    wh.ingest_attributes(dataset, years, of="docs", name="years")
    wh.ingest_attributes(dataset, words, of="queries", name="lengths")
    wh.make_deciles(dataset, parts=2)
    for day, name in enumerate(("one", "one", "two", "three"), start=1):
        system = rng.choice("XY")
        wh.ingest_run(dataset, run(), name=name, system=system, run_at=when(day), replace=True)
    slices = ["year", f"some = words >= {1 + seed}"]
    wh.evaluate(dataset, metrics=[*METRICS, "RR", "P@1"][: 6 - seed], slices=slices)
    wh.curve(dataset, "PrecisionByRank@3", store=True)
    wh.evaluate(dataset, metrics=METRICS[1:], qrels=1)
    wh.evaluate(dataset, metrics="AP", protocol="trec_eval_9")
    wh.fuse(dataset, ["one", "two"], name="merged", run_at=when(9))
    wh.forget(dataset, "three")


Files = tuple[Warehouse, Warehouse]


def remove(path: Path, dataset: str) -> None:
    """Delete every row of a dataset, whatever the table."""
    with duckdb.connect(str(path)) as con:
        con.execute("create temp table gone as from store.dataset where name = $1", [dataset])
        for table in ("forgotten_run", "run", "qrels", "training", "attribute_set", "slice"):
            con.execute(
                f"create temp table gone_{table} as from store.{table} semi join gone using (dataset_id)"
            )
        con.execute(
            "create temp table gone_evaluation as "
            "from store.evaluation semi join gone_run using (run_id)"
        )
        keys = {
            "dataset_id": "gone", "run_id": "gone_run", "qrels_id": "gone_qrels",
            "training_id": "gone_training", "attribute_set_id": "gone_attribute_set",
            "slice_id": "gone_slice", "evaluation_id": "gone_evaluation",
        }  # fmt: skip
        columns = con.execute(
            "select table_name, column_name from duckdb_columns() join duckdb_tables() "
            "using (database_name, table_name) where not temporary"
        ).fetchall()
        for table, column in columns:
            if column in keys:
                con.execute(
                    f"delete from store.{table} where {column} in (select {column} from {keys[column]})"
                )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Return a warehouse with one dataset, and one that has another before it."""
    folder = tmp_path_factory.mktemp("beside")
    beside = Warehouse(folder / "beside.duckdb")
    fill(beside, "another", 0)
    fill(beside, "mine", 1)
    alone = Warehouse(shutil.copy(beside.path, folder / "alone.duckdb"))
    remove(alone.path, "another")
    assert [row[0] for row in alone.datasets().fetchall()] == ["mine"]
    return alone, beside


def told(answer: object) -> object:
    """Return what an answer says, without the times at which something was written."""
    if isinstance(answer, duckdb.DuckDBPyRelation):
        columns = [c for c in answer.columns if c == "run_at" or not c.endswith("_at")]
        return answer.select(*columns).fetchall()
    if isinstance(answer, Result):
        others = [told(table) for table in answer.tables.values()]
        return [told(answer.relation), answer.notes, others, told(answer.details)]
    if dataclasses.is_dataclass(answer):
        names = [field.name for field in dataclasses.fields(answer)]
        return [told(getattr(answer, name)) for name in names if not name.endswith("_at")]
    return [told(one) for one in answer] if isinstance(answer, list | tuple) else answer


ANSWERS: dict[str, Callable[[Warehouse], object]] = {
    "check": lambda wh: [
        wh.check("mine", "AP MaxRank", run="two", against=against) for against in ("best", "one")
    ],
    "check of the run as it was": lambda wh: wh.check("mine", "AP", run="one", against="last"),
    "leaderboard": lambda wh: wh.leaderboard("mine", ci=True, ties=True, ranks=True),
    "leaderboard, part by part": lambda wh: wh.leaderboard("mine", slice="some"),
    "leaderboard, older qrels": lambda wh: wh.leaderboard("mine", metrics="AP", qrels=1),
    "queries": lambda wh: wh.queries("mine", "two"),
    "queries, part by part": lambda wh: wh.queries("mine", "two", slice="year"),
    "compare": lambda wh: wh.compare(dataset="mine").pairs,
    "compare, judged only": lambda wh: (
        wh.compare(dataset="mine", metrics="AP", judged_only=True).pairs
    ),
    "side by side": lambda wh: wh.side_by_side("mine", "one", "two", "AP"),
    "agree": lambda wh: wh.agree("mine"),
    "agree of metrics": lambda wh: wh.agree("mine", of="runs"),
    "reproduce": lambda wh: wh.reproduce("mine", "one", "two"),
    "holes": lambda wh: wh.holes("mine"),
    "history": lambda wh: wh.history("mine", "AP"),
    "history, older qrels": lambda wh: wh.history("mine", "AP", qrels=1),
    "qrels": lambda wh: wh.qrels("mine"),
    "qrels diff": lambda wh: wh.qrels_diff("mine", 1, 2),
    "status": lambda wh: wh.status("mine").relation,
    "show": lambda wh: [wh.show("mine", run) for run in ("merged", "three")],
    "explain": lambda wh: wh.explain("mine", "two", QUERIES[1], "AP"),
    "curve": lambda wh: wh.curve("mine", "PrecisionByRank@3", store=True),
    "slices": lambda wh: [wh.slices("mine"), wh.slices("mine", "some")],
    "attributes": lambda wh: wh.attributes("mine"),
    "deciles": lambda wh: [wh.deciles("mine"), wh.decile_sizes("mine")],
    "runs": lambda wh: wh.runs("mine"),
    "datasets": lambda wh: wh.datasets().relation.filter("dataset = 'mine'"),
}


@pytest.mark.slow
@pytest.mark.sample(len(ANSWERS), 4)
@pytest.mark.parametrize("answer", ANSWERS)
def test_another_dataset_changes_no_answer(files: Files, answer: str) -> None:
    alone, beside = (told(ANSWERS[answer](wh)) for wh in files)
    assert alone
    assert beside == alone
