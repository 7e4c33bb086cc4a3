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

from warehouse import readers
from warehouse.errors import ConflictError, UsageError, counted, option
from warehouse.ingest import steps
from warehouse.ingest.global_qrels import LABEL, expand, stage_global
from warehouse.readers.arguments import JudgmentRows
from warehouse.sql_text.templates import render
from warehouse.store import rows
from warehouse.store.clock import Clock


@dataclass(frozen=True)
class _Ground:
    """How one kind of source is stored: its table in the catalogue, and its name in messages."""

    table: Literal["qrels", "training"]
    row_hash: str
    count: str
    insert: str
    words: tuple[str, str, str]
    hash_suffix: str = ""
    given: Mapping[str, Any] | None = None

    @property
    def key(self) -> str:
        return f"{self.table}_id"


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
        "qrels", _JUDGED, "num_judgments", "ingest/judgments", _QRELS_WORDS,
        given={"kind": "judgments"},
    ),
    "iterations": _Ground(
        "qrels", _JUDGED, "num_judgments", "ingest/judgments", _QRELS_WORDS,
        given={"kind": "iterations"},
    ),
    "preferences": _Ground(
        "qrels", "hash(query_id, judgment_group, judgment_subgroup, doc_id, level)",
        "num_judgments", "ingest/preferences", _QRELS_WORDS,
        hash_suffix="-preferences", given={"kind": "preferences"},
    ),
    "training": _Ground(
        "training", "judgment_hash(query_id, doc_id, relevance)", "num_examples",
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

        def store(con: duckdb.DuckDBPyConnection) -> steps.Loaded:
            staged = expand(con, everywhere, dataset)
            return store_qrels(con, staged, dataset, label=label or LABEL, replace=replace)

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
    """Stage the training set of a dataset; return the function that stores it."""
    steps.check_name("dataset", dataset)
    staged = readers.stage(con, source, "training", **how)
    return partial(store_qrels, staged=staged, dataset=dataset, label=label, replace=replace)


def store_qrels(
    con: duckdb.DuckDBPyConnection,
    staged: readers.Staged,
    dataset: str,
    *,
    label: str | None,
    replace: bool,
    judge: Judge | None = None,
) -> steps.Loaded:
    """Store what is staged, unless it is the current version already, or the newest of its judge."""
    ground = _GROUNDS[staged.kind]
    content = steps.content(con, dataset, ground.row_hash, ground.hash_suffix)
    ours = {"dataset_id": steps.dataset_id(con, dataset)}
    asked = ours if judge is None else {**ours, "judge": judge.judge}
    current = steps.newest(con, ground.table, _versions(ground, judge), asked)
    other, noun, same = ground.words
    name, whose = (dataset, f"dataset {dataset}") if judge is None else (judge.judge, judge.judge)
    if current is not None and current["content_hash"] == content.content_hash:
        warnings = list(staged.warnings)
        if label is not None and label != current["label"]:
            warnings.append(f"the label stays {current['label']!r}: {same} loaded already")
        if judge is not None and judge != (before := _stored_judge(con, current)):
            warnings.append(f"stays {_described(before)}: {same} loaded already")
        return steps.outcome(
            ground.table, "unchanged", dataset, staged, current, content, warnings, name
        )
    if current is not None and not replace:
        raise ConflictError(
            f"{staged.source}: {whose} has {other} already (version "
            f"{current['version']}, {counted(current[ground.count], noun)} from "
            f"{current['source']}); "
            f"{option('replace')} makes this a new version, and the old one stays readable"
        )
    ((last,),) = con.execute(
        f"select coalesce(max(version), 0) from store.{ground.table} where dataset_id = $dataset_id",
        ours,
    ).fetchall()
    row = {
        ground.key: rows.next_id(con, ground.key, ground.table),
        **ours,
        "version": last + 1,
        "label": label,
        ground.count: content.num_rows,
        "graded_by": staged.relevance,
        **(ground.given or {}),
        **steps.common(staged, content, Clock(con).now()),
    }
    rows.add(con, ground.table, [row])
    con.execute(render(ground.insert), {ground.key: row[ground.key]})
    if judge is not None:
        rows.add(con, "qrels_judge", [{"qrels_id": row["qrels_id"], **asdict(judge)}])
    status: steps.Status = "loaded" if current is None else "replaced"
    return steps.outcome(ground.table, status, dataset, staged, row, content, staged.warnings, name)


def _versions(ground: _Ground, judge: Judge | None) -> str:
    """Return the condition for the versions of a dataset that one judge made, or none alone."""
    of_dataset = "dataset_id = $dataset_id"
    if ground.table != "qrels":
        return of_dataset
    judged = "select qrels_id from store.qrels_judge"
    if judge is None:
        return f"{of_dataset} and qrels_id not in ({judged})"
    return f"{of_dataset} and qrels_id in ({judged} where judge = $judge)"


def _stored_judge(con: duckdb.DuckDBPyConnection, version: Mapping[str, Any]) -> Judge:
    """Return the judge who made a version."""
    found = con.execute(
        "select judge, judge_kind, model, prompt from store.qrels_judge where qrels_id = $1",
        [version["qrels_id"]],
    ).fetchall()
    return Judge(*found[0])


def _described(judge: Judge) -> str:
    words = [f"of the kind {judge.judge_kind}"]
    words += [f"{key} {value!r}" for key in ("model", "prompt") if (value := getattr(judge, key))]
    return ", ".join(words)
