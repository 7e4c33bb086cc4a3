"""The needs of metrics apart from judgments: whether they are there, and their contents."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from warehouse.errors import command, listing, nearest, option
from warehouse.evaluate.plan import Contents, Plan, plan
from warehouse.evaluate.scope import ATTRIBUTES, PREFERENCES, Scope, current_training
from warehouse.metrics import protocols
from warehouse.metrics.notation import Metric, known_metric
from warehouse.metrics.protocols import Protocol
from warehouse.readers.kinds import IDS, Subject
from warehouse.sql_text.templates import render

_NEEDS: Mapping[Subject, str] = {"document": "attributes", "query": "query_attributes"}
# Data of a dataset apart from its qrels and runs, which most metrics do not need.
# Judges' assessments of the answers of stored runs.
ASSESSED = frozenset({"assignments", "citations"})
_OPTIONAL = frozenset({"training", *_NEEDS.values(), *ASSESSED})
# A value of `weight` that is not an attribute: see relations/weights.
_NO_ATTRIBUTES = {"queries": ("relevant",)}


def contents(con: duckdb.DuckDBPyConnection, work: Plan, dataset: str) -> Contents:
    """Return hashes of a dataset's training set, of the attributes that are read and of its nuggets."""
    if not work.needs & _OPTIONAL:
        return Contents()
    training = current_training(con, dataset)
    Scope(con).attributes(dataset)
    of_documents = {name for metric in work.queries for name in work.attributes_of(metric)}
    of_queries = {name for metric in work.queries for name in work.query_attributes_of(metric)}
    of_queries |= work.protocol.attributes
    return Contents(
        training[1] if training else None,
        _hashes(con, "document", of_documents),
        _hashes(con, "query", of_queries),
        _nuggets(con, dataset),
    )


def resolved(con: duckdb.DuckDBPyConnection, protocol: Protocol, dataset: str) -> Protocol:
    """Return a protocol that knows the hash of the documents that it leaves out in a dataset."""
    work = plan((), protocol)
    return work.resolved(contents(con, work, dataset)).protocol


def _nuggets(con: duckdb.DuckDBPyConnection, dataset: str) -> str | None:
    """Return the content hash of a dataset's current nuggets, if it has any."""
    rows = con.execute(
        "select content_hash from nugget_set join nugget_set_version using (nugget_set_id) "
        "where dataset = $1 and is_current",
        [dataset],
    ).fetchall()
    return str(rows[0][0]) if rows else None


def judges(con: duckdb.DuckDBPyConnection, dataset: str) -> list[tuple[str, str | None]]:
    """Return the kinds of assessments that a dataset's runs have, each with a judge."""
    rows = con.execute(
        "select distinct kind, judge from assessment_version join run_version using (run_id) "
        "where dataset = $1 and assessment_version.is_current order by all",
        [dataset],
    ).fetchall()
    return [(str(kind), None if judge is None else str(judge)) for kind, judge in rows]


def assessed(work: Plan) -> list[tuple[str, str, str | None]]:
    """Return the metrics that read assessments of answers, each with their kind and judge."""
    return [
        (str(metric), kind, work.judge_of(metric))
        for metric in work.queries
        for kind in sorted(work.needs_of(metric) & ASSESSED)
    ]


def assessed_metrics(names: Iterable[str]) -> list[str]:
    """Return the stored names whose metrics read assessments of answers, among some.

    >>> assessed_metrics(["AP", "NuggetScore(judge=ann)", "of another program"])
    ['NuggetScore(judge=ann)']
    """
    metrics = [metric for name in names if (metric := known_metric(name)) is not None]
    return [name for name, *_ in assessed(plan(metrics, protocols.get(protocols.DEFAULT)))]


def assessed_at(con: duckdb.DuckDBPyConnection, work: Plan) -> dict[tuple[int, str], dt.datetime]:
    """Return when the answers of runs were assessed last, by run and metric that reads it."""
    found: dict[tuple[int, str], dt.datetime] = {}
    for metric, kind, judge in assessed(work):
        rows = con.execute(
            "select run_id, ingested_at from assessment_version "
            "where is_current and kind = $1 and judge is not distinct from $2",
            [kind, judge],
        ).fetchall()
        found |= {(int(run_id), metric): at for run_id, at in rows}
    return found


def _unjudged(
    work: Plan, found: Sequence[tuple[str, str | None]] | None, dataset: str
) -> Iterator[str]:
    """Yield a sentence for each metric whose judge assessed no answer; `found` is of `judges`."""
    for metric in work.queries:
        for kind in sorted(work.needs_of(metric) & ASSESSED):
            judge = work.judge_of(metric)
            if found is None:
                yield f"{metric} reads {kind} of answers, which are stored: it needs a warehouse"
            elif (kind, judge) not in found:
                there = [one for what, one in found if what == kind]
                named = [one for one in there if one is not None]
                whose = "a judge without a name" if judge is None else f"judge {judge}"
                hint = "" if judge is None else nearest(judge, named)
                if named and not hint:
                    hint = f"; there are those by {listing(named)}: write judge={named[0]}"
                load = command(f"ingest {kind} FILE", dataset)
                hint = hint or f"; load them with: {load}"
                yield f"{metric} reads {kind} by {whose}, and dataset {dataset} has none{hint}"


