"""The table of figures for people who have to decide: what is asked of each, and what it is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabulate import tabulate

from tests.benchmarks import report, works


@dataclass(frozen=True)
class Goal:
    """What a figure of ours may be at most or, beside a peer, ours divided by the peer's."""

    what: str
    benchmark: str
    ours: str
    limit: float | None
    peer: str | None = None
    figure: str = "wall_s"


C = "trec_eval (C)"
# trec_eval's own code behind Python: where the program itself is not at hand, what comes nearest to it.
PY = "pytrec_eval"
BYTES = "bytes_per_prediction"

GOALS = (
    *(
        Goal(f"`score`, {source}, msmarco", "msmarco", ours, limit, peer)
        for source, ours, against_c in (
            ("TREC text", works.TREC, 0.20),
            ("Parquet", works.PARQUET, 0.13),
        )
        for peer, limit in ((C, against_c), (PY, against_c), ("ranx", 0.05), ("ir_measures", 0.05))
    ),
    *(
        Goal(what, benchmark, ours, limit, peer)
        for peer in (C, PY)
        for what, benchmark, ours, limit in (
            ("`ingest run` + `evaluate`, stored, msmarco", "msmarco", works.STORED, 0.30),
            ("100 runs from text, scored", "many", works.AT_ONCE, 0.31),
            ("100 runs from Parquet, scored", "many", works.AT_ONCE_PARQUET, 0.20),
            ("100 runs ingested, evaluated, stored", "many", works.STORED, 0.42),
        )
    ),
    Goal("`score`, deep", "deep", works.TREC, 0.22),
    *(
        Goal("`score`, deep", "deep", works.TREC, limit, peer)
        for peer, limit in ((C, None), (PY, None), ("ir_measures", 1), ("ranx", 1))
    ),
    *(
        Goal("`score`, TREC text, all documents judged", "judged", works.TREC, limit, peer)
        for peer, limit in ((C, 0.85), (PY, None), ("ir_measures", 1), ("ranx", 1))
    ),
    Goal("`score`, TREC text, 100,000 queries", "queries", works.TREC, None, C),
    Goal("`warehouse --help`", "help", works.HELP, 0.2),
    Goal("a new metric for 1,000 stored runs", "history", works.NEW_METRIC, 1.5),
    Goal("all metrics anew for 1,000 stored runs", "history", works.ALL_METRICS, 5),
    Goal(
        "`ingest run` + `evaluate` of the 1,001st run, against the first",
        "history",
        works.ONE_MORE,
        1.3,
        works.THE_FIRST,
    ),
    Goal(
        "leaderboard of 10,000 runs with 30 metrics, 60 million values behind it",
        "leaderboard",
        works.BOARD_OPEN,
        0.05,
    ),
    Goal("the same by the command, as CSV", "leaderboard", works.BOARD_COMMAND, None),
    Goal(
        "`compare` 50 runs, 5 metrics, 7,000 queries, all pairs, t and Holm",
        "compare",
        works.ALL_PAIRS,
        2,
    ),
    Goal("10,000 permutations for one pair, 7,000 queries", "compare", works.RANDOMISED, 3),
    *(
        Goal(
            f"`sync` of 2,000 runs with a gate against the {against} run, beside none",
            "nights",
            works.gated(against),
            1.5,
            works.NO_GATE,
        )
        for against in ("last", "best")
    ),
    Goal("peak memory of `score`, msmarco", "msmarco", works.TREC, 450, figure="peak_mb"),
    Goal(
        "peak memory of `score`, Parquet, msmarco", "msmarco", works.PARQUET, 240, figure="peak_mb"
    ),
    Goal(
        "peak memory of `ingest run` + `evaluate`, msmarco",
        "msmarco",
        works.STORED,
        260,
        figure="peak_mb",
    ),
    Goal(
        "peak memory of `score --memory-limit 512MB`, msmarco",
        "msmarco",
        works.LIMITED,
        None,
        figure="peak_mb",
    ),
    Goal("file size per stored prediction, msmarco", "msmarco", works.STORED, 12, figure=BYTES),
    *(
        Goal(f"from Python, {kind}, msmarco", "objects-msmarco", works.called(kind), limit, peer)
        for kind in works.KINDS
        for peer, limit in ((works.PYTREC_CALL, 0.3), (works.RANX_CALL, 0.1))
    ),
    *(
        Goal(
            f"from Python, {kind}, deep, second call on", "objects-deep", works.called(kind), 0.045
        )
        for kind in works.KINDS
    ),
    *(
        Goal(
            f"the same with a prepared scorer, {kind}",
            "objects-deep",
            works.prepared(kind),
            limit,
            works.PYTREC_CALL,
        )
        for kind, limit in (("dict", 2), ("arrow", 1.4))
    ),
    *(
        Goal(
            "from Python, dict, deep, second call on",
            "objects-deep",
            works.called("dict"),
            None,
            peer,
        )
        for peer in (works.PYTREC_CALL, works.RANX_CALL)
    ),
)

_HEADERS = ("what", "ours", "beside", "its figure", "ratio", "of CPU time", "goal", "")


def markdown(files: Sequence[Path]) -> str:
    """Return the goals as a table, from what benchmarks wrote; of one measured twice, the last."""
    written = [json.loads(file.read_text()) for file in files]
    figures: dict[tuple[str, str], Mapping[str, Any]] = {}
    for found in written:
        for benchmark in found["benchmarks"]:
            for figure in benchmark["figures"]:
                figures[benchmark["name"], figure["contender"]] = figure
    rows = [row for goal in GOALS if (row := _row(goal, figures))]
    table = tabulate(rows, _HEADERS, tablefmt="github", disable_numparse=True)
    return "\n\n".join([table, *dict.fromkeys(map(report.footer, written))]) + "\n"


def _row(
    goal: Goal, figures: Mapping[tuple[str, str], Mapping[str, Any]]
) -> tuple[str, ...] | None:
    """Return a line of the table, or None where it was not measured."""
    ours = figures.get((goal.benchmark, goal.ours))
    if ours is None:
        return None
    value = ours[goal.figure]
    shown = _shown(value, goal.figure)
    if goal.peer is None:
        limit = "" if goal.limit is None else f"≤ {_shown(goal.limit, goal.figure)}"
        return (goal.what, shown, "", "", "", "", limit, _met(value, goal))
    peer = figures.get((goal.benchmark, goal.peer))
    if peer is None:
        return None
    ratio = value / peer[goal.figure]
    of_cpu = f"{ours['cpu_s'] / peer['cpu_s']:.2f}"
    beside = (goal.peer, _shown(peer[goal.figure], goal.figure), f"{ratio:.2f}", of_cpu)
    limit = "" if goal.limit is None else f"≤ {goal.limit:g}"
    return (goal.what, shown, *beside, limit, _met(ratio, goal))


def _met(value: float, goal: Goal) -> str:
    return "" if goal.limit is None or value <= goal.limit else "missed"


def _shown(value: float, figure: str) -> str:
    if figure == "peak_mb":
        return f"{value:,.0f} MB"
    if figure == BYTES:
        return f"{value:.1f} bytes"
    return f"{value * 1000:.0f} ms" if value < 0.1 else f"{value:.2f} s"
