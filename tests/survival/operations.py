"""The operations that are killed and given faults, and the folder in which each begins."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import next_revision

from warehouse.errors import WarehouseError
from warehouse.extensions.lake import collect, push
from warehouse.warehouse import Warehouse

METRICS = "RR nDCG@10"
QUERIES = [f"q{number}" for number in range(20)]
PROJECT = """\
database = "w.duckdb"
settle = 0

[datasets.synced]
qrels = "synced.qrels"
metrics = ["RR"]

[[runs]]
files = "runs/*.run"
dataset = "synced"

[[gates]]
dataset = "synced"
metric = "RR"
strict = true
"""


HAS_LAKE = importlib.util.find_spec("deltalake") is not None
# Files of the older revisions, besides that of now, and the number of the newest one.
OLDER = ("old2.duckdb", "old3.duckdb")
NEWEST = 4


def run(seed: int) -> dict[str, dict[str, float]]:
    """Return a run; every seed has its own."""
    return {q: {f"d{d}": float((d * seed) % 7) for d in range(8)} for q in QUERIES}


def qrels(grade: int) -> dict[str, dict[str, int]]:
    """Return judgments with one grade."""
    return {q: {"d1": grade, "d2": 0, "d3": 1} for q in QUERIES}


def years(first: int) -> dict[str, dict[str, int]]:
    """Return an attribute of the documents."""
    return {f"d{d}": {"year": first + d % 2} for d in range(8)}


def texts(word: str) -> dict[str, dict[str, str]]:
    """Return a text of each query."""
    return {q: {"text": f"{word} {q}"} for q in QUERIES}


def run_lines(of: dict[str, dict[str, float]]) -> str:
    """Return a run as a TREC file has it."""
    return "".join(f"{q} Q0 {d} 0 {s} t\n" for q, docs in of.items() for d, s in docs.items())


def qrels_lines(of: dict[str, dict[str, int]]) -> str:
    """Return judgments as a TREC file has them."""
    return "".join(f"{q} 0 {d} {g}\n" for q, docs in of.items() for d, g in docs.items())


def fill(wh: Warehouse) -> None:
    """Make a dataset with three runs and their values."""
    wh.ingest_qrels("tiny", qrels(1))
    wh.ingest_training("tiny", {str(n): {f"d{n}": 1, "d0": 1} for n in range(4)})
    wh.ingest_attributes("tiny", years(1999), of="docs", name="years")
    wh.ingest_text("tiny", texts("about"), of="queries", name="topics")
    for seed, name in enumerate(("one", "two", "three"), start=2):
        wh.ingest_run("tiny", run(seed), name=name, system=name)
    wh.evaluate(metrics=METRICS)


def begin(folder: Path) -> None:
    """Make what the operations begin with, in a folder that is the current one."""
    wh = Warehouse("w.duckdb")
    fill(wh)
    for seed, name in enumerate("abc", start=8):
        (folder / f"{name}.run").write_text(run_lines(run(seed)))
    _begin_project(folder, wh)
    if HAS_LAKE:
        push(wh, "lake")
        collect(Warehouse("team.duckdb"), "lake")
        wh.evaluate("tiny", metrics="AP")  # to be pushed
    before = "w.duckdb"
    for number, name in enumerate(OLDER, start=2):
        shutil.copyfile(before, name)
        before = name
        with newer_program(number):
            Warehouse(name).init()
    with newer_program(NEWEST):  # its migrations are written
        pass


def _begin_project(folder: Path, wh: Warehouse) -> None:
    """Sync a folder with a gate that fired; then add, rename and remove files."""
    runs = folder / "runs"
    runs.mkdir()
    (folder / "warehouse.toml").write_text(PROJECT)
    (folder / "synced.qrels").write_text(qrels_lines(qrels(1)))
    good = {q: {"d1": 2.0, "d2": 1.0} for q in QUERIES}
    (runs / "1good.run").write_text(run_lines(good))
    wh.sync()
    (runs / "2bad.run").write_text(run_lines({q: {"d2": 2.0, "d1": 1.0} for q in QUERIES}))
    assert wh.sync().exit_code == 1
    wh.ingest_run("synced", run(3), name="not checked")
    wh.evaluate("synced", metrics="RR")
    for seed, name in enumerate(("3new", "4new"), start=5):
        (runs / f"{name}.run").write_text(run_lines(run(seed)))
    (runs / "1good.run").rename(runs / "0good.run")


def newer_program(number: int) -> AbstractContextManager[None]:
    """Return a program whose newest revision has this number."""
    return next_revision.installed(
        Path(f"migrations{number}"), later=next_revision.LATER[: number - 2]
    )


@dataclass(frozen=True)
class Operation:
    """What is done to which file; one that `has_steps`, as a sync, may end between two commits."""

    do: Callable[[Warehouse], object]
    has_steps: bool = False
    file: str = "w.duckdb"
    upgrades: bool = False


def _upgrade(name: str) -> Operation:
    def upgrade(_: Warehouse) -> None:
        with newer_program(NEWEST):
            Warehouse(name).init()

    return Operation(upgrade, file=name, upgrades=True)


def _told(outcomes: Iterable[object]) -> None:
    """Raise the first refusal of what was done for the rest."""
    for outcome in outcomes:
        if isinstance(outcome, WarehouseError):
            raise outcome


def _sync(wh: Warehouse) -> None:
    failed = [event.text for event in wh.sync().events if event.status == "failed"]
    if failed:
        raise WarehouseError("; ".join(failed))


def _check(wh: Warehouse) -> None:
    assert wh.check(new=True).verdicts


OPERATIONS: dict[str, Operation] = {
    "init": Operation(lambda wh: Warehouse("new.duckdb").init()),
    "init, schema of now": _upgrade("w.duckdb"),
    **{f"init, schema {n}": _upgrade(name) for n, name in enumerate(OLDER, start=2)},
    "ingest qrels": Operation(lambda wh: wh.ingest_qrels("more", qrels(1))),
    "ingest qrels --replace": Operation(lambda wh: wh.ingest_qrels("tiny", qrels(2), replace=True)),
    "ingest training --replace": Operation(
        lambda wh: wh.ingest_training("tiny", {"1": {"d5": 1}}, replace=True)
    ),
    "ingest attributes --replace": Operation(
        lambda wh: wh.ingest_attributes("tiny", years(2009), of="docs", name="years", replace=True)
    ),
    "ingest text --replace": Operation(
        lambda wh: wh.ingest_text("tiny", texts("on"), of="queries", name="topics", replace=True)
    ),
    "ingest run": Operation(lambda wh: wh.ingest_run("tiny", run(5), name="new")),
    "ingest run --replace": Operation(
        lambda wh: wh.ingest_run("tiny", run(5), name="one", replace=True)
    ),
    "ingest run, several": Operation(
        lambda wh: _told(wh.ingest_runs("tiny", ["a.run", "b.run", "c.run"]))
    ),
    "ingest folder": Operation(lambda wh: _told(wh.ingest_folder("found", "runs")), has_steps=True),
    "evaluate": Operation(lambda wh: wh.evaluate("tiny", metrics="P@3 R@3")),
    "evaluate, whole lists": Operation(lambda wh: wh.evaluate("tiny", metrics="PSP@3 Coverage@3")),
    "evaluate --slice": Operation(lambda wh: wh.evaluate("tiny", metrics="RR", slices=["year"])),
    "curve": Operation(lambda wh: wh.curve("tiny", "PrecisionByRank@3", store=True)),
    "deciles make": Operation(lambda wh: wh.make_deciles("tiny", parts=2)),
    "compare --store": Operation(
        lambda wh: wh.compare("tiny", ["two"], metrics="RR", bases="one", store=True)
    ),
    "fuse": Operation(lambda wh: wh.fuse("tiny", ["one", "two"], name="both")),
    "forget": Operation(lambda wh: wh.forget("tiny", "three", reason="a test")),
    "forget text": Operation(lambda wh: wh.forget_text("tiny", "topics", of="queries")),
    "sync": Operation(_sync, has_steps=True),
    "check --new": Operation(_check),
    "gates accept": Operation(lambda wh: wh.accept("synced", why="a test")),
    "publish": Operation(lambda wh: wh.publish("replica.duckdb")),
    "publish --parquet": Operation(lambda wh: wh.publish_parquet("replica")),
}
if HAS_LAKE:
    OPERATIONS |= {
        "push": Operation(lambda wh: push(wh, "lake"), has_steps=True),
        "collect": Operation(lambda wh: collect(Warehouse("team.duckdb"), "lake")),
    }
