"""The arguments of the methods that load."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, TypedDict

from warehouse.errors import WarehouseError
from warehouse.readers.arguments import JudgmentRows, Rows

if TYPE_CHECKING:
    from warehouse.ingest.steps import Loaded

OnRun = Callable[[object, "Loaded | WarehouseError"], None]


class _Labelled(TypedDict, total=False):
    label: str | None


class Training(_Labelled, JudgmentRows, total=False):
    """How a training set is loaded."""

    replace: bool


class Qrels(_Labelled, JudgmentRows, total=False):
    """How judgments are loaded."""

    is_global: bool
    queries: object | None
    iterations: bool
    replace: bool


class About(TypedDict, total=False):
    """The description of runs, which their content does not give."""

    name_from: Literal["stem", "tag"]
    system: str | None
    tags: Mapping[str, str] | None
    run_at: dt.datetime | None
    lower_is_better: bool
    where_it_lies: bool


class _Named(TypedDict, total=False):
    name: str | None


class Run(_Named, About, Rows, total=False):
    """How a run is loaded."""

    replace: bool


class Runs(About, Rows, total=False):
    """How many runs are loaded."""

    replace: bool
    on_run: OnRun | None
