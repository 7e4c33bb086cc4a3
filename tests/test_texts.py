"""Texts of queries and documents: the shapes of files, what shows them, and what leaves them out."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from tests.refusals import expect_refusal
from warehouse.errors import ConflictError, InputError
from warehouse.report.pages.keys import keys
from warehouse.report.screens import Screen
from warehouse.warehouse import Warehouse

QUOTED = 'a "quote, and an é'
SHAPES = [
    ("bare.tsv", f"7\t{QUOTED}\n8\tb\n", "docs", [None, None]),
    ("bare.tsv", f"7\tT\t{QUOTED}\r\n8\t\tb\r\n", "docs", ["T", None]),
    ("msmarco.tsv", f"7\thttps://x\tT\t{QUOTED}\n8\tu\t\tb\n", "docs", ["T", None]),
    ("queries.tsv", f"7\t{QUOTED}\n8\tb\n", "queries", [None, None]),
    ("named.tsv", 'docid\tbody\n7\t"a ""quote, and an é"\n8\tb\n', "docs", [None, None]),
    ("named.csv", 'id,contents\n7,"a ""quote, and an é"\n8,b\n', "docs", [None, None]),
    (
        "corpus.jsonl",
        json.dumps({"_id": "7", "title": "T", "text": QUOTED, "metadata": {"url": "x"}})
        + "\n" + json.dumps({"_id": "8", "title": "", "text": "b", "metadata": {}}),
        "docs", ["T", None],
    ),
    (
        "queries.jsonl",
        json.dumps({"_id": "7", "text": QUOTED}) + "\n" + json.dumps({"_id": "8", "text": "b"}),
        "queries", [None, None],
    ),
]  # fmt: skip

WRONG: list[tuple[str, dict[str, str], list[str]]] = [
    ("7\ta\n7\tb\n", {}, ["texts.tsv", "'7'", "twice"]),
    ("7\ta\n8\n", {}, ["texts.tsv", "line 2"]),
    ("7\n", {}, ["texts.tsv", "2 or 3"]),
    ("doc_id\tx\n7\ta\n", {}, ["texts.tsv", "text", "doc_id, x", "--text x"]),
    ("doc_id\ttext\n7\ta\n", {"text": "txt"}, ["texts.tsv", "'txt'", "text"]),
    ("doc_id\ttext\n7\ta\n", {"id": "text"}, ["texts.tsv", "'text'"]),
]


def _fill(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"1": {"7": 1, "8": 0}, "2": {"9": 1}})
    for name, lists in (
        ("one", {"1": {"7": 2.0, "8": 1.0}, "2": {"8": 2.0, "9": 1.0}}),
        ("two", {"1": {"8": 2.0, "7": 1.0}, "2": {"9": 1.0}}),
    ):
        wh.ingest_run("tiny", lists, name=name)
    wh.evaluate("tiny", metrics="RR")


@pytest.mark.slow
def test_texts_come_in_the_shapes_of_collections(tmp_path: Path, prepared) -> None:
    wh = prepared(tmp_path / "warehouse.duckdb", Warehouse.init)
    for number, (name, content, of, titles) in enumerate(SHAPES):
        (tmp_path / name).write_text(content, encoding="utf-8", newline="")
        dataset = str(number)
        loaded = wh.ingest_text(dataset, tmp_path / name, of=of)
        assert (loaded.status, loaded.name, loaded.num_texts) == ("loaded", Path(name).stem, 2)
        view, id = ("document_text", "doc_id") if of == "docs" else ("query_text", "query_id")
        found = wh.query(
            f"select {id}, title, text from {view} where dataset = $dataset order by all",
            dataset=dataset,
        )
        assert found.fetchall() == [("7", titles[0], QUOTED), ("8", titles[1], "b")], name
    assert wh.ingest_text(dataset, tmp_path / name, of=of).status == "unchanged"


@pytest.mark.slow
def test_texts_have_versions_and_can_be_removed(tmp_path: Path, prepared) -> None:
    wh = prepared(tmp_path / "warehouse.duckdb", Warehouse.init)
    parquet = tmp_path / "pages.parquet"
    duckdb.sql("select 7 as pid, 'first' as passage").write_parquet(str(parquet))
    assert wh.ingest_text("tiny", parquet, of="docs").num_texts == 1
    other = {"7": {"text": "second"}, "8": {"text": "third"}}
    with pytest.raises(ConflictError, match="replace=True"):
        wh.ingest_text("tiny", other, of="docs", name="pages")
    assert wh.ingest_text("tiny", other, of="docs", name="pages", replace=True).version == 2
    wh.ingest_text("tiny", {"8": {"text": "newer"}}, of="docs", name="more")
    found = wh.query("select doc_id, text, set_name, version from document_text order by all")
    assert found.fetchall() == [("7", "second", "pages", 2), ("8", "newer", "more", 1)]
    assert wh.verify().is_good
    assert wh.forget_text("tiny", "pages", of="docs").num_texts == 3
    assert wh.query("select doc_id from document_text").fetchall() == [("8",)]
    with expect_refusal("pages"):
        wh.forget_text("tiny", "pages", of="docs")
    assert wh.verify().is_good


def test_wrong_texts_are_refused(tmp_path: Path, prepared) -> None:
    wh = prepared(tmp_path / "warehouse.duckdb", Warehouse.init)
    for content, options, names in WRONG:
        (tmp_path / "texts.tsv").write_text(content)
        with expect_refusal(" … ".join(names), InputError):
            wh.ingest_text("tiny", tmp_path / "texts.tsv", of="docs", **options)
    assert not wh.query("from store.text_set").fetchall()


@pytest.mark.slow
def test_texts_are_shown_and_left_out_of_replicas(tmp_path: Path, prepared, run) -> None:
    wh = prepared(tmp_path / "warehouse.duckdb", _fill)
    bare = wh.queries("tiny", "one").columns
    wh.ingest_text("tiny", {"1": {"text": "what is\na zebra"}}, of="queries", name="queries")
    wh.ingest_text("tiny", {"7": {"title": "Owls", "text": "Birds"}}, of="docs", name="pages")
    found = wh.queries("tiny", "one")
    # where there is no room, the counts go before the text
    screen = Screen(width=48)
    assert "what is a zebra" in found.on(screen)
    assert "retrieved" in screen.note()
    assert found.columns == [*bare, "text"]
    assert [row.text for row in found] == ["what is\na zebra", None]
    assert "what is a zebra" in str(found)
    told = wh.explain("tiny", "one", "1", "RR")
    assert [row.text for row in told] == ["Owls\nBirds", ""]
    assert told.query_text == "what is\na zebra"
    assert "query: what is a zebra" in told.notes
    assert "what is a zebra\n" in str(wh.side_by_side("tiny", "one", "two", "RR", queries=1))
    for name, words, wanted in (("a", [], 0), ("b", ["--with-text"], 1)):
        path = tmp_path / f"{name}.duckdb"
        answer = run("publish", str(path), "--db", str(wh.path), *words)
        assert answer.code == 0, answer.err
        replica = Warehouse(path)
        assert len(replica.query("from document_text").fetchall()) == wanted
        assert replica.verify().is_good
        assert (b"zebra" in path.read_bytes()) == bool(wanted)
        assert replica.leaderboard("tiny").fetchall() == wh.leaderboard("tiny").fetchall()
        folder = wh.publish_parquet(tmp_path / name, with_text=bool(wanted)).path
        rows = duckdb.read_parquet(str(folder / "query_text.parquet")).fetchall()
        assert len(rows) == wanted


@pytest.mark.slow
def test_pages_show_texts_only_when_asked(tmp_path: Path, prepared) -> None:
    wh = prepared(tmp_path / "warehouse.duckdb", _fill)
    wh.ingest_text("tiny", {"1": {"text": "a <b>zebra</b>"}}, of="queries", name="queries")
    wh.ingest_text("tiny", {"7": {"title": "Zebras", "text": "zebra"}}, of="docs", name="pages")

    def said(**how: bool) -> dict[str, str]:
        wh.report(tmp_path / "site", **how)
        files = (tmp_path / "site").rglob("*.*")
        found = {path.name: path.read_text() for path in files if path.parent.name == "queries"}
        return {name: text for name, text in found.items() if "zebra" in text.lower()}

    assert said() == {}
    found = said(with_text=True)
    key = keys(["1"])["1"]
    assert found.keys() == {"index.html", f"{key}.html", f"{key}.js"}
    assert "a &lt;b&gt;zebra&lt;/b&gt;" in found[f"{key}.html"]
    assert '"data":[["7","Zebras\\nzebra"]]' in found[f"{key}.js"]
