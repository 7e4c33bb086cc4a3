"""Judgments that are one set of documents for every query, expanded on loading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import duckdb

from warehouse.errors import InputError
from warehouse.readers import Staged
from warehouse.readers.global_qrels import for_queries, stage_everywhere, stage_queries
from warehouse.sql_text.templates import render

LABEL = "global"


def stage_global(
    con: duckdb.DuckDBPyConnection,
    source: object,
    dataset: str,
    *,
    queries: object | None = None,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    relevance: str | None = None,
    normalise: str | None = None,
) -> Staged:
    """Stage one set of documents as the judgments of all queries of `queries`, else of the runs."""
    staged = stage_everywhere(
        con, source, format=format, columns=columns, relevance=relevance, normalise=normalise
    )
    if queries is None:
        sql, whose = render("ingest/queries_of_runs", dataset=dataset), "the runs"
    else:
        sql, whose = stage_queries(con, queries)
    con.execute(f"create temp table staged as\n{for_queries(sql)}")
    ((rows,),) = con.execute("select count(*) from staged").fetchall()
    if not rows:
        raise InputError(
            f"{staged.source}: dataset {dataset} has no runs yet, so its queries are not known: "
            "load the runs first, or give the queries with --queries FILE"
        )
    return replace(staged, source=f"{staged.source}, for every query of {whose}", rows=int(rows))
