"""A board with controls: other metrics, another day or qrels, a slice, a filter, a page of many."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

import duckdb

from warehouse.analyze import board_intervals, leaderboard, listings, stored_metrics
from warehouse.analyze.dataset_board import Board as LibraryBoard
from warehouse.errors import UsageError, check_word, counted
from warehouse.extensions.server.snapshot import Snapshot
from warehouse.metrics import protocols
from warehouse.metrics.catalogue import catalogue
from warehouse.report import presentation
from warehouse.report.pages.contents import (
    ROWS,
    UNRANKED,
    Board,
    Contents,
    Measure,
    board_rows,
    measure_of,
    places_of_groups,
)
from warehouse.report.pages.past_file import Then
from warehouse.sql_text.quoting import ident
from warehouse.sql_text.templates import render
from warehouse.store import database

_ORDERS = ("run", "answered")
# The tables that hold a board, and the tags of its runs, on a connection.
_BOARD, _TAGGED = "temp.main.live_board", "temp.main.tagged_run"


@dataclass(frozen=True)
class View:
    """The reader's choices, as in the address of the page."""

    metric: tuple[str, ...] = ()
    sort: str = ""
    reverse: str = ""
    text: str = ""
    system: str = ""
    tag: str = ""
    as_of: str = ""
    qrels: str = ""
    slice: str = ""
    part: str = ""
    groups: str = ""
    intervals: str = ""
    page: str = ""

    @classmethod
    def of(cls, asked: Sequence[tuple[str, str]]) -> View:
        """Return the view that the words after ? in an address ask for; others are refused."""
        given: dict[str, Any] = {}
        known = [field.name for field in fields(cls)]
        for name, value in asked:
            check_word("parameter", name, known)
            if name == "metric":
                given[name] = (*given.get(name, ()), *([value] if value else []))
            else:
                given[name] = value.strip()
        return cls(**given)

    def link(self, **changes: Any) -> str:
        """Return the address, from ? on, of this view with changes."""
        changed = replace(self, **{"page": ""} | changes)
        words = {field.name: getattr(changed, field.name) for field in fields(changed)}
        return "?" + urlencode({name: word for name, word in words.items() if word}, doseq=True)

    @property
    def number(self) -> int:
        """The number of the page."""
        return whole("page", self.page) or 1

    @property
    def version(self) -> int | None:
        """The version of the qrels; None is the current one."""
        return whole("qrels", self.qrels)

    @property
    def then(self) -> Then:
        """The state that is shown."""
        return Then(self.as_of, self.version)


def whole(what: str, given: str) -> int | None:
    """Return a number from an address, or None if it is not there."""
    if not given:
        return None
    if not given.isdecimal() or len(given) > 9 or not int(given):
        raise UsageError(f"{what}={given}: write a whole number from 1 on")
    return int(given)


def then(words: Sequence[tuple[str, str]]) -> Then:
    """Return the state that the words of an address ask for."""
    given = dict(words)
    return Then(given.get("as_of", "").strip(), whole("qrels", given.get("qrels", "").strip()))


@dataclass(frozen=True)
class _Whole:
    """The whole board of a state, as a table on a connection of its own, and its notes.

    With `group_places`, its rows are in the order of one metric, and runs that do not differ share
    places; else they have an order by each metric.
    """

    con: duckdb.DuckDBPyConnection
    reading: threading.Lock
    total: int
    parts: tuple[str, ...]
    systems: tuple[str, ...]
    tags: tuple[str, ...]
    measures: tuple[Measure, ...]
    best: Sequence[tuple[str, float]]
    group_places: Mapping[str, str]
    notes: tuple[str, ...]
    texts: Mapping[str, str]
    has_intervals: bool

    @property
    def has_groups(self) -> bool:
        """Whether some runs share their places."""
        return len(set(self.group_places.values())) < len(self.group_places)


@dataclass(frozen=True)
class LiveBoard:
    """One page of a board, and the choices of its controls."""

    board: Board
    measures: tuple[Measure, ...]
    sorted_by: str
    total: int
    num_found: int
    first: int
    num_pages: int
    parts: tuple[str, ...]
    systems: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Choices:
    """The choices for a dataset."""

    days: tuple[str, ...]
    qrels: tuple[Mapping[str, Any], ...]
    slices: tuple[str, ...]
    metrics: tuple[str, ...]
    protocols: tuple[str, ...]


