"""The tables and facts of results; the docstrings of the methods name them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warehouse.report.result import Result


class Facts:
    """Tables, and facts of a board, a comparison, a curve, an explanation, a check or a status."""

    boards: Result
    condensed: Result
    confusion: Result
    diagram: Result
    documents: Result
    filled: Result
    grades: Result
    levels: Result
    pairs: Result
    pool: Result
    power: Result
    queries: Result
    resolution: Result
    rows: Result
    taus: Result
    tied: Result
    ties: Result
    topics: Result
    uniques: Result
    values: Result
    wins: Result

    advice: tuple[str, ...]
    areas: Mapping[str, float]
    best: Callable[[int], list[str]]
    commands: tuple[str, ...]
    comparisons: Sequence[Any]
    computed: Any
    dataset: str
    datasets: tuple[str, ...]
    direction: str
    directions: Mapping[str, str]
    evaluated_at: dt.datetime
    fingerprint: str
    is_good: bool
    is_stale: bool
    labels: Mapping[str, str]
    metric: str
    metrics: Mapping[str, str]
    num_missing: int
    num_orphaned: int
    num_predictions: int
    num_red: int
    num_stale: int
    num_stored: int
    num_up_to_date: int
    num_verified: int
    problems: Result | tuple[str, ...]
    qrels_version: int
    query_text: str | None
    recomputed: float | None
    relevant_missed: tuple[str, ...]
    run: str
    sections: Mapping[str, Any]
    skipped: Mapping[str, int]
    tested_in_words: str
    value: float | None
    verdicts: Sequence[Mapping[str, Any]]
