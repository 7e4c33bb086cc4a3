"""Bringing a database up to date with the project's file."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path, PurePath

import duckdb

from warehouse import extending
from warehouse.analyze import gate_results
from warehouse.analyze.regressions import MissingValueError
from warehouse.config import project
from warehouse.config.settings import database_path
from warehouse.errors import (
    DatabaseError,
    InputError,
    LockedError,
    UsageError,
    WarehouseError,
    counted,
    first_line,
    visible,
)
from warehouse.evaluate.evaluation import compute
from warehouse.evaluate.plan import plan
from warehouse.evaluate.stored_runs import Job
from warehouse.metrics import notation, protocols
from warehouse.readers.batches import Group, groups
from warehouse.readers.files import LocalFile
from warehouse.readers.remote import Location
from warehouse.report import replica
from warehouse.store.file import WarehouseFile
from warehouse.sync import events, loading, missing, sources
from warehouse.sync import gates as checks
from warehouse.sync.declarations import Declarations, read_declarations
from warehouse.sync.events import Event, Synced
from warehouse.sync.loading import Taken
from warehouse.sync.sources import Source

# How often a sync computes values and checks gates, as others load runs meanwhile.
_ROUNDS = 3


def sync(
    database: WarehouseFile,
    config: str | os.PathLike[str] | None = None,
    *,
    dry_run: bool = False,
    check_content: bool = False,
    on_event: Callable[[Event], None] | None = None,
    on_file: Callable[[str, int], None] | None = None,
) -> Synced:
    """Load, evaluate and check new files of the project; see `Warehouse.sync`."""
    with project.using(config):
        if config is not None:
            _check_project(database, config)
        project.required()
        on_file = on_file or (lambda label, total: None)
        work = _Sync(database, read_declarations(), dry_run, check_content, on_file)
        for step in STEPS:
            for event in step(work):
                work.events.append(event)
                if on_event is not None:
                    on_event(event)
    return Synced(tuple(work.events), tuple(work.remarks))


def _check_project(database: WarehouseFile, config: str | os.PathLike[str]) -> None:
    """Refuse a project's file with another database, unless this one was named explicitly."""
    wanted = database_path()
    if not database.is_named and os.path.realpath(wanted) != os.path.realpath(database.path):
        raise UsageError(
            f"{os.fspath(config)}: its database is {wanted}, and this is {database.path}: "
            f"Warehouse({str(wanted)!r}).sync(…)"
        )


def _prepared(database: WarehouseFile, dry_run: bool) -> bool:
    """Make the file, or upgrade its schema, if needed; return whether it exists."""
    if dry_run and not database.path.exists():
        return False
    try:
        with database.read():
            pass
    except UsageError:
        if dry_run:
            raise
        database.ensure()
    return True


@dataclass
class _Sync:
    """One call of `sync`, with the values that its steps share."""

    database: WarehouseFile
    asked: Declarations
    dry_run: bool
    check_content: bool
    on_file: Callable[[str, int], None]
    events: list[Event] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    is_made_new: bool = False

    def relative(self, path: Location) -> str:
        """Return a path as the project's file has it."""
        with suppress(ValueError):
            return str(PurePath(path).relative_to(self.asked.folder))
        return str(path)

    def failed(
        self, error: Exception, dataset: str | None = None, path: Location | None = None
    ) -> Event:
        """Return the event of an error that stops nothing else; raise errors that stop everything."""
        stopped = "Query interrupted" in str(error) or "INTERRUPT" in str(error)
        if stopped or isinstance(error, (DatabaseError, LockedError)):
            raise error
        text, file = str(error), None
        if not isinstance(error, WarehouseError):
            # SQLAlchemy wraps the engine's errors in its own
            text = first_line(getattr(error, "orig", None) or error)
        if path is not None:
            file = self.relative(path)
            text = text.replace(visible(str(path)), visible(file))
            text = text if visible(file) in text else f"{visible(file)}: {text}"
        code = error.exit_code if isinstance(error, WarehouseError) else 1
        return Event("failed", text, dataset, file, exit_code=code)


