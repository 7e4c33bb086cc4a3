"""Naming datasets."""

from __future__ import annotations

from duckdb import DuckDBPyConnection as Connection

from warehouse.errors import UsageError, check_text, check_word, command, listing
from warehouse.sql_text.templates import render

_FIRST = "; the dataset comes first, by its name"


def names(con: Connection, *, emptied: bool = False) -> list[str]:
    """Return the names of the datasets, also of those from which everything was removed if asked."""
    sql = (
        "select name from dataset order by name" if emptied else render("statements/known_datasets")
    )
    return [str(name) for (name,) in con.execute(sql).fetchall()]


def check_one(dataset: str | None) -> str | None:
    """Refuse anything but the name of one dataset; None stands for the only one, or all."""
    return None if dataset is None else check_text("dataset", dataset, _FIRST)


def check(con: Connection, dataset: str | None) -> None:
    """Refuse an unknown dataset with the nearest known one, and a removed one; None stands for all."""
    name = check_one(dataset)
    if name is None or name in (known := names(con)):
        return
    if name in names(con, emptied=True):
        raise UsageError(
            f"dataset {name}: everything was removed from it; known are {listing(known) or 'no others'}"
        )
    check_word("dataset", name, known)


def chosen(con: Connection, dataset: str | None) -> str:
    """Return a dataset, or the only one. Raises UsageError if there is no such dataset."""
    if dataset is not None:
        check(con, dataset)
        return str.__str__(dataset)
    known = names(con)
    if not known:
        raise UsageError(f"there is no dataset yet: {command('ingest run FILE', 'DATASET')}")
    if len(known) > 1:
        raise UsageError(f"name a dataset; known are {listing(known)}")
    return known[0]
