"""Sparse matrices, Quepid's files and folders of parts, as their libraries write them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from refusals import expect_refusal
from scipy import sparse

from warehouse import Warehouse
from warehouse.errors import InputError
from warehouse.ingest.folder import look_into

# By hand: user 1 finds item 2 at rank 2, user 2 finds item 0 at rank 1.
RUN = {"1": {"0": 0.75, "2": 0.5}, "2": {"0": 0.25, "1": 0.125}}
QRELS = {"1": {"2": 1}, "2": {"0": 1}}
RR = (1 / 2 + 1) / 2


def means(qrels: object, run: object, **how: Any) -> dict[str, float | None]:
    return Warehouse.score(qrels, run, "RR", **how).means()


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_sparse_matrices_of_scipy(tmp_path: Path) -> None:
    """As XMC libraries and scikit-learn users save labels and scores: all layouts of SciPy."""
    truth = sparse.csr_matrix(([True, True], ([1, 2], [2, 0])), shape=(3, 3))
    scores = np.zeros((3, 3), dtype=np.float32)
    for query, docs in RUN.items():
        for doc, score in docs.items():
            scores[int(query), int(doc)] = score
    sparse.save_npz(tmp_path / "truth.npz", truth)
    for layout in ("csr", "csc", "coo", "bsr", "dia"):
        path = tmp_path / f"{layout}.npz"
        sparse.save_npz(path, sparse.coo_array(scores).asformat(layout))
        # a layout of blocks stores zeros: a document with the score 0 is at the end of the list
        assert means(tmp_path / "truth.npz", path) == {"RR": RR}, layout
    np.savez(tmp_path / "arrays.npz", scores=scores)
    with expect_refusal("arrays.npz … no sparse matrix … save_npz", InputError):
        means(QRELS, tmp_path / "arrays.npz")
    outside = {"indptr": [0, 1], "indices": [7], "data": [1.0], "shape": [1, 2], "format": b"csr"}
    np.savez(tmp_path / "outside.npz", **{key: np.array(one) for key, one in outside.items()})
    with expect_refusal("outside.npz … no sparse matrix", InputError):
        means(QRELS, tmp_path / "outside.npz")
    sparse.save_npz(tmp_path / "complex.npz", sparse.csr_array(np.array([[1j]])))
    with expect_refusal("complex.npz … complex128", InputError):
        means(QRELS, tmp_path / "complex.npz")


def test_an_archive_of_something_else_is_no_matrix(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "runs.npz", "w") as packed:
        packed.writestr("one.run", "q Q0 a 1 2.0 t\n")
    for qrels, run in ((tmp_path / "runs.npz", RUN), (QRELS, tmp_path / "runs.npz")):
        with expect_refusal("runs.npz: … is no sparse matrix as scipy.sparse.save_npz", InputError):
            means(qrels, run)


def test_quepid(tmp_path: Path) -> None:
    """After the templates of its exports, with the blank line that they begin with."""
    ratings = '\nquery,docid,rating\n"wars, star",d1,3\ndog\n =cat,d2,\n"wars, star",d2,0\n'
    head = "Snapshot Name,Snapshot Time,Case ID,Query Text,Doc ID,Doc Position,title\r\n"
    rows = [
        f'(3/5/26) Weekly,2026-03-05T12:00:00Z,8,"wars, star",{doc},{place},"A, b"\r\n'
        for place, doc in enumerate(("d2", "d1"), 1)
    ]
    wh = Warehouse(tmp_path / "w.duckdb")
    done = wh.ingest_qrels("films", write(tmp_path / "ratings.csv", ratings))
    assert (done.num_rows, done.warnings) == (2, ("2 rows without a rating: not judged",))
    snapshot = write(tmp_path / "weekly.csv", head + "".join(rows))
    wh.ingest_run("films", snapshot)
    wh.evaluate(metrics="RR")
    assert [(row.run, row.RR) for row in wh.leaderboard()] == [("weekly", 0.5)]
    (about,) = wh.query("select run_at::date::varchar as day, tags from runs")
    assert about.day == "2026-03-05"
    assert about.tags == {"quepid_case": "8", "quepid_snapshot": "(3/5/26) Weekly"}
    with expect_refusal("weekly.csv … snapshot … run", InputError):
        wh.ingest_qrels("other", snapshot)
    with expect_refusal("ratings.csv … judgments", InputError):
        wh.ingest_run("films", tmp_path / "ratings.csv")
    with expect_refusal("none.csv … no rating … 1 row", InputError):
        wh.ingest_qrels("other", write(tmp_path / "none.csv", "query,docid,rating\ndog\n"))
    with expect_refusal("line 3 … 'x'", InputError):
        bad = "query,docid,rating\ndog,d1,1\ndog,d2,x\n"
        wh.ingest_qrels("other", write(tmp_path / "bad.csv", bad))
    both = head + rows[0] + rows[0].replace("Weekly", "Daily")
    with expect_refusal("both.csv … one snapshot … Daily … Weekly", InputError):
        wh.ingest_run("films", write(tmp_path / "both.csv", both))


def test_a_folder_of_spark(tmp_path: Path) -> None:
    """As RePlay's recommendations are written by Spark: parts, and a mark that the job is done."""
    folder = tmp_path / "recs.parquet"
    folder.mkdir()
    for number, (user, items) in enumerate(RUN.items()):
        rows = ", ".join(f"({user}, {item}, {score}::double)" for item, score in items.items())
        part = folder / f"part-0000{number}-ab-c000.snappy.parquet"
        duckdb.sql(f"from (values {rows}) as t(user_idx, item_idx, rating)").write_parquet(
            str(part)
        )
    (folder / "_SUCCESS").touch()
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_qrels("films", QRELS)
    done = wh.ingest_run("films", folder)
    assert (done.name, done.num_rows) == ("recs", 4)
    assert wh.ingest_run("films", RUN, name="recs").status == "unchanged"
    assert wh.ingest_run("films", folder, name="few", where="rating > 0.3").num_rows == 2
    assert look_into(tmp_path, "films").runs == (folder,)
    other = folder / "part-00002-ab-c000.snappy.parquet"
    duckdb.sql("select 3 as user_idx, 4 as item_idx, 1 as rating").write_parquet(str(other))
    with expect_refusal(
        "recs.parquet … part-00002-ab-c000 … part-00000-ab-c000 … types", InputError
    ):
        wh.ingest_run("films", folder)
    other.unlink()
    (folder / "_temporary").mkdir()
    with expect_refusal("recs.parquet … still being written", InputError):
        wh.ingest_run("films", folder)


