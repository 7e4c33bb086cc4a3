"""Training sets: what is taken in, what is refused, versions, and nothing half done."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from warehouse.errors import ConflictError, InputError
from warehouse.ingest import steps
from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.core

Counts = Callable[[Path], dict[str, int]]
SEEN = {"ann": {"alien": 1, "up": 1}, "bob": {"up": 1}}
PAIRS = [(user, item) for user, items in SEEN.items() for item in items]


def rows(wh: Warehouse, sql: str) -> list[tuple]:
    return wh.query(sql).fetchall()


def test_the_first_load(wh: Warehouse) -> None:
    loaded = wh.ingest_training("films", SEEN, label="before 2020")
    assert (loaded.kind, loaded.status, loaded.version) == ("training", "loaded", 1)
    assert (loaded.num_queries, loaded.num_rows, loaded.warnings) == (2, 3, ())
    found = rows(wh, "select query_id, doc_id, relevance from store.example order by all")
    assert found == [(user, item, 1) for user, item in PAIRS]
    row = "select label, num_queries, num_examples, source from store.training"
    assert rows(wh, row) == [("before 2020", 2, 3, "<dict>")]
    assert rows(wh, "select count(*) from store.judgment") == [(0,)]


CSV = "query_id,doc_id\n" + "".join(f"{user},{item}\n" for user, item in PAIRS)


def _write(path: Path, content: str) -> str:
    path.write_text(content)
    return str(path)


def _sources(folder: Path) -> dict[str, object]:
    frame = pd.DataFrame(PAIRS, columns=["query_id", "doc_id"])
    frame.to_parquet(folder / "s.parquet")
    (folder / "s.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    return {
        "trec": _write(folder / "s.txt", "".join(f"{u} 0 {i} 1\n" for u, i in PAIRS)),
        "csv": _write(folder / "s.csv", CSV),
        "csv.gz": str(folder / "s.csv.gz"),
        "tsv": _write(folder / "s.tsv", CSV.replace(",", "\t")),
        "graded": _write(
            folder / "g.csv", CSV.replace("\n", ",1\n").replace("doc_id,1", "doc_id,relevance")
        ),
        "jsonl": _write(folder / "s.jsonl", frame.to_json(orient="records", lines=True)),
        "parquet": str(folder / "s.parquet"),
        "frame": frame,
    }


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "name", ["trec", "csv", "csv.gz", "tsv", "graded", "jsonl", "parquet", "frame"]
)
def test_formats_with_and_without_a_relevance(wh: Warehouse, tmp_path: Path, name: str) -> None:
    wh.ingest_training("films", SEEN)
    assert wh.ingest_training("films", _sources(tmp_path)[name]).status == "unchanged"


def test_columns_and_grades(wh: Warehouse, tmp_path: Path) -> None:
    path = _write(tmp_path / "r.csv", "user,item,stars\nann,alien,5\nann,up,0\n")
    columns = {"query_id": "user", "doc_id": "item", "relevance": "stars"}
    wh.ingest_training("films", path, columns=columns)
    assert rows(wh, "select doc_id, relevance from store.example order by 1") == [
        ("alien", 5),
        ("up", 0),
    ]


def test_unchanged_refused_replaced(wh: Warehouse, counts: Counts) -> None:
    wh.ingest_training("films", SEEN, label="first")
    before = counts(wh.path)
    (warning,) = wh.ingest_training("films", SEEN, label="again").warnings
    assert warning == "the label stays 'first': this training set is loaded already"
    with pytest.raises(
        ConflictError,
        match=r"another training set already \(version 1, 3 examples from <dict>\); replace=True",
    ):
        wh.ingest_training("films", {"ann": {"alien": 2}})
    assert counts(wh.path) == before
    replaced = wh.ingest_training("films", {"ann": {"alien": 2}}, replace=True)
    assert (replaced.status, replaced.version) == ("replaced", 2)
    history = (
        "select version, count(*) from store.example join store.training using (training_id) "
        "group by version"
    )
    assert sorted(rows(wh, history)) == [(1, 3), (2, 1)]


def test_qrels_and_training_sets_do_not_meet(wh: Warehouse) -> None:
    wh.ingest_qrels("films", SEEN)
    assert wh.ingest_training("films", SEEN).status == "loaded"
    wh.ingest_qrels("books", SEEN)
    found = wh.datasets().relation.project("dataset, judgments, training").fetchall()
    assert found == [("books", 3, None), ("films", 3, 3)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("query_id,doc_id\nann,alien\nann,alien\n", r"line 3: document 'alien' is there twice"),
        ("query_id,doc_id\nann,\n", "line 2: the document id is empty"),
        ("query_id,doc_id,relevance\nann,up,good\n", "relevance 'good' is not a number"),
        ("query_id,doc_id,relevance\nann,up,\n", "the relevance is missing"),
        ("query_id,thing\nann,up\n", "missing column doc_id.*'doc_id': 'NAME'"),
        ("query_id,doc_id\n", "is empty"),
    ],
)
def test_what_is_refused(
    wh: Warehouse, tmp_path: Path, counts: Counts, content: str, words: str
) -> None:
    wh.init()
    before = counts(wh.path)
    with pytest.raises(InputError, match=f"(?s){words}") as found:
        wh.ingest_training("films", _write(tmp_path / "s.csv", content))
    assert "--iterations" not in str(found.value)
    assert counts(wh.path) == before


def test_a_load_that_fails_half_way(
    wh: Warehouse, counts: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    wh.ingest_training("films", SEEN)
    before = counts(wh.path)

    def failing(*_: object, **__: object) -> None:
        raise RuntimeError("the power went out")

    monkeypatch.setattr(steps, "outcome", failing)
    for dataset in ("films", "new"):
        with pytest.raises(RuntimeError, match="power"):
            wh.ingest_training(dataset, {"ann": {"alien": 1}}, replace=True)
    assert counts(wh.path) == before
