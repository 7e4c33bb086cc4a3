"""No error of the engine reaches a caller raw, whichever statement of a load it is from."""

from __future__ import annotations

import gc
import gzip
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pytest
from staging import refused

from warehouse.errors import EngineError, WarehouseError
from warehouse.store import database
from warehouse.warehouse import Warehouse

RUN = "q1 Q0 a 1 2.5 t\nq1 Q0 b 2 1.5 t\nq2 Q0 a 1 3 t\n"
QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 a 2\n"
CSV_RUN = "query_id,doc_id,score\nq1,a,2.5\nq1,b,1.5\n"
CSV_QRELS = "query_id,doc_id,relevance\nq1,a,1\nq1,b,0\n"
LINES = '{"query_id": "q1", "doc_id": "a", "score": 2.5}\n'
NESTED = {"q1": {"a": 2, "b": 1}}
MIXED = {"q1": {1: 2, "b": 1}}


# After these a file stays attached, until the connection is garbage.
UNDETACHED = ("use", "detach", "select current_schema")


@dataclass
class Engine:
    """The engine, one of whose statements fails: that of the number, or the first with a text."""

    failing: int | str | None = None
    statements: list[str] = field(default_factory=list)
    raised: bool = False
    said: str = ""
    error: type[duckdb.Error] = duckdb.Error

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        execute = duckdb.DuckDBPyConnection.execute

        def one(con: duckdb.DuckDBPyConnection, sql: object, *rest: object) -> object:
            self.statements.append(str(sql))
            at = self.failing
            is_it = at in str(sql) if isinstance(at, str) else len(self.statements) - 1 == at
            if is_it and not self.raised:
                self.raised = True
                raise self.error("planted\nfurther")
            return execute(con, sql, *rest)

        monkeypatch.setattr(duckdb.DuckDBPyConnection, "execute", one)


def parquet(folder: Path) -> Path:
    with duckdb.connect() as con:
        sql = "select 'q1' as query_id, 'a' as doc_id, 0.5 as score"
        con.sql(sql).write_parquet(str(folder / "a.parquet"))
    return folder / "a.parquet"


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


LOADS: dict[str, Callable[[Warehouse, Path], object]] = {
    "qrels.csv": lambda wh, at: wh.ingest_qrels("d", written(at, "a.csv", CSV_QRELS)),
    "qrels.csv, bad": lambda wh, at: wh.ingest_qrels("d", written(at, "a.csv", CSV_QRELS + "q2,a")),
    "qrels.txt": lambda wh, at: wh.ingest_qrels("d", written(at, "a.txt", QRELS), replace=True),
    "qrels.txt, bad": lambda wh, at: wh.ingest_qrels("d", written(at, "a.txt", QRELS + "q1 0 a x")),
    "iterations": lambda wh, at: wh.ingest_qrels(
        "d", written(at, "a.txt", QRELS), iterations=True, normalise="lower(doc_id)"
    ),
    "prefs": lambda wh, at: wh.ingest_qrels(
        "d", written(at, "a.txt", "q 1 1 a 1\n"), format="prefs"
    ),
    "global": lambda wh, at: wh.ingest_qrels(
        "e", written(at, "a.txt", "a\nb\n"), is_global=True, queries=["q"]
    ),
    "training": lambda wh, at: wh.ingest_training("d", written(at, "a.csv", CSV_QRELS)),
    "run.csv": lambda wh, at: wh.ingest_run("d", written(at, "a.csv", CSV_RUN)),
    "run.txt": lambda wh, at: wh.ingest_run("d", written(at, "a.txt", RUN), replace=True),
    "run.txt, tabs": lambda wh, at: wh.ingest_run(
        "d", written(at, "a.txt", RUN + "q3\tQ0 a 1 1 t")
    ),
    "run.jsonl": lambda wh, at: wh.ingest_run("d", written(at, "a.jsonl", LINES)),
    "run.json": lambda wh, at: wh.ingest_run("d", written(at, "a.json", json.dumps(NESTED))),
    "run.parquet": lambda wh, at: wh.ingest_run("d", parquet(at)),
    "runs": lambda wh, at: wh.ingest_runs(
        "d", [written(at, "b.run", RUN), written(at, "c.run", RUN + "q3 Q0 a 1 1 t\n")]
    ),
    "dict": lambda wh, at: wh.ingest_run("d", NESTED, name="r"),
    "mixed dict": lambda wh, at: wh.ingest_run("d", MIXED, name="r"),
    "attributes": lambda wh, at: wh.ingest_attributes(
        "d", written(at, "a.csv", "doc_id,year\na,1999\n"), of="docs"
    ),
    "attributes.json": lambda wh, at: wh.ingest_attributes(
        "d", {"a": {"tags": ["x"], "year": 1}}, of="docs", name="n"
    ),
    "deciles": lambda wh, at: wh.make_deciles("d", parts=2),
    "score": lambda wh, at: Warehouse.score(
        written(at, "q.csv", CSV_QRELS), written(at, "a.txt", RUN), ["AP"]
    ),
    "compressed": lambda wh, at: wh.ingest_run("d", packed(at)),
}


