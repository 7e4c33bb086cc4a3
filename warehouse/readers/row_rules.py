"""Which rows of a source are read: those for which a condition is true, and one of those that repeat.

Every format fills the table `staged`, and the rules are applied there, before the rows are checked. So
they work in every format, and problems of a row that is left out do not matter.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warehouse.errors import InputError, UsageError, check_word, counted, listing, nearest, option
from warehouse.readers import staging
from warehouse.readers.kinds import COLUMNS, KEYS, VALUES, Kind

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from warehouse.sql_text import expressions

# How one row is made of those that have the same key: one of them, or their combination.
REPEATED = ("first", "last", "best", "max", "min", "sum", "count")
CONDITION = "write one condition over the columns of the file, as in rating >= 4"


@dataclass(frozen=True)
class RowRules:
    """A condition over our columns, and the rule for rows that repeat; `warnings` are sentences.

    Where all rows are `all_alike`, one relevance is given for them, and a table needs no column of it.
    An expression that gives the relevance `reads_words` if it has a text.
    """

    where: str | None = None
    repeated: str | None = None
    all_alike: bool = False
    reads_words: bool = False
    warnings: list[str] = field(default_factory=list)

    def apply(self, con: Connection, kind: Kind, source: str, place: str, word: str) -> str:
        """Apply them to the table `staged`; return the SQL of a row's place in the source, now a column.

        `place` is the SQL of that place so far, and `word` the name of the value. Raises InputError.
        """
        value = VALUES.get(kind, "relevance")
        con.execute(f"create temp table staged_read as select *, {place} as place from staged")
        con.execute("drop table staged")
        try:
            if self.where is not None:
                _keep_ours(con, kind, source, self.where, value)
            if self.repeated is None:
                con.execute("alter table staged_read rename to staged")
            else:
                self._merge(con, kind, value, word)
        finally:
            staging.drop(con, "staged_read", "staged_chosen")
        return "place"

    def _merge(self, con: Connection, kind: Kind, value: str, word: str) -> None:
        """Make `staged` of `staged_read`, with one row for each key."""
        given = option("repeated", self.repeated)
        if kind == "run" and self.repeated == "count":
            raise UsageError(f"{given}: is for judgments, and these are the scores of a run")
        if kind == "run" and word == "rank" and self.repeated not in ("first", "last", "best"):
            raise UsageError(
                f"{given}: is for scores, and the run has ranks: take best, first or last"
            )
        rule = best_is(self.repeated, lowest=word == "rank")
        rule = "max" if rule == "best" else rule
        staging.run(con, "ingest/repeated", key=KEYS[kind], value=value, rule=rule)
        gone = staging.row_count(con, "staged_read") - staging.row_count(con)
        if gone:
            words = {
                "sum": "the sum",
                "count": "the number",
                "max": "the highest",
                "min": "the lowest",
            }
            word = words.get(str(rule), f"the {rule}")
            verb = "repeats" if gone == 1 else "repeat"
            self.warnings.append(
                f"{counted(gone, 'row')} {verb} a document of a query: {word} of its rows counts"
            )


def best_is(rule: str | None, *, lowest: bool) -> str | None:
    """Return a rule for repeated rows where the lowest value is the best one, or the highest.

    >>> best_is("best", lowest=True), best_is("best", lowest=False), best_is("sum", lowest=True)
    ('min', 'best', 'sum')
    """
    return "min" if rule == "best" and lowest else rule


_RULES: ContextVar[RowRules | None] = ContextVar("row_rules", default=None)


def current() -> RowRules | None:
    """Return the rules for the rows of the source that is read, if there are any."""
    rules = _RULES.get()
    return rules if rules and (rules.where or rules.repeated) else None


def all_alike() -> bool:
    """Whether one relevance is given for all rows of the source that is read."""
    rules = _RULES.get()
    return rules is not None and rules.all_alike


def reads_words() -> bool:
    """Whether the expression that gives the relevance may compare it with words."""
    rules = _RULES.get()
    return rules is not None and rules.reads_words


@contextlib.contextmanager
def applied(rules: RowRules) -> Iterator[None]:
    """Let the rules hold for the source that is read in the block."""
    if rules.repeated is not None:
        check_word("rule for repeated rows", rules.repeated, REPEATED)
    token = _RULES.set(rules)
    try:
        yield
    finally:
        _RULES.reset(token)


def chooses(con: Connection, where: str, name: str) -> bool:
    """Whether a condition reads a column, or none at all: then it says which of its values count."""
    from warehouse.sql_text import expressions

    read = expressions.read(con, option("where", where), where, CONDITION, windows=True).columns
    return not read or name.lower() in {path[-1].lower() for path in read}


def keep(
    con: Connection,
    source: str,
    where: str | None,
    columns: Mapping[str, str],
    *,
    table: str = "staged_table",
    into: str = "staged_kept",
    typed: bool = True,
    unreadable: str | None = None,
) -> None:
    """Make a table of the rows of another one that a condition over its `columns` keeps.

    Unless the columns are `typed`, texts that are all numbers or times are such in the condition.
    `unreadable` is SQL for the rows that are kept in any case. Raises InputError if no row is kept.
    """
    if where is None:
        staging.run(con, "ingest/kept", table=table, into=into, expression=None)
        return
    # the help of commands names the formats, and does without the engine
    from warehouse.sql_text import expressions
    from warehouse.store.engine_errors import in_words

    given = option("where", where)
    read = expressions.read(con, given, where, CONDITION, windows=True)
    rows = _typed(con, table, {} if typed else columns, read)
    relation = f"(\n{rows}\n) as rows"
    expressions.bind(con, given, where, CONDITION, table=relation, column="source_row")
    with expressions.errors_of(f"{source}: {given}", InputError), in_words():
        staging.run(
            con, "ingest/kept",
            table=table, into=into, expression=where, typed=rows, unreadable=unreadable,
        )  # fmt: skip
    if not staging.row_count(con, into):
        every = counted(staging.row_count(con, table), "row")
        raise InputError(f"{source}: {given}: is true for none of {every}; change the condition")


def refuse_unknown(
    given: str, source: str, read: Iterable[Sequence[str]], names: Sequence[str]
) -> None:
    """Refuse a column that an expression reads of a source without names, and that is none of ours."""
    for path in read:
        if path[-1].lower() not in names:
            raise UsageError(
                f"{given}: {source} names no columns, so this reads ours ({listing(names)}), and "
                f"{path[-1]!r} is none of them{nearest(path[-1], names)}"
            )


def _typed(
    con: Connection, table: str, columns: Mapping[str, str], condition: expressions.Expression
) -> str:
    """Return the SQL of the rows as a condition reads them: numbers and times in text are such."""
    read = {path[-1].lower() for path in condition.columns}
    names = [name for name, type in columns.items() if name.lower() in read and type == "VARCHAR"]
    found = staging.run(con, "ingest/column_types", table=table, names=names) if names else []
    types = {str(name): str(type) for name, type in found if type is not None}
    return staging.render("ingest/typed_rows", table=table, types=types)


def _keep_ours(con: Connection, kind: Kind, source: str, where: str, value: str) -> None:
    """Leave the rows in `staged_read` for which a condition is true, and those not readable.

    The condition is over our columns, as the format names none. Raises UsageError for others.
    """
    from warehouse.sql_text import expressions

    present = staging.types_of(con, "staged_read")
    names = {*COLUMNS[kind], "tag"} & present.keys()
    given = option("where", where)
    read = expressions.read(con, given, where, CONDITION, windows=True).columns
    refuse_unknown(given, source, read, [name for name in (*COLUMNS[kind], "tag") if name in names])
    # a value that was masked, as -inf, is one that a condition can leave out
    con.execute(
        f"update staged_read set {value} = try_cast(shown as double) where {value} is null "
        "and not isfinite(try_cast(shown as double))"
    )
    unreadable = f"fault is not null or {value} is null"
    keep(
        con, source, where, present,
        table="staged_read", into="staged_chosen", typed=False, unreadable=unreadable,
    )  # fmt: skip
    con.execute("drop table staged_read")
    con.execute("alter table staged_chosen drop column source_row")
    con.execute("alter table staged_chosen rename to staged_read")
