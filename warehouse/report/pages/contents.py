"""The contents of the pages of a dataset under a protocol, read by the calls of the commands."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf, isinf
from typing import Any, Generic, TypedDict, TypeVar

import duckdb

from warehouse.analyze import (
    board_intervals,
    comparison,
    explained_lists,
    history,
    leaderboard,
    listings,
    paired_tests,
    stored_metrics,
    texts,
)
from warehouse.analyze.dataset_board import Board as LibraryBoard
from warehouse.errors import UsageError, command, counted, listing
from warehouse.evaluate import status
from warehouse.metrics.aggregates import WORDS
from warehouse.metrics.catalogue import ARROWS, MetricTemplate
from warehouse.metrics.notation import Metrics, known_metric
from warehouse.readers.kinds import Subject
from warehouse.report import charts, presentation
from warehouse.report.pages import added, analyses, reference
from warehouse.report.pages.past_file import NOW, PastFile, Then
from warehouse.sql_text.templates import render
from warehouse.store import database, datasets
from warehouse.store.file import WarehouseFile

# The most runs of which every two are compared; of more, the best ones by the first metric are.
MOST_COMPARED = board_intervals.MOST
# As many rows of a board are on one page; more are only on boards that are not compared whole.
ROWS = 100
# The most versions of runs that a history shows apart from the records, the newest ones.
MOST_TIMES = 300
# The most predictions of runs without values for which a page computes values that nobody asked for.
MOST_COMPUTED = 1_000_000
# The most queries that have pages; of more, those in which the runs differ most have.
MOST_QUERIES = 2_000
Record = Mapping[str, Any]
# Values of the metrics, in their order; and a listed document, its relevance, and its part in the
# query's value of the first metric.
Values = tuple[float | None, ...]
Listed = tuple[str, float | None, float | None]
Lists = Mapping[str, Sequence[Listed]]
# A run without a value: its number on the board, and how that is shown.
UNRANKED = None, "\N{EN DASH}"
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
    place: int | None
    places: str
    is_best: bool


@dataclass(frozen=True)
class BoardRow:
    """A run on the board, or on a part of a slice, with a cell for each metric."""

    run: str
    system: str | None
    tags: tuple[str, ...]
    answered: int
    judged: int
    cells: Mapping[str, Cell]
    part: str | None = None


@dataclass(frozen=True)
class Board:
    """The board in the order of the first metric, with the notes for people below it.

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
    without_relevant: tuple[str, ...] = ()


@dataclass(frozen=True)
class Timeline:
    """The values of a metric over time; `rows` are as `Warehouse.history` has them.

    `chart` is None if there is no value.
    """

    metric: str
    rows: tuple[Record, ...]
    notes: tuple[str, ...]
    chart: charts.Spec | None

    @property
    def shown(self) -> Sequence[Record]:
        """The records and the newest other rows, in their order."""
        first = len(self.rows) - MOST_TIMES
        return [row for place, row in enumerate(self.rows) if place >= first or row["is_record"]]


@dataclass(frozen=True)
class PlainBoard:
    """A board as the library has it, its rows, and the places of each run by each metric."""

    board: LibraryBoard
    records: tuple[Record, ...]
    places: Mapping[str, tuple[int, ...]]


class Past(TypedDict):
    """The arguments of the library's calls that show a state."""

    as_of: str | None
    qrels: int | None


_T = TypeVar("_T")


class _once(Generic[_T]):  # noqa: N801
    """A property that is read when it is first asked for, once, whichever thread asks."""

    def __init__(self, read: Callable[[Any], _T]) -> None:
        self.read, self.name, self.__doc__ = read, read.__name__, read.__doc__

    def __get__(self, contents: Contents, kind: type[Contents]) -> _T:
        with contents.reading:
            if self.name not in contents.__dict__:
                contents.__dict__[self.name] = self.read(contents)
        found: _T = contents.__dict__[self.name]
        return found


