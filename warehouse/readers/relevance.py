"""Mapping grades: an SQL expression over the columns of a judgment gives its relevance."""

from __future__ import annotations

from collections.abc import Mapping

from duckdb import DuckDBPyConnection as Connection

from warehouse.errors import InputError, UsageError, counted, listing, option
from warehouse.readers.lines import LIMIT
from warehouse.readers.row_rules import refuse_unknown
from warehouse.readers.staging import row_count, types_of
from warehouse.sql_text import expressions, templates
from warehouse.store.engine_errors import in_words

_OURS = ("query_id", "doc_id", "relevance", "iteration")
_WORDS = "select count(word) from staged"
_ONE = "write one expression over the columns of a judgment, as in relevance >= 4"


def with_relevance(
    con: Connection, expression: str | None, columns: Mapping[str, str] | None
) -> dict[str, str]:
    """Return the names of columns, with the relevance's, which the expression may name.

    Raises UsageError unless it is one scalar expression, and for two columns of the source.

    >>> import duckdb
    >>> with_relevance(duckdb.connect(), "rating >= 4", {"doc_id": "item"})
    {'doc_id': 'item', 'relevance': 'rating'}
    """
    mapping = dict(columns or {})
    if expression is None:
        return mapping
    given = option("relevance", expression)
    found = expressions.read(con, given, expression, _ONE)
    read = {path[-1].lower(): path[-1] for path in found.columns}
    named = [name for key, name in read.items() if key not in _OURS]
    theirs = [name for name in named if name.lower() != mapping.get("relevance", "").lower()]
    if len(theirs) > 1 or (theirs and "relevance" in mapping):
        raise UsageError(
            f"{given}: reads {listing(named)}: one column of the source can be the relevance; "
            "combine several before loading"
        )
    return {**mapping, "relevance": theirs[0]} if theirs else mapping


def is_constant(con: Connection, expression: str) -> bool:
    """Whether an expression reads no column: then all rows have one relevance.

    >>> import duckdb
    >>> is_constant(duckdb.connect(), "1"), is_constant(duckdb.connect(), "rating >= 4")
    (True, False)
    """
    return not expressions.read(con, option("relevance", expression), expression, _ONE).columns


def map_relevance(
    con: Connection, source: str, expression: str, columns: Mapping[str, str]
) -> None:
    """Replace the relevance in the table `staged` by the value of an SQL expression of each row.

    The expression reads the relevance, a number or a word, by our name or by that in the source, which
    `columns` has; a result that is true counts as 1, and false as 0. Raises UsageError for an
    expression that does not fit, and InputError if a result is no finite number; `staged` is then
    unusable.

    >>> import duckdb
    >>> con = duckdb.connect()
    >>> row = "select 'q' as query_id, 'd' as doc_id, 4.5e0 as relevance"
    >>> con.execute(f"create temp table staged as {row}").fetchall()
    [(1,)]
    >>> map_relevance(con, "a.csv", "rating >= 4", {"relevance": "rating"})
    >>> con.execute("select query_id, doc_id, relevance from staged").fetchall()
    [('q', 'd', 1.0)]
    """
    given = option("relevance", expression)
    if "relevance" not in types_of(con):
        raise UsageError(f"{given}: {source} holds preferences, which have no relevance")
    read = expressions.read(con, given, expression, _ONE).columns
    if not columns:
        refuse_unknown(given, source, read, [name for name in _OURS if name in types_of(con)])
    name = columns.get("relevance", "relevance")
    words = {"expression": expression, "alias": None if name == "relevance" else name}
    has_words = "word" in types_of(con) and con.execute(_WORDS).fetchall() != [(0,)]
    named = templates.render("ingest/relevance_named", words=has_words, **words)
    expressions.bind(
        con, given, expression, _ONE, table=f"(\n{named}\n) as judged", column="judged.relevance"
    )
    rows = row_count(con)
    with expressions.errors_of(f"{source}: {given}", InputError), in_words():
        con.execute(templates.render("ingest/relevance_mapped", named=named, **words)).fetchall()
    con.execute("drop table staged")
    con.execute("alter table staged_mapped rename to staged")
    if row_count(con) != rows:
        raise UsageError(f"{given}: gives several values for a row; {_ONE}")
    wrong = con.execute(templates.render("checks/relevance_lost", limit=LIMIT)).fetchall()
    if wrong:
        total = int(wrong[0][3])
        raise InputError(
            f"{source}: {given}: gives no finite number for {counted(total, 'judgment')}; change the "
            "expression so that each has one, or take these rows out",
            problems=[
                (None, f"query {query!r}, document {doc!r}: {_shown(grade)} has none")
                for query, doc, grade, _ in wrong
            ],
            total=total,
        )
    con.execute("alter table staged drop column given_relevance")


def _shown(grade: float | str | None) -> str:
    return f"{grade:g}" if isinstance(grade, float) else repr(grade)
