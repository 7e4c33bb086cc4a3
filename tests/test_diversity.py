"""The measures of judgments by iteration ; their values are in test_peers_pyndeval."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from test_metric_properties import collection

from warehouse.metrics import notation
from warehouse.warehouse import Warehouse


@pytest.mark.core
@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("α_nDCG@5", "alpha_nDCG@5"),  # noqa: RUF001
        ("α_DCG(alpha=0.1)@5", "alpha_DCG(alpha=0.1)@5"),  # noqa: RUF001
        ("MAP_IA", "AP_IA"),
        ("strec@10", "StRecall@10"),
        ("map_avgjg", "AP_IA(groups=all)"),
        ("P_avgjg_5", "P_IA(groups=all)@5"),
        ("Rprec_mult_avgjg_0.40", "Rprec_IA(groups=all, multiple=0.4)"),
    ],
)
def test_names(name: str, canonical: str) -> None:
    assert [str(metric) for metric in notation.parse(name)] == [canonical]


Judged = dict[str, dict[str, dict[str, int]]]


def by_iteration(rng: random.Random) -> tuple[Judged, dict[str, dict[str, float]]]:
    """Return random judgments of one to five iterations, and a run."""
    qrels, run = collection(rng)
    judged: Judged = {}
    for query, grades in qrels.items():
        for number in range(rng.randint(1, 5)):
            docs = rng.sample(sorted(grades), rng.randint(1, len(grades)))
            levels = rng.choice([[0, 1], [0, 1, 2, 3], [-1, 0, 2], [0], list(grades.values())])
            judged.setdefault(query, {})[f"i{number}"] = {d: rng.choice(levels) for d in docs}
    return judged, run


def written(judged: Judged, folder: Path) -> Path:
    path = folder / "iterations.txt"
    lines = [
        f"{query} {iteration} {doc} {grade}\n"
        for query, iterations in judged.items()
        for iteration, grades in iterations.items()
        for doc, grade in grades.items()
    ]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def highest(judged: Judged) -> dict[str, dict[str, int]]:
    """Return each document's highest grade: by it a document counts as judged."""
    found: dict[str, dict[str, int]] = {}
    for query, iterations in judged.items():
        for grades in iterations.values():
            for doc, grade in grades.items():
                now = found.setdefault(query, {})
                now[doc] = max(grade, now.get(doc, grade))
    return found


def test_one_iteration_is_as_without(tmp_path: Path) -> None:
    """The mean over one iteration is the plain metric, and the subtopic recall is Success."""
    qrels, run = collection(random.Random(11))
    path = written({query: {"0": grades} for query, grades in qrels.items()}, tmp_path)
    pairs = {
        "AP_IA": "AP", "P_IA@4": "P@4", "Rprec_IA(groups=all)": "Rprec", "StRecall@3": "Success@3",
        "alpha_nDCG(alpha=0.0)@5": "nDCG(dcg=binary)@5",
    }  # fmt: skip
    rows = Warehouse.score(path, run, [*pairs, *pairs.values()], iterations=True)
    found = {(metric, query): value for query, metric, value in rows.relation.fetchall()}
    for query in [*qrels, "all"]:
        for one, other in pairs.items():
            assert found[one, query] == pytest.approx(found[other, query], rel=1e-12), (one, query)
