"""The steps common to all loading.

A source is staged first, which needs no database. What is staged is then stored inside the caller's
transaction, so that nobody waits while a file is read.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import duckdb

from warehouse import readers
from warehouse.config import notebook
from warehouse.config.settings import VERSION
from warehouse.errors import UsageError, WarehouseError, check_text, is_utf8
from warehouse.store import rows
from warehouse.store.clock import Clock

Status = Literal["loaded", "unchanged", "renamed", "replaced", "forgotten"]
What = Literal["run", "qrels", "training"]
_T = TypeVar("_T")
# The versions of a named table of a dataset's documents or queries.
ARE_OURS = "dataset_id = $dataset_id and subject = $subject and name = $name"
# The function that stores a staged source, inside a transaction on the same connection.
Store = Callable[[duckdb.DuckDBPyConnection], _T]


@dataclass(frozen=True)
class Loaded:
    """The outcome of loading a source; `id` names the run, the qrels or the training set.

    A `forgotten` run was not loaded because a run with its content was forgotten, for a `reason` if
    one was given; `id` is then the id of the version that is left, or 0. `renamed` is the earlier name
    of a run that got another one.
    """

    kind: What
    status: Status
    dataset: str
    name: str
    version: int
    num_queries: int
    num_rows: int
    warnings: tuple[str, ...] = ()
    id: int = 0
    source_sha256: str | None = None
    reason: str | None = None
    renamed: str | None = None


class Outcomes(list[_T]):
    """The outcomes of several sources, of which a notebook shows a table."""

    def _repr_html_(self) -> str:
        columns = ("kind", "name", "status", "version", "num_rows", "num_queries")
        rows: list[list[object]] = [
            ["error", one] if isinstance(one, WarehouseError)
            else [getattr(one, column, None) for column in columns]
            for one in self
        ]  # fmt: skip
        return notebook.html(columns, rows)


@dataclass(frozen=True)
class Content:
    """The numbers of staged rows, and a hash that recognises equal content of a dataset."""

    num_rows: int
    num_queries: int
    content_hash: str

    @staticmethod
    def of(dataset: str, num_rows: int, num_queries: int, total: int, suffix: str = "") -> Content:
        """Return the content for a total of row hashes."""
        whole = f"{num_rows}-{int(total):032x}{suffix}\n{dataset}"
        digest = hashlib.sha256(whole.encode()).hexdigest()
        return Content(num_rows, num_queries, digest[:32])


def check_name(what: str, given: object, hint: str = "") -> str:
    """Return a name, as Python's own type. Raises UsageError if it is empty or not a text."""
    name = check_text(f"the name of the {what}", given, hint)
    if not name.strip():
        raise UsageError(f"the name of the {what} is empty")
    if not is_utf8(name):
        raise UsageError(f"the name of the {what} is not valid Unicode text: {name!r}")
    return name


def content(
    con: duckdb.DuckDBPyConnection, dataset: str, row_hash: str, suffix: str = ""
) -> Content:
    """Return counts of the staged rows and a hash that does not depend on order or format.

    `row_hash` is SQL of the hash of a row. A row without a document is not counted.
    """
    num_rows, num_queries, total = con.execute(
        "with key as (select distinct query_id from staged) "
        f"select count(doc_id), (select count(*) from key), sum({row_hash}) from staged"
    ).fetchall()[0]
    return Content.of(dataset, num_rows, num_queries, total, suffix)


def common(staged: readers.Staged, content: Content, at: dt.datetime) -> dict[str, Any]:
    """Return the columns that all versioned tables of the catalogue share."""
    return {
        "content_hash": content.content_hash,
        "source": staged.source,
        "source_sha256": staged.source_sha256,
        "format": staged.format,
        "num_queries": content.num_queries,
        "ingested_at": at,
        "program_version": VERSION,
        "normalise": staged.normalise,
        "kept_where": staged.where,
    }


def dataset_id(con: duckdb.DuckDBPyConnection, name: str) -> int:
    """Return the id of a dataset, creating it if it is new."""
    known = con.execute("select dataset_id from store.dataset where name = $1", [name]).fetchall()
    if known:
        return int(known[0][0])
    number = rows.next_id(con, "dataset_id", "dataset")
    now = Clock(con).now()
    rows.add(con, "dataset", [{"dataset_id": number, "name": name, "created_at": now}])
    return number


def newest(
    con: duckdb.DuckDBPyConnection, table: str, condition: str, params: Mapping[str, object]
) -> dict[str, Any] | None:
    """Return the row of the newest version that meets a condition, or None if there is none."""
    found = rows.as_dicts(
        con,
        f"from store.{table} where {condition} "
        "order by store.recency(ingested_at, content_hash) desc limit 1",
        params,
    )
    return found[0] if found else None


def outcome(
    kind: What,
    status: Status,
    dataset: str,
    staged: readers.Staged,
    row: Mapping[str, Any],
    content: Content,
    warnings: list[str] | tuple[str, ...],
    name: str | None = None,
) -> Loaded:
    """Return the outcome for a source whose row in the catalogue is `row`."""
    return Loaded(
        kind=kind,
        status=status,
        dataset=dataset,
        name=name or dataset,
        version=int(row["version"]),
        num_queries=content.num_queries,
        num_rows=content.num_rows,
        warnings=tuple(warnings),
        id=int(row[f"{kind}_id"]),
        source_sha256=staged.source_sha256,
    )
