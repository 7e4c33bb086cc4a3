"""Names that the shell completes: of datasets, runs, systems, metrics, protocols and slices.

They come from the database that the words so far mean. Whatever is wrong, nothing is proposed: a
shell that completes a word has no place for errors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from warehouse.warehouse import Warehouse

_ENVIRONMENT = "_WAREHOUSE_COMPLETE"
# Seconds to wait for another process that writes.
_PATIENCE = 0.5
# Characters that bash would not read as a part of a name.
_SPECIAL = re.compile(r"([^\w@%+=:,./-])", re.ASCII)
_Find = Callable[["Warehouse", dict[str, Any]], Iterable[object]]


def _completing(find: _Find) -> Callable[[typer.Context, str], list[str]]:
    """Return a function for Typer that proposes the names which are found in the database."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        from warehouse.warehouse import Warehouse

        try:
            wh = Warehouse(ctx.params.get("db"), lock_timeout=_PATIENCE)
            names = dict.fromkeys(str(name) for name in find(wh, ctx.params) if name is not None)
        except Exception:
            return []
        return [_written(name) for name in names if name.startswith(incomplete)]

    return complete


def _written(name: str) -> str:
    """Return a name as the shell takes it; other shells than bash quote it themselves."""
    in_bash = os.environ.get(_ENVIRONMENT) == "complete_bash"
    return _SPECIAL.sub(r"\\\1", name) if in_bash and name.isascii() else name


def _dataset(params: dict[str, Any]) -> str | None:
    given = params.get("dataset")
    return given[0] if isinstance(given, list | tuple) and given else given or None


def _datasets(wh: Warehouse, params: dict[str, Any]) -> Iterable[object]:
    return [row.dataset for row in wh.datasets()]


def _runs(wh: Warehouse, params: dict[str, Any]) -> Iterable[object]:
    return [row.run for row in wh.runs(_dataset(params))]


def _systems(wh: Warehouse, params: dict[str, Any]) -> Iterable[object]:
    return [row.system for row in wh.runs(_dataset(params))]


def _metrics(wh: Warehouse, params: dict[str, Any]) -> Iterable[object]:
    """Return the project's own names, the metrics with values, then the names of all."""
    from warehouse.config import project
    from warehouse.metrics.catalogue import catalogue

    stored: list[object] = []
    if wh.path.exists():
        sql = (
            "select distinct metric from scores "
            "where ($dataset is null or dataset = $dataset) order by metric"
        )
        stored = [row.metric for row in wh.query(sql, {"dataset": _dataset(params)})]
    return [*project.current().aliases, *stored, *sorted(catalogue())]


def _protocols(wh: Warehouse, params: dict[str, Any]) -> Iterable[object]:
    from warehouse.metrics.protocols import catalogue

    return catalogue()


def _slices(wh: Warehouse, params: dict[str, Any]) -> Iterable[object]:
    return [row.slice for row in wh.slices(_dataset(params))]


datasets = _completing(_datasets)
runs = _completing(_runs)
systems = _completing(_systems)
metrics = _completing(_metrics)
protocols = _completing(_protocols)
slices = _completing(_slices)
