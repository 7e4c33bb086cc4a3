"""ranx's functions that merge runs by one method each, without a normalisation.

>>> from warehouse.extensions.peers.ranx import Run
>>> one, two = Run({"q": {"x": 3, "y": 2}}), Run({"q": {"x": 1, "z": 2}})
>>> comb_sum([one, two])
{'q': {'x': 4.0, 'z': 2.0, 'y': 2.0}}
>>> rrf([one, two], k=9).name
'rrf'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from warehouse.extensions.peers.ranx.lists import Run
from warehouse.extensions.peers.ranx.merging import fuse


def _by(method: str, *parameters: str, **usual: float) -> Callable[..., Run]:
    """Return the function of a method, whose parameters come after the runs, by place or name."""

    def merge(runs: Sequence[Run], *values: Any, name: str | None = None, **named: Any) -> Run:
        params = {**usual, **dict(zip(parameters, values, strict=False)), **named}
        made = fuse(runs, norm=None, method=method, params=params)
        made.name = name or made.name
        return made

    merge.__doc__ = f"Merge runs by {method}; see `fuse`."
    return merge


comb_anz = _by("anz")
comb_gmnz = _by("gmnz", "gamma")
comb_max = _by("max")
comb_med = _by("med")
comb_min = _by("min")
comb_mnz = _by("mnz")
comb_sum = _by("sum")
bordafuse = _by("bordafuse")
condorcet = _by("condorcet")
isr = _by("isr")
log_isr = _by("log_isr")
logn_isr = _by("logn_isr", "sigma")
mixed = _by("mixed", "weights")
rbc = _by("rbc", "phi")
rrf = _by("rrf", "k", k=60)
weighted_bordafuse = _by("w_bordafuse", "weights")
weighted_condorcet = _by("w_condorcet", "weights")
wmnz = _by("wmnz", "weights")
wsum = _by("wsum", "weights")
