"""The texts of queries and documents, where they are loaded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from duckdb import DuckDBPyConnection as Connection

from warehouse.readers.kinds import Subject
from warehouse.sql_text.templates import render

# As much of a text as a table for people shows.
_IN_SHORT = 60


@dataclass(frozen=True)
class Text:
    """A text with its title, if it has one."""

    title: str | None
    text: str

    @property
    def whole(self) -> str:
        """Return title and text."""
        return "\n".join(part for part in (self.title, self.text) if part)


def any_texts(con: Connection, dataset: str, subject: Subject) -> bool:
    """Whether a dataset has texts of its queries or documents."""
    sql = "select 1 from text_set_version where dataset = $1 and subject = $2 limit 1"
    return bool(con.execute(sql, [dataset, subject]).fetchall())


def texts(con: Connection, dataset: str, subject: Subject, ids: Iterable[str]) -> dict[str, Text]:
    """Return the texts of some queries or documents, by id; those without a text are missing."""
    if not any_texts(con, dataset, subject):
        return {}
    asked = {"dataset": dataset, "subject": subject, "ids": list(ids)}
    rows = con.execute(render("analyses/texts"), asked).fetchall()
    return {str(id): Text(title, text) for id, title, text in rows}


def in_short(text: str, size: int = _IN_SHORT) -> str:
    """Return the beginning of a text in one line.

    >>> in_short("what is\\nan owl", 10)
    'what is a…'
    """
    line = " ".join(text[: 4 * size].split())
    return line if len(line) <= size and len(text) <= 4 * size else line[: size - 1] + "…"
