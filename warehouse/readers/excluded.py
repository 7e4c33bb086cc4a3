"""Documents to leave out of the rankings of a query: pairs, or a list for each query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from duckdb import DuckDBPyConnection as Connection

from warehouse.errors import InputError, WarehouseError
from warehouse.readers import stage, staging
from warehouse.readers.attributes import stage_attributes
from warehouse.readers.normalise import normalise as normalise_ids

# The column of lists where a table has several, as in the queries of BRIGHT.
_EXCLUDED_IDS = "excluded_ids"


@dataclass(frozen=True)
class Excluded:
    """The source of a list that was read."""

    source: str
    format: str
    source_sha256: str | None


def stage_excluded(con: Connection, source: Any, *, normalise: str | None = None) -> Excluded:
    """Read pairs of a query and a document into `staged (query_id, doc_id)`.

    The source is read as a training set is, whose relevances do not matter here; or it is a table with
    a row for each query, and its documents in a column of lists.

    >>> from warehouse.store import database
    >>> con = database.memory()
    >>> stage_excluded(con, {"q1": ["a", "b"]}).source
    '<dict>'
    >>> con.execute("select query_id, doc_id from staged order by all").fetchall()
    [('q1', 'a'), ('q1', 'b')]
    """
    if isinstance(source, Mapping):
        source = {
            query: dict.fromkeys(documents, 1) if _is_list(documents) else documents
            for query, documents in source.items()
        }
    try:
        staged = stage(con, source, "training", normalise=normalise)
        return Excluded(staged.source, staged.format, staged.source_sha256)
    except InputError as error:
        try:
            read = stage_attributes(con, source, "query")
        except WarehouseError:
            raise error from None
        lists = [name for name, kind in read.columns.items() if kind == "list"]
        if _EXCLUDED_IDS in lists:
            lists = [_EXCLUDED_IDS]
        if len(lists) != 1:
            raise error from None
    con.execute(
        "create or replace temp table staged as select subject_id as query_id, text as doc_id "
        "from staged_attribute where attribute = $1",
        lists,
    )
    staging.drop(con, "staged_attribute")
    if normalise is not None:
        normalise_ids(con, read.source, normalise, within=("query_id",))
    return Excluded(read.source, read.format, read.source_sha256)


def _is_list(documents: object) -> bool:
    return isinstance(documents, list | tuple | set | frozenset)
