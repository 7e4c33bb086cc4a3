"""A board with controls: other metrics, another day or qrels, a slice, a filter, a page of many."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from warehouse.analyze import board_intervals, leaderboard, listings, stored_metrics
from warehouse.errors import UsageError, check_word, counted
from warehouse.metrics import protocols
from warehouse.metrics.catalogue import catalogue
from warehouse.report import presentation
from warehouse.report.pages.contents import (
    Board,
    BoardRow,
    Contents,
    Measure,
    best_runs,
    board_rows,
    measure_of,
    places_of_groups,
)
from warehouse.report.server.snapshot import Snapshot
from warehouse.sql_text.templates import render
from warehouse.store import database

# Rows of a page, and of the longest board that can be copied from its page.
ROWS = 100
_ORDERS = ("run", "answered")
_OFF = "off"


@dataclass(frozen=True)
class View:
    """What a reader has chosen, as in the address of the page."""

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
    def is_now(self) -> bool:
        """Whether the values are the current ones."""
        return not (self.as_of or self.qrels)


def whole(what: str, given: str) -> int | None:
    """Return a number from an address, or None if it is not there."""
    if not given:
        return None
    if not given.isdecimal() or len(given) > 9 or not int(given):
        raise UsageError(f"{what}={given}: write a whole number from 1 on")
    return int(given)


@dataclass(frozen=True)
class _Whole:
    """The whole board of a view: its rows in the order of a metric, and what is said about it."""

    rows: tuple[BoardRow, ...]
    parts: tuple[str, ...]
    measures: tuple[Measure, ...]
    notes: tuple[str, ...]
    texts: Mapping[str, str]
    has_groups: bool
    has_intervals: bool


@dataclass(frozen=True)
class LiveBoard:
    """One page of a board, and what its controls offer."""

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
    """What can be chosen for a dataset."""

    days: tuple[str, ...]
    qrels: tuple[Mapping[str, Any], ...]
    slices: tuple[str, ...]
    metrics: tuple[str, ...]
    protocols: tuple[str, ...]


def choices(snapshot: Snapshot, contents: Contents) -> Choices:
    """Return what can be chosen for a dataset."""

    def read() -> Choices:
        with contents.file.read() as con:
            days = con.execute(render("analyses/changed_days"), {"dataset": contents.dataset})
            shown = tuple(day.isoformat() for (day,) in days.fetchall())
            qrels = database.records(listings.listing(con, "qrels", contents.dataset))
            slices = database.records(listings.slices(con, contents.dataset, None))
        default = snapshot.contents(contents.dataset, contents.protocol)
        return Choices(
            days=shown,
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
    whole_board = snapshot.kept.get(
        ("board", contents.dataset, contents.protocol, contents.names, by, view.as_of, view.version,
         view.slice),
        lambda: _read(snapshot, contents, view, by),
    )  # fmt: skip
    rows = _kept(whole_board.rows, view)
    if sort == "run":
        rows.sort(key=lambda row: row.run)
    elif sort == "answered":
        rows.sort(key=lambda row: -(row.answered or 0))
    if view.reverse:
        rows.reverse()
    num_pages = max(1, -(-len(rows) // ROWS))
    if view.number > num_pages:
        raise UsageError(f"page={view.page}: there are {counted(num_pages, 'page')}")
    first = (view.number - 1) * ROWS
    board = Board(
        tuple(rows[first : first + ROWS]),
        has_groups=whole_board.has_groups,
        has_intervals=whole_board.has_intervals,
        notes=whole_board.notes,
        texts=whole_board.texts,
    )
    everything = whole_board.rows
    return LiveBoard(
        board,
        whole_board.measures,
        sort or by,
        len(everything),
        len(rows),
        first,
        num_pages,
        whole_board.parts,
        tuple(sorted({row.system for row in everything if row.system})),
        tuple(sorted({tag for row in everything for tag in row.tags})),
    )


def _one_name(contents: Contents, given: str) -> str:
    if given in contents.names:
        return given
    with contents.file.read() as con:
        rules = stored_metrics.stored_rules(con, contents.protocol)
        return stored_metrics.one_name(con, [contents.dataset], given, rules)


def _kept(rows: Sequence[BoardRow], view: View) -> list[BoardRow]:
    """Return the rows that a view's filters let through."""
    text = view.text.lower()

    def has_text(row: BoardRow) -> bool:
        return any(text in word.lower() for word in (row.run, row.system or "", *row.tags))

    return [
        row
        for row in rows
        if (not text or has_text(row))
        and view.system in ("", row.system)
        and (not view.tag or view.tag in row.tags)
        and view.part in ("", row.part)
    ]


def _read(snapshot: Snapshot, contents: Contents, view: View, by: str) -> _Whole:
    """Read a board as the command `leaderboard` does."""
    names = contents.names

    def read(con: Any, certain: bool) -> Any:
        return leaderboard.leaderboard(
            con, contents.dataset, metrics=names, slice=view.slice or None, sort=by,
            protocol=contents.protocol, ci=certain, ties=certain,
            as_of=view.as_of or None, qrels=view.version, compute=contents.compute,
        )  # fmt: skip

    notes: tuple[str, ...] = ()
    has_certainty = not view.slice and len(contents.runs) <= board_intervals.MOST
    if has_certainty:
        try:
            with contents.file.read() as con:
                found = read(con, certain=True)
        except UsageError as error:  # what is wrong with more than the intervals is told below
            notes, has_certainty = (f"no intervals: {error}",), False
    elif not view.slice:
        most = board_intervals.MOST
        notes = (f"intervals and tie groups: only on boards of at most {most} runs",)
    if not has_certainty:
        with contents.file.read() as con:
            found = read(con, certain=False)
    tags = _tags(snapshot, contents.dataset)
    records = database.records(found.relation)
    best = {
        name: set() if view.slice else best_runs(name, found.directions[name], records)
        for name in names
    }
    groups = {row["run"]: row[board_intervals.GROUP] for row in records} if has_certainty else {}
    order = [(row["run"], row["place"]) for row in records]
    said = places_of_groups(order, groups) if groups else {}

    def place_of(_: str, row: Mapping[str, Any]) -> tuple[int, str]:
        return row["place"], said.get(row["run"], str(row["place"]))

    rows = board_rows(records, names, tags, place_of, best)
    result = presentation.leaderboard(found, contents.protocol)
    texts = {}
    if len(rows) <= ROWS:
        texts = {
            "LaTeX": result.to_latex(), "Markdown": result.to_markdown(), "CSV": result.to_csv(),
        }  # fmt: skip
    return _Whole(
        rows,
        tuple(dict.fromkeys(row["part"] for row in records)) if view.slice else (),
        tuple(measure_of(name, found.directions[name], rows) for name in names),
        (*result.notes, *notes),
        texts,
        has_groups=len(set(groups.values())) < len(groups),
        has_intervals=has_certainty,
    )


def _tags(snapshot: Snapshot, dataset: str) -> Mapping[str, tuple[str, ...]]:
    def read() -> Mapping[str, tuple[str, ...]]:
        with snapshot.file.read() as con:
            given = con.execute(
                "select run, tags from runs where dataset = $1", [dataset]
            ).fetchall()
        return {run: tuple(f"{key}={one}" for key, one in (of or {}).items()) for run, of in given}

    return snapshot.kept.get(("tags", dataset), read)


def today() -> str:
    """Return the day, which decides what "yesterday" means in an address."""
    return dt.datetime.now(dt.UTC).date().isoformat()
