"""Our values against those of RecTools, from golden files: `golden_peers/make_rectools.py`."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import pytest
from peers import ALL, Values, ours, same

from warehouse.warehouse import Warehouse

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent / "golden_peers"
QRELS, RUN = GOLDEN / "rectools.qrels", GOLDEN / "rectools.run"
CUTOFFS = (1, 3, 5, 10)
NAMES = {
    "Precision(k={k})": "P@{k}",
    "Precision(k={k}, r_precision=True)": "RelP@{k}",
    "Recall(k={k})": "R@{k}",
    "F1Beta(k={k})": "F@{k}",
    "F1Beta(k={k}, beta=2.0)": "F(beta=2)@{k}",
    "HitRate(k={k})": "Success@{k}",
    "MAP(k={k})": "AP@{k}",
    "MAP(k={k}, divide_by_k=True)": "AP(norm=k)@{k}",
    "NDCG(k={k}, divide_by_achievable=True)": "nDCG(dcg=binary)@{k}",
    "MRR(k={k})": "RR@{k}",
}


@cache
def golden() -> Values:
    """Return its values by its own name and by user."""
    comment, _, *rows = (GOLDEN / "rectools.tsv").read_text(encoding="utf-8").splitlines()
    assert comment.startswith("# rectools 0.19.0")
    values: Values = {}
    for row in rows:
        metric, user, value = row.split("\t")
        values.setdefault(metric, {})[user] = float(value)
    return values


@pytest.mark.parametrize("k", CUTOFFS)
def test_values(k: int) -> None:
    """A user without recommendations counts as 0, one without interactions is left out, in both."""
    names = {theirs.format(k=k): mine.format(k=k) for theirs, mine in NAMES.items()}
    found = ours(QRELS, RUN, names.values())
    same({name: found[called] for name, called in names.items()}, {n: golden()[n] for n in names})


def test_every_user_is_there() -> None:
    scores = Warehouse.score(QRELS, RUN, "P@1")
    assert len(golden()["Precision(k=1)"]) - 1 == 36 == len(scores.relation.fetchall()) - 1


# --------------------------------------------------------------------------- known disagreements


@pytest.mark.parametrize("k", CUTOFFS)
def test_ndcg_divides_by_k_relevant_items(k: int) -> None:
    """RecTools' NDCG divides by the gain of k relevant items even where the user has fewer.

    So it cannot reach 1 there; ours divides by what the user's items can give.
    """
    sum_of_discounts = math.fsum(1 / math.log2(rank + 1) for rank in range(1, k + 1))
    dcg = f"DCG@{k}"
    values = ours(QRELS, RUN, [dcg, f"nDCG@{k}", "NumRel"])
    theirs = golden()[f"NDCG(k={k})"]
    same({dcg: {q: v / sum_of_discounts for q, v in values[dcg].items()}}, {dcg: theirs})
    fewer = [q for q, v in values["NumRel"].items() if v < k and q != ALL and theirs[q]]
    assert all(theirs[user] < values[f"nDCG@{k}"][user] for user in fewer)
    assert fewer or k < 5


def test_precision_of_a_short_list_divides_by_k() -> None:
    """Precision of RecTools is that of trec_eval, divided by k; its 'R-precision' by min(k, R).

    Ours calls the latter RelP: R-precision here and in trec_eval looks at the first R documents.
    """
    values = ours(QRELS, RUN, ["Rprec", "RelP@10", "P@10"])
    theirs = golden()["Precision(k=10, r_precision=True)"]
    same({"RelP@10": values["RelP@10"]}, {"RelP@10": theirs})
    assert any(abs(values["Rprec"][user] - theirs[user]) > 0.1 for user in theirs)


def test_its_own_names() -> None:
    """Under its protocol they mean what they mean to RecTools, whatever other peers have them for.

    Its catalogue is every item that is liked, recommended or seen before. Nobody judged the users who
    like nothing, but their recommendations cover the catalogue too.
    """
    liked = [line.split() for line in QRELS.read_text(encoding="utf-8").splitlines()]
    shown = [line.split() for line in RUN.read_text(encoding="utf-8").splitlines()]
    seen = (line.split() for line in (GOLDEN / "rectools.train").read_text().splitlines())
    size = len({row[2] for row in (*liked, *shown)} | {item for _, item in seen})
    qrels = {row[0]: {"nothing": 0} for row in shown}
    for user, _, item, grade in liked:
        qrels.setdefault(user, {})[item] = int(grade)
    names = {f"Accuracy(k={k})": f"Accuracy(catalogue={size})@{k}" for k in CUTOFFS}
    found = ours(qrels, RUN, names.values(), "rectools")
    same({name: found[called] for name, called in names.items()}, {n: golden()[n] for n in names})
    for k in CUTOFFS:
        counted = ours(qrels, RUN, [f"CatalogCoverage@{k}"], "rectools")[f"CatalogCoverage@{k}"]
        assert counted[ALL] == golden()[f"CatalogCoverage(k={k})"]["all"]
