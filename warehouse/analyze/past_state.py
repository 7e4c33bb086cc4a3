"""The warehouse at an earlier moment, against an older version of the qrels, and with some runs.

Readers need not know about it: views in place of the catalogue's tables cut them to what was there
then, and the file's own views are made again above them.
"""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from duckdb import DuckDBPyConnection as Connection

from warehouse.analyze import run_choice
from warehouse.analyze.across_datasets import named_datasets
from warehouse.analyze.run_choice import Choice
from warehouse.config import times
from warehouse.errors import UsageError, check_at_least, command, listing, option
from warehouse.sql_text.templates import render
from warehouse.store import database, own_schema
from warehouse.store.datasets import check_one

Moment = str | dt.date | dt.datetime


def moment(given: Moment) -> dt.datetime:
    """Return the moment that a text means: for a date or week its end in UTC; without a zone, UTC.

    >>> moment("2026-09-01").isoformat(), moment("2026-09-01T12:00+02:00").isoformat()
    ('2026-09-01T23:59:59.999999+00:00', '2026-09-01T12:00:00+02:00')
    """
    try:
        return times.end(given)
    except ValueError as error:
        raise UsageError(f"as of {given}: {error}") from None


@dataclass(frozen=True)
class State:
    """The rows to read: everything up to a moment, against one version of a dataset's qrels.

    None stands for the present.
    """

    as_of: dt.datetime | None = None
    qrels: int | None = None

    @property
    def is_now(self) -> bool:
        """Whether nothing is cut off."""
        return self.as_of is None and self.qrels is None

    def __str__(self) -> str:
        words = [] if self.as_of is None else [f"as of {in_words(self.as_of)}"]
        if self.qrels is not None:
            words.append(f"qrels version {self.qrels}")
            words += (
                [] if words[:-1] else [f"evaluate against it with {option('qrels', self.qrels)}"]
            )
        return "; ".join(words)


NOW = State()


def state(as_of: Moment | None, qrels: int | None) -> State:
    """Return the state to read, from the options."""
    check_at_least(1, qrels=qrels)
    return State(
        None if as_of is None else moment(as_of), None if qrels is None else operator.index(qrels)
    )


@contextmanager
def read(
    con: Connection,
    datasets: str | Iterable[str] | None,
    wanted: State,
    runs: Choice = run_choice.ALL,
    *,
    stored_only: bool = True,
) -> Iterator[tuple[list[str], tuple[str, ...]]]:
    """Make a connection read what was there then, for some datasets, patterns of names, or None.

    None is the only dataset. Of the runs, those that fit are read. Yields the datasets, and notes on
    what has gone since. Raises UsageError if there was nothing yet, if the qrels have no such
    version, or if no run fits; errors inside name the state and what has gone. With `stored_only`,
    something must have been evaluated then.
    """
    gone: tuple[str, ...] = ()
    if wanted.as_of is not None:
        _check_begin(con, wanted.as_of)
        _cut(con, State(wanted.as_of), None)
    with _naming_state(wanted):
        found = named_datasets(con, datasets)
    if wanted.qrels is not None:
        _check_qrels(con, found, wanted.qrels)
        _cut(con, wanted, found[0])
    if not runs.is_all:
        with _naming_state(wanted):
            run_choice.apply(con, found, runs)
        _cut(con, wanted, found[0], chosen=True)
    if wanted.as_of is not None:
        if stored_only:
            _check_time(con, found, wanted.as_of)
        gone = _gone(con, found, wanted.as_of)
    with _naming_state(wanted, gone):
        yield found, gone


