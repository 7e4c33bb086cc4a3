"""Naming datasets."""

from __future__ import annotations

from duckdb import DuckDBPyConnection as Connection

from warehouse.errors import UsageError, check_text, check_word, command, listing

_FIRST = "; the dataset comes first, by its name"


def _known(con: Connection) -> list[str]:
    rows = con.execute("select name from dataset order by name").fetchall()
    return [str(row[0]) for row in rows]


def check_one(dataset: str | None) -> str | None:
    """Refuse what is not the name of one dataset; None stands for the only one, or all."""
    return None if dataset is None else check_text("dataset", dataset, _FIRST)


def check(con: Connection, dataset: str | None) -> None:
    """Refuse an unknown dataset with the nearest known one; None stands for all."""
    name = check_one(dataset)
    if name is not None:
        check_word("dataset", name, _known(con))


def chosen(con: Connection, dataset: str | None) -> str:
    """Return a dataset, or the only one. Raises UsageError if there is no such dataset."""
    if dataset is not None:
        check(con, dataset)
        return str.__str__(dataset)
    known = _known(con)
    if not known:
        raise UsageError(f"there is no dataset yet: {command('ingest run FILE', 'DATASET')}")
    if len(known) > 1:
        raise UsageError(f"name a dataset; known are {listing(known)}")
    return known[0]