class Contents:
    """The contents of the pages of a dataset under a protocol; each thing is read when a page needs it.

    `names` are the metrics, asked for by somebody or the stored ones. With `compute`, values that are
    not stored are computed. A report needs everything, so that it reads the values of all runs and
    queries at once; with `one_by_one`, each page reads its own. Texts of queries and documents are
    shown `with_text`. The state is `then`; `days` are the days on which a board changed, if
    others can be asked for.
    """

    def __init__(
        self,
        file: WarehouseFile,
        dataset: str,
        protocol: str,
        names: Sequence[str],
        *,
        compute: bool,
        is_asked: bool,
        depth: int,
        one_by_one: bool = False,
        with_text: bool = False,
        then: Then = NOW,
        days: Sequence[str] = (),
    ) -> None:
        self.with_text, self.then, self.days = with_text, then, days
        self.past: Past = {"as_of": then.as_of or None, "qrels": then.qrels}
        self.file, self.dataset, self.protocol = file, dataset, protocol
        self.names, self.compute, self.depth = tuple(names), compute, depth
        self.is_asked, self.one_by_one = is_asked, one_by_one
        self.reading = threading.RLock()
        self._near: tuple[int, Mapping[str, Mapping[str, Values]]] = 0, {}
        self._asked = {"dataset": dataset, "protocol": protocol}

    def read_all(self) -> None:
        """Read all that a report needs now, so that rows stored meanwhile change no page."""
        for name, kept in vars(Contents).items():
            if isinstance(kept, _once):
                getattr(self, name)
        for name in self.names:
            self.comparison(name)

    @contextmanager
    def _read(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file, with the values computed for the pages."""
        with self.file.read() as con:
            if self.compute:
                rules = stored_metrics.stored_rules(con, self.protocol)
                stored_metrics.with_missing(con, [self.dataset], self.names, rules)
            yield con

    @_once
    def about(self) -> Record:
        """The dataset."""
        with self.file.read() as con:
            return _row(listings.all_datasets(con), dataset=self.dataset)

    @_once
    def has_lists(self) -> bool:
        """Whether the file has the lists and judgments; one that was made from a lake has none."""
        with self.file.read() as con:
            return not database.is_collected(con)

    @_once
    def qrels(self) -> Record:
        """The current qrels."""
        with self.file.read() as con:
            return _row(listings.listing(con, "qrels", self.dataset), is_current=True)

    @_once
    def _plain_board(self) -> PlainBoard:
        """The stored values of the runs, without intervals, and their places by each metric."""
        with self.file.read() as con:
            found = leaderboard.leaderboard(
                con, self.dataset, metrics=self.names, sort=self.names[0], protocol=self.protocol,
                compute=self.compute, **self.past,
            )  # fmt: skip
            sql = render(
                "analyses/board_places", board=found.relation.alias,
                metrics=[(name, found.directions[name] == "lower") for name in self.names],
            )  # fmt: skip
            places = {str(run): tuple(of) for run, *of in con.execute(sql).fetchall()}
            return PlainBoard(found, tuple(database.records(found.relation)), places)

    @_once
    def runs(self) -> list[str]:
        """The runs in the order of the board."""
        return list(self._plain_board.places)

    @_once
    def without_place(self) -> tuple[str, ...]:
        """The current runs that have no value on the board, as there are very many to compute."""
        if not self.then.is_now:
            return ()
        with self.file.read() as con:
            rows = con.execute(
                "select run from run_version where dataset = $1 and is_current order by run",
                [self.dataset],
            ).fetchall()
        return tuple(run for (run,) in rows if run not in self._plain_board.places)

    @property
    def not_evaluated(self) -> tuple[str, ...]:
        """A note that names the current runs that have no value on the board, if there are any."""
        if not self.without_place:
            return ()
        missing = listing(self.without_place, 5)
        how = command("evaluate", self.dataset, protocol=self.protocol, metrics=self.names)
        return (f"not evaluated, and without a place here: {missing}; to compute: {how}",)

    @property
    def is_long(self) -> bool:
        """Whether the board is so long that it has no intervals and groups, and several pages."""
        return len(self.runs) > MOST_COMPARED

    @_once
    def places(self) -> Mapping[str, Mapping[str, tuple[int, str]]]:
        """By metric and run: its place, and the places of those that it cannot be told apart from."""
        found = {}
        for number, name in enumerate(self.names):
            order = sorted((of[number], run) for run, of in self._plain_board.places.items())
            compared = self.comparison(name) if len(order) <= MOST_COMPARED else None
            found[name] = _places([(run, place) for place, run in order], compared)
        return found

    @_once
    def _board(self) -> Board:
        plain = self._plain_board
        if self.is_long:
            most = f"intervals and tie groups: only on boards of at most {MOST_COMPARED} runs"
            return _board_of(self, plain.board, plain.records, (most,))
        try:
            with self.file.read() as con:
                found = leaderboard.leaderboard(
                    con, self.dataset, metrics=self.names, ci=True, protocol=self.protocol,
                    compute=self.compute, **self.past,
                )  # fmt: skip
                return _board_of(self, found, database.records(found.relation), ())
        except UsageError as error:
            return _board_of(self, plain.board, plain.records, (f"no intervals: {error}",))

    @_once
    def board(self) -> Board:
        """The board in the order of the first metric."""
        return self._board

    @_once
    def measures(self) -> tuple[Measure, ...]:
        """The metrics."""
        board = self._plain_board
        values = {
            name: [row[name] for row in board.records if row[name] is not None]
            for name in self.names
        }
        return tuple(
            measure_of(
                name, board.board.directions[name],
                min(values[name], default=None), max(values[name], default=None),
            )
            for name in self.names
        )  # fmt: skip

    @_once
    def tags(self) -> Mapping[str, tuple[str, ...]]:
        """The tags of the runs that have any."""
        with self.file.read() as con:
            given = con.execute(
                "select run, tags from runs where dataset = $1 and tags is not null", [self.dataset]
            ).fetchall()
        return {run: tuple(f"{key}={one}" for key, one in of.items()) for run, of in given}

    @_once
    def versions(self) -> Mapping[str, Sequence[Record]]:
        """All versions of each run."""
        versions: dict[str, list[Record]] = defaultdict(list)
        with self.file.read() as con:
            for row in database.records(listings.run_versions(con, self.dataset, None)):
                versions[row["run"]].append(row)
        return versions

    @_once
    def numbers(self) -> Mapping[str, Mapping[str, Record]]:
        """The provenance of each current value and the queries that it leaves out, by run and metric."""
        numbers: dict[str, dict[str, Record]] = defaultdict(dict)
        with self._read() as con:
            for row in _records(con, "analyses/current_values", self._asked):
                numbers[row["run"]][row["metric"]] = row | {"left_out": {}}
            left_out = render("analyses/left_out_queries", of_one=False)
            for row in database.records(database.keep(con, left_out, self._asked)):
                examples = row["queries"], row["first_queries"]
                numbers[row["run"]][row["metric"]]["left_out"][row["why"]] = examples
        return numbers

    @_once
    def queries(self) -> tuple[Record, ...]:
        """The queries; of very many those in which the runs differ most."""
        asked = self._asked | {"metric": self.names[0], "most": MOST_QUERIES}
        with self._read() as con:
            return tuple(_records(con, "analyses/query_difficulty", asked))

    @property
    def listed_runs(self) -> Sequence[str]:
        """The runs on the pages of queries: the best ones of very many."""
        return self.runs[:MOST_COMPARED]

    @_once
    def _all_values(self) -> Mapping[str, Mapping[str, Values]]:
        return self._values([query["query_id"] for query in self.queries], self.listed_runs)

    @_once
    def _all_lists(self) -> Mapping[str, Lists]:
        return self._lists([query["query_id"] for query in self.queries])

    @_once
    def query_texts(self) -> Mapping[str, texts.Text]:
        """The texts of the queries, if they are shown."""
        return self._texts("query", [query["query_id"] for query in self.queries])

    @_once
    def _all_document_texts(self) -> Mapping[str, texts.Text]:
        return {} if self.one_by_one else self._texts("document", _documents(self._all_lists))

    @_once
    def timelines(self) -> tuple[Timeline, ...]:
        """The values of each metric over time."""
        return tuple(self.timeline(name) for name in self.names)

    @_once
    def _kept_timelines(self) -> dict[str, Timeline]:
        return {}

    def timeline(self, metric: str) -> Timeline:
        """Return the values of a metric over time."""
        with self.reading:
            if metric not in self._kept_timelines:
                self._kept_timelines[metric] = _timeline(
                    self.file, self.dataset, metric, self.protocol, self.is_asked, self.past
                )
            return self._kept_timelines[metric]

    @_once
    def _comparisons(self) -> dict[str, Comparison]:
        return {}

    @_once
    def kinds(self) -> Record:
        """Which further pages have something to show."""
        with self.file.read() as con:
            return analyses.kinds(con, self.dataset, self.protocol)

    @_once
    def gates(self) -> tuple[analyses.Gate, ...]:
        """The newest verdicts of gates under this protocol."""
        with self.file.read() as con:
            runs = database.records(listings.listing(con, "runs", self.dataset))
            found = analyses.gates(con, runs)
        return tuple(gate for gate in found if gate.verdict["protocol"] == self.protocol)

    @_once
    def fusions(self) -> Mapping[str, analyses.Fused]:
        """The merged runs."""
        with self.file.read() as con:
            return analyses.fusions(con, self.dataset)

    @_once
    def slices(self) -> tuple[analyses.Slice, ...]:
        """The slices with values."""
        with self.file.read() as con:
            return analyses.slices(con, self.dataset, self.protocol, self.names)

    @_once
    def curves(self) -> tuple[analyses.Curve, ...]:
        """The stored curves."""
        with self.file.read() as con:
            return analyses.curves_of(con, self.dataset, self.protocol, self.runs)

    @_once
    def agreement_of_runs(self) -> analyses.Matrix | None:
        """How much the lists of the best runs agree."""
        with self.file.read() as con:
            return analyses.agreement_of_runs(
                con, self.dataset, self.runs, self.protocol, self.depth
            )

    @_once
    def agreement_of_metrics(self) -> analyses.Matrix | None:
        """How much the metrics agree on the order of the runs."""
        with self._read() as con:
            return analyses.agreement_of_metrics(con, self.dataset, self.names, self.protocol)

    @_once
    def holes(self) -> analyses.Holes | None:
        """The documents to judge next."""
        with self.file.read() as con:
            return analyses.holes_of(con, self.dataset, self.protocol)

    @_once
    def imported(self) -> Sequence[Record]:
        """The values that other programs computed."""
        with self.file.read() as con:
            return analyses.imported(con, self.dataset)

    @_once
    def added(self) -> Mapping[str, added.Page]:
        """The pages of extensions by name."""
        return added.made(self) if self.kinds["judgments"] else {}

    def comparison(self, metric: str) -> Comparison:
        """Return every two of the runs compared by a metric."""
        with self.reading:
            if metric not in self._comparisons:
                self._comparisons[metric] = _comparison(
                    self.file, self.dataset, self.runs, metric, self.protocol, self.past
                )
            return self._comparisons[metric]

    def values_of_query(self, query: str) -> Mapping[str, Values]:
        """Return the values of the metrics, in their order, of each run on a query."""
        found = self._values([query], self.listed_runs) if self.one_by_one else self._all_values
        return found.get(query, {})

    def values_of_run(self, run: str) -> Mapping[str, Values]:
        """Return the values of the metrics, in their order, of a run on each query."""
        chosen = [query["query_id"] for query in self.queries]
        found = self._values(chosen, [run]) if self.one_by_one else self._values_near(run)
        return {query: found[query][run] for query in chosen if run in found.get(query, {})}

    def _values_near(self, run: str) -> Mapping[str, Mapping[str, Values]]:
        """Return the values of a run and those that follow it on the board, which come next."""
        first = self.runs.index(run) // MOST_COMPARED * MOST_COMPARED
        if not first:
            return self._all_values
        with self.reading:
            if self._near[0] != first:
                chosen = [query["query_id"] for query in self.queries]
                block = self.runs[first : first + MOST_COMPARED]
                self._near = first, self._values(chosen, block)
            return self._near[1]

    def values(self) -> Mapping[str, Mapping[str, Values]]:
        """Return the values of the metrics, in their order, by query and run."""
        return self._all_values

    def lists(self, query: str) -> Lists:
        """Return the first documents of each run on a query."""
        found = self._lists([query]) if self.one_by_one else self._all_lists
        return found.get(query, {})

    def document_texts(self, query: str) -> Mapping[str, texts.Text]:
        """Return the texts of the listed documents of a query, if they are shown."""
        if self.one_by_one:
            return self._texts("document", _documents({query: self.lists(query)}))
        return self._all_document_texts

    @property
    def num_queries(self) -> int:
        """Return how many queries have values, of which `queries` may be only some."""
        return int(self.queries[0]["num_queries"]) if self.queries else 0

    def _values(
        self, queries: Sequence[str], runs: Sequence[str] | None
    ) -> Mapping[str, Mapping[str, Values]]:
        values: dict[str, dict[str, Values]] = defaultdict(dict)
        sql = render("analyses/current_query_values", metrics=self.names, is_of_runs=bool(runs))
        asked: dict[str, object] = self._asked | {"queries": queries}
        asked |= {"runs": runs} if runs else {}
        with self._read() as con:
            for query, run, *of_run in con.execute(sql, asked).fetchall():
                values[query][run] = tuple(of_run)
        return values

    def _texts(self, subject: Subject, ids: Sequence[str]) -> Mapping[str, texts.Text]:
        if not self.with_text:
            return {}
        with self.file.read() as con:
            return texts.texts(con, self.dataset, subject, ids)

    def _lists(self, queries: Sequence[str]) -> Mapping[str, Lists]:
        lists: dict[str, dict[str, list[Listed]]] = defaultdict(dict)
        with self.file.read() as con:
            found = explained_lists.explained_lists(
                con, self.dataset, self.names[0], queries, top=self.depth,
                protocol=self.protocol, runs=self.listed_runs,
            )  # fmt: skip
            for run, query, _, document, relevance, part in found.fetchall():
                lists[query].setdefault(run, []).append((document, relevance, part))
        return lists


@dataclass(frozen=True)
class State:
    """The contents of the database: datasets, newest runs, stale values; `evaluated` has protocols.

    `relations` are its views and tables.
    """

    datasets: tuple[Record, ...]
    runs: tuple[Record, ...]
    due: tuple[Record, ...]
    commands: tuple[str, ...]
    evaluated: Mapping[str, tuple[str, ...]]
    gates: tuple[analyses.Gate, ...]
    relations: tuple[reference.Relation, ...]


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
        gates=analyses.gates(con, runs),
        relations=reference.relations(con),
    )


def contents(
    file: WarehouseFile,
    dataset: str,
    protocol: str,
    *,
    metrics: Metrics = (),
    depth: int = 20,
    one_by_one: bool = False,
    with_text: bool = False,
    then: Then = NOW,
    days: Sequence[str] = (),
) -> Contents | None:
    """Return the contents of the pages of a dataset under a protocol; None if it has no current values.

    Raises UsageError for a past state without values.
    """
    if not then.is_now:
        file = PastFile(file, dataset, then)
    with file.read() as con:
        rules = stored_metrics.stored_rules(con, protocol)
        names = stored_metrics.names(con, [dataset], metrics, rules)
        names = names or stored_metrics.with_values(con, [dataset], rules)
        if not names and not then.is_now:  # says what is missing
            stored_metrics.evaluated_metrics(con, dataset, rules)
        asked = {"dataset": dataset, "protocol": protocol, "metrics": names}
        ((lacking,),) = con.execute(render("analyses/lacking_predictions"), asked).fetchall()
    if not names:
        return None
    # what is missing is computed as by the command, by each call for a connection of its own
    found = Contents(
        file,
        dataset,
        protocol,
        names,
        compute=bool(metrics) or (then.is_now and lacking <= MOST_COMPUTED),
        is_asked=bool(metrics),
        depth=depth,
        one_by_one=one_by_one,
        with_text=with_text,
        then=then,
        days=days,
    )
    return found if found.runs else None


def _documents(lists: Mapping[str, Lists]) -> list[str]:
    """Return the documents of some lists, each once."""
    found = (document for of in lists.values() for one in of.values() for document, *_ in one)
    return list(dict.fromkeys(found))


def _records(con: duckdb.DuckDBPyConnection, template: str, asked: Record) -> list[dict[str, Any]]:
    return database.records(database.keep(con, render(template), asked))


def _row(relation: duckdb.DuckDBPyRelation, **wanted: object) -> dict[str, Any]:
    """Return the first row of a relation with such values."""
    rows = database.records(relation)
    return next(row for row in rows if all(row[key] == value for key, value in wanted.items()))


def metric_title(name: str) -> str:
    """Return the names of a metric; one that is gone has only its name."""
    metric = known_metric(name)
    return name if metric is None else metric.definition.title


def measure_of(name: str, direction: str, lowest: float | None, highest: float | None) -> Measure:
    """Return a metric; bars of one without bounds end at its lowest and highest values."""
    metric = known_metric(name)
    definition = None if metric is None else metric.definition
    low, high = definition.range if isinstance(definition, MetricTemplate) else (-inf, inf)
    low = (0.0 if lowest is None else lowest) if isinf(low) else low
    high = (1.0 if highest is None else highest) if isinf(high) else high
    return Measure(
        name=name,
        title=metric_title(name),
        direction=direction,
        is_count=metric is not None and metric.is_count,
        over_queries="" if metric is None else WORDS[metric.aggregate],
        low=low,
        high=high if high > low else low + 1,
    )


def _places(
    order: Sequence[tuple[str, int]], compared: Comparison | None
) -> dict[str, tuple[int, str]]:
    """Return the place of each run on a board, and the places that it shares with its group."""
    if compared is None or not compared.pairs:
        return {run: (place, str(place)) for run, place in order}
    apart = {
        frozenset((row["base"], row["run"])) for row in compared.pairs if row["is_significant"]
    }
    shared = places_of_groups(order, board_intervals.groups_of([run for run, _ in order], apart))
    return {run: (place, shared[run]) for run, place in order}


def places_of_groups(order: Sequence[tuple[str, int]], groups: Mapping[str, int]) -> dict[str, str]:
    """Return the places of the group of each run, from the first to the last.

    >>> places_of_groups([("a", 1), ("b", 2), ("c", 3)], {"a": 1, "b": 2, "c": 3})
    {'a': '1', 'b': '2', 'c': '3'}
    """
    sizes = Counter(groups.values())
    firsts: dict[int, int] = {}
    for run, place in order:
        firsts.setdefault(groups[run], place)
    ranges = {
        group: f"{first}{_TO}{first + sizes[group] - 1}" if sizes[group] > 1 else str(first)
        for group, first in firsts.items()
    }
    return {run: ranges[groups[run]] for run, _ in order}


def board_rows(
    records: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    tags: Mapping[str, tuple[str, ...]],
    place_of: Callable[[str, Mapping[str, Any]], tuple[int | None, str]],
    best: Mapping[str, Collection[str]],
) -> tuple[BoardRow, ...]:
    """Return the rows of a board, from records of `leaderboard`.

    `place_of` gives the place of a row by a metric, as a number and as it is shown.
    `best` has the runs that are marked, by metric.
    """
    return tuple(
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
                    *place_of(name, row),
                    row["run"] in best[name],
                )
                for name in names
            },
            part=row.get("part"),
        )
        for row in records
    )


def _board_of(
    contents: Contents, found: LibraryBoard, records: Sequence[Record], notes: tuple[str, ...]
) -> Board:
    """Return the board that a reading of the library is shown as; a long one without texts."""
    names, places = contents.names, contents.places
    best = {name: best_runs(name, found.directions[name], records) for name in names}

    def ranked(name: str, row: Record) -> tuple[int | None, str]:
        return UNRANKED if row[name] is None else places[name][row["run"]]

    rows = board_rows(records, names, contents.tags, ranked, best)
    result = presentation.leaderboard(found, contents.protocol)
    texts = {} if contents.is_long else {
        "LaTeX": result.to_latex(), "Markdown": result.to_markdown(), "CSV": result.to_csv(),
    }  # fmt: skip
    has_groups = any(_TO in text for of in places.values() for _, text in of.values())
    has_intervals = board_intervals.width_of(names[0]) in found.relation.columns
    return Board(rows, has_groups, has_intervals, (*result.notes, *notes), texts)


def best_runs(name: str, direction: str, rows: Sequence[Record]) -> set[str]:
    """Return the runs with the best value, as tables mark them; of a single run none."""
    sign = {"higher": 1, "lower": -1}.get(direction)
    values = {row["run"]: row[name] for row in rows if row[name] is not None}
    if sign is None or len(values) < 2:
        return set()
    rounded = {run: round(sign * value, stored_metrics.DIGITS) for run, value in values.items()}
    best = max(rounded.values())
    return {run for run, value in rounded.items() if value == best}


def _timeline(
    file: WarehouseFile, dataset: str, metric: str, protocol: str, compute: bool, then: Past
) -> Timeline:
    with file.read() as con:
        found = history.history(
            con, dataset, metric, protocol=protocol, compute=compute, **then
        )  # fmt: skip
    result = presentation.history(found)
    rows = tuple(database.records(found.relation))
    has_values = any(row["value"] is not None for row in rows)
    return Timeline(metric, rows, result.notes, charts.history(found) if has_values else None)


def _comparison(
    file: WarehouseFile, dataset: str, runs: Sequence[str], metric: str, protocol: str, then: Past
) -> Comparison:
    """Compare every two of the runs, in one family; a metric that is no hypothesis has no pairs."""
    notes: tuple[str, ...] = ()
    compared = runs[:MOST_COMPARED]
    if len(runs) > MOST_COMPARED:
        notes = (f"compared are the best {MOST_COMPARED} of {counted(len(runs), 'run')}",)
    if len(runs) < 2:
        return Comparison(metric, tuple(compared), (), notes)
    try:
        found = comparison.compare(
            file, dataset, compared, [metric], paired_tests.How(variance=True), bases=(), all_pairs=True,
            judged_only=False, judged=False, all_relevant=False, store=False, protocol=protocol,
            on_step=None, **then,
        )  # fmt: skip
    except UsageError as error:
        return Comparison(metric, tuple(compared), (), (*notes, f"no tests: {error}"))
    pairs = tuple(database.records(found.pairs))
    every_note = (*found.notes, *notes)
    return Comparison(metric, tuple(compared), pairs, every_note, found.without_relevant)
