"""Loading runs and qrels whole from a lake.

They are known by the hashes of their contents, which are made again from the rows that were read.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from warehouse.errors import UsageError, listing, nearest
from warehouse.extensions.lake.contents import hashes
from warehouse.extensions.lake.shared_lake import collected
from warehouse.extensions.lake.tables import Lake, lake_errors
from warehouse.ingest.steps import Content, Loaded
from warehouse.sql_text.templates import render
from warehouse.store import datasets

if TYPE_CHECKING:
    import duckdb

    from warehouse.warehouse import Warehouse


def pull(
    warehouse: Warehouse, url: str, dataset: str | None = None, runs: Sequence[str] = ()
) -> Iterator[Loaded]:
    """Load the current qrels and runs of a lake into a file; yield the outcomes.

    `runs` are names or patterns. Runs whose predictions nobody has pushed are refused by name, and so
    are contents that do not have the hash that they are known by.
    """
    lake = Lake(url)
    with collected(url) as (team, _), team.read() as con:
        rows = con.execute(render("lake/pulled_qrels"), {"dataset": dataset}).fetchall()
        if not rows:
            near = "" if dataset is None else nearest(dataset, datasets.names(con))
            raise UsageError(f"{url}: has no current qrels of {dataset or 'any dataset'}{near}")
        every = con.execute(render("lake/pulled_runs"), {"dataset": dataset}).fetchall()
        chosen = [one for one in every if _is_asked(one[1], runs)]
        if not chosen:
            raise UsageError(
                f"{url}: has no run {listing(runs)}; its runs: {listing(_names(every), 8)}"
            )
        for of, content_hash, kind, label in rows:
            yield warehouse.ingest_qrels(
                of, _judgments(con, lake, of, content_hash), label=label,
                iterations=kind == "iterations",
            )  # fmt: skip
        known = hashes(lake, "prediction")
        lacking = [one for one in chosen if (one[0], one[2]) not in known]
        for of, name, content_hash, is_turned, system, tags, run_at in chosen:
            if (of, content_hash) in known:
                lists = _lists(con, lake, of, name, content_hash, is_turned=is_turned)
                yield warehouse.ingest_run(
                    of, lists, name=name, system=system, tags=dict(tags or {}), run_at=run_at,
                    lower_is_better=is_turned,
                )  # fmt: skip
    if lacking:
        raise UsageError(
            f"{url}: nobody has pushed the predictions of {listing(_names(lacking), 5)}; who has the "
            "runs: warehouse push --with-runs"
        )


def _names(runs: Sequence[Sequence[Any]]) -> list[str]:
    return [f"{of}/{name}" for of, name, *_ in runs]


def _is_asked(name: str, runs: Sequence[str]) -> bool:
    return not runs or any(fnmatch.fnmatchcase(name, one) for one in runs)


def _read(lake: Lake, table: str, dataset: str, content_hash: str) -> Any:
    """Return the rows of a content, each once: two may have pushed it at once."""
    import pyarrow.compute as pc

    rows = lake.read(table)
    chosen = (pc.field("dataset") == dataset) & (pc.field("content_hash") == content_hash)
    found = None if rows is None else rows.to_table(filter=chosen)
    if not found:
        raise UsageError(
            f"{lake.url}: nobody has pushed the {table}s of the current qrels of {dataset}; who has "
            "them: warehouse push --with-runs"
        )
    return found


def _judgments(con: duckdb.DuckDBPyConnection, lake: Lake, dataset: str, content_hash: str) -> Any:
    with lake_errors(lake.url):
        con.register("pulled", _read(lake, "judgment", dataset, content_hash))
        found = con.sql("select distinct query_id, doc_id, relevance, iteration from pulled")
        ((num_rows, num_queries, total),) = con.execute(
            "select count(*), count(distinct query_id), "
            "sum(judgment_hash(query_id, doc_id, relevance, iteration)) from found"
        ).fetchall()
        rows: Any = found.to_arrow_table()
    _check(
        lake,
        f"the qrels of {dataset}",
        Content.of(dataset, num_rows, num_queries, total),
        content_hash,
    )
    return rows


def _lists(
    con: duckdb.DuckDBPyConnection,
    lake: Lake,
    dataset: str,
    name: str,
    content_hash: str,
    *,
    is_turned: bool,
) -> Any:
    with lake_errors(lake.url):
        con.register("pulled", _read(lake, "prediction", dataset, content_hash))
        found = con.sql("select distinct query_id, doc_id, score from pulled")
        ((num_rows, num_queries, total),) = con.execute(render("lake/lists_total")).fetchall()
        rows: Any = found.to_arrow_table()
    content = Content.of(dataset, num_rows, num_queries, total, "-lower" if is_turned else "")
    _check(lake, f"run {name} of {dataset}", content, content_hash)
    return rows


def _check(lake: Lake, what: str, found: Content, content_hash: str) -> None:
    if found.content_hash != content_hash:
        raise UsageError(
            f"{lake.url}: {what}: its rows do not have the hash under which they were pushed: they are "
            "damaged or forged, and were not loaded"
        )
