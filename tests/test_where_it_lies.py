"""Runs whose predictions stay in their files: everything is as for runs that were loaded.

Values are compared to the bit with those of the same files, loaded in the usual way.
"""

from __future__ import annotations

import gzip
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest
from refusals import expect_refusal

from warehouse.errors import InputError, WarehouseError
from warehouse.readers import in_place
from warehouse.store.file import OpenFile
from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.core

RUNS = ("text", "table", "ranked")
METRICS = ["nDCG@10", "AP", "Coverage@5", "Share@5", "AUC(ties=input)"]
VALUES = (
    "select run, metric, protocol, query_id, value from query_scores order by all",
    "select run, metric, protocol, value from score_versions where is_current order by all",
    "select hit.* from store.hit order by all",
    "from store.ranking order by all",
    "select name, content_hash, source_sha256, num_queries, num_predictions from store.run order by 1",
    "select content_hash from store.evaluation order by all",
)


def _write(folder: Path) -> dict[str, Path]:
    """Write a TREC file with ties in a gzip file, a table of Parquet, and a table with ranks."""
    rng = random.Random(5)
    queries, documents = [f"q{n}" for n in range(8)], [f"d{n}" for n in range(40)]
    lines = []
    for query in queries:
        scores = sorted((rng.randrange(6) for _ in range(20)), reverse=True)
        for place, doc in enumerate(rng.sample(documents, 20)):
            lines.append(f"{query} Q0 {doc} {place + 1} {scores[place]} text\n")
    paths = {"text": folder / "text.run.gz", "table": folder / "table.parquet"}
    paths["text"].write_bytes(gzip.compress("".join(lines).encode()))
    rows = [
        (query, f"D{doc[1:]}", rng.random())
        for query in queries
        for doc in rng.sample(documents, 15)
    ]
    con = duckdb.connect()
    con.execute("create table t (q varchar, doc varchar, s double)")
    con.executemany("insert into t values (?, ?, ?)", rows)
    con.execute(f"copy t to '{paths['table']}' (format parquet)")
    paths["ranked"] = folder / "ranked.csv"
    ranked = (f"{q},{d},{r}\n" for q in queries for r, d in enumerate(documents[:12], 1))
    paths["ranked"].write_text("query_id,doc_id,rank\n" + "".join(ranked))
    truth = (f"{q} 0 {d} {rng.choice([0, 0, 1, 2])}\n" for q in queries for d in documents[::2])
    paths["qrels"] = folder / "qrels.txt"
    paths["qrels"].write_text("".join(truth))
    return paths


def _load(wh: Warehouse, paths: dict[str, Path], *, where_it_lies: bool) -> None:
    wh.ingest_qrels("mine", paths["qrels"])
    wh.ingest_training("mine", {"q0": {"d1": 1.0, "d2": 1.0}, "q1": {"d2": 1.0}})
    how: dict[str, dict[str, Any]] = {
        "table": {
            "columns": {"query_id": "q", "doc_id": "doc", "score": "s"},
            "normalise": "lower(doc_id)", "where": "s < 0.9",
        }
    }  # fmt: skip
    for run in RUNS:
        wh.ingest_run(
            "mine", paths[run], where_it_lies=where_it_lies, **({"name": run} | how.get(run, {}))
        )


def _rows(wh: Warehouse, sql: str) -> list[tuple[Any, ...]]:
    return wh.query(sql).relation.fetchall()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Warehouse, Warehouse, dict[str, Path]]:
    """Return a warehouse with the predictions, one without, and the files."""
    folder = tmp_path_factory.mktemp("lying")
    paths = _write(folder)
    made = []
    for name, lies in (("in", False), ("out", True)):
        wh = Warehouse(folder / f"{name}.duckdb")
        _load(wh, paths, where_it_lies=lies)
        for protocol in ("default", "rectools"):
            wh.evaluate("mine", metrics=METRICS, protocol=protocol)
        made.append(wh)
    return made[0], made[1], paths


@pytest.fixture
def copied(
    pair: tuple[Warehouse, Warehouse, dict[str, Path]], tmp_path: Path
) -> tuple[Warehouse, dict[str, Path]]:
    """Return a new warehouse of runs in files that a test may change."""
    paths = _write(tmp_path)
    wh = Warehouse(tmp_path / "own.duckdb")
    _load(wh, paths, where_it_lies=True)
    wh.evaluate("mine", metrics=["nDCG@10"])
    return wh, paths


