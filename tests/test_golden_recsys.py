"""Against the values of pyxclib on Bibtex and of RecTools on MovieLens, from the shared cases."""

from __future__ import annotations

import csv
import gzip
import math
from functools import cache

import pytest
from shared_cases import CASES, needs_cases, opened

from warehouse.warehouse import Warehouse

pytestmark = needs_cases

BIBTEX = CASES / "bibtex"
MOVIES = CASES / "ml_latest_small"
# RecTools was given all rated movies as its catalogue.
RATED = 9724
# What RecTools calls a metric, and what it is here.
RECTOOLS = {
    "Precision": "P",
    "Recall": "R",
    "F1": "F",
    "HitRate": "Success",
    "NDCG": "nDCG",
    "NDCG(divide_by_achievable)": "nDCG(best=judged)",
    "MRR": "RR",
    "MAP": "AP",
    "MAP(divide_by_k)": "AP(norm=k)",
    "PAP": "PAP",
    "MIUF": "MIUF",
    "CatalogCoverage": f"Coverage(catalogue={RATED})",
    "AvgRecPopularity": "Popularity",
    "Serendipity": f"Serendipity(catalogue={RATED})",
}
# pyxclib adds up nDCG in 32 bits.
SINGLE = ("nDCG", "PSnDCG")


def golden(folder, name: str) -> dict[str, dict[tuple[str, str], float]]:
    """Return a golden file's values by run; by measure and user, or by measure and "all"."""
    made: dict[str, dict[tuple[str, str], float]] = {}
    with opened(folder / "golden" / name) as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            key = row["measure"], row.get("user", "all")
            made.setdefault(row["run"], {})[key] = float(row["value"])
    return made


@cache
def labels_of_training() -> dict[str, dict[str, int]]:
    with gzip.open(BIBTEX / "train_labels.tsv.gz", "rt", encoding="utf-8") as lines:
        pairs = (line.rstrip("\n").split("\t") for line in lines)
        return {instance: dict.fromkeys(labels.split(), 1) for instance, labels in pairs}


@cache
def labels() -> dict[str, dict[str, float]]:
    """Return frequency and inverse propensity by label, as the case has them."""
    with opened(BIBTEX / "labels.tsv") as lines:
        return {
            row["label"]: {key: float(row[key]) for key in ("train_frequency", "inv_propensity")}
            for row in csv.DictReader(lines, delimiter="\t")
        }


@cache
def seen() -> dict[str, dict[str, int]]:
    made: dict[str, dict[str, int]] = {}
    with gzip.open(MOVIES / "train.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            made.setdefault(row["userId"], {})[row["movieId"]] = 1
    return made


@pytest.mark.sample(3)
@pytest.mark.parametrize("run", ["prior", "knn20", "ridge"])
def test_pyxclib(run: str) -> None:
    wanted = golden(BIBTEX, "pyxclib.aggregate.tsv")[run]
    names = [measure for measure, _ in wanted]
    assert len(names) == 30
    found = Warehouse.score(
        BIBTEX / "qrels.txt.gz", BIBTEX / "runs" / f"{run}.run.gz", names,
        protocol="xclib", training=labels_of_training(),
    )  # fmt: skip
    means = found.means()
    for name, one in zip(names, found.requested, strict=True):
        tolerance = 1e-7 if name.split("@")[0] in SINGLE else 1e-12
        value = means[str(one.metric)]
        assert value is not None
        assert math.isclose(value, wanted[name, "all"], rel_tol=tolerance), name


def test_worths_are_inverse_propensities() -> None:
    """One label that is asked for alone: PSP's numerator over an empty rest is its worth's share."""
    known = labels()
    one, other = sorted(known)[:2]
    found = Warehouse.score(
        {"q": {one: 1}, "r": {other: 1}}, {"q": {one: 1.0}}, "PSP@1",
        training=labels_of_training(),
    ).means()["PSP@1"]  # fmt: skip
    worths = [known[label]["inv_propensity"] for label in (one, other)]
    assert found is not None
    assert math.isclose(found, worths[0] / sum(worths), rel_tol=1e-12)


@pytest.mark.slow
@pytest.mark.sample(4)
@pytest.mark.parametrize("run", ["als", "damped_mean", "itemknn", "pop"])
def test_rectools(run: str) -> None:
    wanted = golden(MOVIES, "rectools-0.19.0.aggregate.tsv")[run]
    wanted |= golden(MOVIES, "rectools-0.19.0.per_user.tsv")[run]
    measures = list(dict.fromkeys(measure for measure, _ in wanted))
    names = [f"{RECTOOLS[name]}@{k}" for name, k in (m.split("@") for m in measures)]
    assert len(names) == 56
    found = Warehouse.score(
        MOVIES / "qrels.binary.txt.gz", MOVIES / "runs" / f"{run}.run.gz", names,
        protocol="rectools", training=seen(),
    )  # fmt: skip
    canonical = {
        str(one.metric): measure for measure, one in zip(measures, found.requested, strict=True)
    }
    ours = {(canonical[metric], user): v for user, metric, v in found.relation.fetchall()}
    for key, value in wanted.items():
        assert ours[key] is not None, key
        assert math.isclose(ours[key], value, rel_tol=1e-11, abs_tol=1e-15), key
    # those who like nothing in the test set have no part in what asks for the liked
    users = {measure: {u for m, u in wanted if m == measure} for measure in ("MRR@10", "MIUF@10")}
    assert {m: {u for n, u in ours if n == m} for m in users} == {
        m: {*of, "all"} for m, of in users.items()
    }
