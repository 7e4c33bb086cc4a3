"""ranx's functions of one metric each: the values of the queries as an array.

Judgments and runs are `Qrels` and `Run`, what their `to_typed_list` returns, or for each query an array
with the columns document and number, a run's best document first.

>>> from warehouse.extensions.peers.ranx import Qrels, Run
>>> qrels, run = Qrels({"q": {"a": 1}}), Run({"q": {"b": 2, "a": 1}})
>>> reciprocal_rank(qrels, run).tolist(), precision(qrels, run, 1).tolist()
([0.5], [0.0])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warehouse.extensions.peers.ranx.evaluation import evaluate


def _by(name: str) -> Callable[..., Any]:
    """Return the function of a metric by its name in ranx."""

    def values(qrels: Any, run: Any, k: int = 0, rel_lvl: int = 1) -> Any:
        cutoff = f"@{k}" if k else ""
        return _values(qrels, run, f"{name}{cutoff}", rel_lvl)

    values.__doc__ = f"Return {name} at k, if k is above 0, of each query."
    return values


def rank_biased_precision(qrels: Any, run: Any, p: float, rel_lvl: int = 1) -> Any:
    """Return rank-biased precision of each query, with the persistence p."""
    return _values(qrels, run, f"rbp.{round(p * 100)}", rel_lvl)


def _values(qrels: Any, run: Any, name: str, level: int) -> Any:
    asked = name if level == 1 else f"{name}-l{level}"
    return evaluate(qrels, run, asked, return_mean=False, save_results_in_run=False)


average_precision = _by("map")
bpref = _by("bpref")
dcg = _by("dcg")
dcg_burges = _by("dcg_burges")
f1 = _by("f1")
hit_rate = _by("hit_rate")
hits = _by("hits")
ndcg = _by("ndcg")
ndcg_burges = _by("ndcg_burges")
precision = _by("precision")
r_precision = _by("r-precision")
recall = _by("recall")
reciprocal_rank = _by("mrr")
