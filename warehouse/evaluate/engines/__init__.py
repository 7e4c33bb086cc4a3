"""Engines: where the values of runs are computed, in this process or in many.

An engine is anything with `map(function, parts)` that gives the results in the order of the parts: a
pool of processes, an executor of Dask, a few lines around Ray, or Spark by its name. Each part is
scored by the same templates in a DuckDB inside its task, so every value is the same to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


class Engine(Protocol):
    """Computes the parts of a whole; the results come in the order of the parts."""

    def map(
        self, function: Callable[[_Part], _Result], parts: Iterable[_Part], /
    ) -> Iterable[_Result]:
        """Call the function for each part."""
        ...
