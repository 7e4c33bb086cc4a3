"""Normalising ids: an SQL expression over the columns of a staged row gives its document id."""

from __future__ import annotations

from collections.abc import Sequence

from duckdb import DuckDBPyConnection as Connection

from warehouse.errors import InputError, UsageError, counted, option
from warehouse.readers.lines import LIMIT
from warehouse.readers.staging import row_count
from warehouse.sql_text import expressions, templates
from warehouse.store.engine_errors import in_words

_ONE = "write one expression over the columns of a row, as in lower(trim(doc_id))"


def normalise(
    con: Connection,
    source: str,
    expression: str,
    *,
    id: str = "doc_id",
    within: Sequence[str] = ("query_id",),
) -> None:
    """Replace the column `id` of the table `staged` by the value of an SQL expression of each row.

    Raises UsageError unless it is one scalar expression over the table's columns, and InputError if
    a result is empty or two rows that agree in `within` get the same id; `staged` is then unusable.

    >>> import duckdb
    >>> con = duckdb.connect()
    >>> con.execute("create temp table staged as select 'q' as query_id, ' D1' as doc_id").fetchall()
    [(1,)]
    >>> normalise(con, "a.run", "lower(trim(doc_id))")
    >>> con.execute("select doc_id from staged").fetchall()
    [('d1',)]
    """
    _check(con, expression, id)
    rows = row_count(con)
    sql = templates.render("ingest/normalised", expression=expression, id=id)
    given = option("normalise", expression)
    with expressions.errors_of(f"{source}: {given}", InputError), in_words():
        con.execute(sql).fetchall()
    con.execute("drop table staged")
    con.execute("alter table staged_normalised rename to staged")
    if row_count(con) != rows:
        raise UsageError(
            f"{option('normalise', expression)}: gives several values for a row; {_ONE}"
        )
    words = {"id": id, "within": list(within), "limit": LIMIT}
    _refuse_empty(con, source, expression, templates.render("checks/normalised_empty", **words))
    _refuse_same(con, source, expression, templates.render("checks/normalised_same", **words))
    con.execute("alter table staged drop column given_id")


def _refuse_empty(con: Connection, source: str, expression: str, sql: str) -> None:
    found = con.execute(sql).fetchall()
    if found:
        total = int(found[0][2])
        raise InputError(
            f"{source}: {option('normalise', expression)}: leaves nothing of {counted(total, 'id')}; "
            "change the expression so that every row keeps an id, or take these rows out",
            problems=[
                (None, f"{given!r} becomes {'null' if new is None else repr(new)}")
                for given, new, _ in found
            ],
            total=total,
        )


def _refuse_same(con: Connection, source: str, expression: str, sql: str) -> None:
    found = con.execute(sql).fetchall()
    if found:
        total = int(found[0][4])
        become = "becomes" if total == 1 else "become"
        raise InputError(
            f"{source}: {option('normalise', expression)}: {counted(total, 'id')} {become} "
            f"the same as another; "
            "change the expression so that they differ, or keep one row of each",
            problems=[
                (
                    None,
                    f"{f'query {query!r}: ' if query is not None else ''}"
                    f"{given!r} becomes {new!r}, as {first!r} does",
                )
                for query, given, new, first, _ in found
            ],
            total=total,
        )


def _check(con: Connection, expression: str, id: str) -> None:
    """Raise UsageError unless the text is one scalar expression over the columns of `staged`."""
    given = option("normalise", expression)
    expressions.read(con, given, expression, _ONE)
    expressions.bind(con, given, expression, _ONE, table="staged", column=f"staged.{id}")
