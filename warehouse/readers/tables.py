"""Tables as SQL relations: our columns into `staged`, or all of their columns into `staged_table`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from warehouse.errors import InputError, first_line
from warehouse.readers import checks, row_rules, staging
from warehouse.readers.columns import choose, several_ids
from warehouse.readers.formats import Reading
from warehouse.readers.kinds import KEYS, ColumnNames, Kind, Ranking
from warehouse.sql_text.quoting import ident
from warehouse.store.engine_errors import in_words

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

# Our columns with their SQL and their family, as in ingest/from_relation.
Columns = Mapping[str, tuple[str, str]]
_WHOLE = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|BOOLEAN")
_REAL = re.compile(r"FLOAT|DOUBLE|DECIMAL.*")
# Types with a fraction represent integers below these exactly.
_EXACT = {"FLOAT": 2**24, "DOUBLE": 2**53}
_NESTED = re.compile(r"(STRUCT|MAP|UNION|VARIANT|TUPLE)\b.*|.*\]", re.DOTALL)


def read(
    con: Connection,
    source: str,
    kind: Kind,
    relation: str,
    mapping: ColumnNames,
    names: Callable[[], Iterable[str]],
    *,
    as_view: bool = False,
) -> Reading:
    """Fill `staged` from a relation; `names` gives the names of its columns in the source.

    With `as_view`, `staged` becomes a view of the relation, the rows of one file, if it is a run of
    texts and real numbers without a fault.
    """
    with table_errors(source):
        types = staging.types_of(con, relation)
        found, ranking = choose(
            source, kind, list(types), mapping,
            sample=lambda name: staging.first_values(con, relation, ident(name)),
        )  # fmt: skip
        _refuse_twins(source, types, found, names)
        refuse_lost_digits(con, source, relation, types, found)
        columns = by_types(source, kind, found, types)
        is_numbered = "file_row_number" not in map(str.lower, types)  # else a column hides it
        if as_view and kind == "run" and is_numbered and _is_plain(columns):
            fill(con, kind, relation, columns, as_view=True)
            if not checks.any_problem(con, kind, unread=None, hashed=True):
                return Reading(ranking, value=found["value"], is_view=True)
            con.execute("drop view temp.staged; drop table if exists temp.staged_key")
        fill(con, kind, relation, columns)
    checks.check_staged(
        con, kind, source,
        word=ranking, unread=None, words=checks.in_words_by_row, columns=found,
    )  # fmt: skip
    return Reading(ranking, value=found.get("value"))


def _is_plain(columns: Columns) -> bool:
    """Whether no row says more than a query, a document and a score, and no rule is for some rows."""
    families = {ours: family for ours, (_, family) in columns.items()}
    plain = {"query_id": "text", "doc_id": "text", "value": "real"}
    return families == plain and row_rules.current() is None


def batch_readings(
    con: Connection, sources: Sequence[object], ranking: Ranking, value: str
) -> list[Reading] | None:
    """Return the notes about runs that fill `staged` together, or None if a row has a problem."""
    if checks.several_systems(con, together=True):
        return None
    if checks.any_problem(con, "run", unread=None, together=True):
        return None
    return [Reading(ranking, value=value)] * len(sources)


@contextlib.contextmanager
def table_errors(source: str) -> Iterator[None]:
    """Raise errors of the engine about a table as InputError."""
    import duckdb

    try:
        with in_words():
            yield
    except (duckdb.InterruptException, duckdb.TransactionException):
        raise
    except duckdb.Error as error:
        raise InputError(f"{source}: cannot be read as a table: {first_line(error)}") from error


def fill(
    con: Connection,
    kind: Kind,
    relation: str,
    columns: Columns,
    *,
    together: bool = False,
    as_view: bool = False,
) -> None:
    """Fill `staged` from the SQL of a relation, for one source or for the files of several runs."""
    staging.run(
        con, "ingest/from_relation",
        kind=kind, relation=relation, columns=columns, together=together, as_view=as_view,
        keep_words=kind != "run" and row_rules.reads_words(),
    )  # fmt: skip


def by_types(
    source: str, kind: Kind, found: Mapping[str, str], types: Mapping[str, str]
) -> Columns:
    """Return the columns of a relation, read according to their types.

    Raises InputError for lists, and for truth values in the place of scores.
    """
    if kind == "run" and types[found["value"]] == "BOOLEAN":
        raise InputError(
            f"{source}: the column {found['value']!r} holds truth values, which rank nothing: give "
            "each document a score, or a rank"
        )
    read = {ours: one for ours, one in found.items() if ours != "tag" or not is_nested(types[one])}
    return {ours: by_type(source, theirs, types[theirs]) for ours, theirs in read.items()}


def by_type(source: str, name: str, type_name: str) -> tuple[str, str]:
    """Return a column's SQL and its family, from its DuckDB type. Raises InputError for lists."""
    if type_name == "JSON":
        return f"({ident(name)} ->> '$')", "text"
    if is_nested(type_name):
        raise InputError(
            f"{source}: the column {name!r} holds lists or records: give each document a row of its "
            "own, as explode of pandas and polars does, and unnest in SQL"
        )
    return ident(name), family(type_name)