def take_in(work: _Sync) -> Iterator[Event]:
    """Load the files that are new or have changed."""
    if not work.asked.datasets:
        work.remarks.append(f"{project.current().where}: declares no dataset yet")
    found = sources.find(work.asked)
    for path, error in found.problems:
        yield work.failed(error, path=path)
    database = work.database
    known: Mapping[sources.Key, loading.State] = {}
    gone: Mapping[str, frozenset[str]] = {}
    changed: list[Source] = []
    work.is_made_new = not database.path.exists()
    if _prepared(database, work.dry_run):
        with database.read() as con:
            known = loading.known(con)
            gone = missing.look(con, work.asked).names
            if work.check_content:
                same = [source for source in found.sources if known.get(source.key) == source.state]
                changed = loading.changed_inside(con, same)
    paths = [path for _, kind, path in known if kind == sources.RUN]
    work.remarks += [] if paths else found.unmatched
    for pattern, text in found.absent:
        if any(pattern.matches(path, work.asked.folder) for path in paths):
            yield work.failed(InputError(f"{text}; runs were loaded from it: is it mounted?"))
        else:
            work.remarks.append(text)
    plain = [source for source in found.sources if not source.needs_runs]
    new = [s for s in plain if known.get(s.key) != s.state]
    new = [replace(s, gone=gone.get(s.dataset, s.gone)) for s in new]
    yield from _take(work, found.sources, new + changed)
    # judgments for the queries of all runs are due again if there are other runs
    rest = [source for source in found.sources if source.needs_runs]
    if rest and database.path.exists():
        with database.read() as con:
            now = [loading.with_runs(con, source) for source in rest]
        due = [s for s in now if s is not None and known.get(s.key) != s.state]
        yield from _take(work, found.sources, due)


def look_for_missing(work: _Sync) -> Iterator[Event]:
    """Say which runs have lost their files since the last sync, or forget these runs."""
    if not work.database.path.exists():
        return
    with work.database.read() as con:
        found = missing.look(con, work.asked)
    if found.is_news and not work.dry_run:
        if found.forgotten:  # a file that is just being replaced is there again
            time.sleep(work.asked.settle)
        with work.database.transaction() as con:
            found = missing.look(con, work.asked)
            missing.store(con, found)
    for one in (*found.forgotten, *(one for one in found.kept if not one.is_known)):
        yield events.gone(
            one.dataset, str(one.run), work.relative(one.path),
            is_forgotten=one in found.forgotten, dry_run=work.dry_run,
        )  # fmt: skip


def _take(work: _Sync, every: Sequence[Source], due: Sequence[Source]) -> Iterator[Event]:
    refused = sources.namesakes(every, due)
    yield from (work.failed(refused[s.key], s.dataset, s.path) for s in due if s.key in refused)
    ready = [source for source in due if source.key not in refused]
    if work.dry_run:
        for source in ready:
            file = work.relative(source.path)
            yield Event("due", f"{source.dataset}: {file} would be read", source.dataset, file)
        return
    ready, waiting = sources.settled(ready, work.asked.settle)
    for source in waiting:
        yield events.waiting(source.dataset, work.relative(source.path))
    for alike in _alike(ready):
        yield from _take_alike(work, alike, len(ready))


def _alike(ready: Sequence[Source]) -> Iterator[list[Source]]:
    """Group consecutive runs of one dataset that are read in the same way."""

    def way(source: Source) -> tuple[object, ...]:
        if source.kind != sources.RUN:
            return source.key
        return source.dataset, sorted(source.options.items(), key=str)

    for _, group in groupby(ready, key=way):
        yield list(group)


def _take_alike(work: _Sync, alike: Sequence[Source], total: int) -> Iterator[Event]:
    """Load runs, as many per transaction as are read at once; or one file."""
    if alike[0].kind != sources.RUN:
        (source,) = alike
        work.on_file(work.relative(source.path), total)
        yield from _take_one(work, source)
        return
    paths, how = [source.path for source in alike], loading.reading(alike[0])
    for group in groups(paths, **how, watched=False):  # each is looked at again: see loading.load
        members = alike[group.first : group.first + len(group.sources)]
        for source in members:
            work.on_file(work.relative(source.path), total)
        done = _take_group(work, group, members) if len(members) > 1 else []
        if done:
            for source, taken in zip(members, done, strict=True):
                yield events.taken(taken, work.relative(source.path))
            continue
        for source, opened in zip(members, group.sources, strict=True):
            file = opened if isinstance(opened, LocalFile) else None
            yield from _take_one(work, source, file)


