"""Verdicts of gates for GitHub Actions: annotations of a job, and its summary in Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from warehouse.errors import counted, visible
from warehouse.report import formats

# The variable with the file of the job's summary.
SUMMARY = "GITHUB_STEP_SUMMARY"
_COLUMNS = (
    "dataset",
    "metric",
    "run",
    "value",
    "reference",
    "its value",
    "difference",
    "p",
    "verdict",
)
_LEVELS = {"worse": "error", "unchecked": "warning"}
_LOST = ("dataset", "metric", "run", "query", "value", "before")
Verdict = Mapping[str, Any]


def annotation_lines(verdicts: Sequence[Verdict]) -> str:
    """Return a line for each verdict: an error if a run is red, a warning if unchecked, else a notice.

    >>> print(annotation_lines([{"verdict": "worse", "text": "tiny: gate RR: 100% worse"}]), end="")
    ::error title=warehouse check::tiny: gate RR: 100%25 worse
    """
    lines = []
    for one in verdicts:
        level = _LEVELS.get(one["verdict"], "notice")
        text = re.sub("[%\r\n]", lambda found: f"%{ord(found[0]):02X}", visible(str(one["text"])))
        lines.append(f"::{level} title=warehouse check::{text}\n")
    return "".join(lines)


def summary(verdicts: Sequence[Verdict]) -> str:
    """Return the verdicts in Markdown: a table, and the queries that lost most in red runs."""
    red = [one for one in verdicts if one["verdict"] == "worse"]
    runs = {(one["dataset"], one["run"]) for one in red}
    parts = [f"### Gates: {counted(len(runs), 'run') if runs else 'no run'} red\n"]
    if verdicts:
        rows = [_row(one) for one in verdicts]
        parts.append(formats.table(_COLUMNS, rows, _are_numbers(_COLUMNS), "markdown"))
    lost = [
        (one["dataset"], one["metric"], one["run"], *query)
        for one in red
        for query in one.get("lost_most") or ()
    ]
    if lost:
        parts.append("Queries that lost most:\n")
        parts.append(formats.table(_LOST, lost, _are_numbers(_LOST), "markdown"))
    return "\n".join(parts)


def _are_numbers(columns: Sequence[str]) -> list[bool]:
    return [name in ("value", "its value", "before", "difference", "p") for name in columns]


def _row(one: Verdict) -> tuple[object, ...]:
    mark = {"worse": "🔴 red", "accepted": "⚪ accepted", "unchecked": "🟡 unchecked"}.get(
        one["verdict"], "🟢 good"
    )
    why = one.get("why")
    return (
        one["dataset"], one["metric"], one["run"], one.get("value"), one.get("reference"),
        one.get("reference_value"), one.get("difference"), one.get("p"),
        mark if why is None else f"{mark}: {why}",
    )  # fmt: skip
