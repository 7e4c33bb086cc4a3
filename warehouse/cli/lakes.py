"""What commands share that read a lake in place of the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from warehouse import extending
from warehouse.cli import output
from warehouse.config.settings import LOCK_TIMEOUT
from warehouse.errors import UsageError

_VERSION = "version:"

Lake = Annotated[
    str | None,
    typer.Option(
        "--lake",
        metavar="URL",
        help="Show what a team has pushed into this lake, not the database; --as-of version:N shows "
        "what it was after a push.",
    ),
]


@contextmanager
def reading(
    db: Path | None, lake: str | None, as_of: str | None
) -> Iterator[tuple[Path | None, str | None]]:
    """Yield the database to read and the time of its state: for a lake, a temporary file of it."""
    from warehouse.store.scratch_folders import scratch_folder

    number = version(as_of)
    if lake is None:
        if number is not None:
            raise UsageError(f"--as-of {as_of}: only a lake has versions: give it with --lake")
        yield db, as_of
        return
    with scratch_folder() as folder:
        made = folder / "lake.duckdb"
        shared = extending.first("lakes", "--lake")
        collected = shared.collect(lake, made, version=number, lock_timeout=LOCK_TIMEOUT)
        for note in collected.notes:
            output.say(note)
        yield made, as_of if number is None else None


def version(as_of: str | None) -> int | None:
    """Return the number of `version:N`, or None for a time. Raises UsageError for another word."""
    if as_of is None or not as_of.startswith(_VERSION):
        return None
    text = as_of.removeprefix(_VERSION)
    if not (text.isascii() and text.isdecimal()):
        raise UsageError(f"--as-of {as_of}: give the number of a version, as in version:3")
    return int(text)
