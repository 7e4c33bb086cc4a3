"""Write random interactions and recommendations, and the values of RecTools for them, per user.

    python -m venv peer && peer/bin/pip install rectools==0.19.0
    peer/bin/python tests/golden_peers/make_rectools.py

RecTools is no test dependency, because it wants an older numpy than the other peers.
Writes beside itself `rectools.qrels` and `rectools.run` (TREC), `rectools.train` (user, item: what was
seen before; items of the catalogue are those of all three files) and `rectools.tsv`.
"""

from __future__ import annotations

import random
import warnings
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from rectools import metrics

HERE = Path(__file__).parent
USERS, ITEMS = 40, 60


def collections() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return interactions, recommendations and training interactions; each lacks some users.

    Lists are short and long; some users have more relevant items than a list has places.
    """
    rng = random.Random(7)
    weights = [1 / (item + 1) for item in range(ITEMS)]
    seen, liked, found = [], [], []
    for user in range(USERS):
        for item in set(rng.choices(range(ITEMS), weights, k=rng.randint(1, 20))):
            seen.append((user, item))
        if user % 10 != 8:
            liked += [(user, item) for item in rng.sample(range(ITEMS), rng.randint(1, 15))]
        if user % 10 != 9:
            items = rng.sample(range(ITEMS), rng.randint(1, 25))
            found += [(user, item, rank) for rank, item in enumerate(items, 1)]
    return (
        pd.DataFrame(liked, columns=["user_id", "item_id"]),
        pd.DataFrame(found, columns=["user_id", "item_id", "rank"]),
        pd.DataFrame(seen, columns=["user_id", "item_id"]),
    )


def asked() -> dict[str, object]:
    """Return the metrics by the text that makes them."""
    texts = [
        name
        for k in (1, 3, 5, 10)
        for name in (
            f"Precision(k={k})", f"Precision(k={k}, r_precision=True)", f"Recall(k={k})",
            f"F1Beta(k={k})", f"F1Beta(k={k}, beta=2.0)", f"HitRate(k={k})", f"Accuracy(k={k})",
            f"MCC(k={k})", f"MAP(k={k})", f"MAP(k={k}, divide_by_k=True)", f"NDCG(k={k})",
            f"NDCG(k={k}, divide_by_achievable=True)", f"NDCG(k={k}, log_base=3)", f"MRR(k={k})",
            f"PartialAUC(k={k})", f"PAP(k={k})", f"MeanInvUserFreq(k={k})",
            f"AvgRecPopularity(k={k})", f"AvgRecPopularity(k={k}, normalize=True)",
            f"Serendipity(k={k})", f"CatalogCoverage(k={k})",
            f"CatalogCoverage(k={k}, normalize=True)",
        )
    ]  # fmt: skip
    return {text: eval(f"metrics.{text}", {"metrics": metrics}) for text in texts}


def values(metric: object, known: dict[str, object]) -> dict[str, float]:
    """Return a metric's values by user and over all; each takes what it needs of what is known."""

    def call(function: object) -> object:
        code = function.__code__
        names = code.co_varnames[1 : code.co_argcount]
        return function(**{name: known[name] for name in names if name in known})

    by_user = {}
    if hasattr(metric, "calc_per_user"):
        by_user = {str(user): float(v) for user, v in call(metric.calc_per_user).items()}
    return by_user | {"all": float(call(metric.calc))}


def main() -> None:
    warnings.simplefilter("ignore")  # of its pandas
    liked, found, seen = collections()
    (HERE / "rectools.qrels").write_text(
        "".join(f"{user} 0 i{item} 1\n" for user, item in liked.itertuples(index=False))
    )
    (HERE / "rectools.run").write_text(
        "".join(
            f"{user} Q0 i{item} {rank} {100 - rank} rectools\n"
            for user, item, rank in found.itertuples(index=False)
        )
    )
    (HERE / "rectools.train").write_text(
        "".join(f"{user}\ti{item}\n" for user, item in seen.itertuples(index=False))
    )
    catalog = sorted({*liked["item_id"], *found["item_id"], *seen["item_id"]})
    known = {"reco": found, "interactions": liked, "prev_interactions": seen, "catalog": catalog}
    lines = [
        f"# rectools {version('rectools')}: make_rectools.py, catalogue of {len(catalog)} items",
        "metric\tuser\tvalue",
    ]
    for text, metric in asked().items():
        for user, value in values(metric, known).items():
            lines.append(f"{text}\t{user}\t{value!r}")
    (HERE / "rectools.tsv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
