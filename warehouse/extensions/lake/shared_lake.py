"""What a team shares: the values of files are pushed into a lake, and collected into files again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from warehouse.analyze.gate_results import who
from warehouse.errors import UsageError, counted, listing
from warehouse.extensions.lake import contents
from warehouse.extensions.lake.tables import CONTENTS, TABLES, Files, Lake, lake_errors
from warehouse.report import replica
from warehouse.sql_text.templates import render
from warehouse.store.database import LAKE
from warehouse.store.file import WarehouseFile
from warehouse.store.scratch_folders import scratch_folder

_OTHER_PROGRAM = (
    "another version of this program wrote it, which did not say which qrels are current: push into a "
    "new folder"
)
# The table that says which evaluations the lake has: their values are written before.
_KNOWN_BY = {"query_score": "evaluation", "score": "evaluation"}


class Pushed(dict[str, int]):
    """The number of rows that a push has added to each table; `notes` name its changes for others."""

    notes: tuple[str, ...] = ()


def push(
    file: WarehouseFile, url: str, *, make_current: bool = False, with_runs: bool = False
) -> Pushed:
    """Append rows that the lake does not have; return the number of rows for each of its tables.

    Runs, qrels, forgotten runs, results of gates, evaluations of whole datasets and their values are
    pushed, not slices and curves, and predictions and judgments only `with_runs`. The qrels that are
    current in the file become so in the lake if the dataset is new there, or to `make_current`.
    """
    lake = Lake(url)
    there = {table: lake.read(table) for table in TABLES}
    if there["qrels"] is not None and there["made_current"] is None:
        raise UsageError(f"{url}: {_OTHER_PROGRAM}")
    by, now = who(), dt.datetime.now(dt.UTC).isoformat()
    with file.read() as con, _registered(con, there), lake_errors(url):
        rows: dict[str, Any] = {}
        for table in TABLES:
            known_by = _KNOWN_BY.get(table, table)
            known = None if there[known_by] is None else f"known_{known_by}"
            sql = _pushed(table, known, who=by, at=now, is_asked=make_current)
            pushed: Any = con.sql(sql)
            rows[table] = pushed.to_arrow_table()
        is_new = None in (there["run"], there["qrels"], there["made_current"])
        to_note = [] if is_new else con.execute(render("lake/differences")).fetchall()
    whole = contents.push(file, lake) if with_runs else {}
    adds = any((*map(len, rows.values()), *whole.values()))
    # each push that adds anything is a version of the lake, also one without evaluations
    found = Pushed(
        (
            table,
            lake.append(
                table,
                rows[table],
                by=by,
                always=adds and (table == TABLES[-1] or there[table] is None),
            ),
        )
        for table in TABLES
    )
    found.update(whole)
    found.notes = tuple(_note(url, *one, make_current=make_current) for one in to_note)
    return found


def _note(
    url: str,
    dataset: str,
    run: str | None,
    pushed_by: str,
    pushed_at: dt.datetime,
    num_queries: int,
    num_there: int,
    *,
    make_current: bool,
) -> str:
    """Return a sentence about a difference between a lake and a file."""
    if run is not None:
        return (
            f"{dataset}/{run}: the lake has other predictions under this name, pushed by {pushed_by}; "
            "boards show those that were loaded last"
        )
    here, others = counted(num_queries, "query"), counted(num_there, "query")
    if make_current:
        return (
            f"{dataset}: its qrels here ({here}) are current in the lake now, instead of "
            f"those that {pushed_by} pushed on {pushed_at:%Y-%m-%d} ({others})"
        )
    return (
        f"{dataset}: the current qrels of the lake are others ({others}, pushed by {pushed_by}) than "
        f"those here ({here}): boards of the lake leave values against yours out; to change that for "
        f"all: warehouse push --lake {url} --make-current"
    )


@contextmanager
def _registered(con: duckdb.DuckDBPyConnection, tables: Mapping[str, Any]) -> Iterator[None]:
    """Let SQL read the tables of a lake as known_NAME."""
    names = [f"known_{name}" for name, rows in tables.items() if rows is not None]
    for name in names:
        con.register(name, tables[name.removeprefix("known_")])
    yield
    for name in names:
        con.unregister(name)


def version(url: str) -> object:
    """Return the version of the lake, which changes with each push."""
    return Lake(url).version()


def summary(added: Mapping[str, int]) -> str:
    """Return a summary of the rows that a push has added."""
    values = counted(added["score"] + added["query_score"], "value")
    texts = {
        "run": counted(added["run"], "run"),
        "evaluation": f"{counted(added['evaluation'], 'evaluation')} with {values}",
        "gate_result": counted(added["gate_result"], "verdict"),
        "gate_acceptance": counted(added["gate_acceptance"], "acceptance"),
        "tombstone": counted(added["tombstone"], "removal"),
        "prediction": f"predictions of {counted(added.get('prediction', 0), 'run')}",
        "judgment": f"judgments of {added.get('judgment', 0):,} qrels",
    }
    parts = [text for table, text in texts.items() if added.get(table)]
    alone = "qrels" if added["qrels"] else "which qrels are current"
    return f"pushed {listing(parts) or alone}"


def _pushed(table: str, known: str | None = None, **words: object) -> str:
    usual = {"who": "", "at": "1970-01-01 00:00:00+00", "is_asked": False}
    return render(f"lake/{table}", table=table, known=known, **{**usual, **words})


def _other_qrels(
    dataset: str, num_queries: int, pushed_by: str, pushed_at: dt.datetime, num_runs: int
) -> str:
    return (
        f"{dataset}: left out are qrels of {counted(num_queries, 'query')}, pushed by {pushed_by} on "
        f"{pushed_at:%Y-%m-%d} and not current, with the values of {counted(num_runs, 'run')} against "
        "them"
    )


def _other_definitions(
    dataset: str,
    metrics: Sequence[str],
    runs: Sequence[str],
    people: Sequence[str],
    programs: Sequence[str],
) -> str:
    return (
        f"{dataset}: left out are values of {listing(metrics, 5)} of {counted(len(runs), 'run')} "
        f"({listing(runs, 5)}), pushed by {listing(people, 3)} with version {listing(programs, 3)} of "
        "the program: the metric is defined in another way than for most runs; evaluate all with one "
        "version, and with the same attributes and training set"
    )


def _same_names(
    dataset: str, runs: Sequence[str], people: Sequence[str], others: Sequence[str]
) -> str:
    return (
        f"{dataset}: left out {'is' if len(runs) == 1 else 'are'} {counted(len(runs), 'run')} of "
        f"{listing(people, 3)} ({listing(runs, 5)}): {listing(others, 3)} loaded other predictions "
        "under the same name later"
    )


# Statements about runs and values that a board leaves out, each with the sentence about a row.
_LEFT_OUT: Mapping[str, Callable[..., str]] = {
    "left_out": _other_qrels,
    "other_definitions": _other_definitions,
    "same_names": _same_names,
}


def collect(
    url: str,
    target: Path,
    *,
    version: int | None = None,
    per_query: bool = True,
    lock_timeout: float,
) -> replica.Published:
    """Make a replica of a lake: a file with its runs and values, without predictions and judgments.

    It replaces an earlier one. `version` is one of the lake's versions, None the newest.
    """
    with (
        collected(url, version, per_query=per_query, lock_timeout=lock_timeout) as (made, left_out),
        made.read() as con,
    ):
        published = replica.publish(
            con, made.path, target, called=LAKE + url, lock_timeout=lock_timeout
        )
    return replace(published, notes=left_out)


@contextmanager
def collected(
    url: str, version: int | None = None, *, per_query: bool = False, lock_timeout: float = 0
) -> Iterator[tuple[WarehouseFile, tuple[str, ...]]]:
    """Yield a file of a lake, for the block, and sentences about values that it leaves out."""
    Lake(url).check()
    lake = Lake(url, version)
    if lake.read("qrels") is not None and lake.read("made_current") is None:
        raise UsageError(f"{url}: {_OTHER_PROGRAM}")
    with scratch_folder() as folder:
        made = WarehouseFile(folder / "lake.duckdb", lock_timeout=lock_timeout)
        made.ensure()
        with made.transaction() as con:
            # evaluations first: the values of those that are seen have been written before
            for table in reversed(TABLES):
                rows = lake.read(table)
                name = f"lake_{table}"
                if rows is None or (table == "query_score" and not per_query):
                    # what would be pushed from this file, which is empty: the columns without rows
                    con.execute(f"create temp table {name} as\n{_pushed(table)}")
                else:
                    con.register(name, rows)
            with lake_errors(url):
                con.execute(render("lake/collect"))
                left_out = tuple(
                    in_words(*row)
                    for name, in_words in _LEFT_OUT.items()
                    for row in con.execute(render(f"lake/{name}")).fetchall()
                )
                twice = con.execute(render("lake/contradictions")).fetchall()
            if twice:
                raise UsageError(
                    f"{url}: {twice[0][0]} is in it with two contents, one of them damaged or forged: "
                    "collect a version before it: see 'warehouse lake versions'"
                )
            for name, kind in con.execute(
                "select table_name, 'table' from duckdb_tables() where temporary "
                "union all select view_name, 'view' from duckdb_views() where temporary and not internal"
            ).fetchall():
                con.execute(f"drop {kind} temp.{name}")
        yield made, left_out


def versions(url: str) -> list[tuple[int, dt.datetime, str]]:
    """Return the versions of a lake, when each was written and by whom, the newest first."""
    lake = Lake(url)
    lake.check()
    return lake.versions()


def optimize(url: str) -> Mapping[str, tuple[Files, Files]]:
    """Join the small files of a lake; return the files before and after by table."""
    lake = Lake(url)
    lake.check()
    there = [table for table in (*CONTENTS, *TABLES) if lake.read(table) is not None]
    return {table: lake.compact(table, by=who()) for table in there}


def views() -> str:
    """Return the SQL of views with which other engines read a lake's tables, each row once."""
    return (Path(__file__).parent / "sql" / "lake" / "views.sql").read_text(encoding="utf-8")
