"""The certainty of a board: intervals beside its values, and groups of runs that do not differ."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb

from warehouse.analyze import compare, significance
from warehouse.analyze.board import Board
from warehouse.errors import UsageError, command, counted
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.quoting import ident
from warehouse.sql_text.templates import render
from warehouse.store import database

# The most runs whose pairs are all tested.
MOST = 200
GROUP = "group"


def width_of(metric: str) -> str:
    """Return the name of the column with the half-width of a metric's interval."""
    return f"{metric} ±"


def with_intervals(
    con: duckdb.DuckDBPyConnection, shown: Board, protocol: Protocol, alpha: float
) -> Board:
    """Return a board with the half-width of each mean's t-interval in a column beside it."""
    compare.How(alpha=alpha)
    runs = [str(row[0]) for row in shown.relation.project("run").fetchall()]
    rows = con.execute(
        render("analyses/half_widths", alpha=alpha),
        {
            "dataset": shown.datasets[0],
            "protocol": protocol.name,
            "metrics": list(shown.metrics.values()),
            "runs": runs,
        },
    ).fetchall()
    found = {(str(run), str(metric)): half_width for run, metric, half_width in rows}
    columns: dict[str, list[float | None]] = {
        width_of(column): [found.get((run, metric)) for run in runs]
        for column, metric in shown.metrics.items()
    }
    note = f"±: t-interval of the mean at {significance.level(alpha)}"
    after = {column: width_of(column) for column in shown.metrics}
    return _wider(con, shown, runs, columns, "double", after, note, "board_intervals")


@dataclass(frozen=True)
class Groups:
    """The number of the group of each run, and a note about them."""

    numbers: Mapping[str, int]
    note: str


def groups(
    con: duckdb.DuckDBPyConnection,
    board: Board,
    protocol: Protocol,
    metric: str | None,
    alpha: float,
) -> Groups:
    """Return the groups of a whole board: a best run, and those not significantly different from it.

    All pairs of runs are tested by the metric, or by the first of the board, with Holm's correction.
    """
    how = compare.How(alpha=alpha)
    metric = metric or next(iter(board.metrics))
    runs = [str(row[0]) for row in board.relation.project("run").fetchall()]
    if len(runs) > MOST:
        raise UsageError(
            f"ties: tests all pairs of at most {MOST} runs, but the board has {len(runs):,}; test "
            f"some of them: {command('compare RUN RUN --all-pairs', board.datasets[0])}"
        )
    apart: set[frozenset[str]] = set()
    if len(runs) > 1:
        found = compare.gather(con, board.datasets[0], runs, [metric], protocol)
        pairs = compare.pairs_of(runs, (), all_pairs=True)
        rows = compare.compare(con, found, pairs, how)
        apart = {frozenset((row["base"], row["run"])) for row in rows if row["is_significant"]}
    return Groups(
        groups_of(runs, apart),
        f"group: its first run by {metric}, and those that do not differ from it significantly "
        f"(paired t-test, Holm over all pairs of the {counted(len(runs), 'run')} on the whole board, "
        f"alpha {alpha:g})",
    )


def with_groups(con: duckdb.DuckDBPyConnection, shown: Board, found: Groups) -> Board:
    """Return a board, or the top of it, with the group of each run in a column after its place."""
    runs = [str(row[0]) for row in shown.relation.project("run").fetchall()]
    numbers: dict[str, list[float | None]] = {GROUP: [found.numbers[run] for run in runs]}
    return _wider(
        con, shown, runs, numbers, "integer", {"place": GROUP}, found.note, "board_groups"
    )


def groups_of(runs: Sequence[str], apart: Collection[frozenset[str]]) -> dict[str, int]:
    """Return the group of each run; the runs are in the order of the board, `apart` has pairs.

    >>> groups_of(["a", "b", "c"], {frozenset("ac"), frozenset("bc")})
    {'a': 1, 'b': 1, 'c': 2}
    """
    numbers: dict[str, int] = {}
    for run in runs:
        if not numbers:
            leader, group = run, 1
        elif frozenset((leader, run)) in apart:
            leader, group = run, group + 1
        numbers[run] = group
    return numbers


def _wider(
    con: duckdb.DuckDBPyConnection,
    shown: Board,
    runs: list[str],
    columns: Mapping[str, list[float | None]],
    kind: str,
    after: Mapping[str, str],
    note: str,
    name: str,
) -> Board:
    """Return a board with more columns, each after an existing one; `runs` are those of its rows."""
    wanted = [
        wide
        for column in shown.relation.columns
        for wide in (column, after.get(column))
        if wide is not None
    ]
    lists = ", ".join(
        f"unnest($added_{number}::{kind}[]) as {ident(column)}"
        for number, column in enumerate(columns)
    )
    numbered = "unnest($runs::varchar[]) as run, unnest($rows::integer[]) as row_on_board"
    given = {f"added_{number}": values for number, values in enumerate(columns.values())}
    relation = database.keep(
        con,
        f"select {', '.join(map(ident, wanted))} from {shown.relation.alias} "
        f"join (select {numbered}, {lists}) as added using (run) order by row_on_board",
        {"runs": runs, "rows": list(range(len(runs)))} | given,
        name=name,
    )
    return replace(shown, relation=relation, notes=(*shown.notes, note))
