"""Scoring files: qrels and a run in, values out, nothing stored; the same templates and engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from warehouse import readers
from warehouse.errors import InputError
from warehouse.evaluate import engine
from warehouse.evaluate.plan import Plan, matched_sql, relations_sql
from warehouse.protocols import Protocol
from warehouse.readers.zscores import Reference
from warehouse.templates import render

# What trec_eval gives to a value that has no z-score.
MISSING_ZSCORE = -1_000_000.0


@dataclass(frozen=True)
class Scored:
    """What was read to score a run, beside the values in `query_score` and `score`."""

    run: readers.Staged
    qrels: readers.Staged
    num_judged: int
    num_answered: int
    num_unjudged_queries: int


def score(
    con: duckdb.DuckDBPyConnection,
    qrels: object,
    run: object,
    work: Plan,
    *,
    qrels_format: str | None = None,
    run_format: str | None = None,
    columns: Mapping[str, str] | None = None,
    lower_is_better: bool = False,
) -> Scored:
    """Compute a plan's metrics for a run and qrels that are files or objects.

    Leaves the temporary tables `query_score (evaluation_id, query_id, value)`, `score` and `pending`
    on the connection; evaluation_id is the number of the metric in the plan.
    """
    read_qrels = readers.stage(con, qrels, "qrels", format=qrels_format, columns=columns)
    con.execute(
        "create or replace temp table scope_judgment as "
        "select query_id, doc_id, relevance from staged"
    )
    read_run = readers.stage(con, run, "run", format=run_format, columns=columns)
    turned = lower_is_better or read_run.ranked_by == "rank"
    con.execute(render("statements/score_scope", lower_is_better=turned))
    con.execute(f"create or replace temp table scope_hit as\n{matched_sql(work.protocol)}")
    for number, metric in enumerate(work.queries):
        con.execute("insert into pending values ($1, 1, $1, $2)", [number, metric.aggregate])
    judged, answered, extra = con.execute(render("statements/score_counts")).fetchall()[0]
    if answered == 0:
        raise InputError(
            f"{read_run.source}: no query of the run is judged in {read_qrels.source}; "
            "do the two belong together, and are the query ids written the same way?"
        )
    engine.compute(con, work)
    return Scored(read_run, read_qrels, judged, answered, extra)


def standardise(
    con: duckdb.DuckDBPyConnection,
    measures: Sequence[str | None],
    reference: Reference,
    protocol: Protocol,
) -> None:
    """Turn the values of a run that was scored into z-scores, in `query_score` and `score`.

    `measures` holds the name of each metric of the plan in the reference, None for one to leave alone.
    """
    con.execute(
        "create or replace temp table zscore_reference as "
        "select unnest($queries::varchar[]) as query_id, unnest($measures::varchar[]) as measure, "
        "unnest($means::double[]) as mean, unnest($stddevs::double[]) as stddev",
        {
            "queries": [query for query, _ in reference],
            "measures": [measure for _, measure in reference],
            "means": [mean for mean, _ in reference.values()],
            "stddevs": [stddev for _, stddev in reference.values()],
        },
    )
    turned = {number: measure for number, measure in enumerate(measures) if measure is not None}
    con.execute(
        "create or replace temp table zscore_measure as "
        "select unnest($numbers::integer[]) as evaluation_id, unnest($measures::varchar[]) as measure",
        {"numbers": list(turned), "measures": list(turned.values())},
    )
    con.execute(
        render("statements/zscores", missing=MISSING_ZSCORE, list_silent=protocol.list_silent)
    )


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
