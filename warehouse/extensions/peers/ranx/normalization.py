"""ranx's functions that make the scores of runs comparable.

>>> from warehouse.extensions.peers.ranx import Run
>>> min_max_norm(Run({"q": {"x": 3, "y": 2, "z": 1}}))
{'q': {'x': 1.0, 'y': 0.5, 'z': 0.0}}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from warehouse.extensions.peers.ranx.lists import Run
from warehouse.extensions.peers.ranx.merging import fuse


def normalize(run: Run, norm: str = "min-max") -> Run:
    """Return a run whose scores are normalised in each list; `norm` is a name of ranx."""
    empty = Run({query: {} for query in run.keys()}, name="empty")  # noqa: SIM118
    named = Run(run.to_dict(), name="one")
    made = fuse([named, empty], norm=norm, method="max")
    made.name = run.name
    return made


def borda_norm(runs: Sequence[Run]) -> list[Run]:
    """Return runs with Borda points for scores; each has the documents that any of them has."""
    named = [Run(run.to_dict(), name=str(number)) for number, run in enumerate(runs)]
    made = []
    for number, run in enumerate(runs):
        weights = [float(other == number) for other in range(len(runs))]
        one = fuse(named, norm="borda", method="wsum", params={"weights": weights})
        one.name = run.name
        made.append(one)
    return made


def norm_switch(norm: str) -> Callable[..., Any]:
    """Return the function of a normalisation by its name in ranx."""
    return borda_norm if norm == "borda" else lambda run: normalize(run, norm)


max_norm = norm_switch("max")
min_max_norm = norm_switch("min-max")
rank_norm = norm_switch("rank")
sum_norm = norm_switch("sum")
zmuv_norm = norm_switch("zmuv")