@pytest.mark.slow
def test_values_are_those_of_loaded_runs(
    pair: tuple[Warehouse, Warehouse, dict[str, Path]],
) -> None:
    stored, lying, paths = pair
    found = lying.query("from predictions")
    assert found.relation.fetchall() == []
    note = "the predictions of ranked, table, text stay in their files: SQL does not find them"
    assert found.rounded_notes() == (note,)
    assert lying.stream("select 1 from predictions", write=lambda text: None).note == note
    assert stored.query("from predictions limit 1").rounded_notes() == ()
    for sql in VALUES:
        found = _rows(lying, sql)
        assert found, sql
        assert found == _rows(stored, sql), sql
    assert _rows(lying, "from store.prediction_file order by all")[0][1] == str(paths["text"])


@pytest.mark.slow
def test_what_reads_whole_lists_later(
    pair: tuple[Warehouse, Warehouse, dict[str, Path]], tmp_path: Path
) -> None:
    """What explains, compares lists, merges and exports runs, and what other qrels make of them."""
    asked: list[list[Any]] = []
    for number, made in enumerate(pair[:2]):
        path = Path(shutil.copy(made.path, tmp_path / f"{number}.duckdb"))
        wh = Warehouse(path)
        grades = {f"q{n}": {f"d{m}": float(m % 3) for m in range(10)} for n in range(8)}
        answers: list[Any] = [
            wh.explain("mine", "text", "q1", "nDCG@10").relation.fetchall(),
            wh.explain("mine", "table", "q2", "AP").relation.fetchall(),
            wh.holes("mine").relation.fetchall(),
            wh.side_by_side("mine", "text", "ranked").relation.fetchall(),
            wh.compare(
                "mine", [*RUNS], ["nDCG@10", "Share@3"], judged_only=True, all_relevant=True, judged=True
            ).relation.fetchall(),
            wh.leaderboard("mine", metrics=["nDCG@5", "Share@3"]).relation.fetchall(),
            wh.curve("mine", "ROC").relation.fetchall(),
            wh.fuse("mine", ["text", "table", "ranked"], name="both").loaded.num_rows,
            wh.export(tmp_path / f"bundle-{number}", "mine", metrics=["nDCG@10"]).num_values,
            wh.ingest_qrels("mine", grades, replace=True).version,
            wh.evaluate("mine", metrics=["nDCG@10", "Share@5"], engine=ThreadPoolExecutor(2)).computed,
            *(_rows(wh, sql) for sql in VALUES[:3]),
            _rows(wh, "select query_id, doc_id, score from predictions where run = 'both' order by all"),
        ]  # fmt: skip
        assert Warehouse.verify_bundle(tmp_path / f"bundle-{number}").is_good
        checked = wh.verify()
        assert checked.is_good, (checked.relation.fetchall(), checked.problems.fetchall())
        assert checked.num_verified == checked.num_stored
        asked.append(answers)
    for stored, lying in zip(*asked, strict=True):
        assert stored
        assert stored == lying


@pytest.mark.slow
def test_copies_of_the_warehouse(
    pair: tuple[Warehouse, Warehouse, dict[str, Path]], tmp_path: Path
) -> None:
    """A replica reads the files; a lake has the values, and a file made from it nothing else."""
    wh = pair[1]
    wh.publish(tmp_path / "replica.duckdb")
    replica = Warehouse(tmp_path / "replica.duckdb")
    asked = "mine", "text", "q1", "nDCG@10"
    assert replica.explain(*asked).relation.fetchall() == wh.explain(*asked).relation.fetchall()
    # as under `serve`, where the engine of the replica opens no file
    with OpenFile(replica.path).read() as con:
        assert in_place.provide_predictions(con, [1, 2, 3])
        served = con.execute(f"from {in_place.TABLE} order by all").fetchall()
    with wh.file.read() as con:
        in_place.provide_predictions(con, [1, 2, 3])
        assert served == con.execute(f"from {in_place.TABLE} order by all").fetchall() != []
    pytest.importorskip("deltalake", reason="deltalake not installed: see the extra lake")
    shared = pytest.importorskip("warehouse.extensions.lake", reason="without the extension")
    shared.push(wh, tmp_path / "lake")
    team = Warehouse(tmp_path / "team.duckdb")
    shared.collect(team, tmp_path / "lake")
    assert _rows(team, VALUES[0]) == _rows(wh, VALUES[0])
    assert team.verify().is_good


