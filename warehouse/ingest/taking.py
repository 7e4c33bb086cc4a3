"""Taking in the files of a project, each in a transaction of its own, and remembering them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, cast

import duckdb
import sqlalchemy as sa

from warehouse import database, schema
from warehouse.ingest import about, steps
from warehouse.ingest.attributes import LoadedAttributes, load_attributes
from warehouse.ingest.grounds import load_qrels, load_training
from warehouse.ingest.runs import RunOptions, load_run
from warehouse.ingest.sources import RUN, Key, Source
from warehouse.ingest.steps import Loaded
from warehouse.settings import VERSION
from warehouse.templates import render

Taken = Loaded | LoadedAttributes
State = tuple[int, int, str]


class StillWrittenError(Exception):
    """The file has changed while it was read."""


def known(con: duckdb.DuckDBPyConnection, only: Source | None = None) -> dict[Key, State]:
    """Return the state in which each file was taken in last, or that of one."""
    dataset, kind, path = (None, None, None) if only is None else only.key
    rows = con.execute(
        render("statements/source_files"), {"dataset": dataset, "kind": kind, "path": path}
    ).fetchall()
    return {(row[0], row[1], row[2]): row[3:] for row in rows}


def with_runs(con: duckdb.DuckDBPyConnection, source: Source) -> Source | None:
    """Return judgments for the queries of all runs as of now, None while there are no runs."""
    ((newest,),) = con.execute(
        "select max(run_id) from run join dataset using (dataset_id) where dataset.name = $dataset",
        {"dataset": source.dataset},
    ).fetchall()
    if newest is None:
        return None
    settings = json.loads(source.settings) | {"runs": newest}
    return replace(source, settings=json.dumps(settings, sort_keys=True))


def take(connection: sa.Connection, source: Source) -> Taken | None:
    """Load a file and remember it; None where it was taken in already, by somebody else.

    Raises StillWrittenError when it is not what it was when it was looked at, and what loading raises.
    """
    con = database.raw(connection)
    if source.needs_runs:
        source = with_runs(con, source) or source
    if known(con, source).get(source.key) == source.state:
        return None
    done = _load(connection, source)
    if source.look() != source:
        raise StillWrittenError
    _remember(connection, source, done)
    return done


def _load(connection: sa.Connection, source: Source) -> Taken:
    options: dict[str, Any] = dict(source.options)
    path, dataset = str(source.path), source.dataset
    if source.kind == RUN:
        turned = options.pop("lower_is_better", False)
        return load_run(
            connection, path, dataset, replace(_about(source), lower_is_better=turned),
            replace=True, **options,
        )  # fmt: skip
    if source.kind == "qrels":
        queries = None if source.queries is None else str(source.queries)
        return load_qrels(connection, path, dataset, queries=queries, replace=True, **options)
    if source.kind == "training":
        return load_training(connection, path, dataset, replace=True, **options)
    of = cast(Literal["docs", "queries"], source.kind)
    return load_attributes(connection, path, dataset, of, replace=True, **options)


def _about(source: Source) -> RunOptions:
    """Return what is said of a run, with the time and the commit that its file has."""
    said = cast(about.About, source.about)
    exact = {"system", "tags"}
    tags: Mapping[str, str] = said.tags
    run_at = said.time
    if source.time == "git":
        when, number = about.commit(source.path)
        run_at = run_at or when
        tags = {**tags, "commit": number}
    if said.time is not None:
        exact.add("time")
    elif source.time == "file":
        run_at = source.run_at
    return RunOptions(
        name=said.name, system=said.system, tags=tags, run_at=run_at, exact=frozenset(exact)
    )


def _remember(connection: sa.Connection, source: Source, done: Taken) -> None:
    table = schema.source_file
    dataset_id = steps.dataset_id(connection, source.dataset)
    connection.execute(
        table.delete().where(
            table.c.dataset_id == dataset_id,
            table.c.kind == source.kind,
            table.c.path == str(source.path),
        )
    )
    connection.execute(
        table.insert().values(
            dataset_id=dataset_id,
            kind=source.kind,
            path=str(source.path),
            name=source.name,
            size=source.size,
            mtime_ns=source.mtime_ns,
            settings=source.settings,
            source_sha256=done.source_sha256,
            run_id=done.id if isinstance(done, Loaded) and source.kind == RUN else None,
            taken_at=dt.datetime.now(dt.UTC),
            program_version=VERSION,
        )
    )
