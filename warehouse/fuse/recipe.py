"""The recipe of a merged run: runs, queries, method, normalisation and weights, all checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import duckdb

from warehouse.errors import UsageError, counted, listing, nearest, no_such_run, option
from warehouse.metrics import fusion
from warehouse.metrics.fusion import Method, Normalisation
from warehouse.metrics.metric import Metric
from warehouse.store import datasets
from warehouse.store.database import refuse_collected

Queries = Literal["union", "common"]
QUERIES = ("union", "common")


@dataclass(frozen=True)
class Source:
    """A current run to merge."""

    run_id: int
    name: str
    version: int
    content_hash: str


@dataclass(frozen=True)
class Recipe:
    """How runs are merged; `weights` are in the order of `sources`, or empty."""

    method: Metric
    normalisation: Normalisation
    sources: tuple[Source, ...]
    weights: tuple[float, ...] = ()

    @property
    def definition(self) -> Method:
        """Return the method as its file defines it."""
        return fusion.of(self.method)

    @property
    def run_ids(self) -> list[int]:
        """Return the runs in the order of their numbers."""
        return sorted(source.run_id for source in self.sources)

    @property
    def query(self) -> str:
        """Return the method's SQL over the lists in `entry`."""
        by_id = {s.run_id: w for s, w in zip(self.sources, self.weights, strict=False)}
        weights = [by_id[run_id] for run_id in self.run_ids] if by_id else []
        return fusion.sql(self.method, weights, len(self.sources))

    def __str__(self) -> str:
        return f"{fusion.written(self.method)} of {', '.join(s.name for s in self.sources)}"


def sources(con: duckdb.DuckDBPyConnection, dataset: str, names: Sequence[str]) -> list[Source]:
    """Return the current runs with these names. Reports all wrong names at once, as UsageError."""
    refuse_collected(con, "the lists to merge")
    datasets.check(con, dataset)
    rows = con.execute(
        "select run.run_id, runs.run, run.version, run.content_hash from runs "
        "join run using (run_id) where dataset = $1",
        [dataset],
    ).fetchall()
    known = {str(row[1]): Source(*row) for row in rows}
    wrong = [no_such_run(name, dataset, known) for name in names if name not in known]
    if wrong:
        raise UsageError("\n".join(wrong))
    twice = [name for name in dict.fromkeys(names) if list(names).count(name) > 1]
    if twice:
        raise UsageError(f"{listing(twice)}: named twice; a run is merged once")
    if len(names) < 2:
        raise UsageError(
            f"{listing(names) or 'no run'}: merging needs two or more runs; {dataset} has "
            f"{listing(sorted(known))}"
        )
    return [known[name] for name in names]


def recipe(
    found: Sequence[Source],
    method: str,
    normalise: str | None,
    weights: Sequence[float] | None,
    *,
    tuned: bool,
) -> Recipe:
    """Read how to merge runs. Raises UsageError for wrong names or weights."""
    read = fusion.parse(method)
    definition = fusion.of(read)
    normalisation = fusion.normalisation(normalise, read)
    if fusion.WEIGHTS not in definition.needs:
        if weights is not None:
            having = [m.name for m in fusion.methods().values() if fusion.WEIGHTS in m.needs]
            raise UsageError(f"{read.name} takes no weights; {', '.join(having)} do")
        return Recipe(read, normalisation, tuple(found))
    if weights is None:
        even = [float(f"{1 / len(found):.2g}")] * len(found)
        if not tuned:
            raise UsageError(
                f"{read.name} needs a weight for each run, as in {option('weights', even)}, or "
                f"training queries to find the best: {option('tune', None)} and "
                f"{option('train-queries', None)}"
            )
        return Recipe(read, normalisation, tuple(found))
    if tuned:
        raise UsageError(
            f"weights are given, but {option('tune', None)} would choose them; leave out one of the two"
        )
    if len(weights) != len(found):
        raise UsageError(
            f"{counted(len(weights), 'weight')} for {counted(len(found), 'run')}: give one for each "
            f"run, in the order of the runs ({', '.join(one.name for one in found)})"
        )
    if not all(math.isfinite(w) and w >= 0 for w in weights) or not any(weights):
        raise UsageError("weights must be numbers of at least 0, and not all of them 0")
    return Recipe(read, normalisation, tuple(found), tuple(float(w) for w in weights))


def check_queries(queries: str) -> Queries:
    """Refuse a value of `queries` other than union and common."""
    if queries not in QUERIES:
        hint = nearest(queries, QUERIES)
        raise UsageError(f"queries is one of {', '.join(QUERIES)}, not {queries}{hint}")
    return cast(Queries, queries)
