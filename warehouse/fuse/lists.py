"""The lists of the merged runs, put in scope, and the statement that merges them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import duckdb

from warehouse.errors import UsageError, counted, option
from warehouse.evaluate.chain import ranked_sql
from warehouse.evaluate.scope import Scope
from warehouse.fuse.recipe import Queries, Recipe
from warehouse.metrics import protocols
from warehouse.sql_text.templates import compiled, render


@dataclass(frozen=True)
class Overlap:
    """How many queries some of the runs have, and how many all of them have."""

    num_some: int
    num_all: int

    def note(self, queries: Queries) -> str | None:
        """Say how queries that only some of the runs have were handled; None if there are none."""
        apart = self.num_some - self.num_all
        if not apart:
            return None
        are = "is" if apart == 1 else "are"
        what = (
            f"in the others it has no documents ({option('queries', 'common')} leaves it out)"
            if queries == "union"
            else "left out"
        )
        return (
            f"{apart:,} of {counted(self.num_some, 'query')} {are} in only some of the runs: {what}"
        )


def put_runs(con: duckdb.DuckDBPyConnection, recipe: Recipe) -> None:
    """Put the predictions of the runs in scope."""
    Scope(con).fused_runs(recipe.run_ids)


def put_queries(con: duckdb.DuckDBPyConnection, recipe: Recipe, queries: Queries) -> Overlap:
    """Put the queries in scope that any of the runs has, or that all of them have."""
    con.execute(render("statements/fused_queries", queries=queries))
    ((num_some, num_all),) = con.execute(render("statements/fused_overlap")).fetchall()
    if queries == "common" and not num_all:
        names = ", ".join(source.name for source in recipe.sources)
        raise UsageError(
            f"{names}: no query is common to all of them; see {option('queries', 'union')}"
        )
    return Overlap(num_some, num_all)


def without_positive(con: duckdb.DuckDBPyConnection, recipe: Recipe) -> list[str]:
    """Say which runs have lists that the normalisation cannot handle."""
    if not recipe.normalisation.positive:
        return []
    names = {source.run_id: source.name for source in recipe.sources}
    rows = con.execute(render("statements/fused_without_positive")).fetchall()
    return [
        f"{names[recipe.run_ids[number - 1]]}: no score above 0 in {num_without:,} of "
        f"{counted(num_lists, 'list')}, of which "
        f"{option('normalise', recipe.normalisation.name)} makes huge numbers below 0: take "
        f"another, as min-max"
        for number, num_without, num_lists in rows
    ]


def statement(recipe: Recipe) -> str:
    """Return the SQL of the merged lists: `query_id, doc_id, score`, each list best first."""
    return render("statements/fused", query=recipe.query, **_entries(recipe))


def put_entries(con: duckdb.DuckDBPyConnection, recipe: Recipe) -> None:
    """Put the lists in scope into `entry`, with their ranks and normalised scores."""
    con.execute(render("statements/entries", **_entries(recipe)))


def _entries(recipe: Recipe) -> dict[str, str]:
    rules = replace(protocols.get(protocols.DEFAULT), queries="run")
    return {
        "ranked": ranked_sql(rules),
        "normalised": compiled(recipe.normalisation.body).render().strip(),
    }
