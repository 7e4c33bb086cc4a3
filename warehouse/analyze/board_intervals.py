"""The certainty of a board: intervals of values and ranks, and groups of runs that do not differ."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from duckdb import DuckDBPyConnection as Connection

from warehouse.analyze import paired_tests, resampling, significance
from warehouse.analyze.dataset_board import Board
from warehouse.errors import UsageError, command, counted
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.quoting import ident
from warehouse.sql_text.templates import render
from warehouse.store import database

# The most runs whose pairs are all tested.
MOST = 200
GROUP = "group"
RANK_LOW, RANK_HIGH, P_FIRST = "rank_low", "rank_high", "p_first"


@dataclass(frozen=True)
class _Column:
    """A column to add to a board: its name, type and values, and the column that it comes after."""

    name: str
    type: str
    values: Sequence[float | None]
    after: str


def width_of(metric: str) -> str:
    """Return the name of the column with the half-width of a metric's interval."""
    return f"{metric} ±"


def with_intervals(con: Connection, shown: Board, protocol: Protocol, alpha: float) -> Board:
    """Return a board with the half-width of each mean's t-interval in a column next to it."""
    paired_tests.How(alpha=alpha)
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
    columns = [
        _Column(width_of(column), "double", [found.get((run, metric)) for run in runs], column)
        for column, metric in shown.metrics.items()
    ]
    note = f"±: t-interval of the mean at {significance.level(alpha)}"
    if any(None in one.values for one in columns):
        note += (
            "; none where fewer than two queries have values, where all have the same, or where the "
            "value is no mean"
        )
    return _wider(con, shown, runs, columns, note, "board_intervals")


@dataclass(frozen=True)
class Groups:
    """The number of the group of each run, and a note about them."""

    numbers: Mapping[str, int]
    note: str


def tested(metrics: Sequence[str | None]) -> str:
    """Return the first metric of a board by which runs can be told apart. Raises UsageError.

    >>> tested([None, "Judged@10", "AP"])
    'AP'
    """
    named = [name for name in metrics if name is not None]
    found = next(filter(paired_tests.is_hypothesis, named), None)
    if found is None:
        raise UsageError(
            f"ties: {named[0]} says how much is judged, not how good a run is; name another metric too"
        )
    return found


def groups(con: Connection, board: Board, protocol: Protocol, metric: str, alpha: float) -> Groups:
    """Return the groups of a whole board: a best run, and those not significantly different from it.

    All pairs of runs are tested by the metric that the board is sorted by, with Holm's correction.
    """
    how = paired_tests.How(alpha=alpha)
    runs = [str(row[0]) for row in board.relation.project("run").fetchall()]
    if len(runs) > MOST:
        raise UsageError(
            f"ties: tests all pairs of at most {MOST} runs, but the board has {len(runs):,}; test "
            f"some of them: {command('compare RUN RUN --all-pairs', board.datasets[0])}"
        )
    apart: set[frozenset[str]] = set()
    if len(runs) > 1:
        found = paired_tests.gather(con, board.datasets[0], runs, [metric], protocol)
        if not found.has_test(0):
            raise UsageError(
                f"ties: {metric} is no mean over the queries ({found.aggregates[0].replace('_', ' ')}), "
                "so no differences are tested; sort by another one"
            )
        pairs = paired_tests.pairs_of(runs, (), all_pairs=True)
        rows = paired_tests.compare(con, found, pairs, how)
        apart = {frozenset((row["base"], row["run"])) for row in rows if row["is_significant"]}
    return Groups(
        groups_of(runs, apart),
        f"group: its first run by {metric}, and those that do not differ from it significantly "
        f"(paired t-test, Holm over all pairs of the {counted(len(runs), 'run')} on the whole board, "
        f"alpha {alpha:g})",
    )


def with_groups(con: Connection, shown: Board, found: Groups) -> Board:
    """Return a board, or the top of it, with the group of each run in a column after its place."""
    runs = [str(row[0]) for row in shown.relation.project("run").fetchall()]
    numbers = _Column(GROUP, "integer", [found.numbers[run] for run in runs], "place")
    return _wider(con, shown, runs, [numbers], found.note, "board_groups")


@dataclass(frozen=True)
class Ranked:
    """The ranks of each run over resampled queries, and a note about them."""

    ranks: Mapping[str, resampling.Ranks]
    note: str