@contextmanager
def read_one(
    con: Connection,
    dataset: str | None,
    wanted: State,
    runs: Choice = run_choice.ALL,
    *,
    stored_only: bool = True,
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Make a connection read what was there then, for one dataset, as `read` does for several."""
    one = check_one(dataset)
    with read(con, one, wanted, runs, stored_only=stored_only) as (found, gone):
        if len(found) > 1:
            raise UsageError(f"{dataset}: stands for several datasets; name one")
        yield found[0], gone


@contextmanager
def _naming_state(wanted: State, gone: Sequence[str] = ()) -> Iterator[None]:
    """Let errors name the state, unless it is the present, and what has gone since."""
    try:
        yield
    except UsageError as error:
        if wanted.is_now:
            raise
        raise UsageError("\n".join([f"{error} ({wanted})", *gone])) from None


def _cut(con: Connection, wanted: State, dataset: str | None, *, chosen: bool = False) -> None:
    """Put views in place of the catalogue's tables, and the file's views above them.

    With `chosen`, they have the runs of the table `chosen_run` alone.
    """
    con.execute(
        render(
            "statements/as_of",
            file=database.ALIAS,
            as_of=wanted.as_of,
            qrels=wanted.qrels,
            dataset=dataset,
            chosen=chosen,
        )
    )
    for statement in own_schema.statements():
        con.execute(statement)


def in_words(moment: dt.datetime) -> str:
    """Return a moment as people read it: in UTC, the end of a day as that day."""
    there = moment.astimezone(dt.UTC)
    if there.time() == dt.time.max:
        return f"the end of {there:%Y-%m-%d} UTC"
    return f"{there:%Y-%m-%d %H:%M:%S} UTC"


def _check_qrels(con: Connection, datasets: Sequence[str], qrels: int) -> None:
    if len(datasets) != 1:
        raise UsageError("a version of the qrels belongs to one dataset; name one dataset")
    rows = con.execute(
        "select qrels.version from qrels join dataset using (dataset_id) "
        "where dataset.name = $dataset order by qrels.version",
        {"dataset": datasets[0]},
    ).fetchall()
    known = [int(row[0]) for row in rows]
    if qrels not in known:
        raise UsageError(
            f"{datasets[0]}: has no version {qrels} of its qrels; it has "
            f"{listing(map(str, known)) or 'none'}: {command('qrels', datasets[0])}"
        )


def _check_begin(con: Connection, as_of: dt.datetime) -> None:
    ((first,),) = con.execute(
        f"select min(created_at) from {database.ALIAS}.{database.STORE}.dataset"
    ).fetchall()
    if first is not None and first > as_of:
        raise UsageError(
            f"nothing was loaded yet as of {in_words(as_of)}; the first dataset is of {in_words(first)}"
        )


def _check_time(con: Connection, datasets: Sequence[str], as_of: dt.datetime) -> None:
    for dataset in datasets:
        rows = con.execute(
            f"select min(evaluated_at) from {database.ALIAS}.{database.STORE}.evaluation "
            "semi join (from run join dataset using (dataset_id) where dataset.name = $dataset) "
            "using (run_id)",
            {"dataset": dataset},
        ).fetchall()
        first = rows[0][0]
        if first is not None and first > as_of:
            raise UsageError(
                f"{dataset}: nothing was evaluated yet at that time; the first stored values are "
                f"of {in_words(first)}"
            )


def _gone(con: Connection, datasets: Sequence[str], as_of: dt.datetime) -> tuple[str, ...]:
    """Name the runs that were there and have been forgotten since: their values cannot be shown."""
    rows = con.execute(
        "select dataset.name, forgotten_run.name, forgotten_run.version, forgotten_at "
        "from forgotten_run join dataset using (dataset_id) "
        "where list_contains($datasets, dataset.name) and ingested_at <= $as_of "
        "and forgotten_at > $as_of order by all",
        {"datasets": list(datasets), "as_of": as_of},
    ).fetchall()
    return tuple(
        f"{run} (version {version}) of {dataset} was there, and was forgotten on "
        f"{at.astimezone(dt.UTC):%Y-%m-%d}: its values are gone"
        for dataset, run, version, at in rows
    )
