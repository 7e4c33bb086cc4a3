"""What the pages of a dataset under a protocol show, read by the calls of the commands."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isinf
from typing import Any

import duckdb

from warehouse.analyze import (
    board_intervals,
    compare,
    comparison,
    datasets,
    explained_lists,
    history,
    leaderboard,
    listings,
    stored_metrics,
)
from warehouse.analyze.board import Board as LibraryBoard
from warehouse.errors import UsageError, counted
from warehouse.evaluate import status
from warehouse.metrics.aggregates import WORDS
from warehouse.metrics.catalogue import ARROWS, MetricTemplate
from warehouse.metrics.notation import Metrics, known_metric
from warehouse.report import presentation
from warehouse.sql_text.templates import render
from warehouse.store import database
from warehouse.store.file import WarehouseFile

# The most runs of which every two are compared; of more, the best ones by the first metric are.
MOST_COMPARED = board_intervals.MOST
# The most queries that have pages; of more, those in which the runs differ most have.
MOST_QUERIES = 2_000
Record = Mapping[str, Any]
# Between the first and the last place of a group.
_TO = "\u2013"


@dataclass(frozen=True)
class Measure:
    """A metric as the pages show it; bars go from `low` to `high`."""

    name: str
    title: str
    direction: str
    is_count: bool
    over_queries: str
    low: float
    high: float

    @property
    def arrow(self) -> str:
        """Return an arrow for the better direction."""
        return ARROWS.get(self.direction, "")

    def along(self, value: float) -> float:
        """Return how far along a bar a value is, in percent."""
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(max(share, 0.0), 1.0), 2)


@dataclass(frozen=True)
class Cell:
    """A value on the board: its interval, its place, and the places of those it is tied with."""

    value: float | None
    half_width: float | None
    place: int
    places: str
    is_best: bool


@dataclass(frozen=True)
class BoardRow:
    """A run on the board, with a cell for each metric."""

    run: str
    system: str | None
    tags: tuple[str, ...]
    answered: int
    judged: int
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class Board:
    """The board in the order of the first metric, with what people have to know beside it.

    `texts` is the board as the command writes it, by format.
    """

    rows: tuple[BoardRow, ...]
    has_groups: bool
    has_intervals: bool
    notes: tuple[str, ...]
    texts: Mapping[str, str]


@dataclass(frozen=True)
class Comparison:
    """Every two of the runs by one metric; `pairs` has rows as `Warehouse.compare` has."""

    metric: str
    runs: tuple[str, ...]
    pairs: tuple[Record, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Timeline:
    """The values of a metric over time; `rows` are as `Warehouse.history` has them."""

    metric: str
    rows: tuple[Record, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Contents:
    """What the pages of a dataset under a protocol show.

    `values` has, by query and run, the values of the metrics in their order. `numbers` has the
    provenance of each current value, by run and metric; `versions` all versions of each run.
    `lists` has, by query and run, the first documents: `(doc_id, relevance, part)`, with the part
    of the document in the query's value of the first metric.
    """

    dataset: str
    protocol: str
    about: Record
    qrels: Record
    measures: tuple[Measure, ...]
    board: Board
    versions: Mapping[str, Sequence[Record]]
    numbers: Mapping[str, Mapping[str, Record]]
    queries: tuple[Record, ...]
    values: Mapping[str, Mapping[str, tuple[float | None, ...]]]
    lists: Mapping[str, Mapping[str, Sequence[tuple[str, float | None, float | None]]]]
    comparisons: Mapping[str, Comparison]
    timelines: tuple[Timeline, ...]
    depth: int

    @property
    def num_queries(self) -> int:
        """Return how many queries have values, of which `queries` may be only some."""
        return int(self.queries[0]["num_queries"]) if self.queries else 0

    @property
    def runs(self) -> list[str]:
        """Return the runs in the order of the board."""
        return [row.run for row in self.board.rows]


@dataclass(frozen=True)
class State:
    """What the database holds: datasets, newest runs, what is stale; `evaluated` has protocols."""

    datasets: tuple[Record, ...]
    runs: tuple[Record, ...]
    due: tuple[Record, ...]
    commands: tuple[str, ...]
    evaluated: Mapping[str, tuple[str, ...]]


def state(con: duckdb.DuckDBPyConnection, wanted: Sequence[str]) -> State:
    """Return the state of some datasets, or of all. Raises UsageError for unknown names."""
    for dataset in wanted:
        datasets.check(con, dataset)
    known = database.records(listings.all_datasets(con))
    names = [row["dataset"] for row in known if not wanted or row["dataset"] in wanted]
    runs = [
        row
        for row in database.records(listings.listing(con, "runs", None))
        if row["dataset"] in names
    ]
    found = [status.status(con, name) for name in wanted] or [status.status(con, None)]
    due: list[Record] = []
    for one in found:
        due += database.records(one.relation)
    evaluated: dict[str, dict[str, None]] = defaultdict(dict)
    sql = render("analyses/evaluated_under_protocols")
    for dataset, protocol, kind, _, slice, *_ in con.execute(sql, {"dataset": None}).fetchall():
        if kind == "metric" and slice is None:
            evaluated[dataset][protocol] = None
    return State(
        datasets=tuple(row for row in known if row["dataset"] in names),
        runs=tuple(sorted(runs, key=lambda row: row["run_at"], reverse=True)),
        due=tuple(due),
        commands=tuple(command for one in found for command in one.commands),
        evaluated={name: tuple(evaluated[name]) for name in names},
    )


def contents(
    file: WarehouseFile,
    dataset: str,
    protocol: str,
    *,
    metrics: Metrics = (),
    depth: int = 20,
) -> Contents | None:
    """Read what the pages of a dataset under a protocol show; None if it has no current values."""
    asked = {"dataset": dataset, "protocol": protocol}
    with file.read() as con:
        rules = stored_metrics.stored_rules(con, protocol)
        names = stored_metrics.names(con, [dataset], metrics, rules)
        names = names or stored_metrics.with_values(con, [dataset], rules)
        if not names:
            return None
    # what is asked for is computed where it is missing, by each call for a connection of its own
    compute = bool(metrics)
    orders = {name: _order(file, dataset, protocol, names, name, compute) for name in names}
    runs = [run for run, _ in orders[names[0]]]
    if not runs:
        return None
    comparisons = {name: _comparison(file, dataset, runs, name, protocol) for name in names}
    with file.read() as con:
        if compute:
            stored_metrics.with_missing(con, [dataset], names, rules)
        numbers: dict[str, dict[str, Record]] = defaultdict(dict)
        for row in _records(con, "analyses/current_values", asked):
            numbers[row["run"]][row["metric"]] = row
        versions: dict[str, list[Record]] = defaultdict(list)
        for row in database.records(listings.run_versions(con, dataset, None)):
            versions[row["run"]].append(row)
        queries = _records(
            con, "analyses/query_difficulty", asked | {"metric": names[0], "most": MOST_QUERIES}
        )
        chosen = [query["query_id"] for query in queries]
        values: dict[str, dict[str, tuple[float | None, ...]]] = defaultdict(dict)
        sql = render("analyses/current_query_values", metrics=names)
        for query, run, *of_run in con.execute(sql, asked | {"queries": chosen}).fetchall():
            values[query][run] = tuple(of_run)
        about = _row(listings.all_datasets(con), dataset=dataset)
        qrels = _row(listings.listing(con, "qrels", dataset), is_current=True)
    timelines = tuple(_timeline(file, dataset, name, protocol, compute) for name in names)
    places = {name: _places(order, comparisons[name]) for name, order in orders.items()}
    board, directions = _board(file, dataset, protocol, names, places, compute)
    measures = tuple(_measure(name, directions[name], numbers) for name in names)
    return Contents(
        dataset=dataset,
        protocol=protocol,
        about=about,
        qrels=qrels,
        measures=measures,
        board=board,
        versions=versions,
        numbers=numbers,
        queries=tuple(queries),
        values=values,
        lists=_lists(file, dataset, names[0], chosen, protocol, depth),
        comparisons=comparisons,
        timelines=timelines,
        depth=depth,
    )


def _order(
    file: WarehouseFile,
    dataset: str,
    protocol: str,
    names: Sequence[str],
    metric: str,
    compute: bool,
) -> list[tuple[str, int]]:
    """Return the runs of the board with their places, in the order of a metric."""
    with file.read() as con:
        found = leaderboard.leaderboard(
            con, dataset, metrics=names, sort=metric, protocol=protocol, compute=compute
        )
        return [
            (str(run), int(place)) for run, place in found.relation.project("run, place").fetchall()
        ]


def _records(con: duckdb.DuckDBPyConnection, template: str, asked: Record) -> list[dict[str, Any]]:
    return database.records(database.keep(con, render(template), asked))


def _row(relation: duckdb.DuckDBPyRelation, **wanted: object) -> dict[str, Any]:
    """Return the first row of a relation with such values."""
    rows = database.records(relation)
    return next(row for row in rows if all(row[key] == value for key, value in wanted.items()))


def _measure(name: str, direction: str, numbers: Mapping[str, Mapping[str, Record]]) -> Measure:
    """Return a metric; bars of one without bounds end at its lowest and highest values."""
    metric = known_metric(name)
    definition = None if metric is None else metric.definition
    low, high = definition.range if isinstance(definition, MetricTemplate) else (-inf, inf)
    found = [of_run[name]["value"] for of_run in numbers.values() if name in of_run]
    values = [value for value in found if value is not None]
    low = min(values, default=0.0) if isinf(low) else low
    high = max(values, default=1.0) if isinf(high) else high
    return Measure(
        name=name,
        title=name if definition is None else definition.title,
        direction=direction,
        is_count=metric is not None and metric.is_count,
        over_queries="" if metric is None else WORDS[metric.aggregate],
        low=low,
        high=high if high > low else low + 1,
    )


def _places(order: Sequence[tuple[str, int]], compared: Comparison) -> dict[str, tuple[int, str]]:
    """Return the place of each run on a board, and the places that it shares with its group."""
    if not compared.pairs or len(compared.runs) < len(order):
        return {run: (place, str(place)) for run, place in order}
    apart = {
        frozenset((row["base"], row["run"])) for row in compared.pairs if row["is_significant"]
    }
    groups = board_intervals.groups_of([run for run, _ in order], apart)
    sizes = Counter(groups.values())
    firsts: dict[int, int] = {}
    for run, place in order:
        firsts.setdefault(groups[run], place)
    said = {
        group: f"{first}{_TO}{first + sizes[group] - 1}" if sizes[group] > 1 else str(first)
        for group, first in firsts.items()
    }
    return {run: (place, said[groups[run]]) for run, place in order}


def _board(
    file: WarehouseFile,
    dataset: str,
    protocol: str,
    names: Sequence[str],
    places: Mapping[str, Mapping[str, tuple[int, str]]],
    compute: bool,
) -> tuple[Board, Mapping[str, str]]:
    """Return the board, and the better direction of each metric."""

    def read(ci: bool) -> tuple[LibraryBoard, list[tuple[str, Mapping[str, str] | None]]]:
        with file.read() as con:
            found = leaderboard.leaderboard(
                con, dataset, metrics=names, ci=ci, protocol=protocol, compute=compute
            )
            sql = "select run, tags from runs where dataset = $1"
            return found, con.execute(sql, [dataset]).fetchall()

    notes: tuple[str, ...] = ()
    try:
        found, given = read(ci=True)
    except UsageError as error:
        notes = (f"no intervals: {error}",)
        found, given = read(ci=False)
    tags = {run: tuple(f"{key}={one}" for key, one in (of or {}).items()) for run, of in given}
    records = database.records(found.relation)
    best = {name: _best(name, found.directions[name], records) for name in names}
    rows = tuple(
        BoardRow(
            run=row["run"],
            system=row["system"],
            tags=tags.get(row["run"], ()),
            answered=row["answered"],
            judged=row["judged"],
            cells={
                name: Cell(
                    row[name],
                    row.get(board_intervals.width_of(name)),
                    *places[name][row["run"]],
                    row["run"] in best[name],
                )
                for name in names
            },
        )
        for row in records
    )
    result = presentation.leaderboard(found, protocol)
    texts = {
        "LaTeX": result.to_latex(), "Markdown": result.to_markdown(), "CSV": result.to_csv(),
    }  # fmt: skip
    has_groups = any(_TO in cell.places for row in rows for cell in row.cells.values())
    board = Board(rows, has_groups, not notes, (*result.notes, *notes), texts)
    return board, found.directions


def _best(name: str, direction: str, rows: Sequence[Record]) -> set[str]:
    """Return the runs with the best value, as tables mark them; of a single run none."""
    sign = {"higher": 1, "lower": -1}.get(direction)
    values = {row["run"]: row[name] for row in rows if row[name] is not None}
    if sign is None or len(values) < 2:
        return set()
    rounded = {run: round(sign * value, stored_metrics.DIGITS) for run, value in values.items()}
    return {run for run, value in rounded.items() if value == max(rounded.values())}


def _timeline(
    file: WarehouseFile, dataset: str, metric: str, protocol: str, compute: bool
) -> Timeline:
    with file.read() as con:
        found = history.history(
            con, dataset, metric, protocol=protocol, as_of=None, qrels=None,
            compute=compute,
        )  # fmt: skip
    result = presentation.history(found)
    return Timeline(metric, tuple(database.records(found.relation)), result.notes)


def _comparison(
    file: WarehouseFile, dataset: str, runs: Sequence[str], metric: str, protocol: str
) -> Comparison:
    """Compare every two of the runs, in one family; without SciPy there are no pairs."""
    notes: tuple[str, ...] = ()
    compared = runs[:MOST_COMPARED]
    if len(runs) > MOST_COMPARED:
        notes = (f"compared are the best {MOST_COMPARED} of {counted(len(runs), 'run')}",)
    if len(runs) < 2:
        return Comparison(metric, tuple(compared), (), notes)
    try:
        found = comparison.compare(
            file, dataset, compared, [metric], compare.How(), bases=(), all_pairs=True,
            judged_only=False, judged=False, all_relevant=False, store=False, protocol=protocol,
            as_of=None, qrels=None, on_step=None,
        )  # fmt: skip
    except UsageError as error:
        return Comparison(metric, tuple(compared), (), (*notes, f"no tests: {error}"))
    pairs = tuple(database.records(found.pairs))
    return Comparison(metric, tuple(compared), pairs, (*found.notes, *notes))


def _lists(
    file: WarehouseFile,
    dataset: str,
    metric: str,
    queries: Sequence[str],
    protocol: str,
    depth: int,
) -> dict[str, dict[str, list[tuple[str, float | None, float | None]]]]:
    lists: dict[str, dict[str, list[tuple[str, float | None, float | None]]]] = defaultdict(dict)
    with file.read() as con:
        found = explained_lists.explained_lists(
            con, dataset, metric, queries, top=depth, protocol=protocol
        )
        for run, query, _, document, relevance, part in found.fetchall():
            lists[query].setdefault(run, []).append((document, relevance, part))
    return lists