def choices(snapshot: Snapshot, contents: Contents) -> Choices:
    """Return the choices for a dataset."""

    def read() -> Choices:
        with snapshot.file.read() as con:
            qrels = database.records(listings.listing(con, "qrels", contents.dataset))
            slices = database.records(listings.slices(con, contents.dataset, None))
        default = snapshot.contents(contents.dataset, contents.protocol)
        return Choices(
            days=snapshot.days(contents.dataset),
            qrels=tuple(sorted(qrels, key=lambda row: -row["version"])),
            slices=tuple(dict.fromkeys(row["slice"] for row in slices)),
            metrics=() if default is None else default.names,
            protocols=tuple(protocols.catalogue()),
        )

    return snapshot.kept.get(("choices", contents.dataset, contents.protocol), read)


def metric_names() -> list[str]:
    """Return the names of metrics, for a field in which others can be written."""
    return sorted(catalogue(), key=str.lower)


def live_board(snapshot: Snapshot, contents: Contents, view: View) -> LiveBoard:
    """Return one page of the board that a view asks for. Raises UsageError for wrong words."""
    sort = view.sort if view.sort in (*_ORDERS, "") else _one_name(contents, view.sort)
    by = contents.names[0] if sort in (*_ORDERS, "") else sort
    if by not in contents.names:
        raise UsageError(
            f"sort={view.sort}: is not on this board; it has {', '.join(contents.names)}"
        )
    # long boards have no intervals and groups, so that one reading serves every order
    kept_by = by if len(contents.runs) <= board_intervals.MOST else ""
    whole_board = snapshot.kept.get(
        ("board", contents.dataset, contents.protocol, contents.names, kept_by, view.as_of,
         view.version, view.slice),
        lambda: _read(snapshot, contents, view, kept_by),
    )  # fmt: skip
    first = (view.number - 1) * ROWS
    records, num_found = _page(whole_board, view, by, sort or by, first)
    num_pages = max(1, -(-num_found // ROWS))
    if view.number > num_pages:
        raise UsageError(f"page={view.page}: there are {counted(num_pages, 'page')}")
    tags = {row["run"]: tuple(row["page_tags"] or ()) for row in records}
    best = {
        name: {row["run"] for row in records if name in row["page_best"]} for name in contents.names
    }

    def place_of(_: str, row: Mapping[str, Any]) -> tuple[int | None, str]:
        if row[by] is None:
            return UNRANKED
        place = row["page_place"]
        return place, whole_board.group_places.get(row["run"], str(place))

    rows = board_rows(records, contents.names, tags, place_of, best)
    return LiveBoard(
        Board(
            rows, whole_board.has_groups, whole_board.has_intervals, whole_board.notes,
            whole_board.texts,
        ),
        whole_board.measures,
        sort or by,
        whole_board.total,
        num_found,
        first,
        num_pages,
        whole_board.parts,
        whole_board.systems,
        whole_board.tags,
    )  # fmt: skip


def _page(
    whole_board: _Whole, view: View, by: str, sort: str, first: int
) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of one page, and how many the filters let through."""
    directions = {measure.name: measure.direction for measure in whole_board.measures}
    sql = render(
        "server/board_page", board=_BOARD, runs=_TAGGED, metric=by, sort=sort,
        lower_is_better=directions[by] == "lower", reverse=bool(view.reverse), marked=whole_board.best,
        has_parts=bool(view.slice),
    )  # fmt: skip
    asked = {
        "text": view.text.lower(), "system": view.system, "tag": view.tag,
        **({"part": view.part} if view.slice else {}),
    }  # fmt: skip

    def rows(most: int, skipped: int) -> list[dict[str, Any]]:
        with whole_board.reading:
            found = whole_board.con.execute(sql, asked | {"most": most, "skipped": skipped})
            columns = [column[0] for column in found.description]
            return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]

    records = rows(ROWS, first)
    there = records or (rows(1, 0) if first else [])
    return records, there[0]["num_found"] if there else 0


def read_ahead(snapshot: Snapshot) -> None:
    """Read the boards that nobody has chosen anything on, and what is not much of the other pages."""
    for contents in snapshot.all_contents():
        live_board(snapshot, contents, View())
        choices(snapshot, contents)
    snapshot.read_ahead()


def _one_name(contents: Contents, given: str) -> str:
    if given in contents.names:
        return given
    with contents.file.read() as con:
        rules = stored_metrics.stored_rules(con, contents.protocol)
        return stored_metrics.one_name(con, [contents.dataset], given, rules)


def _read(snapshot: Snapshot, contents: Contents, view: View, by: str) -> _Whole:
    """Read a board as the command `leaderboard` does, by one metric or, with "", by any."""
    names = contents.names

    @contextmanager
    def read(certain: bool) -> Iterator[tuple[duckdb.DuckDBPyConnection, LibraryBoard]]:
        with snapshot.file.read() as con:
            yield con, leaderboard.leaderboard(
                con, contents.dataset, metrics=names, slice=view.slice or None, sort=by or None,
                protocol=contents.protocol, ci=certain, ties=certain,
                as_of=view.as_of or None, qrels=view.version, compute=contents.compute,
            )  # fmt: skip

    notes: tuple[str, ...] = ()
    if by and not view.slice:
        try:
            with read(certain=True) as (con, found):
                return _whole(con, found, contents, view, ())
        except UsageError as error:  # errors in more than the intervals are raised below
            notes = (f"no intervals: {error}",)
    elif not view.slice:
        most = board_intervals.MOST
        notes = (f"intervals and tie groups: only on boards of at most {most} runs",)
    with read(certain=False) as (con, found):
        return _whole(con, found, contents, view, notes)


def _whole(
    con: duckdb.DuckDBPyConnection,
    found: LibraryBoard,
    contents: Contents,
    view: View,
    notes: tuple[str, ...],
) -> _Whole:
    """Keep a board on its connection."""
    names, relation = contents.names, found.relation
    dataset = {"dataset": contents.dataset}
    result = presentation.leaderboard(found, contents.protocol)
    every_note = (*result.notes, *notes)
    database.keep(con, f"from {relation.alias}", name="live_board")
    database.keep(
        con, "select run, tags from runs where dataset = $dataset", dataset, name="tagged_run"
    )
    ((total,),) = relation.count("*").fetchall()
    metrics = [(name, found.directions[name]) for name in names]
    bounds = con.execute(render("server/board_bounds", board=_BOARD, metrics=metrics)).fetchall()
    group_places: Mapping[str, str] = {}
    if board_intervals.GROUP in relation.columns:
        rows = relation.project(f"run, place, {ident(board_intervals.GROUP)}").fetchall()
        group_places = places_of_groups(
            [(run, place) for run, place, _ in rows], {run: group for run, _, group in rows}
        )
    texts = {}
    if total <= ROWS:
        texts = {
            "LaTeX": result.to_latex(), "Markdown": result.to_markdown(), "CSV": result.to_csv(),
        }  # fmt: skip
    words = con.execute(render("server/board_words", board=_BOARD, runs=_TAGGED)).fetchall()
    parts: list[str] = []
    if view.slice:
        parts = list(dict.fromkeys(str(part) for (part,) in relation.project("part").fetchall()))
    return _Whole(
        con,
        threading.Lock(),
        total,
        tuple(parts),
        tuple(word for kind, word in words if kind == "system"),
        tuple(word for kind, word in words if kind == "tag"),
        tuple(
            measure_of(name, direction, lowest, highest)
            for (name, direction), (_, lowest, highest, _) in zip(metrics, bounds, strict=True)
        ),
        [
            (name, best)
            for name, (*_, best) in zip(names, bounds, strict=True)
            if best is not None and not view.slice
        ],
        group_places,
        every_note,
        texts,
        board_intervals.width_of(names[0]) in relation.columns,
    )


def today() -> str:
    """Return the day, which decides what "yesterday" means in an address."""
    return dt.datetime.now(dt.UTC).date().isoformat()
