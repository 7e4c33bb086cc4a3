"""What runs are evaluated against, put in scope: judgments, preferences, training set, attributes.

    scope_judgment    (query_id, doc_id, relevance)   one row per query and document: the highest
                      grade of its iterations; of preferences 1 where a group has it above 0, else 0
    scope_iteration   (query_id, doc_id, iteration, relevance)   the judgments as they were loaded;
                      of preferences one row per group
    scope_preference  (query_id, judgment_group, judgment_subgroup, doc_id, level)   the preferences;
                      of judgments each iteration is a group of one subgroup, and the grade the level
    scope_document    (doc_id)     the documents that the whole qrels know of, whatever their relevance
    scope_query       (query_id)   the queries that the whole qrels judge; where only a part of the qrels
                      is in scope, these two stay as they are
    scope_training    (query_id, doc_id, relevance)   the training set; empty where there is none
    scope_attribute   (doc_id, attribute, position, text, number)   the attributes of the documents
    scope_query_attribute   (query_id, attribute, position, text, number)   those of the queries

The first is a table, the others are views on what is stored or was read. What there is of the last
three is part of the fingerprint of the metrics that read it, and no metric is computed without.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from warehouse import readers
from warehouse.errors import command, listing, nearest
from warehouse.evaluate.plan import Contents, Plan, plan
from warehouse.metrics.notation import Metric
from warehouse.readers.staged import IDS, Subject
from warehouse.sql_text.quoting import ident, literal
from warehouse.sql_text.templates import render

PREFERENCES = "preferences"
# The attributes in scope, by what they describe.
VIEWS: Mapping[Subject, str] = {"document": "scope_attribute", "query": "scope_query_attribute"}
_NEEDS: Mapping[Subject, str] = {"document": "attributes", "query": "query_attributes"}
# The most queries whose ids are enumerated. Each statement that names the type makes a copy of it:
# with half a million queries that takes half a second, and more memory than the ids.
_ENUMERATED = 65_536
# What a dataset may have beside its qrels and runs, and most metrics do not need.
_BESIDE = frozenset({"training", *_NEEDS.values()})
# A value of `weight` that is not an attribute: see relations/weights.
_NO_ATTRIBUTES = {"queries": ("relevant",)}
_KINDS = {"qrels": "judgments", "iterations": "iterations", "preferences": PREFERENCES}


def kind_of(con: duckdb.DuckDBPyConnection, qrels_id: int) -> str:
    """Return the kind of stored qrels: judgments, iterations or preferences."""
    rows = con.execute("select kind from qrels where qrels_id = $id", {"id": qrels_id}).fetchall()
    return str(rows[0][0])


def put_stored(con: duckdb.DuckDBPyConnection, qrels_id: int, kind: str) -> None:
    """Put a version of the qrels in scope, with the dataset's current training set and attributes.

    The runs must be in scope.
    """
    ((dataset, num_queries),) = con.execute(
        "select name, greatest(num_queries, "
        "(select max(num_queries) from run semi join scope_run using (run_id))) "
        "from dataset join qrels using (dataset_id) where qrels_id = $id",
        {"id": qrels_id},
    ).fetchall()
    lists = "(select query_id from ranking semi join scope_run using (run_id))"
    put_keys(con, stored_qrels(qrels_id, kind), lists, num_queries)
    put_qrels(con, kind, stored_qrels(qrels_id, kind))
    put_whole(con, stored_qrels(qrels_id, kind))
    put_attributes(con, dataset)
    found = _current_training(con, dataset)
    rows = f"(select * from example where training_id = {literal(found[0])})" if found else None
    con.execute(render("statements/scope_training", rows=rows))


def stored_qrels(qrels_id: int, kind: str) -> str:
    """Return SQL of the relation that holds a version of the qrels."""
    table = "preference" if kind == PREFERENCES else "judgment"
    return f"(select * from {table} where qrels_id = {literal(qrels_id)})"


def put_attributes(con: duckdb.DuckDBPyConnection, dataset: str) -> None:
    """Put the current attributes of a dataset's documents and queries in scope."""
    con.execute(render("statements/scope_attribute", dataset=dataset))


def put_keys(con: duckdb.DuckDBPyConnection, rows: str, lists: str, number: int) -> None:
    """Make the type of the query ids in the qrels and in the ranked lists of the runs in scope.

    `number` says about how many queries there are.
    """
    words = {"rows": rows, "lists": lists, "is_enumeration": number <= _ENUMERATED}
    con.execute(render("statements/query_keys", **words))


