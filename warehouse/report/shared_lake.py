"""What a team shares: the values of files are pushed into a lake, and collected into files again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warehouse.report import replica
from warehouse.sql_text.templates import render
from warehouse.store.database import LAKE
from warehouse.store.file import WarehouseFile
from warehouse.store.lake import TABLES, Lake
from warehouse.store.scratch_folders import scratch_folder

# The table that says which evaluations the lake has: their values are written before.
_KNOWN_BY = {"query_score": "evaluation", "score": "evaluation"}


def push(file: WarehouseFile, url: str) -> Mapping[str, int]:
    """Append what the lake does not have; return the number of rows for each of its tables.

    Runs, qrels, forgotten runs, evaluations of whole datasets and their values are pushed, not
    predictions, judgments, slices and curves.
    """
    lake = Lake(url)
    rows: dict[str, Any] = {}
    with file.read() as con:
        for table in TABLES:
            known_by = _KNOWN_BY.get(table, table)
            there = lake.read(known_by)
            known = None
            if there is not None:
                known = f"known_{known_by}"
                con.register(known, there)
            found: Any = con.sql(render(f"lake/{table}", table=table, known=known))
            rows[table] = found.to_arrow_table()
            if known is not None:
                con.unregister(known)
    return {table: lake.append(table, rows[table]) for table in TABLES}


def collect(
    url: str, target: Path, *, per_query: bool = True, lock_timeout: float
) -> replica.Published:
    """Make a replica of a lake: a file with its runs and values, without predictions and judgments.

    It replaces an earlier one.
    """
    lake = Lake(url)
    lake.check()
    with scratch_folder() as folder:
        made = WarehouseFile(folder / "lake.duckdb", lock_timeout=lock_timeout)
        made.ensure()
        with made.transaction() as con:
            # evaluations first: the values of those that are seen have been written before
            for table in reversed(TABLES):
                rows = lake.read(table)
                name = f"lake_{table}"
                if rows is None or (table == "query_score" and not per_query):
                    con.execute(f"create or replace temp view {name} as {_EMPTY[table]}")
                else:
                    con.register(name, rows)
            con.execute(render("lake/collect"))
            for table in TABLES:
                con.execute(f"drop view if exists temp.lake_{table}")
            con.execute("drop view temp.found_run; drop view temp.found_qrels")
        with made.read() as con:
            return replica.publish(
                con, made.path, target, called=LAKE + url, lock_timeout=lock_timeout
            )


# What a table of the lake is that nothing was pushed into.
_EMPTY = {
    "tombstone": "select ''::varchar as dataset, ''::varchar as run_hash, ''::varchar as name, "
    "now() as forgotten_at where false",
    "query_score": "select ''::varchar as dataset, ''::varchar as evaluation_hash, "
    "''::varchar as query_id, 0e0 as value where false",
}
