"""Loading the files of a project, each in its own transaction, and remembering them.

A file is staged before the database is opened for writing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, cast

import duckdb

from warehouse.config.settings import VERSION
from warehouse.errors import InputError, WarehouseError
from warehouse.ingest import steps
from warehouse.ingest.attributes import LoadedAttributes, stage_table
from warehouse.ingest.qrels import stage_qrels, stage_training
from warehouse.ingest.runs import RunOptions, check_names, load_staged, stage_run
from warehouse.ingest.steps import Loaded
from warehouse.readers import row_rules
from warehouse.readers.batches import Batch, Group
from warehouse.readers.files import LocalFile, open_file
from warehouse.sql_text.templates import render
from warehouse.store import rows
from warehouse.store.clock import Clock
from warehouse.store.file import WarehouseFile
from warehouse.sync import run_description
from warehouse.sync.sources import RUN, Key, Source

Taken = Loaded | LoadedAttributes
State = tuple[int, int, str]


class StillWrittenError(Exception):
    """The file changed while it was read."""


def known(con: duckdb.DuckDBPyConnection, only: Source | None = None) -> dict[Key, State]:
    """Return the state in which each file, or one file, was last loaded."""
    dataset, kind, path = (None, None, None) if only is None else only.key
    found = con.execute(
        render("statements/source_files"), {"dataset": dataset, "kind": kind, "path": path}
    ).fetchall()
    return {(row[0], row[1], row[2]): row[3:] for row in found}


def with_runs(con: duckdb.DuckDBPyConnection, source: Source) -> Source | None:
    """Return judgments for the queries of all present runs, or None while there are no runs."""
    # a run that comes has the highest id ever, one that is forgotten lowers the number
    ((newest, number),) = con.execute(
        "select max(run_id), count(*) from run join dataset using (dataset_id) "
        "where dataset.name = $dataset",
        {"dataset": source.dataset},
    ).fetchall()
    if newest is None:
        return None
    settings = json.loads(source.settings) | {"runs": [newest, number]}
    return replace(source, settings=json.dumps(settings, sort_keys=True))


def load(
    file: WarehouseFile,
    source: Source,
    also: Callable[[duckdb.DuckDBPyConnection], object],
    opened: LocalFile | None = None,
) -> Taken | None:
    """Load a file and remember it. Returns None if another process has loaded it already.

    `also` is done in the same transaction. A run may be `opened` already. Raises StillWrittenError
    if the file is no longer in the state that was looked at, and the errors of loading.
    """
    with file.read() as con:
        if _is_known(con, source):
            return None
    with file.staging() as staging:
        store = _staged(staging.con, source, opened)
        if source.look() != source:
            raise StillWrittenError
        with staging.transaction() as con:
            if source.needs_runs:
                source = with_runs(con, source) or source
            if _is_known(con, source):
                return None
            done = store(con)
            _remember(con, [(source, done)])
            also(con)
    return done


def _is_known(con: duckdb.DuckDBPyConnection, source: Source) -> bool:
    return not source.reread and known(con, source).get(source.key) == source.state


def load_together(
    file: WarehouseFile,
    group: Group,
    sources: Sequence[Source],
    also: Callable[[duckdb.DuckDBPyConnection], object],
) -> list[Taken]:
    """Load and remember open runs of one dataset that are read in the same way.

    Does nothing and returns nothing if one of them cannot be loaded as it is, was loaded already,
    or has changed. Loading each by itself then tells which one, and why.
    """
    with file.read() as con:
        if _is_any_known(con, sources):
            return []
    descriptions = [_about(source) for source in sources]
    for one in descriptions:
        check_names(sources[0].dataset, one)
    with file.staging() as staging:
        batch = next(group.read(staging.con))
        if not isinstance(batch, Batch) or not batch.together:
            return []
        if any(source.look() != source for source in sources):
            return []
        with staging.transaction() as con:
            if _is_any_known(con, sources):
                return []
            loaded = load_staged(con, batch, sources[0].dataset, descriptions, replace=True)
            done: list[Taken] = []
            for outcome in loaded:
                if isinstance(outcome, WarehouseError):
                    raise outcome
                done.append(outcome)
            _remember(con, list(zip(sources, done, strict=True)))
            also(con)
    return done


def _is_any_known(con: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> bool:
    states = known(con)
    return any(not s.reread and states.get(s.key) == s.state for s in sources)


def reading(source: Source) -> dict[str, Any]:
    """Return the options for reading a run."""
    found = {key: value for key, value in source.options.items() if key != "lower_is_better"}
    if "repeated" in found:
        lowest = source.options.get("lower_is_better", False)
        found["repeated"] = row_rules.best_is(found["repeated"], lowest=lowest)
    return found


def _staged(
    con: duckdb.DuckDBPyConnection, source: Source, opened: LocalFile | None
) -> steps.Store[Taken]:
    """Stage a file; return the function that stores it."""
    options: dict[str, Any] = dict(source.options)
    path, dataset = str(source.path), source.dataset
    if source.kind == RUN:
        return stage_run(
            con, opened or path, dataset, _about(source), replace=True, **reading(source)
        )
    if source.kind == "qrels":
        queries = None if source.queries is None else str(source.queries)
        return stage_qrels(con, path, dataset, queries=queries, replace=True, **options)
    if source.kind == "training":
        return stage_training(con, path, dataset, replace=True, **options)
    of = cast(Literal["docs", "queries"], source.kind)
    return stage_table(con, path, dataset, of, replace=True, **options)


def _about(source: Source) -> RunOptions:
    """Return the description of a run, with the time and the commit of its file."""
    described = cast(run_description.About, source.about)
    exact = {"system", "tags"}
    tags: Mapping[str, str] = described.tags
    run_at = described.time
    if source.time == "git":
        when, number = run_description.commit(source.path)
        run_at = run_at or when
        tags = {**tags, "commit": number}
    if described.time is not None:
        exact.add("time")
    elif source.time == "file":
        run_at = source.run_at
    return RunOptions(
        name=described.name, system=described.system, tags=tags, run_at=run_at, exact=frozenset(exact),
        lower_is_better=source.options.get("lower_is_better", False), leave_forgotten=True,
        gone=source.gone,
    )  # fmt: skip


def _remember(con: duckdb.DuckDBPyConnection, taken: Sequence[tuple[Source, Taken]]) -> None:
    """Remember how files of one dataset and kind were loaded, replacing earlier entries."""
    first, _ = taken[0]
    of_kind = {"dataset_id": steps.dataset_id(con, first.dataset), "kind": first.kind}
    con.execute(
        "delete from store.source_file where dataset_id = $dataset_id and kind = $kind "
        "and list_contains($paths, path)",
        {**of_kind, "paths": [str(source.path) for source, _ in taken]},
    ).fetchall()
    now = Clock(con).now()
    known = [
        {
            **of_kind,
            "path": str(source.path),
            "name": source.name,
            "size": source.size,
            "mtime_ns": source.mtime_ns,
            "settings": source.settings,
            "source_sha256": done.source_sha256,
            "run_id": _run_id(source, done),
            "taken_at": now,
            "program_version": VERSION,
        }
        for source, done in taken
    ]
    rows.add(con, "source_file", known)
    # other files whose content or description was replaced just now: if one of them is declared again,
    # it is read again even if it has not changed
    con.execute(
        "delete from store.source_file as old where dataset_id = $dataset_id and kind = $kind "
        "and taken_at <> $now and exists (from store.source_file as new "
        "where new.dataset_id = old.dataset_id and new.kind = old.kind and new.taken_at = $now "
        "and new.name = old.name and (new.source_sha256 is distinct from old.source_sha256 "
        "or new.settings <> old.settings))",
        {**of_kind, "now": now},
    ).fetchall()


def _run_id(source: Source, done: Taken) -> int | None:
    """Return the run loaded from a file, or None for other kinds of files and forgotten runs."""
    if source.kind != RUN or not isinstance(done, Loaded) or done.status == "forgotten":
        return None
    return done.id


def changed_inside(con: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> list[Source]:
    """Return the files, to be read again, whose content is another although their state is the same."""
    known_files = con.execute(
        "select dataset.name, kind, path, source_sha256 from source_file join dataset using (dataset_id)"
    ).fetchall()
    hashes = {(dataset, kind, path): sha256 for dataset, kind, path, sha256 in known_files}
    found: list[Source] = []
    for source in sources:
        with suppress(InputError), open_file(source.path) as file:
            if hashes.get(source.key) not in (None, file.sha256):
                found.append(replace(source, reread=True))
    return found
