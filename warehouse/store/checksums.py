"""The checksums of what is stored, by which `warehouse verify` finds what was changed since."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

import duckdb

from warehouse.sql_text.templates import render
from warehouse.store import database

_MODULUS = 1 << 64


@contextmanager
def kept(con: duckdb.DuckDBPyConnection, *, is_older: bool = False) -> Iterator[None]:
    """Keep the checksums and totals of what is written in the block, all in one transaction.

    Rows whose checksum is there keep it: what was changed from outside stays recognisable. Only what
    the block changes goes into the totals: rows that others removed before stay missing. In a file
    with an `is_older` schema, tables may be missing until the block ends.
    """
    before = _totals(con, _tables(con) if is_older else None)
    yield
    after = _totals(con)
    if not is_older:
        _keep_current(con, before, after)
    new = [table for table, (*_, num_new) in after.items() if num_new]
    for table in new:
        con.execute(render("statements/checksums", table=table)).fetchall()
    after |= _totals(con, new) if new else {}
    for table, (num_rows, total, _) in after.items():
        num_before, total_before, _ = before.get(table, (0, 0, 0))
        added = {"num_rows": num_rows - num_before, "total": (total - total_before) % _MODULUS}
        if any(added.values()):
            _add(con, table, added)


def _keep_current(
    con: duckdb.DuckDBPyConnection,
    before: Mapping[str, tuple[int, int, int]],
    after: Mapping[str, tuple[int, int, int]],
) -> None:
    """Derive what is current again for the runs that this is another for, after what was written."""
    if all(after[table] == before[table] for table in ("qrels", "run", "evaluation")):
        return
    num_rows, _, num_new = after["evaluation"]
    changed = render(
        "statements/changed_runs", removed=num_rows - num_new < before["evaluation"][0]
    )
    if runs := sorted(run for (run,) in con.execute(changed).fetchall()):
        con.execute(render("statements/current_scores", runs=runs)).fetchall()


def _tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the tables with checksums that the file has."""
    rows = con.execute(
        "select table_name from duckdb_columns() where database_name = $alias "
        "and schema_name = $store and column_name = 'checksum' order by all",
        {"alias": database.ALIAS, "store": database.STORE},
    ).fetchall()
    return [table for (table,) in rows]


def _totals(
    con: duckdb.DuckDBPyConnection, tables: Collection[str] | None = None
) -> dict[str, tuple[int, int, int]]:
    """Return by table the number of rows, the sum of their checksums, and how many have none."""
    rows = con.execute(render("statements/totals", tables=tables)).fetchall()
    return {table: (num_rows, total, num_new) for table, num_rows, total, num_new in rows}


def _add(con: duckdb.DuckDBPyConnection, table: str, added: Mapping[str, int]) -> None:
    """Add to the total of a table."""
    values = {"relation": table, **added}
    if not con.execute(render("statements/add_to_total"), values).fetchall():
        con.execute("insert into store.table_total values ($relation, $num_rows, $total)", values)


def change(
    con: duckdb.DuckDBPyConnection,
    table: str,
    columns: Mapping[str, object],
    condition: str,
    values: Mapping[str, object],
) -> None:
    """Change columns of the rows that meet a condition, whose parameters are `values`.

    Rows that were not as they had been written keep their wrong checksum.
    """
    sql = render("statements/change", table=table, columns=list(columns), condition=condition)
    con.execute(sql, {**columns, **values}).fetchall()
