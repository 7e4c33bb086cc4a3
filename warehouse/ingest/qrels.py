"""Loading the qrels of a dataset, of any kind, and its training set.

A dataset has one current version of each. Other content needs `replace` and becomes the next
version. The judgments of one judge are a version of the qrels too, which is never current.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal, Unpack

import duckdb
import sqlalchemy as sa

from warehouse import readers
from warehouse.errors import ConflictError, UsageError, counted, option
from warehouse.ingest import steps
from warehouse.ingest.global_qrels import LABEL, expand, stage_global
from warehouse.readers.arguments import JudgmentRows
from warehouse.sql_text.templates import render
from warehouse.store import database, schema
from warehouse.store.clock import Clock


@dataclass(frozen=True)
class _Ground:
    """How one kind of source is stored: its table in the catalogue, and its name in messages."""

    what: Literal["qrels", "training"]
    table: sa.Table
    row_hash: str
    count: str
    insert: str
    words: tuple[str, str, str]
    hash_suffix: str = ""
    given: Mapping[str, Any] | None = None

    @property
    def key(self) -> sa.Column[Any]:
        return self.table.c[f"{self.what}_id"]


JUDGE_KINDS = ("human", "llm", "crowd")
_JUDGED = "judgment_hash(query_id, doc_id, relevance, iteration)"
_QRELS_WORDS = ("other qrels", "judgment", "these judgments are")


@dataclass(frozen=True)
class Judge:
    """Who or what made judgments; the kind is one of `JUDGE_KINDS`."""

    judge: str
    judge_kind: str = "human"
    model: str | None = None
    prompt: str | None = None


# By the kind that the reader has staged.
_GROUNDS: Mapping[str, _Ground] = {
    "qrels": _Ground(
        "qrels", schema.qrels, _JUDGED, "num_judgments", "ingest/judgments", _QRELS_WORDS,
        given={"kind": "judgments"},
    ),
    "iterations": _Ground(
        "qrels", schema.qrels, _JUDGED, "num_judgments", "ingest/judgments", _QRELS_WORDS,
        given={"kind": "iterations"},
    ),
    "preferences": _Ground(
        "qrels", schema.qrels,
        "hash(query_id, judgment_group, judgment_subgroup, doc_id, level)",
        "num_judgments", "ingest/preferences", _QRELS_WORDS,
        hash_suffix="-preferences", given={"kind": "preferences"},
    ),
    "training": _Ground(
        "training", schema.training, "judgment_hash(query_id, doc_id, relevance)", "num_examples",
        "ingest/examples", ("another training set", "example", "this training set is"),
    ),
}  # fmt: skip


def stage_qrels(
    con: duckdb.DuckDBPyConnection,
    source: object,
    dataset: str,
    *,
    label: str | None = None,
    iterations: bool = False,
    is_global: bool = False,
    queries: object | None = None,
    replace: bool = False,
    **how: Unpack[JudgmentRows],
) -> steps.Store[steps.Loaded]:
    """Stage the judgments of a dataset, or preferences when that is the format; return what stores them.

    With `is_global` the source is one set of documents, for every query of `queries` or of the runs.
    """
    steps.check_name("dataset", dataset)
    if is_global:
        of_set: Any = dict(how)
        readers.refuse_rules(of_set.pop("where", None), of_set.pop("repeated", None))
        if iterations:
            raise UsageError(f"{option('global')}: one set of documents has no iterations")
        everywhere = stage_global(con, source, queries=queries, **of_set)

        def store(connection: sa.Connection) -> steps.Loaded:
            staged = expand(database.raw(connection), everywhere, dataset)
            return store_qrels(connection, staged, dataset, label=label or LABEL, replace=replace)

        return store
    if queries is not None:
        raise UsageError(
            f"{option('queries', None)} goes with {option('global')}, for "
            f"judgments that name no query"
        )
    kind = readers.qrels_kind(how.get("format"), iterations=iterations)
    staged = readers.stage(con, source, kind, **how)
    return partial(store_qrels, staged=staged, dataset=dataset, label=label, replace=replace)


def stage_training(
    con: duckdb.DuckDBPyConnection,
    source: object,
    dataset: str,
    *,
    label: str | None = None,
    replace: bool = False,
    **how: Unpack[JudgmentRows],
) -> steps.Store[steps.Loaded]:
    """Stage the training set of a dataset; return what stores it."""
    steps.check_name("dataset", dataset)
    staged = readers.stage(con, source, "training", **how)
    return partial(store_qrels, staged=staged, dataset=dataset, label=label, replace=replace)


def store_qrels(
    connection: sa.Connection,
    staged: readers.Staged,
    dataset: str,
    *,
    label: str | None,
    replace: bool,
    judge: Judge | None = None,
) -> steps.Loaded:
    """Store what is staged, unless it is the current version already, or the newest of its judge."""
    ground = _GROUNDS[staged.kind]
    con = database.raw(connection)
    content = steps.content(con, dataset, ground.row_hash, ground.hash_suffix)
    dataset_id = steps.dataset_id(connection, dataset)
    table = ground.table
    current = steps.newest(connection, table, _versions(ground, dataset_id, judge))
    other, noun, same = ground.words
    name, whose = (dataset, f"dataset {dataset}") if judge is None else (judge.judge, judge.judge)
    if current is not None and current["content_hash"] == content.content_hash:
        warnings = list(staged.warnings)
        if label is not None and label != current["label"]:
            warnings.append(f"the label stays {current['label']!r}: {same} loaded already")
        if judge is not None and judge != (before := _stored_judge(connection, current)):
            warnings.append(f"stays {_described(before)}: {same} loaded already")
        return steps.outcome(
            ground.what, "unchanged", dataset, staged, current, content, warnings, name
        )
    if current is not None and not replace:
        raise ConflictError(
            f"{staged.source}: {whose} has {other} already (version "
            f"{current['version']}, {counted(current[ground.count], noun)} from "
            f"{current['source']}); "
            f"{option('replace')} makes this a new version, and the old one stays readable"
        )
    last = connection.execute(
        sa.select(sa.func.max(table.c.version)).where(table.c.dataset_id == dataset_id)
    ).scalar_one()
    row = {
        ground.key.name: schema.next_id(connection, ground.key),
        "dataset_id": dataset_id,
        "version": (last or 0) + 1,
        "label": label,
        ground.count: content.num_rows,
        "graded_by": staged.relevance,
        **(ground.given or {}),
        **steps.common(staged, content, Clock(con).now()),
    }
    connection.execute(table.insert().values(row))
    con.execute(render(ground.insert), {ground.key.name: row[ground.key.name]})
    if judge is not None:
        of_judge = {"qrels_id": row["qrels_id"], **asdict(judge)}
        connection.execute(schema.qrels_judge.insert().values(of_judge))
    status: steps.Status = "loaded" if current is None else "replaced"
    return steps.outcome(ground.what, status, dataset, staged, row, content, staged.warnings, name)


def _versions(ground: _Ground, dataset_id: int, judge: Judge | None) -> sa.ColumnElement[bool]:
    """Return the condition for the versions of a dataset that one judge made, or none alone."""
    of_dataset = ground.table.c.dataset_id == dataset_id
    if ground.what != "qrels":
        return of_dataset
    judged = sa.select(schema.qrels_judge.c.qrels_id)
    if judge is None:
        return sa.and_(of_dataset, ground.key.not_in(judged))
    return sa.and_(
        of_dataset, ground.key.in_(judged.where(schema.qrels_judge.c.judge == judge.judge))
    )


def _stored_judge(connection: sa.Connection, version: Mapping[str, Any]) -> Judge:
    """Return the judge who made a version."""
    table = schema.qrels_judge
    rows = connection.execute(
        sa.select(table.c.judge, table.c.judge_kind, table.c.model, table.c.prompt).where(
            table.c.qrels_id == version["qrels_id"]
        )
    ).fetchall()
    return Judge(*rows[0])


def _described(judge: Judge) -> str:
    words = [f"of the kind {judge.judge_kind}"]
    words += [f"{key} {value!r}" for key in ("model", "prompt") if (value := getattr(judge, key))]
    return ", ".join(words)
