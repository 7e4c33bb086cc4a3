"""The sources that people give, and the arguments that say how their rows are read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypedDict


class _Table(Protocol):
    """A data frame, an Arrow table or a relation."""

    @property
    def columns(self) -> Any: ...


class _Matrix(Protocol):
    """A matrix of scores or of judgments."""

    @property
    def shape(self) -> Any: ...


Source = os.PathLike[str] | Iterable[Any] | _Table | _Matrix


class Rows(TypedDict, total=False):
    """How the rows of a source are read."""

    format: str | None
    columns: Mapping[str, str] | None
    normalise: str | None
    where: str | None
    repeated: str | None


class JudgmentRows(Rows, total=False):
    """How judgments are read."""

    relevance: str | None