def rank_intervals(
    con: Connection,
    board: Board,
    protocol: Protocol,
    metric: str | None,
    how: paired_tests.How,
    *,
    together: bool = False,
) -> Ranked:
    """Return the ranks of the runs of a whole board by the metric, or by the first of the board.

    If they are to hold `together`, from and to come from Tukey's test of all pairs.

    The queries are resampled with replacement, all runs have the same draws, and in each draw the
    runs are ranked by their means (Goldstein and Spiegelhalter 1996; bootstrap of topics: Sakai 2006).
    """
    metric = metric or next(iter(board.metrics))
    runs = [str(row[0]) for row in board.relation.project("run").fetchall()]
    found = paired_tests.gather(con, board.datasets[0], runs, [metric], protocol)
    aggregate = found.aggregates[0]
    if aggregate != "mean":
        raise UsageError(
            f"ranks: need a metric that is the mean over the queries, but {metric} is their "
            f"{aggregate.replace('_', ' ')}; sort by another one"
        )
    drawn = resampling.Resampling(how.resamples, how.seed)
    ranks = resampling.rank_intervals(con, drawn, 0, how.alpha, lower_is_better=found.better(0) < 0)
    by_run = {run: ranks[number] for number, run in enumerate(runs)}
    if together:
        return _together(con, found, by_run, how)
    if any(one.p_first is None for one in by_run.values()):
        return Ranked(by_run, f"from, to, P(first): {_unresolved(how)}")
    return Ranked(
        by_run,
        f"from, to: the run's ranks by {metric} in the middle {significance.level(how.alpha)} of "
        f"{how.resamples:,} resamples of the queries (seed {how.seed}); P(first): the share of "
        "resamples in which it is first, alone or tied",
    )


def _unresolved(how: paired_tests.How) -> str:
    return (
        "cannot be resolved with these queries: too few of them tell the runs apart for a p below "
        f"{how.alpha:g}"
    )


def _together(
    con: Connection,
    found: paired_tests.Gathered,
    ranks: Mapping[str, resampling.Ranks],
    how: paired_tests.How,
) -> Ranked:
    """Return ranks whose intervals hold together, at 1 - alpha: those that no separated pair excludes.

    A run ranks below those that are significantly better than it in Tukey's randomised test of all
    pairs, and above those that are significantly worse (Klein and others 2020).
    """
    if len(found.runs) > MOST:
        raise UsageError(
            f"together: tests all pairs of at most {MOST} runs, but the board has {len(found.runs):,}; "
            "choose some of them"
        )
    test = replace(how, test="tukey")
    pairs = paired_tests.pairs_of(found.runs, (), all_pairs=True)
    rows = paired_tests.compare(con, found, pairs, test) if pairs else []
    better: list[str] = []
    worse: list[str] = []
    for row in rows:
        if row["is_significant"]:
            gain = found.better(0) * row["difference"]
            better.append(row["run"] if gain > 0 else row["base"])
            worse.append(row["base"] if gain > 0 else row["run"])
    given = {"better": better, "worse": worse, "runs": found.runs}
    ends = con.execute(render("analyses/simultaneous_ranks"), given).fetchall()
    first = (
        f"the share of {how.resamples:,} resamples of the queries in which the run is first, alone or "
        "tied"
    )
    if any(one.p_first is None for one in ranks.values()):
        first = _unresolved(how)
    return Ranked(
        {run: replace(ranks[run], low=low, high=high) for run, low, high in ends},
        f"from, to: the ranks by {found.metrics[0]} that all runs have together with "
        f"{significance.level(how.alpha)} confidence ({test}, of all pairs); P(first): {first}",
    )


def with_ranks(con: Connection, shown: Board, found: Ranked) -> Board:
    """Return a board, or the top of it, with the ranks of each run in columns after its place."""
    runs = [str(row[0]) for row in shown.relation.project("run").fetchall()]
    ranks = [found.ranks[run] for run in runs]
    columns = [
        _Column(RANK_LOW, "integer", [one.low for one in ranks], "place"),
        _Column(RANK_HIGH, "integer", [one.high for one in ranks], "place"),
        _Column(P_FIRST, "double", [one.p_first for one in ranks], "place"),
    ]
    return _wider(con, shown, runs, columns, found.note, "board_ranks")


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
    con: Connection, shown: Board, runs: list[str], columns: Sequence[_Column], note: str, name: str
) -> Board:
    """Return a board with more columns, each after an existing one; `runs` names the run of each row."""
    wanted = [
        wide
        for column in shown.relation.columns
        for wide in (column, *(added.name for added in columns if added.after == column))
    ]
    lists = ", ".join(
        f"unnest($added_{number}::{column.type}[]) as {ident(column.name)}"
        for number, column in enumerate(columns)
    )
    numbered = "unnest($runs::varchar[]) as run, unnest($rows::integer[]) as row_on_board"
    given = {f"added_{number}": column.values for number, column in enumerate(columns)}
    relation = database.keep(
        con,
        f"select {', '.join(map(ident, wanted))} from {shown.relation.alias} "
        f"join (select {numbered}, {lists}) as added using (run) order by row_on_board",
        {"runs": runs, "rows": list(range(len(runs)))} | given,
        name=name,
    )
    return replace(shown, relation=relation, notes=(*shown.notes, note))
