"""A format is one class: guesses, messages and help follow from what it says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from projects import invoked

from warehouse import Warehouse
from warehouse.errors import InputError, UsageError
from warehouse.readers import registry, tables
from warehouse.readers.files import LocalFile
from warehouse.readers.formats import Confidence, FileFormat, Head, Reading
from warehouse.readers.kinds import Kind
from warehouse.sql_text.quoting import literal

QRELS = {"q1": {"a": 1, "b": 0}}
COLUMNS = ("query_id", "doc_id", "score")


class Pipes(FileFormat):
    """Lines of `query|document|score`."""

    name = "pipes"
    aliases = ("psv",)
    suffixes = (".psv",)
    contents = ("run",)

    def sniff(self, head: Head) -> Confidence:
        return Confidence.LAYOUT if head.line.count("|") == 2 else Confidence.NONE

    def read(self, con: Any, source: LocalFile, kind: Kind, mapping: Mapping[str, str]) -> Reading:
        lines = (line.split("|") for line in Path(source.path).read_text().splitlines())
        rows = ", ".join(f"({literal(q)}, {literal(d)}, {float(s)})" for q, d, s in lines)
        relation = f"(values {rows}) as lines({', '.join(COLUMNS)})"
        return tables.read(con, source.source, kind, relation, mapping, lambda: COLUMNS)


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Register the format, and return a run of it."""
    monkeypatch.setattr(registry, "FORMATS", [*registry.FORMATS, Pipes()])
    path = tmp_path / "bm25.psv"
    path.write_text("q1|b|2.5\nq1|a|1.5\n")
    return path


@pytest.mark.slow
def test_a_run_of_a_new_format_is_loaded_and_scored(path: Path, tmp_path: Path) -> None:
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_qrels("d", QRELS)
    assert wh.ingest_run("d", path).num_rows == 2
    assert wh.query("select name, format from store.run").fetchall() == [("bm25", "pipes")]
    assert wh.ingest_run("d", path, format="PSV").status == "unchanged"
    other = path.with_name("other.psv")
    other.write_text("q1|a|2.0\n")
    assert [done.name for done in wh.ingest_runs("d", [path, other])] == ["bm25", "other"]  # type: ignore
    assert Warehouse.score(QRELS, path, "RR").means() == {"RR": 0.5}
    path.write_text("q1|b|2.5\nq1|b|1.5\n")
    with pytest.raises(InputError, match=r"bm25\.psv: 1 problem") as found:
        wh.ingest_run("d", path)
    assert found.value.problems[0][1].startswith("row 2: document 'b' is there twice")


def test_messages_and_help_know_a_new_format(path: Path, tmp_path: Path) -> None:
    wh = Warehouse(tmp_path / "w.duckdb")
    with pytest.raises(UsageError, match=r"unknown format 'pipe'; did you mean pipes\?.* pipes\b"):
        wh.ingest_run("d", path, format="pipe")
    with pytest.raises(UsageError, match=r"columns can be named for .* not for pipes"):
        wh.ingest_run("d", path, columns={"doc_id": "item"})
    with pytest.raises(UsageError, match=r"qrels are read from .*, not from pipes"):
        wh.ingest_qrels("d", path, format="pipes")
    assert registry.is_file_name("bm25.psv.gz")
    words = " ".join(invoked("ingest", "run", "--help").stdout.split())
    assert "arrow, ranx, bare, msmarco" in words
    assert " pipes" in words
