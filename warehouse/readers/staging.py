"""The temporary tables that readers fill: how they are made, counted and dropped."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

# The most fields of a record that are columns.
WIDEST = 100


def render(template: str, **values: Any) -> str:
    """Render a template; its engine is imported on demand, as the command line's help needs none."""
    from warehouse.sql_text import templates

    return templates.render(template, **values)


def run(
    con: Connection, template: str, bound: Mapping[str, object] | None = None, **values: Any
) -> list[tuple[Any, ...]]:
    """Run a template with its `values` and the parameters `bound` to it, and fetch everything."""
    return con.execute(render(template, **values), bound).fetchall()


@contextlib.contextmanager
def suppress_errors() -> Iterator[None]:
    """Suppress errors of the engine, as where an error has ended the transaction."""
    import duckdb

    with contextlib.suppress(duckdb.Error):
        yield


def drop(con: Connection, *tables: str) -> None:
    """Drop temporary tables, if they are there and the transaction has not ended."""
    with suppress_errors():
        con.execute("; ".join(f"drop table if exists temp.{table}" for table in tables))


@contextlib.contextmanager
def file_order(con: Connection) -> Iterator[None]:
    """Keep the order of the source, whatever the settings of the connection."""
    ((keeps,),) = con.execute("select current_setting('preserve_insertion_order')").fetchall()
    if keeps:
        yield
        return
    con.execute("set preserve_insertion_order = true")
    try:
        yield
    finally:
        with suppress_errors():
            con.execute("set preserve_insertion_order = false")


def row_count(con: Connection, table: str = "staged") -> int:
    """Return the number of rows of a table."""
    ((number,),) = con.execute(f"select count(*) from {table}").fetchall()
    return int(number)


def first_values(con: Connection, relation: str, column: str) -> list[Any]:
    """Return the first values of a column, as a sample of its contents."""
    return [one for (one,) in con.execute(f"select {column} from {relation} limit 100").fetchall()]


def types_of(con: Connection, relation: str = "staged") -> dict[str, str]:
    """Return the columns of a relation with their types."""
    described = con.execute(f"describe select * from {relation}").fetchall()
    return {str(row[0]): str(row[1]) for row in described}


def with_fields(con: Connection, relation: str) -> tuple[str, dict[str, str]]:
    """Return the SQL of a relation in which fields of records are columns too, and its types by name.

    Such a column is named by its path, as `metadata.score`. Records with very many fields have data as
    their keys, and are left as they are.
    """
    import duckdb

    from warehouse.sql_text.quoting import ident

    types, fields = types_of(con, relation), {}
    names = {name.lower() for name in types}
    open_: list[tuple[tuple[str, ...], Any]] = [
        ((name,), duckdb.sqltype(kind))
        for name, kind in types.items() if kind.startswith("STRUCT(")
    ]  # fmt: skip
    for path, kind in open_:
        if len(path) > 1 and (name := ".".join(path)).lower() not in names:
            fields[name] = ".".join(map(ident, path))
            types[name] = str(kind)
        if kind.id == "struct" and len(kind.children) <= WIDEST:
            open_ += [((*path, name), child) for name, child in kind.children]
    if not fields:
        return relation, types
    columns = ", ".join(f"{sql} as {ident(name)}" for name, sql in fields.items())
    return f"(select *, {columns} from {relation})", types


@contextlib.contextmanager
def rejects(con: Connection) -> Iterator[None]:
    """Drop the table `staged_reject` when the block ends: the lines that the CSV reader refused."""
    try:
        yield
    finally:
        drop(con, "staged_reject", "staged_reject_scan")


def any_reject(con: Connection) -> bool:
    """Whether the CSV reader refused a line."""
    return bool(con.execute("select 1 from staged_reject limit 1").fetchall())
