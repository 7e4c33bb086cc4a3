"""Names of columns: those that metrics and datasets give to tables of values."""

from __future__ import annotations

from collections.abc import Iterable

from warehouse.errors import UsageError


def check(names: Iterable[str]) -> None:
    """Refuse names that differ only in case: SQL takes such columns for one.

    >>> check(["AP", "AP A", "AP b"])
    >>> check(["AP A", "AP a"])
    Traceback (most recent call last):
    warehouse.errors.UsageError: AP A and AP a: differ only in case, ...
    """
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise UsageError(
                f"{other} and {name}: differ only in case, and one table cannot have both as columns; "
                "ask for them one at a time"
            )
