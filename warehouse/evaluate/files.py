"""Scoring files: qrels and a run in, values out, nothing stored; the same templates and engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from warehouse import readers
from warehouse.errors import InputError, UsageError
from warehouse.evaluate import engine, grounds
from warehouse.evaluate.plan import Plan, matched_sql, relations_sql
from warehouse.protocols import Protocol
from warehouse.readers.attributes import IDS, Subject, stage_attributes
from warehouse.readers.everywhere import for_queries, stage_everywhere, stage_queries
from warehouse.templates import render


@dataclass(frozen=True)
class Scored:
    """What was read to score a run, beside the values in `query_score` and `score`."""

    run: readers.Staged
    qrels: readers.Staged
    num_judged: int
    num_answered: int
    num_unjudged_queries: int
    training: readers.Staged | None = None


def score(
    con: duckdb.DuckDBPyConnection,
    qrels: object,
    run: object,
    work: Plan,
    *,
    qrels_format: str | None = None,
    run_format: str | None = None,
    columns: Mapping[str, str] | None = None,
    attributes: Sequence[object] = (),
    normalise: str | None = None,
    is_global: bool = False,
    queries: object | None = None,
    lower_is_better: bool = False,
    iterations: bool = False,
    training: object = None,
) -> Scored:
    """Compute a plan's metrics for a run and qrels that are files or objects.

    Leaves the temporary tables `query_score (evaluation_id, query_id, value)`, `score` and `pending`
    on the connection; evaluation_id is the number of the metric in the plan.
    """
    how: Any = {"columns": columns, "normalise": normalise, "hashed": False}
    names = scope_attributes(con, attributes, normalise=normalise)
    lacking = grounds.lacking(work, training is not None, names, grounds.OF_FILES)
    if lacking:
        raise UsageError("\n".join(lacking))
    read_training = None
    if training is not None:
        read_training = readers.stage(con, training, "training", normalise=normalise)
    grounds.put_read_training(con, read_training)
    if is_global:
        if iterations:
            raise UsageError("--global: one set of documents has no iterations")
        shared = {name: given for name, given in (columns or {}).items() if name == "doc_id"}
        read_qrels = stage_everywhere(
            con, qrels, format=qrels_format, columns=shared, normalise=normalise
        )
        read_run = readers.stage(con, run, "run", format=run_format, **how)
        sql = "select query_id from staged" if queries is None else stage_queries(con, queries)[0]
        con.execute(f"create or replace temp table expanded_qrels as\n{for_queries(sql)}")
        grounds.put_read_qrels(con, read_qrels, "expanded_qrels")
    elif queries is not None:
        raise UsageError("--queries: goes with --global, for judgments that name no query")
    else:
        kind = readers.qrels_kind(qrels_format, iterations=iterations)
        read_qrels = readers.stage(con, qrels, kind, format=qrels_format, **how)
        _, others = grounds.fitting(work, read_qrels.kind)
        if others:
            raise UsageError(grounds.unfit(read_qrels.source, others))
        rows = grounds.keep(con, "given_qrels")
        read_run = readers.stage(con, run, "run", format=run_format, **how)
        grounds.put_read_qrels(con, read_qrels, rows)
    turned = lower_is_better or read_run.ranked_by == "rank"
    con.execute(render("statements/score_scope", lower_is_better=turned))
    matched = matched_sql(work.protocol, by_counting=grounds.has_few_judgments(con))
    con.execute(
        f"create or replace temp table scope_hit as "
        "select * replace (query_id::query_key as query_id), rank as whole_rank "
        f"from (\n{matched}\n) as matched"
    )
    con.execute(
        "insert into pending "
        "select unnest(range(len($kinds))), 1, unnest(range(len($kinds))), unnest($kinds), "
        "unnest($aggregates)",
        {
            "kinds": [metric.definition.kind for metric in work.queries],
            "aggregates": [metric.aggregate for metric in work.queries],
        },
    )
    judged, answered, extra = con.execute(render("statements/score_counts")).fetchall()[0]
    if answered == 0:
        raise InputError(
            f"{read_run.source}: no query of the run is judged in {read_qrels.source}; "
            "do the two belong together, and are the query ids written the same way?"
        )
    engine.compute(con, work)
    return Scored(read_run, read_qrels, judged, answered, extra, read_training)


def scope_attributes(
    con: duckdb.DuckDBPyConnection, sources: Sequence[object], *, normalise: str | None = None
) -> dict[Subject, list[str]]:
    """Put the attributes of documents and of queries from some sources in scope; return their names.

    A source is one of documents where it has a column `doc_id`, else of queries where it has a column
    `query_id`. The tables' columns are the id, `attribute, position, text, number`. No two sources may
    have the same attribute of the same.
    """
    for subject, table in grounds.VIEWS.items():
        con.execute(
            f"create or replace temp table {table} ({IDS[subject]} varchar, attribute varchar, "
            "position integer, text varchar, number double)"
        )
    seen: dict[Subject, dict[str, str]] = {"document": {}, "query": {}}
    for source in sources:
        staged = stage_attributes(con, source, None, normalise=normalise)
        known = seen[staged.subject]
        for attribute in staged.columns:
            if attribute in known:
                raise InputError(
                    f"{staged.source}: the attribute {attribute} is in {known[attribute]} too; "
                    "rename it, or leave it out of one of the two"
                )
            known[attribute] = staged.source
        con.execute(f"insert into {grounds.VIEWS[staged.subject]} from staged_attribute")
    return {subject: list(names) for subject, names in seen.items()}


def relstrings(
    con: duckdb.DuckDBPyConnection, protocol: Protocol, length: int
) -> list[tuple[str, str]]:
    """Return the grades of each query's first documents as a string, of a run that was scored."""
    relations = relations_sql(protocol, "rankings", "retrieved")
    sql = render(
        "analyses/relstring",
        relations=relations,
        length=length,
        list_silent=protocol.list_silent,
    )
    return con.execute(sql).fetchall()
