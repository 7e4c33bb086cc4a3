"""No error of the engine reaches a caller raw, whichever statement of a load it is from."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from staging import refused

from warehouse.errors import EngineError, WarehouseError
from warehouse.store import database
from warehouse.warehouse import Warehouse

RUN = "q1 Q0 a 1 2.5 t\nq1 Q0 b 2 1.5 t\nq2 Q0 a 1 3 t\n"
QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 a 2\n"
NESTED = {"q1": {"a": 2, "b": 1}}


@dataclass
class Engine:
    """The engine, whose first statement with a text fails."""

    failing: str
    error: type[duckdb.Error]
    raised: bool = False

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        execute = duckdb.DuckDBPyConnection.execute

        def one(con: duckdb.DuckDBPyConnection, sql: object, *rest: object) -> object:
            if self.failing in str(sql) and not self.raised:
                self.raised = True
                raise self.error("planted\nfurther")
            return execute(con, sql, *rest)

        monkeypatch.setattr(duckdb.DuckDBPyConnection, "execute", one)


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


LOADS: dict[str, Callable[[Warehouse, Path], object]] = {
    "qrels.txt": lambda wh, at: wh.ingest_qrels("d", written(at, "a.txt", QRELS), replace=True),
    "iterations": lambda wh, at: wh.ingest_qrels(
        "d", written(at, "a.txt", QRELS), iterations=True, normalise="lower(doc_id)"
    ),
}


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
    engine = Engine(statement, error)
    with pytest.MonkeyPatch.context() as patch:
        engine.install(patch)
        with pytest.raises(EngineError, match=r"refuses a statement of this program.*: .*planted$"):
            LOADS[load](wh, tmp_path)


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


UNDETACHED = ("use", "detach", "select current_schema")


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


@pytest.mark.long
def test_every_statement_of_loading_fails_in_words(wh: Warehouse, tmp_path: Path) -> None:
    wh.ingest_qrels("d", NESTED)
    known: set[str] = set()
    for load in LOADS:
        drive(wh, tmp_path, load, known)
    assert len(known) > 100
