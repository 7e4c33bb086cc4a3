"""Sparse matrices as text: of extreme multi-label classification, and of svmlight with many labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.refusals import expect_refusal
from warehouse.errors import InputError
from warehouse.warehouse import Warehouse

# Three documents with features and labels; the second one has no label.
DATA = "3 10 6\n1,3 0:0.5 9:1\n 2:1\n5 1:1\n"
TRUTH = "3 6\n1:1.0 3:1.0\n\n5:1.0\n"
SCORES = "3 6\n2:0.9 3:0.4\n1:0.1\n5:0.5\n"
# By hand: the first row finds label 3 at rank 2, the third label 5 at rank 1.
MEANS = {"RR": (1 / 2 + 1) / 2, "R@2": (1 / 2 + 1) / 2}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_they_are_read(tmp_path: Path) -> None:
    run = write(tmp_path / "scores.txt", SCORES)
    labels = write(tmp_path / "labels.txt", DATA.split("\n", 1)[1])
    for qrels, format in (
        (write(tmp_path / "test.txt", DATA), None),
        (write(tmp_path / "truth.txt", TRUTH), None),
        (labels, "svmlight"),
    ):
        scores = Warehouse.score(qrels, run, "RR R@2", qrels_format=format)
        assert scores.means() == MEANS
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_qrels("wiki", tmp_path / "test.txt")
    wh.ingest_run("wiki", run)
    # by hand: as often in training, so equally likely to be missed: the best two labels of each row
    wh.ingest_training("wiki", write(tmp_path / "train.txt", "2 10 6\n1,3 0:1\n5,2 1:1\n"))
    wh.evaluate("wiki", metrics="PSR@2")
    assert [row["PSR@2"] for row in wh.leaderboard("wiki")] == [pytest.approx(3 / 4)]


def test_what_is_no_matrix_is_refused(tmp_path: Path) -> None:
    qrels = write(tmp_path / "test.txt", DATA)
    for text, wanted in (
        (SCORES.replace("5:0.5", "6:0.5"), "line 4 … column 6 … 6"),
        (SCORES.replace("5:0.5", "5:x"), "line 4 … 'x'"),
        (SCORES.replace("5:0.5", "4:1 five"), "line 4 … 'five'"),
        (SCORES.replace("2:0.9", "3:0.9"), "line 2 … column 3 … twice"),
        (SCORES + "4:1\n", "line 5 … row 3 … 3"),
        (SCORES.replace("3 6", "4 6"), "line 1 … 4 rows … 3"),
        (DATA, "labels … judgments"),
        ("3 670\n\n12:0.5 7:.25 9:1e-3 11:1 8:2 4:3\n", "3 rows … 2 follow"),
        (SCORES.split("\n", 1)[1], "rows and columns … svmlight"),
    ):
        with expect_refusal(wanted, InputError):
            Warehouse.score(qrels, write(tmp_path / "scores.txt", text), "RR")


@pytest.mark.slow
def test_what_scikit_learn_writes(tmp_path: Path) -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    path = tmp_path / "labels.svm"
    features = [[0.5, 0, 1], [0, 1, 0], [1, 0, 0]]
    labels = [[0, 1, 0, 1, 0, 0], [0] * 6, [0, 0, 0, 0, 0, 1]]
    datasets.dump_svmlight_file(features, labels, str(path), multilabel=True)
    run = write(tmp_path / "scores.txt", SCORES)
    assert Warehouse.score(path, run, "RR R@2", qrels_format="svmlight").means() == MEANS
