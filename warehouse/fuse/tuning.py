"""Trying values of a method's parameters, or weights, on the training queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import duckdb

from warehouse.analyze import stored_metrics
from warehouse.analyze.protocol_catalogue import relation
from warehouse.errors import UsageError
from warehouse.evaluate.plan import Plan
from warehouse.fuse import training
from warehouse.fuse.recipe import Recipe
from warehouse.metrics import fusion
from warehouse.sql_text.templates import render

# Weights are tried in tenths that add up to one.
TENTHS = 10
MOST_TRIALS = 5_000
# The most rows, and trials, that one statement merges; this bounds its memory.
_ROWS = 10_000_000
_STATEMENT = 250


@dataclass(frozen=True)
class Trials:
    """The tried recipes in the order of the grid, and the value of each, None if undefined."""

    metric: str
    recipes: tuple[Recipe, ...]
    values: tuple[float | None, ...]
    lower_is_better: bool

    @property
    def order(self) -> list[int]:
        """Return the numbers of the trials, best first, equal values in the order of the grid."""
        sign = 1 if self.lower_is_better else -1

        def key(number: int) -> tuple[bool, float]:
            value = self.values[number]
            return (
                (True, 0.0)
                if value is None
                else (False, sign * round(value, stored_metrics.DIGITS))
            )

        return sorted(range(len(self.recipes)), key=key)

    @property
    def best(self) -> Recipe:
        """Return the best recipe. Raises UsageError if none has a value."""
        first = self.order[0]
        if self.values[first] is None:
            raise UsageError(
                f"{self.metric}: undefined over the training queries, whatever is tried"
            )
        return self.recipes[first]

    def relation(self) -> duckdb.DuckDBPyRelation:
        """Return the trials, best first: `place, method[, weights]`, and the metric's values."""
        weighted = bool(self.recipes[0].weights)
        columns = ["place", "method", *(["weights"] if weighted else []), self.metric]
        rows: list[list[object]] = []
        for rank, number in enumerate(self.order, 1):
            tried = self.recipes[number]
            weights = [",".join(f"{w:g}" for w in tried.weights)] if weighted else []
            rows.append([rank, fusion.written(tried.method), *weights, self.values[number]])
        return relation(columns, rows)


def grid(recipe: Recipe) -> Iterator[Recipe]:
    """Yield the recipes to try: every value of the parameters with a grid, every set of weights.

    >>> from warehouse.metrics import fusion
    >>> from warehouse.fuse.recipe import Source
    >>> runs = (Source(1, "a", 1, ""), Source(2, "b", 1, ""))
    >>> method = fusion.parse("wsum")
    >>> [one.weights for one in grid(Recipe(method, fusion.normalisation(None, method), runs))][:2]
    [(0.0, 1.0), (0.1, 0.9)]
    """
    definition = recipe.definition
    names = list(definition.grid)
    if fusion.WEIGHTS in definition.needs:
        every = [
            tuple(part / TENTHS for part in parts) for parts in _parts(TENTHS, len(recipe.sources))
        ]
    else:
        every = [recipe.weights]
    for chosen in product(*(definition.grid[name].values() for name in names)):
        method = fusion.with_values(recipe.method, dict(zip(names, chosen, strict=True)))
        yield from (replace(recipe, method=method, weights=weights) for weights in every)


def _parts(whole: int, number: int) -> Iterator[tuple[int, ...]]:
    """Yield the ways to write a whole number as a sum of so many parts, ordered by the first part."""
    if number == 1:
        yield (whole,)
        return
    for first in range(whole + 1):
        for rest in _parts(whole - first, number - 1):
            yield (first, *rest)


def tune(con: duckdb.DuckDBPyConnection, recipe: Recipe, work: Plan) -> Trials:
    """Merge the lists of the training queries, which are in scope, with every recipe of the grid."""
    (metric,) = work.queries
    recipes = _few_enough(recipe)
    ((size,),) = con.execute(
        "select count(*) from (select distinct query_id, doc_id from entry)"
    ).fetchall()
    step = max(1, min(_STATEMENT, _ROWS // max(size, 1)))
    found: list[float | None] = []
    for first in range(0, len(recipes), step):
        batch = recipes[first : first + step]
        con.execute(render("statements/trials", queries=[one.query for one in batch]))
        found += training.values(con, work, len(batch))
    return Trials(str(metric), tuple(recipes), tuple(found), metric.direction == "lower")


def _few_enough(recipe: Recipe) -> Sequence[Recipe]:
    recipes: list[Recipe] = []
    for one in grid(recipe):
        recipes.append(one)
        if len(recipes) > MOST_TRIALS:
            raise UsageError(
                f"{recipe}: there are more than {MOST_TRIALS:,} sets of weights to try; merge fewer "
                "runs, or give weights"
            )
    return recipes