def _take_group(work: _Sync, group: Group, members: Sequence[Source]) -> list[Taken]:
    """Load runs in one transaction; if that fails, none, and each must be loaded by itself."""
    try:
        also = partial(checks.begin, dataset=members[0].dataset, asked=work.asked)
        return loading.load_together(work.database, group, members, also)
    except (WarehouseError, duckdb.Error, OSError) as error:
        work.failed(error)  # what stops all is raised again
        return []


def _take_one(work: _Sync, source: Source, opened: LocalFile | None = None) -> Iterator[Event]:
    """Load one file; no event if it is gone, or another process has loaded it."""
    try:
        also = partial(checks.begin, dataset=source.dataset, asked=work.asked)
        done = loading.load(work.database, source, also, opened)
    except loading.StillWrittenError:
        yield events.waiting(source.dataset, work.relative(source.path))
    except (WarehouseError, duckdb.Error, OSError) as error:
        failed = work.failed(error, source.dataset, source.path)
        now: Source | None = source
        with suppress(InputError):  # a store that does not answer any more
            now = source.look()
        if now is not None:
            file = work.relative(source.path)
            yield failed if now == source else events.waiting(source.dataset, file)
    else:
        if done is not None:
            yield events.taken(done, work.relative(source.path))


def evaluate(work: _Sync) -> Iterator[Event]:
    """Compute missing or stale values of everything declared, for gates too."""
    database = work.database
    if not database.path.exists():
        return
    with database.read() as con:
        there = {str(row[0]) for row in con.execute("select name from dataset").fetchall()}
    for name, dataset in work.asked.datasets.items():
        if name not in there:
            continue
        for protocol in dataset.evaluation.protocols:
            rules = protocols.get(protocol)
            gated = [
                notation.parse_one(gate.metric).metric
                for gate in work.asked.gates
                if (gate.dataset, gate.protocol) == (name, protocol)
            ]
            asked = notation.parse(*dataset.evaluation.metrics, *gated, defaults=rules.defaults())
            if not asked:
                continue
            job = Job(plan(asked, rules), by=dataset.evaluation.slices)
            try:
                done = compute(database, [job], name, dry_run=work.dry_run)
            except (WarehouseError, duckdb.Error) as error:
                failed = work.failed(error, name)
                yield replace(failed, text=f"{name}: evaluation: {failed.text}")
                continue
            if not done.computed:
                continue
            counts = {"values": done.computed, "stale": done.stale, "runs": done.runs}
            stale = f", {done.stale} of them stale" if done.stale else ""
            by = "" if protocol == protocols.DEFAULT else f" by protocol {protocol}"
            yield Event(
                "due" if work.dry_run else "computed",
                f"{name}: {'would compute' if work.dry_run else 'computed'} "
                f"{counted(done.computed, 'value')} for {counted(done.runs, 'run')}{by}{stale}",
                name,
                warnings=done.warnings,
                details={"protocol": protocol, **counts},
            )


def gates(work: _Sync) -> Iterator[Event]:
    """Check every run that was taken in against its own reference, and say which runs are red.

    A run is new from when it is loaded until the verdicts on it are reported and stored: a sync that
    is ended in between, or a gate that cannot be checked, leaves it to the next sync.
    """
    if work.dry_run or not work.database.path.exists():
        return
    work.remarks += checks.end_gone(work.database, work.asked)
    for _ in range(_ROUNDS):
        with work.database.read() as con:
            found = list(checks.check(con, checks.find(con, work.asked.gates, "new")))
            red = gate_results.standing(con)
            late = checks.late(con, work.asked, dt.datetime.now(dt.UTC))
        if not any(isinstance(one, MissingValueError) for _, one in found):
            break
        # another process has loaded runs since the values were computed
        computed = list(evaluate(work))
        yield from computed
        if not computed:
            break
    failed: set[int] = set()
    verdicts: list[checks.Verdict] = []
    for due, verdict in found:
        if isinstance(verdict, checks.Verdict):
            given = checks.without_history(verdict) if work.is_made_new else verdict
            verdicts.append(given)
            yield events.checked(given, work.asked.unchecked or "warn")
            continue
        failed.add(due.run_id)
        event = work.failed(verdict, due.gate.dataset)
        yield replace(event, text=due.gate.prefixed(event.text))
    if verdicts:
        with work.database.transaction() as con:
            checks.keep(con, work.asked.gates, verdicts, failed)
        with work.database.read() as con:
            red = gate_results.standing(con)
    work.remarks += checks.remarks(verdicts, work.asked.unchecked or "warn")
    for dataset, text in late:
        yield Event("late", text, dataset, exit_code=1)
    if red:
        yield events.red(red)


