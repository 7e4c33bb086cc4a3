"""Merging lists without a full warehouse: shared parts of the tests of fusion methods."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from warehouse.fuse import lists, training
from warehouse.fuse import recipe as reading
from warehouse.metrics import fusion
from warehouse.warehouse import Warehouse

Lists = dict[str, dict[str, float]]
DATASET = "d"
# Removed when the process ends.
_FOLDER = tempfile.TemporaryDirectory(prefix="fusion-")


def loaded(
    runs: Mapping[str, Any], qrels: Mapping[str, Any] | None = None, **resources: Any
) -> Warehouse:
    """Return a warehouse with some runs, and with judgments if given."""
    wh = Warehouse(Path(tempfile.mkdtemp(dir=_FOLDER.name)) / "fusion.duckdb", **resources)
    for name, run in runs.items():
        wh.ingest_run(DATASET, run, name=name)
    if qrels is not None:
        wh.ingest_qrels(DATASET, qrels)
    return wh


def recipe(
    con: duckdb.DuckDBPyConnection,
    names: Sequence[str],
    method: str,
    normalise: str | None = None,
    weights: Sequence[float] | None = None,
) -> reading.Recipe:
    found = reading.sources(
        con, DATASET, [*names, *([] if len(names) > 1 else _others(con, names))]
    )
    chosen = found[: len(names)]
    return reading.recipe(chosen, method, normalise, weights, tuned=False)


def _others(con: duckdb.DuckDBPyConnection, names: Sequence[str]) -> list[str]:
    """Return a second run beside a run, because a single run cannot be merged."""
    return [
        row[0] for row in con.execute("select run from runs").fetchall() if row[0] not in names
    ][:1]


def merged(con: duckdb.DuckDBPyConnection, found: reading.Recipe) -> Lists:
    """Return the result of a recipe; a trained method is trained on all judged queries."""
    if fusion.TRAINING in found.definition.needs:
        training.fill_scope(con, found, training.choose(con, DATASET, None, 1.0))
        if fusion.AVERAGE_PRECISION in found.definition.needs:
            training.store_precisions(con, training.precisions(con, found))
    lists.put_runs(con, found)
    lists.put_queries(con, found, "union")
    made: Lists = {}
    for query, doc, score in con.execute(lists.statement(found)).fetchall():
        made.setdefault(query, {})[doc] = score
    return made
