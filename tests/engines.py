"""What tests of engines share: engines without a cluster, and values to the bit."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
from shared_cases import CASES

from warehouse.errors import WarehouseError
from warehouse.evaluate import requirements
from warehouse.evaluate.plan import plan
from warehouse.evaluate.requirements import ASSESSED
from warehouse.metrics import notation, protocols
from warehouse.metrics.catalogue import catalogue

# Tables of a file, in the order of their rows; an evaluation also has the time and a checksum.
STORED = {
    "hit": "run_id, qrels_id, ordering, query_id, rank",
    "hit_set": "run_id, qrels_id, ordering",
    "query_score": "evaluation_id, query_id",
    "score": "evaluation_id",
    "evaluation": "evaluation_id",
}
OTHER = "c not in ('evaluated_at', 'checksum')"


class InTurn:
    """An engine that computes one part after the other, in this process."""

    def __init__(self) -> None:
        self.num_parts = 0

    def map(self, function: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
        given = list(parts)
        self.num_parts += len(given)
        return [function(part) for part in given]


class Older(InTurn):
    """An engine one of whose machines runs an older DuckDB."""

    def map(self, function: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
        first, *others = super().map(function, parts)
        return [replace(first, versions=replace(first.versions, duckdb="1.4.0")), *others]


def bits(relation: duckdb.DuckDBPyRelation | None) -> list[tuple[object, ...]]:
    """Return rows with their floating-point numbers as bytes."""
    assert relation is not None
    return [
        tuple(struct.pack("<d", value) if isinstance(value, float) else value for value in row)
        for row in relation.fetchall()
    ]


def computable(protocol: str, *, pooled: bool) -> list[str]:
    """Return the metrics that need judgments and runs alone, under a protocol."""
    rules = protocols.get(protocol)
    found = []
    for name in catalogue():
        try:
            (metric,) = notation.parse(name, defaults=rules.defaults())
            work = plan([metric], rules)
            lacks = requirements.lacking(work, False, {}, requirements.of_files())
        except WarehouseError:
            continue
        if not lacks and not work.needs & ASSESSED and (pooled or metric.grain == "query"):
            found.append(name)
    return found


def first_files(case: str, num_runs: int | None = 4) -> tuple[Path, list[Path]]:
    """Return the qrels and the first runs of a case, or all of them."""
    folder = CASES / case
    qrels, *_ = sorted(folder.glob("qrels*"))
    return qrels, sorted((folder / "runs").iterdir())[:num_runs]


def stored(file: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return what an evaluation has stored, with numbers as bytes."""
    with duckdb.connect(str(file), read_only=True) as con:
        return {
            table: bits(
                con.sql(f"select columns(lambda c: {OTHER}) from store.{table} order by {order}")
            )
            for table, order in STORED.items()
        }