def save_to_disk(folder: Path, table: pa.Table, parts: int = 1) -> Path:
    """Write a folder as `Dataset.save_to_disk` of datasets 5.2.0 does."""
    folder.mkdir(parents=True)
    names = [f"data-{number:05}-of-{parts:05}.arrow" for number in range(parts)]
    size = -(-len(table) // parts)
    for number, name in enumerate(names):
        with (
            pa.OSFile(str(folder / name), "wb") as file,
            pa.ipc.new_stream(file, table.schema) as out,
        ):
            out.write_table(table.slice(number * size, size))
    state = {"_data_files": [{"filename": name} for name in names], "_split": None}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text("{}")
    return folder


def test_datasets_of_hugging_face(tmp_path: Path) -> None:
    rows = [(u, i, s) for u, items in RUN.items() for i, s in items.items()]
    users, items, scores = (pa.array(column) for column in zip(*rows, strict=True))
    run = pa.table({"query-id": users, "corpus-id": items, "score": scores})
    truth = pa.table({"query-id": ["1", "2"], "corpus-id": ["2", "0"], "score": [1, 1]})
    qrels = tmp_path / "all" / "test"
    save_to_disk(qrels, truth)
    (tmp_path / "all" / "dataset_dict.json").write_text('{"splits": ["test", "dev"]}')
    folder = save_to_disk(tmp_path / "run", run, parts=3)
    assert means(qrels, folder) == {"RR": RR}
    # one file of it, and an Arrow file with an end, as feather is
    assert means(qrels / "data-00000-of-00001.arrow", folder) == {"RR": RR}
    with (
        pa.OSFile(str(tmp_path / "run.arrow"), "wb") as file,
        pa.ipc.new_file(file, run.schema) as out,
    ):
        out.write_table(run)
    assert means(qrels, tmp_path / "run.arrow") == {"RR": RR}
    with expect_refusal("all … splits test, dev … all/test", InputError):
        means(tmp_path / "all", folder)
    (folder / "data-00001-of-00003.arrow").write_bytes(b"\xff\xff\xff\xff\x10")
    with expect_refusal("data-00001-of-00003.arrow … no Arrow file", InputError):
        means(qrels, folder)
    (folder / "data-00001-of-00003.arrow").unlink()
    with expect_refusal("data-00001-of-00003.arrow … no such file", InputError):
        means(qrels, folder)
    (folder / "state.json").write_text("{}")
    with expect_refusal("state.json … '_data_files'", InputError):
        means(qrels, folder)
    (folder / "state.json").write_text('{"_data_files": [{"filename": "../run.arrow"}]}')
    with expect_refusal("state.json … '_data_files'", InputError):
        means(qrels, folder)
