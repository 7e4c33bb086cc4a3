"""The arguments that `score` and `scorer` share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict


class Rules(TypedDict, total=False):
    """A protocol, and the rules that differ from it."""

    protocol: str
    level: int | None
    complete: bool
    judged_only: bool
    depth: int | None


class Files(TypedDict, total=False):
    """How qrels and runs are read."""

    lower_is_better: bool
    qrels_format: str | None
    run_format: str | None
    columns: Mapping[str, str] | None
    qrels_columns: Mapping[str, str] | None
    run_columns: Mapping[str, str] | None
    attributes: object
    relevance: str | None
    normalise: str | None
    where: str | None
    qrels_where: str | None
    run_where: str | None
    repeated: str | None
    qrels_repeated: str | None
    run_repeated: str | None
    iterations: bool
    training: object
    exclude: object


class Scoring(Rules, Files, total=False):
    """How runs are scored."""

    memory_limit: str | None
    threads: int | None


def part(kind: type[Rules | Files], how: Mapping[str, Any]) -> Any:
    """Return the given arguments of one kind."""
    return {name: how[name] for name in kind.__annotations__ if name in how}