def _hashes(
    con: duckdb.DuckDBPyConnection, subject: Subject, names: Collection[str]
) -> dict[str, str]:
    """Return a hash of each of some attributes in scope."""
    if not names:
        return {}
    sql = render("statements/attribute_contents", view=ATTRIBUTES[subject], id=IDS[subject])
    rows = con.execute(sql, {"names": sorted(names)}).fetchall()
    return {str(name): str(content) for name, content in rows}


def lacking_stored(con: duckdb.DuckDBPyConnection, work: Plan, dataset: str) -> list[str]:
    """Return a sentence for each metric that reads something a dataset does not have."""
    if not work.needs & _OPTIONAL:
        return []
    Scope(con).attributes(dataset)
    names: dict[Subject, list[str]] = {}
    for subject, view in ATTRIBUTES.items():
        if _NEEDS[subject] not in work.needs:
            continue
        rows = con.execute(f"select distinct attribute from {view} order by attribute").fetchall()
        names[subject] = [str(row[0]) for row in rows]
    where = Where(
        f"dataset {dataset}",
        command("ingest training FILE", dataset),
        command("ingest attributes FILE --of docs", dataset),
        command("ingest attributes FILE --of queries", dataset),
    )
    found = lacking(work, current_training(con, dataset) is not None, names, where)
    if work.needs & ASSESSED:
        found += _unjudged(work, judges(con, dataset), dataset)
    return found


@dataclass(frozen=True)
class Where:
    """Where to look for a training set and attributes, and how to provide them."""

    name: str
    training: str
    attributes: str
    query_attributes: str


def of_files() -> Where:
    """Return how to provide these needs for files."""
    attributes = option("attributes", None)
    return Where(
        "what was given", option("training", None), attributes,
        f"{attributes} a table with a column query_id",
    )  # fmt: skip


def lacking(
    work: Plan, training: bool, attributes: Mapping[Subject, Sequence[str]], where: Where
) -> list[str]:
    """Return a sentence for each metric that reads a training set or an attribute that is missing.

    >>> from warehouse.metrics import notation, protocols
    >>> from warehouse.evaluate.plan import plan
    >>> work = plan(notation.parse("PSP@5"), protocols.get("default"))
    >>> lacking(work, False, {}, of_files())
    ['PSP@5 reads a training set, and what was given has none; load it with: training=']
    """
    sentences: list[str] = []
    for metric in work.queries:
        if "training" in work.needs_of(metric) and not training:
            sentences.append(
                f"{metric} reads a training set, and {where.name} has none; "
                f"load it with: {where.training}"
            )
        sentences += _without(
            metric, work.attributes_of(metric), "documents", attributes.get("document", ()),
            where.name, where.attributes,
        )  # fmt: skip
        sentences += _without(
            metric, work.query_attributes_of(metric), "queries", attributes.get("query", ()),
            where.name, where.query_attributes,
        )  # fmt: skip
    return sentences


def _without(
    metric: Metric, read: Sequence[str], of: str, there: Sequence[str], where: str, load: str
) -> list[str]:
    """Return a sentence for each missing attribute that a metric reads."""
    known = f"; it has {listing(there)}" if there else ""
    words = [*there, *_NO_ATTRIBUTES.get(of, ())]
    return [
        f"{metric} reads the attribute {name} of the {of}, and {where} has none "
        f"of that name{nearest(name, words) or known}; load it with: {load}"
        for name in read
        if name not in there
    ]


def of_stored_runs(work: Plan) -> list[str]:
    """Return a sentence for each metric that reads data of stored runs only."""
    return list(_unjudged(work, None, ""))


def fitting(work: Plan, kind: str) -> tuple[Plan, list[str]]:
    """Return the part of a plan that can be computed from a kind of qrels, and the other metrics.

    Preferences say which document is better, not how good one is. With them, only metrics that read
    preferences, or that only count rankings, can be computed.
    """
    if kind != PREFERENCES:
        return work, []
    fits = [
        metric
        for metric in work.queries
        if "preferences" in work.needs_of(metric) or metric.definition.reads == ("rankings",)
    ]
    others = [str(metric) for metric in work.queries if metric not in fits]
    return plan(fits, work.protocol), others


def left_out(dataset: str, metrics: list[str]) -> str:
    """Return the sentence about metrics that need judgments, left out for preferences."""
    return (
        f"{dataset}: left out {listing(metrics, 5)}: its qrels are preferences, and only metrics of "
        f"preferences can be computed from them: {command('evaluate', dataset, metrics=['prefs'])}"
    )


def unfit(where: str, metrics: list[str]) -> str:
    """Return the sentence that refuses metrics that need judgments for qrels that are preferences."""
    return (
        f"{where}: the qrels are preferences, which have no grades: {listing(metrics, 5)} cannot be "
        "computed from them; ask for metrics of preferences, or load judgments"
    )