def packed(folder: Path) -> Path:
    (folder / "a.run.gz").write_bytes(gzip.compress(RUN.encode()))
    return folder / "a.run.gz"


def drive(wh: Warehouse, folder: Path, load: str, known: set[str]) -> None:
    """Let each statement of a load fail that is not yet `known`.

    A statement that only tidies up, or only makes a way faster, is not missed: the load then ends as it
    does without a fault. Any other error is the one that was planted.
    """
    before = wh.path.read_bytes()
    whole = attempt(wh, folder, load, before, Engine())
    for number, sql in list(enumerate(whole.statements)):
        if (plain := re.sub(r"\d+", "", sql)) not in known:
            known.add(plain)
            engine = attempt(wh, folder, load, before, Engine(number))
            assert engine.raised, (load, sql)
            assert "planted" in engine.said or engine.said == whole.said, (load, sql)


def attempt(wh: Warehouse, folder: Path, load: str, before: bytes, engine: Engine) -> Engine:
    """Load into the database as it was before; whatever fails, leave it so."""
    wh.path.write_bytes(before)
    with database.read(wh.path):  # one that ended the database in memory has no part in the next
        pass
    with pytest.MonkeyPatch.context() as patch:
        engine.install(patch)
        try:
            LOADS[load](wh, folder)
        except WarehouseError as error:
            engine.said = str(error)
            assert wh.path.read_bytes() == before
    if engine.raised and engine.statements[int(engine.failing or 0)].startswith(UNDETACHED):
        gc.collect()
    assert not wh.path.with_name(f"{wh.path.name}.wal").exists()
    return engine


# What tells a statement of a load from its others, each with an error of the engine itself in it.
FAULTS: tuple[tuple[str, str, type[duckdb.Error]], ...] = (
    ("qrels.txt", "from duckdb_tables()", duckdb.IOException),
    ("qrels.txt", "create temp table staged", duckdb.Error),
    ("qrels.txt", "insert into judgment", duckdb.Error),
    ("iterations", "describe select", duckdb.SerializationException),
    ("iterations", "staged_normalised", duckdb.IOException),
)


@pytest.mark.parametrize(("load", "statement", "error"), FAULTS)
def test_a_fault_of_the_engine_is_in_words(
    wh: Warehouse, tmp_path: Path, load: str, statement: str, error: type[duckdb.Error]
) -> None:
    """It has no other meaning: not of a strange file, nor of a bad expression."""
    wh.ingest_qrels("d", NESTED)
    engine = Engine(statement, error=error)
    with pytest.MonkeyPatch.context() as patch:
        engine.install(patch)
        with pytest.raises(EngineError, match=r"refuses a statement of this program.*: .*planted$"):
            LOADS[load](wh, tmp_path)


@pytest.mark.long
def test_every_statement_of_loading_fails_in_words(wh: Warehouse, tmp_path: Path) -> None:
    wh.ingest_qrels("d", NESTED)
    known: set[str] = set()
    for load in LOADS:
        drive(wh, tmp_path, load, known)
    assert len(known) > 100


# By format: its rows, and a line that holds no row.
BAD: dict[str, tuple[str, str]] = {
    "csv": ("query_id,iteration,doc_id,relevance\nq1,0,a,1\nq1,0,b,0\n", "q2,0,a\n"),
    "tsv": ("query_id\titeration\tdoc_id\trelevance\nq1\t0\ta\t1\n", "q2\ta\n"),
    "jsonl": ('{"query_id":"q1","iteration":"0","doc_id":"a","relevance":1}\n', "{\n"),
    "trec": (QRELS, "q2 0 a\n"),
}


@pytest.mark.core
@pytest.mark.parametrize("format", BAD)
def test_one_bad_record_is_named(con, tmp_path: Path, format: str) -> None:
    """A record that fits no column, where every other is good, was an error of the engine in CSV."""
    text, bad = BAD[format]
    line = text.count("\n") + 1
    for kind in ("qrels", "iterations", "training", "run"):
        if kind == "run":
            text = RUN if format == "trec" else text.replace("relevance", "score")
        error = refused(con, written(tmp_path, f"a.{format}", text + bad), kind)
        assert [place for place, _ in error.problems] == [line], kind
