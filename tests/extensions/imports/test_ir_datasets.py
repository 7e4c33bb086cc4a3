"""Datasets of ir_datasets by name: what is read of them, and what is said of names and failures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from projects import Answer
from refusals import expect_refusal

from warehouse.errors import InputError
from warehouse.warehouse import Warehouse

RUN = "q1 Q0 d1 1 2.0 first\nq1 Q0 d2 2 1.0 first\nq2 Q0 d1 1 1.0 first\n"
# By hand: q1 has its relevant document at rank 2, q2 has none.
RR = (1 / 2 + 0) / 2


class Lost:
    """A download that does not succeed."""

    def path(self, force: bool = True) -> str:
        raise RuntimeError("All download sources failed", [("https://example.org", "no network")])

    stream = path


@pytest.fixture
def names(tmp_path: Path) -> Iterator[str]:
    """Register a collection with three splits in ir_datasets, and yield its name."""
    ir_datasets = pytest.importorskip("ir_datasets", reason="the extra ir is not installed")
    formats, util = ir_datasets.formats, ir_datasets.util
    for name, text in {
        "docs.tsv": "d1\tCats purr.\nd2\tDogs bark.\n",
        "queries.tsv": "q1\tdo dogs bark\nq2\tdo owls hoot\n",
        "qrels": "q1 0 d2 2\nq1 0 d1 0\nq2 0 d2 1\n",
        "subtopics": "q1 1 d1 1\nq1 2 d1 0\n",
        "top": RUN,
    }.items():
        (tmp_path / name).write_text(text)

    def file(name: str) -> object:
        return util.LocalDownload(tmp_path / name)

    texts = (formats.TsvDocs(file("docs.tsv")), formats.TsvQueries(file("queries.tsv")))
    made = {
        "tiny-owls": texts,
        "tiny-owls/dev": (
            *texts, formats.TrecQrels(file("qrels"), {}), formats.TrecScoredDocs(file("top")),
        ),
        "tiny-owls/web": (formats.TrecSubQrels(file("subtopics"), {}),),
        "tiny-owls/lost": (formats.TrecQrels(Lost(), {}),),
    }  # fmt: skip
    for name, parts in made.items():
        ir_datasets.registry.register(name, ir_datasets.Dataset(*parts))
    yield "ir_datasets:tiny-owls"
    for name in made:
        del ir_datasets.registry._registered[name]


@pytest.mark.slow
def test_judgments_runs_and_texts_by_name(
    names: str, wh: Warehouse, run: Callable[..., Answer], tmp_path: Path
) -> None:
    db = ("-d", "owls", "--db", str(wh.path))
    assert run("ingest", "qrels", f"{names}/dev", *db).code == 0
    assert wh.ingest_qrels("owls", f"{names}/dev").status == "unchanged"
    stored = wh.query(
        "select query_id, doc_id, relevance from store.judgment order by all"
    ).fetchall()
    assert stored == [("q1", "d1", 0), ("q1", "d2", 2), ("q2", "d2", 1)]
    (kept,) = wh.query("select source, source_sha256, format from store.qrels").fetchall()
    assert kept == (f"{names}/dev", None, "ir_datasets")
    # a run is named after the dataset
    assert run("ingest", "run", f"{names}/dev", *db).code == 0
    assert wh.query("select name from store.run").fetchall() == [("tiny-owls/dev",)]
    for of, ids in (("queries", ["q1", "q2"]), ("docs", ["d1", "d2"])):
        assert run("ingest", "text", names, "--of", of, *db).code == 0
        view, id = ("query_text", "query_id") if of == "queries" else ("document_text", "doc_id")
        found = wh.query(f"select {id}, text from {view} order by all").fetchall()
        assert [row[0] for row in found] == ids
        assert all(text for _, text in found)
    # without a database, and with a file; only some of the judgments
    (tmp_path / "first.run").write_text(RUN)
    scores = Warehouse.score(f"{names}/dev", str(tmp_path / "first.run"), ["RR"])
    assert scores.means()["RR"] == RR
    assert wh.ingest_qrels("some", f"{names}/dev", where="relevance > 0").num_rows == 2
    assert wh.ingest_qrels("web", f"{names}/web", iterations=True).num_rows == 2


def test_what_cannot_be_read_by_name(
    names: str, wh: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    with expect_refusal("tiny-owls/dve … did you mean tiny-owls/dev"):
        wh.ingest_qrels("owls", f"{names}/dve")
    assert not wh.path.exists()
    with expect_refusal("ir_datasets:tiny-owls: has no qrels; these have them: tiny-owls/dev"):
        wh.ingest_qrels("owls", names)
    with expect_refusal("has no scoreddocs; it has qrels"):
        wh.ingest_run("owls", f"{names}/web")
    with expect_refusal("cannot read its qrels: All download sources failed", InputError):
        wh.ingest_qrels("owls", f"{names}/lost")
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with expect_refusal("needs ir_datasets: … install … ir"):
        wh.ingest_qrels("owls", f"{names}/dev")