@pytest.mark.slow
def test_files_that_change_or_go(copied: tuple[Warehouse, dict[str, Path]], tmp_path: Path) -> None:
    wh, paths = copied
    assert wh.verify().is_good
    board = wh.leaderboard("mine").relation.fetchall()
    paths["ranked"].write_text(paths["ranked"].read_text().replace("d3,4", "d3x,4"))
    kept = paths["table"].rename(tmp_path / "moved.parquet")
    assert wh.leaderboard("mine").relation.fetchall() == board
    wh.evaluate("mine", metrics=["AP"])  # from hits that are there
    checked = wh.verify()
    assert not checked.is_good
    told = [row for row in checked.problems.fetchall() if row[0] == "prediction_file"]
    assert [row[1].partition(",")[0] for row in told] == [
        f"{paths['table']}: no such file",
        f"{paths['ranked']}: has other content than when it was loaded",
    ]
    before = _rows(wh, "select count(*) from store.evaluation")
    with pytest.raises(InputError) as caught:
        wh.explain("mine", "ranked", "q1", "nDCG@10")
    assert str(caught.value) == (
        f"{paths['ranked']}: has other content than when it was loaded, and the predictions of run "
        "ranked are in no other place: put the file back as it was, or remove the run and load it "
        "again: warehouse forget ranked -d mine"
    )
    with expect_refusal(f"{paths['table']} … no such file … table … mine", InputError):
        wh.evaluate("mine", runs="table", metrics=["Share@5"])
    assert _rows(wh, "select count(*) from store.evaluation") == before
    # the file is put back, and the run whose file changed is removed
    kept.rename(paths["table"])
    wh.forget("mine", "ranked")
    assert _rows(wh, "select count(*) from store.prediction_file") == [(2,)]
    wh.evaluate("mine", metrics=["Share@5"])
    assert wh.verify().is_good


@pytest.mark.slow
def test_loading_again(copied: tuple[Warehouse, dict[str, Path]], tmp_path: Path) -> None:
    wh, paths = copied
    again = wh.ingest_run("mine", paths["text"], name="text", where_it_lies=True)
    assert (again.status, again.warnings) == ("unchanged", ())
    assert wh.ingest_run("mine", paths["text"], name="text").status == "unchanged"
    moved = Path(shutil.copy(paths["text"], tmp_path / "other.run.gz"))
    paths["text"].unlink()
    told = wh.ingest_run("mine", moved, name="text", where_it_lies=True)
    assert told.status == "unchanged"
    assert "place of its predictions" in told.warnings[0]
    done = wh.ingest_run("mine", moved, name="text", where_it_lies=True, replace=True)
    assert (done.status, done.version) == ("replaced", 2)
    shown = wh.show("mine", "text").relation.project("version, predictions_in").fetchall()
    assert shown == [(2, str(moved)), (1, str(paths["text"]))]


def test_sources_that_are_not_one_file(tmp_path: Path) -> None:
    wh = Warehouse(tmp_path / "own.duckdb")
    with expect_refusal("<dict> … where_it_lies"):
        wh.ingest_run("mine", {"q1": {"d1": 1.0}}, name="one", where_it_lies=True)
    paths = _write(tmp_path)
    one, other = wh.ingest_runs("mine", [paths["ranked"], {"q1": {"d1": 1.0}}], where_it_lies=True)
    assert not isinstance(one, WarehouseError)
    assert isinstance(other, WarehouseError)
    assert _rows(wh, "select count(*) from store.run") == [(1,)]


@pytest.mark.slow
def test_a_database_of_others_reads_no_place_outside_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user names a place by loading from it, or allows all of one database; a trusted folder too."""
    outside, own = tmp_path / "outside", tmp_path / "own"
    outside.mkdir()
    own.mkdir()
    place = outside / "canary.run"
    place.write_text("q1 Q0 canary-4711 1 2 t\nq1 Q0 a 2 1 t\n")
    wh = Warehouse(own / "w.duckdb")
    wh.ingest_qrels("d", {"q1": {"a": 1}})
    wh.ingest_run("d", place, name="one", where_it_lies=True)

    def listed() -> object:
        return wh.explain("d", "one", "q1", "RR").relation.fetchall()

    assert "canary-4711" in repr(listed())
    # for another user, who got the same file
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for link in (place, own / "link.run"):
        with duckdb.connect(wh.path) as con:
            con.execute("update store.prediction_file set place = $1", [str(link)])
        if link != place:
            link.symlink_to(place)
        with expect_refusal(f"{link} … lies outside its folder … allow", InputError):
            listed()
    found = repr(wh.verify().problems.fetchall())
    assert "lies outside its folder" in found
    assert "canary-4711" not in found
    wh.report(tmp_path / "pages")
    pages = [path.read_bytes() for path in (tmp_path / "pages").rglob("*") if path.is_file()]
    assert not any(b"canary-4711" in page for page in pages)
    monkeypatch.setenv("WAREHOUSE_TRUST", str(outside))
    assert "canary-4711" in repr(listed())
    monkeypatch.delenv("WAREHOUSE_TRUST")
    wh.init(allow_place=True)
    assert "canary-4711" in repr(listed())
    allowed = tmp_path / "state/ranking-warehouse/places"
    allowed.chmod(0o666)  # others could have written it
    with expect_refusal("allow", InputError):
        listed()
