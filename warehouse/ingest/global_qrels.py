"""Judgments that are one set of documents for every query, expanded on loading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import duckdb

from warehouse.errors import InputError, option
from warehouse.readers import Staged
from warehouse.readers.global_qrels import for_queries, stage_everywhere, stage_queries
from warehouse.sql_text.templates import render

LABEL = "global"


@dataclass(frozen=True)
class Everywhere:
    """Staged documents, and the queries that they are for as SQL and words, or the runs' queries."""

    documents: Staged
    queries: tuple[str, str] | None


def stage_global(
    con: duckdb.DuckDBPyConnection,
    source: object,
    *,
    queries: object | None = None,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    relevance: str | None = None,
    normalise: str | None = None,
) -> Everywhere:
    """Stage one set of documents, and the `queries` if they are given."""
    staged = stage_everywhere(
        con, source, format=format, columns=columns, relevance=relevance, normalise=normalise
    )
    return Everywhere(staged, None if queries is None else stage_queries(con, queries))


def expand(con: duckdb.DuckDBPyConnection, everywhere: Everywhere, dataset: str) -> Staged:
    """Make the judgments of all queries out of the staged documents, in an open warehouse."""
    of_runs = (render("ingest/queries_of_runs", dataset=dataset), "the runs")
    staged, (sql, whose) = everywhere.documents, everywhere.queries or of_runs
    con.execute(f"create temp table staged as\n{for_queries(sql)}")
    ((rows,),) = con.execute("select count(*) from staged").fetchall()
    if not rows:
        raise InputError(
            f"{staged.source}: dataset {dataset} has no runs yet, so its queries are not known: "
            f"load the runs first, or give the queries with {option('queries', None)}"
        )
    return replace(staged, source=f"{staged.source}, for every query of {whose}", rows=int(rows))
