"""Tables with all of their columns, whatever their names, for attributes and sets of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warehouse.errors import InputError
from warehouse.readers import checks, staging
from warehouse.readers.relations import table_errors

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


@dataclass(frozen=True)
class Table:
    """A source as the temporary table `staged_table`, in the order of its rows.

    `columns` is `{name: DuckDB type}`; in a format without types (`typed` is False) all are text.
    `line_of` converts the number of a row to its line, if the source has lines.
    """

    source: str
    format: str
    sha256: str | None
    columns: Mapping[str, str]
    typed: bool = True
    line_of: Callable[[int], int] | None = None

    def refuse(self, found: Iterable[checks.Problem], total: int) -> InputError:
        """Return the error for rows with problems, by line or by row."""
        if self.line_of is None:
            return checks.refuse(self.source, checks.in_words_by_row(found), total)
        return checks.refuse(self.source, checks.in_words(found, self.line_of), total)


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
