"""Files and folders of other programs, written with their libraries or in the shape that they write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from refusals import expect_refusal

from warehouse import Warehouse
from warehouse.errors import InputError

# By hand: user 1 finds item 2 at rank 2, user 2 finds item 0 at rank 1.
RUN = {"1": {"0": 0.75, "2": 0.5}, "2": {"0": 0.25, "1": 0.125}}
QRELS = {"1": {"2": 1}, "2": {"0": 1}}
RR = (1 / 2 + 1) / 2


def means(qrels: object, run: object, **how: Any) -> dict[str, float | None]:
    return Warehouse.score(qrels, run, "RR", **how).means()


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_elliot(tmp_path: Path) -> None:
    """As `store_recommendation` writes lists, and as its data sets come: without a header."""
    lists = "".join(f"{u}\t{i}\t{s}\n" for u, items in RUN.items() for i, s in items.items())
    rated = "".join(
        f"{u}\t{i}\t{r}.0\t978300760\n" for u, of in QRELS.items() for i, r in of.items()
    )
    run, qrels = write(tmp_path / "knn.tsv", lists), write(tmp_path / "test.tsv", rated)
    how = {"qrels_format": "elliot", "run_format": "bare"}
    assert means(qrels, run, **how) == {"RR": RR}
    with expect_refusal("knn.tsv … run_format='bare'", InputError):
        means(QRELS, run)
    with expect_refusal("test.tsv … times (978300760) … 'bare'", InputError):
        means(qrels, RUN)
    cut = write(tmp_path / "cut.tsv", "1\t2\t0.5\n1\t3\n")
    with expect_refusal("line 2", InputError):
        means(QRELS, cut, run_format="bare")


def test_tables_of_recommenders(tmp_path: Path) -> None:
    """RecTools' and RePlay's frames by their names of columns; RecBole's atomic files."""
    rows = [(u, i, s) for u, items in RUN.items() for i, s in items.items()]
    rectools = "user_id,item_id,score,rank\n" + "".join(
        f"{u},{i},{s},{n % 2 + 1}\n" for n, (u, i, s) in enumerate(rows)
    )
    replay = "user_idx,item_idx,rating\n" + "".join(f"{u},{i},{s}\n" for u, i, s in rows)
    recbole = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n" + "".join(
        f"{u}\t{i}\t{r}\t97\n" for u, of in QRELS.items() for i, r in of.items()
    )
    truth = write(tmp_path / "ml.inter", recbole)
    assert means(truth, write(tmp_path / "rectools.csv", rectools)) == {"RR": RR}
    assert means(truth, write(tmp_path / "replay.csv", replay)) == {"RR": RR}


ANSERINI = """
settle = "0s"
[evaluate]
metrics = ["RR"]
[datasets.dl19-passage]
qrels = "qrels.txt"
[[runs]]
files = "runs/run.{collection}.{system}.topics.{dataset}.txt"
name = "{system}"
"""


def test_a_folder_of_anserini_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named as its reproductions name them: run.COLLECTION.MODEL.topics.TOPICS.txt."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "qrels.txt", "q 0 a 1\n")
    write(tmp_path / "warehouse.toml", ANSERINI)
    (tmp_path / "runs").mkdir()
    for system in ("bm25-default", "bm25-default+rm3"):
        name = f"runs/run.msmarco-v1-passage.{system}.topics.dl19-passage.txt"
        write(tmp_path / name, f"q Q0 a 1 1.0 Anserini\nq Q0 {system} 2 0.5 Anserini\n")
    wh = Warehouse("w.duckdb")
    assert wh.sync().exit_code == 0
    found = wh.query("select run, system, dataset, tags['collection'] as c from runs order by run")
    assert [tuple(row) for row in found] == [
        (system, system, "dl19-passage", "msmarco-v1-passage")
        for system in ("bm25-default", "bm25-default+rm3")
    ]
