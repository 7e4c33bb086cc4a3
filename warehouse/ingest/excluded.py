"""Documents to leave out of the rankings, stored as an attribute of the queries."""

from __future__ import annotations

from functools import partial

import duckdb

from warehouse.ingest import attributes, steps
from warehouse.readers import excluded, staging
from warehouse.readers.attributes import StagedAttributes
from warehouse.sql_text.quoting import literal


def stage_list(
    con: duckdb.DuckDBPyConnection, source: object, dataset: str, name: str
) -> steps.Store[attributes.LoadedAttributes]:
    """Stage a list of pairs of a query and a document; return the function that stores it under a name.

    A list of other content becomes the new version of the name.
    """
    read = excluded.stage_excluded(con, source)
    con.execute(
        f"create or replace temp table staged_attribute as select query_id as subject_id, "
        f"{literal(name)} as attribute, (row_number() over in_order)::integer as position, "
        "doc_id as text, null::double as number from staged where doc_id is not null "
        "window in_order as (partition by query_id order by doc_id)"
    )
    ((queries, values),) = con.execute(
        "select count(distinct subject_id), count(*) from staged_attribute"
    ).fetchall()
    staging.drop(con, "staged")
    staged = StagedAttributes(
        "query", read.source, read.format, read.source_sha256, None, {name: "list"}, queries, values
    )
    return partial(
        attributes.keep, staged=staged, dataset=dataset, name=f"exclude {name}", replace=True
    )
