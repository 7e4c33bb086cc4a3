"""The driver's work: divide the work, have an engine do it, and put the replies together."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from warehouse import extending
from warehouse.errors import UsageError, WarehouseError, check_at_least, nearest
from warehouse.evaluate import engine as evaluate
from warehouse.evaluate import scoring
from warehouse.evaluate.engines import Engine, by_query, by_run, tasks
from warehouse.evaluate.file_scoring import Counts, ScoredRun, check_answered, make_pending
from warehouse.evaluate.scope import Scope
from warehouse.metrics.notation import Metric
from warehouse.sql_text.quoting import ident
from warehouse.sql_text.templates import render
from warehouse.store.database import RESULT
from warehouse.store.scratch_folders import scratch_folder

LOCAL = "local"


@dataclass(frozen=True)
class Collected:
    """The scored runs as they were read, and the errors of the refused runs, by name."""

    runs: Mapping[str, ScoredRun]
    refused: Mapping[str, WarehouseError]
    num_judged: int


def check(engine: object) -> None:
    """Refuse an object that is no engine."""
    known = _modules()
    if isinstance(engine, str):
        names = (LOCAL, *known)
        if engine not in names:
            raise UsageError(
                f"unknown engine {engine!r}{nearest(engine, names)} (known: {', '.join(names)})"
            )
    elif not (hasattr(engine, "map") or any(one.takes(engine) for one in known.values())):
        raise UsageError(
            f"engine: {type(engine).__name__} is none: give 'spark', a session of Spark, or an object "
            "with map(function, parts)"
        )


def num_buckets(metrics: Collection[Metric], by: str, buckets: int | None) -> int:
    """Return into how many buckets the queries are divided, 0 if the work is divided by run."""
    if by not in by_query.BY:
        known = by_query.BY
        raise UsageError(f"by {by}: is one of {' and '.join(known)}{nearest(by, known)}")
    check_at_least(1, buckets=buckets)
    if by == "run":
        if buckets is not None:
            raise UsageError("buckets: goes with a division by query")
        return 0
    by_query.check(metrics)
    return buckets or by_query.BUCKETS


@contextmanager
def opened(engine: Any, master: str | None = None) -> Iterator[Engine]:
    """Open an engine by its name, or wrap an object that an extension takes, for the block."""
    known = _modules()
    if isinstance(engine, str):
        with known[engine].connected(master) as found:
            yield found
    else:
        wraps = (one.wrapped(engine) for one in known.values() if one.takes(engine))
        yield next(wraps, engine)


def _modules() -> dict[str, Any]:
    """Return the modules of the engines that extensions give, by the names of the engines."""
    found: dict[str, Any] = {}
    for one in extending.found():
        for name, module in one.extension.engines.items():
            load = partial(extending.loaded, module)
            for engine in extending.attempt(one.name, f"engine {name}", load):
                found[name] = engine
    return found


@contextmanager
def values_in(into: str | os.PathLike[str] | None, work: tasks.Work) -> Iterator[tasks.Work]:
    """Yield the work with a folder for the values of queries, which gets its name after the block."""
    if into is None:
        yield work
        return
    target = Path(into).absolute()
    if work.num_buckets:
        raise UsageError(f"{into}: a task by query has no whole values to write; divide by run")
    if target.exists():
        raise UsageError(f"{into}: is there already; name a new folder")
    if not target.parent.is_dir():
        raise UsageError(f"{into}: there is no folder {target.parent}")
    with scratch_folder(target.parent) as folder:
        yield replace(work, into=str(folder))
        folder.replace(target)


def check_machines(engine: Engine, files: Sequence[str]) -> None:
    """Refuse machines that do not see some files, or have other programs; not every engine can tell."""
    if files and hasattr(engine, "look_around"):
        tasks.check_hosts(engine.look_around(partial(tasks.look_around, files)), files)


def table_of(run: object, by: str) -> Any:
    """Return the table of runs, which an engine reads by itself, that is given as the run, or None."""
    readers = (one.table_of for one in _modules().values() if hasattr(one, "table_of"))
    return next((table for read in readers if (table := read(run, by)) is not None), None)


def score(
    con: duckdb.DuckDBPyConnection,
    engine: Engine,
    work: tasks.Work,
    names: Sequence[str],
    parts: Sequence[tasks.RunFiles],
) -> Collected:
    """Score runs; leave their values on the connection as `scoring.keep_values` does.

    The work is divided by query if it has a number of buckets, else by run.
    """
    check_machines(engine, [*tasks.local_files(parts), *filter(None, [work.into])])
    if work.num_buckets:
        return _by_query(con, engine, work, names, parts)
    replies = list(engine.map(partial(by_run.score, work), parts))
    tasks.check_versions(replies)
    whole = by_run.joined(replies)
    if work.into is not None:  # a task that was lost, or done twice, has left others
        written = {Path(work.into, name) for name in whole.written}
        for file in set(Path(work.into).iterdir()) - written:
            file.unlink()
    if not whole.runs:
        raise next(iter(whole.refused.values()))
    _keep(con, {RESULT: whole.values, scoring.TOTALS: whole.totals})
    return Collected(whole.runs, whole.refused, whole.num_judged)


def _by_query(
    con: duckdb.DuckDBPyConnection,
    engine: Engine,
    work: tasks.Work,
    names: Sequence[str],
    parts: Sequence[tasks.RunFiles],
) -> Collected:
    if hasattr(engine, "by_bucket"):
        replies = engine.by_bucket(
            partial(by_query.read, work),
            partial(by_query.score, work),
            parts,
            by_query.COLUMNS,
            work.num_buckets + 1,
        )
    else:
        buckets = by_query.buckets(work, engine.map(partial(by_query.read_all, work), parts))
        replies = list(engine.map(partial(by_query.score, work), buckets))
    return _whole(con, work, names, replies)


def score_table(
    con: duckdb.DuckDBPyConnection, engine: Any, work: tasks.Work, table: Any
) -> Collected:
    """Score the runs of a table that was read, as `score` does."""
    names = table.names
    replies = engine.by_table(table.frame, table.scorer(work), work.num_buckets)
    notes: list[tasks.Note] = [(n, name, table.staged(name)) for n, name in enumerate(names)]
    return _whole(con, work, names, [tasks.Reply(notes=notes), *replies])


def _whole(
    con: duckdb.DuckDBPyConnection,
    work: tasks.Work,
    names: Sequence[str],
    replies: Sequence[tasks.Reply],
) -> Collected:
    """Combine the replies of the buckets; drop the runs that any of them refuses."""
    tasks.check_versions(replies)
    read: dict[int, ScoredRun] = {}
    refused: dict[str, WarehouseError] = {}
    # the notes about refusals come last
    notes = {
        index: (name, found) for index, name, found in sorted(_notes(replies), key=_is_refused)
    }
    num_judged = sum(_first(reply).num_judged for reply in replies if reply.counts)
    for index, (name, found) in sorted(notes.items()):
        counts = [reply.counts[index] for reply in replies if reply.counts]
        whole = Counts(
            num_judged,
            sum(count.num_answered for count in counts),
            sum(count.num_unjudged_queries for count in counts),
            sum(count.num_hits for count in counts),
            sum(count.num_kept for count in counts),
        )
        try:
            if isinstance(found, WarehouseError):
                raise found
            check_answered(found.source, whole, work.truth)
        except WarehouseError as error:
            refused[name] = error
        else:
            read[index] = ScoredRun(
                found, whole.num_answered, whole.num_unjudged_queries, whole.num_hits,
                found.rows - whole.num_kept,
            )  # fmt: skip
    if not read:
        raise next(iter(refused.values()))
    _put_together(con, work, names, list(read), replies)
    return Collected({names[index]: run for index, run in read.items()}, refused, num_judged)


def _first(reply: tasks.Reply) -> Counts:
    return next(iter(reply.counts.values()))


def _is_refused(note: tasks.Note) -> bool:
    return isinstance(note[2], WarehouseError)


def _notes(replies: Sequence[tasks.Reply]) -> list[tasks.Note]:
    return [note for reply in replies for note in reply.notes]


def _put_together(
    con: duckdb.DuckDBPyConnection,
    work: tasks.Work,
    names: Sequence[str],
    run_numbers: Sequence[int],
    replies: Sequence[tasks.Reply],
) -> None:
    """Combine the values of the queries, as if the runs with these numbers were read here."""
    import pyarrow as pa

    plan = work.plan
    given = {"given_value": "values", "given_list": "lists"}
    _keep(
        con,
        {
            table: pa.concat_tables([getattr(r, name) for r in replies if r.counts])
            for table, name in given.items()
        },
    )
    con.execute(render("statements/divided_scope"))
    scope = Scope(con)
    scope.read_qrels(work.truth.qrels, work.truth.rows)
    scope.read_runs(run_numbers, first=0, together=True, lower_is_better=False)
    make_pending(con, plan)
    con.execute(render("statements/divided_values", num_metrics=len(plan.queries)))
    evaluate.compute(con, plan, ready=frozenset(range(len(plan.queries))))
    scoring.keep_values(con, plan, names, 0, per_query=work.per_query)


def _keep(con: duckdb.DuckDBPyConnection, tables: Mapping[str, Any]) -> None:
    """Make temporary tables of Arrow tables."""
    for name, rows in tables.items():
        con.register("given", rows)
        con.execute(f"create or replace temp table {ident(name)} as from given")
        con.unregister("given")