def put_qrels(con: duckdb.DuckDBPyConnection, kind: str, rows: str) -> None:
    """Put qrels in scope; `rows` is SQL of the relation that holds them."""
    con.execute(render("statements/scope_qrels", kind=kind, rows=rows))


def put_whole(con: duckdb.DuckDBPyConnection, rows: str) -> None:
    """Put the documents and queries of the whole qrels in scope; `rows` is as of `put_qrels`."""
    con.execute(render("statements/scope_whole", rows=rows))


def put_read_qrels(
    con: duckdb.DuckDBPyConnection, read: readers.Staged, rows: str, num_rows: int | None = None
) -> None:
    """Put qrels from a table of read rows in scope; runs must be staged.

    `num_rows` is the number of rows of qrels and runs together, if it is known.
    """
    number = num_rows
    if number is None or number > _ENUMERATED:
        each = (f"(select count(distinct query_id) from {of})" for of in (rows, "staged_ranking"))
        ((number,),) = con.execute(f"select greatest({', '.join(each)})").fetchall()
    put_keys(con, rows, "staged_ranking", number)
    put_qrels(con, _KINDS[read.kind], rows)
    put_whole(con, rows)


def put_read_training(con: duckdb.DuckDBPyConnection, read: readers.Staged | None) -> None:
    """Put the training set that was just staged in scope, or an empty one."""
    rows = None if read is None else keep(con, "given_training")
    con.execute(render("statements/scope_training", rows=rows))


def keep(con: duckdb.DuckDBPyConnection, name: str) -> str:
    """Rename the staged table, so that the next source can be staged."""
    con.execute(f"drop table if exists temp.{ident(name)}")
    con.execute(f"alter table staged rename to {ident(name)}")
    return name


def contents(con: duckdb.DuckDBPyConnection, work: Plan, dataset: str) -> Contents:
    """Return the hashes of a dataset's current training set and of the attributes that are read."""
    if not work.needs & _BESIDE:
        return Contents()
    training = _current_training(con, dataset)
    put_attributes(con, dataset)
    of_documents = {name for metric in work.queries for name in work.attributes_of(metric)}
    of_queries = {name for metric in work.queries for name in work.query_attributes_of(metric)}
    return Contents(
        training[1] if training else None,
        _hashes(con, "document", of_documents),
        _hashes(con, "query", of_queries),
    )


def _hashes(
    con: duckdb.DuckDBPyConnection, subject: Subject, names: Collection[str]
) -> dict[str, str]:
    """Return a hash of each of some attributes in scope."""
    if not names:
        return {}
    sql = render("statements/attribute_contents", view=VIEWS[subject], id=IDS[subject])
    rows = con.execute(sql, {"names": sorted(names)}).fetchall()
    return {str(name): str(content) for name, content in rows}


def lacking_stored(con: duckdb.DuckDBPyConnection, work: Plan, dataset: str) -> list[str]:
    """Return a sentence for each metric that reads something a dataset does not have."""
    if not work.needs & _BESIDE:
        return []
    put_attributes(con, dataset)
    names: dict[Subject, list[str]] = {}
    for subject, view in VIEWS.items():
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
    return lacking(work, _current_training(con, dataset) is not None, names, where)


@dataclass(frozen=True)
class Where:
    """Where to look for a training set and attributes, and how to provide them."""

    name: str
    training: str
    attributes: str
    query_attributes: str


OF_FILES = Where(
    "what was given",
    "--training FILE",
    "--attributes FILE",
    "--attributes FILE, a table with a column query_id",
)


def lacking(
    work: Plan, training: bool, attributes: Mapping[Subject, Sequence[str]], where: Where
) -> list[str]:
    """Return a sentence for each metric that reads a training set or an attribute that is missing.

    >>> from warehouse import metrics, protocols
    >>> from warehouse.evaluate.plan import plan
    >>> work = plan(metrics.parse("PSP@5"), protocols.get("default"))
    >>> lacking(work, False, {}, OF_FILES)
    ['PSP@5 reads a training set, and what was given has none; load it with: --training FILE']
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


def _current_training(con: duckdb.DuckDBPyConnection, dataset: str) -> tuple[int, str] | None:
    """Return the id and content hash of a dataset's current training set, if it has one."""
    rows = con.execute(
        "select training_id, content_hash from training join training_version using (training_id) "
        "where dataset = $name and is_current",
        {"name": dataset},
    ).fetchall()
    return (int(rows[0][0]), str(rows[0][1])) if rows else None


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