def trimmed_numbers(columns: Columns) -> Columns:
    """Return columns of text without the blanks around their numbers."""
    return {
        ours: (sql if ours.endswith("_id") or family != "text" else f"trim({sql})", family)
        for ours, (sql, family) in columns.items()
    }


def tidy_ids(con: Connection, source: str, kind: Kind, found: Mapping[str, str]) -> tuple[str, ...]:
    """Take away the blanks around staged ids of a text; return a warning with their number.

    Raises InputError where a cell seems to hold several ids: no column has a value for each, every query
    has one row, and most documents have blanks within.
    """
    warnings = trim_ids(con, KEYS[kind])
    if "value" not in found and (lists := staging.run(con, "checks/ids_in_one_cell")):
        raise several_ids(source, found["doc_id"], lists[0][0])
    return warnings


def trim_ids(con: Connection, names: Iterable[str]) -> tuple[str, ...]:
    """Take away the blanks around the ids in some columns of `staged`; return a warning, if any."""
    sql = "update staged set {0} = trim({0}, ' \t') where {0} <> trim({0}, ' \t')"
    gone = sum(con.execute(sql.format(ident(name))).fetchall()[0][0] for name in names)
    if not gone:
        return ()
    are = (
        "1 id has blanks around it, which are"
        if gone == 1
        else (f"{gone:,} ids have blanks around them, which are")
    )
    return (f"{are} not read",)


def _refuse_twins(
    source: str,
    types: Mapping[str, str],
    found: Mapping[str, str],
    names: Callable[[], Iterable[str]],
) -> None:
    """Refuse a second column of a name that is read, which DuckDB numbers: `score_1`."""
    read = {theirs.lower(): theirs for theirs in found.values()}
    numbered = {name: read.get(re.sub(r"_\d+$", "", name).lower()) for name in types}
    twins = {name: twin for name, twin in numbered.items() if twin not in (None, name)}
    if twins and (renamed := sorted(twins.keys() - set(names()))):
        raise InputError(f"{source}: the column {twins[renamed[0]]!r} is there twice")


def refuse_lost_digits(
    con: Connection, source: str, relation: str, types: Mapping[str, str], found: Mapping[str, str]
) -> None:
    """Refuse ids that are real numbers too large to be exact: other ids were rounded to them."""
    for name in (found["query_id"], found["doc_id"]):
        limit = _EXACT.get(types[name])
        if limit is None:
            continue
        column = ident(name)
        ((highest,),) = con.execute(
            f"select max(abs({column})) filter (where isfinite({column})) from {relation}"
        ).fetchall()
        if highest is not None and highest >= limit:
            raise InputError(
                f"{source}: the column {name!r} holds ids as real numbers ({types[name]}) of {limit:,} "
                "and above, where several ids become one: read them as text or as integers, as pandas "
                "does with dtype='Int64'"
            )


def fill_table(con: Connection, source: str, relation: str) -> dict[str, str]:
    """Fill `staged_table` from the SQL of a relation, and return the types of its columns."""
    with table_errors(source):
        types = staging.types_of(con, relation)
        check_names(source, list(types))
        con.execute(f"create temp table staged_table as select * from {relation}").fetchall()
    return types


def check_names(source: str, names: Sequence[str]) -> None:
    """Refuse columns without a name, and names that differ in nothing but their case."""
    seen: dict[str, str] = {}
    for number, name in enumerate(names, 1):
        if not name.strip():
            raise InputError(f"{source}: column {number} has no name: give it one, or leave it out")
        if name.lower() in seen:
            raise InputError(
                f"{source}: the columns {seen[name.lower()]!r} and {name!r} have the same name"
            )
        seen[name.lower()] = name


def is_nested(type_name: str) -> bool:
    """Whether the values of a DuckDB type are lists or records.

    >>> is_nested("VARCHAR[]"), is_nested("STRUCT(a INTEGER)"), is_nested("DECIMAL(18,3)")
    (True, True, False)
    """
    return _NESTED.fullmatch(type_name) is not None


def family(type_name: str) -> str:
    """Return how a DuckDB type is read: whole, real or text."""
    if _WHOLE.fullmatch(type_name):
        return "whole"
    return "real" if _REAL.fullmatch(type_name) else "text"