def alert(work: _Sync) -> Iterator[Event]:
    """Tell the project's `on_fire` all that is wrong, once."""
    if work.dry_run or not work.database.path.exists():
        return
    others = [
        {"dataset": event.dataset, "file": event.file, "verdict": event.status, "text": event.text}
        for event in work.events
        if event.status in ("failed", "late") or (event.status == "unchecked" and event.exit_code)
    ]
    try:
        checks.alert(work.database, work.asked, others)
    except (WarehouseError, OSError) as error:
        yield work.failed(error)


def push(work: _Sync) -> Iterator[Event]:
    """Push missing rows into the project's lake, also rows that an earlier sync could not push."""
    lake = work.asked.lake
    if lake is None or work.dry_run or not work.database.path.exists():
        return
    try:
        shared = extending.first("lakes", "lake")
        added = shared.push(work.database, lake)
    except (WarehouseError, duckdb.Error, OSError) as error:
        yield work.failed(error, path=None)
    else:
        if any(added.values()):
            text = "; ".join((shared.summary(added), *added.notes))
            yield Event("pushed", f"{lake}: {text}", details=dict(added))


def publish(work: _Sync) -> Iterator[Event]:
    """Make the project's replica again if the database has changed since it was made."""
    target, source = work.asked.replica, work.database.path
    if target is None or not _is_due(work, target):
        return
    shown = work.relative(target)
    if work.dry_run:
        yield Event("due", f"{shown} would be published", file=shown)
        return
    try:
        with work.database.read() as con:
            timeout = work.database.lock_timeout
            replica.publish(con, source.absolute(), target, lock_timeout=timeout)
    except (WarehouseError, duckdb.Error, OSError) as error:
        yield work.failed(error, path=target)
    else:
        yield Event("published", f"{shown}: published", file=shown)


def report(work: _Sync) -> Iterator[Event]:
    """Write the project's pages again if the database has changed since they were written."""
    target = work.asked.report
    if target is None:
        return
    from warehouse.report.pages import folder as pages

    if not _is_due(work, target / pages.MANIFEST):
        return
    shown = work.relative(target)
    if work.dry_run:
        yield Event("due", f"{shown} would be written", file=shown)
        return
    try:
        made = pages.write(work.database, target, ())
    except (WarehouseError, duckdb.Error, OSError) as error:
        yield work.failed(error, path=target)
    else:
        yield Event("published", f"{shown}: {counted(made.num_files, 'file')} written", file=shown)


def _is_due(work: _Sync, made: Path) -> bool:
    """Whether the database has changed since something was made from it, in this sync or before."""
    source = work.database.path
    if not source.exists():
        return False
    changing = ("loaded", "replaced", "computed", "due")
    changed = any(event.status in changing for event in work.events)
    return changed or not made.exists() or _written_at(source) > _written_at(made)


def _written_at(path: Path) -> int:
    """Return when a database was last written, in nanoseconds; its log may be newer than it is."""
    log = path.with_name(f"{path.name}.wal")
    return max(one.stat().st_mtime_ns for one in (path, log) if one.exists())


# The steps of a sync, in order; each returns its events, and sees the earlier ones.
STEPS: tuple[Callable[[_Sync], Iterator[Event]], ...] = (
    take_in, look_for_missing, evaluate, gates, alert, push, publish, report,
)  # fmt: skip
