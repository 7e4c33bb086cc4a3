"""Loading one source into the warehouse, inside the caller's transaction."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Literal

import duckdb
import sqlalchemy as sa

from warehouse import database, readers, schema
from warehouse.errors import ConflictError, UsageError, counted
from warehouse.ingest.everywhere import LABEL, stage_global
from warehouse.settings import VERSION
from warehouse.templates import render

Status = Literal["loaded", "unchanged", "replaced"]
_COMPRESSED = (".gz", ".zst")


@dataclass(frozen=True)
class Loaded:
    """What became of one source."""

    kind: Literal["run", "qrels"]
    status: Status
    dataset: str
    name: str
    version: int
    num_queries: int
    num_rows: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunOptions:
    """What is said of a run beside its file."""

    name: str | None = None
    name_from: Literal["stem", "tag"] = "stem"
    system: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    run_at: dt.datetime | None = None
    lower_is_better: bool = False


@dataclass(frozen=True)
class _Content:
    num_rows: int
    num_queries: int
    content_hash: str


def load_qrels(
    connection: sa.Connection,
    source: object,
    dataset: str,
    *,
    label: str | None = None,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    normalise: str | None = None,
    is_global: bool = False,
    queries: object | None = None,
    replace: bool = False,
) -> Loaded:
    """Load the judgments of a dataset; other content than before needs `replace`, a new version.

    With `is_global` the source is one set of documents, for every query of `queries` or of the runs.
    """
    _check_name("dataset", dataset)
    con = database.raw(connection)
    how: Any = {"format": format, "columns": columns, "normalise": normalise}
    if is_global:
        staged = stage_global(con, source, dataset, queries=queries, **how)
    elif queries is not None:
        raise UsageError("--queries: goes with --global, for judgments that name no query")
    else:
        staged = readers.stage(con, source, "qrels", **how)
    content = _content(con, "query_id, doc_id, relevance, iteration")
    dataset_id = _dataset_id(connection, dataset)
    table = schema.qrels
    current = _newest(connection, table, table.c.dataset_id == dataset_id)
    if current is not None and current["content_hash"] == content.content_hash:
        warnings = list(staged.warnings)
        if label is not None and label != current["label"]:
            warnings.append(
                f"the label stays {current['label']!r}: these judgments are loaded already"
            )
        return _outcome("qrels", "unchanged", dataset, current, content, warnings)
    if current is not None and not replace:
        raise ConflictError(
            f"{staged.source}: dataset {dataset} has other qrels already (version "
            f"{current['version']}, {current['num_judgments']:,} judgments from {current['source']}); "
            "--replace makes these a new version, and the old one stays readable"
        )
    row = {
        "qrels_id": _next_id(connection, table.c.qrels_id),
        "dataset_id": dataset_id,
        "version": 1 if current is None else current["version"] + 1,
        "label": LABEL if label is None and is_global else label,
        "num_judgments": content.num_rows,
        **_common(staged, content),
    }
    connection.execute(table.insert().values(row))
    con.execute(render("ingest/judgments"), {"qrels_id": row["qrels_id"]})
    status: Status = "loaded" if current is None else "replaced"
    return _outcome("qrels", status, dataset, row, content, staged.warnings)


def load_run(
    connection: sa.Connection,
    source: object,
    dataset: str,
    options: RunOptions | None = None,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    normalise: str | None = None,
    replace: bool = False,
) -> Loaded:
    """Load a run; a name that is taken by other content needs `replace`, a new version."""
    options = options or RunOptions()
    _check_name("dataset", dataset)
    if options.name is not None:
        _check_name("run", options.name)
    con = database.raw(connection)
    staged = readers.stage(con, source, "run", format=format, columns=columns, normalise=normalise)
    turned = options.lower_is_better or staged.ranked_by == "rank"
    content = _content(con, "query_id, doc_id, score", suffix="-lower" if turned else "")
    name = _run_name(staged, options)
    dataset_id = _dataset_id(connection, dataset)
    table = schema.run
    current = _newest(
        connection, table, sa.and_(table.c.dataset_id == dataset_id, table.c.name == name)
    )
    warnings = list(staged.warnings)
    if current is not None and current["content_hash"] == content.content_hash:
        differs = _described_otherwise(connection, current, options)
        if not (replace and differs):
            if differs:
                warnings.append(
                    f"loaded already with another {differs}; what you give now is stored only with "
                    "--replace"
                )
            return _outcome("run", "unchanged", dataset, current, content, warnings, name)
    elif current is not None and not replace:
        raise ConflictError(
            f"{staged.source}: dataset {dataset} has another run named {name} already (version "
            f"{current['version']}, from {current['source']}); load this one under another name with "
            "--name, or as its new version with --replace (the old one stays readable)"
        )
    now = dt.datetime.now(dt.UTC)
    row = {
        "run_id": _next_id(connection, table.c.run_id),
        "dataset_id": dataset_id,
        "name": name,
        "version": 1 if current is None else current["version"] + 1,
        "system": options.system,
        "trec_tag": staged.tag,
        "ranked_by": staged.ranked_by,
        "lower_is_better": turned,
        "num_predictions": content.num_rows,
        "run_at": options.run_at or now,
        **_common(staged, content),
    }
    warnings += _same_content(connection, dataset_id, name, content)
    connection.execute(table.insert().values(row))
    if options.tags:
        tags = [
            {"run_id": row["run_id"], "key": key, "value": value}
            for key, value in options.tags.items()
        ]
        connection.execute(schema.run_tag.insert(), tags)
    con.execute(render("ingest/predictions"), {"run_id": row["run_id"]})
    con.execute(render("ingest/rankings"), {"run_id": row["run_id"]})
    warnings += _query_warnings(con, dataset, dataset_id)
    status: Status = "loaded" if current is None else "replaced"
    return _outcome("run", status, dataset, row, content, warnings, name)


def _check_name(what: str, name: str) -> None:
    if not name.strip():
        raise UsageError(f"the name of the {what} is empty")


def default_name(source: str) -> str:
    """Return the name that a run gets from its file.

    >>> default_name("runs/bm25.run.gz")
    'bm25'
    """
    path = PurePath(source)
    if path.suffix.lower() in _COMPRESSED:
        path = path.with_suffix("")
    return path.stem


def _run_name(staged: readers.Staged, options: RunOptions) -> str:
    if options.name is not None:
        return options.name
    if options.name_from == "tag":
        if staged.tag is None:
            raise UsageError(f"{staged.source}: has no TREC tag to take the name from; give --name")
        return staged.tag
    if staged.source.startswith("<"):
        raise UsageError(
            f"{staged.source}: has no file name to take the run's name from; give --name"
        )
    return default_name(staged.source)


def _content(con: duckdb.DuckDBPyConnection, columns: str, suffix: str = "") -> _Content:
    """Return the counts of the staged rows and a hash that their order and format do not change."""
    num_rows, num_queries, total = con.execute(
        f"select count(*), count(distinct query_id), sum(hash({columns})) from staged"
    ).fetchall()[0]
    return _Content(num_rows, num_queries, f"{num_rows}-{int(total):032x}{suffix}")


def _common(staged: readers.Staged, content: _Content) -> dict[str, Any]:
    return {
        "content_hash": content.content_hash,
        "source": staged.source,
        "source_sha256": staged.source_sha256,
        "format": staged.format,
        "num_queries": content.num_queries,
        "ingested_at": dt.datetime.now(dt.UTC),
        "program_version": VERSION,
        "normalise": staged.normalise,
    }


def _dataset_id(connection: sa.Connection, name: str) -> int:
    """Return the number of a dataset, which is made when it is new."""
    table = schema.dataset
    found = connection.execute(
        sa.select(table.c.dataset_id).where(table.c.name == name)
    ).scalar_one_or_none()
    if found is not None:
        return int(found)
    number = _next_id(connection, table.c.dataset_id)
    connection.execute(
        table.insert().values(dataset_id=number, name=name, created_at=dt.datetime.now(dt.UTC))
    )
    return number


def _next_id(connection: sa.Connection, column: sa.Column[Any]) -> int:
    """Return the next number: there is one writer, so the highest so far and one is free."""
    return (
        int(connection.execute(sa.select(sa.func.coalesce(sa.func.max(column), 0))).scalar_one())
        + 1
    )


def _newest(
    connection: sa.Connection, table: sa.Table, condition: sa.ColumnElement[bool]
) -> dict[str, Any] | None:
    rows = connection.execute(
        sa.select(table).where(condition).order_by(table.c.version.desc()).limit(1)
    ).fetchall()
    return dict(rows[0]._mapping) if rows else None


def _described_otherwise(
    connection: sa.Connection, current: Mapping[str, Any], options: RunOptions
) -> str:
    """Name what is given now and stored otherwise: system or tags; empty when nothing is."""
    if options.system is not None and options.system != current["system"]:
        return "system"
    rows = connection.execute(
        sa.select(schema.run_tag.c.key, schema.run_tag.c.value).where(
            schema.run_tag.c.run_id == current["run_id"]
        )
    ).fetchall()
    stored = {row.key: row.value for row in rows}
    return "set of tags" if options.tags and dict(options.tags) != stored else ""


def _same_content(
    connection: sa.Connection, dataset_id: int, name: str, content: _Content
) -> list[str]:
    table = schema.run
    rows = connection.execute(
        sa.select(table.c.name)
        .where(table.c.dataset_id == dataset_id)
        .where(table.c.content_hash == content.content_hash)
        .where(table.c.name != name)
        .limit(1)
    ).fetchall()
    return [f"the predictions are the same as those of run {row.name}" for row in rows]


def _query_warnings(con: duckdb.DuckDBPyConnection, dataset: str, dataset_id: int) -> list[str]:
    """Count the staged queries that are not judged and the judged ones that are not staged."""
    judged, unjudged_queries, silent = con.execute(
        render("checks/query_overlap"), {"dataset_id": dataset_id}
    ).fetchall()[0]
    if judged == 0:
        return [f"dataset {dataset} has no qrels yet: warehouse ingest qrels FILE -d {dataset}"]
    warnings = []
    if unjudged_queries:
        are = "is" if unjudged_queries == 1 else "are"
        warnings.append(f"{counted(unjudged_queries, 'query')} of the run {are} not in the qrels")
    if silent:
        have = "has" if silent == 1 else "have"
        warnings.append(f"{silent:,} of {judged:,} judged queries {have} no line in the run")
    return warnings


def _outcome(
    kind: Literal["run", "qrels"],
    status: Status,
    dataset: str,
    row: Mapping[str, Any],
    content: _Content,
    warnings: list[str] | tuple[str, ...],
    name: str | None = None,
) -> Loaded:
    return Loaded(
        kind=kind,
        status=status,
        dataset=dataset,
        name=name or dataset,
        version=int(row["version"]),
        num_queries=content.num_queries,
        num_rows=content.num_rows,
        warnings=tuple(warnings),
    )
