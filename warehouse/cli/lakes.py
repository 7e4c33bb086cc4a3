"""The common part of commands that read a lake in place of the database."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from warehouse import extending
from warehouse.cli import options, output
from warehouse.config.settings import LOCK_TIMEOUT
from warehouse.errors import UsageError

if TYPE_CHECKING:
    from warehouse.warehouse import Warehouse

_VERSION = "version:"

Lake = Annotated[
    str | None,
    "Show what a team has pushed into this lake, not the database; --as-of version:N shows what it "
    "was after a push.",
    {"metavar": "URL"},
]


@dataclass(frozen=True)
class LakeOrFile:
    """The database of a command that can also read a lake."""

    lake: Lake = None
    db: options.Database = None
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT

    @contextmanager
    def reading(self, state: options.State) -> Iterator[tuple[Warehouse, options.State]]:
        """Yield the warehouse, for a lake a temporary file, and the state to read of it."""
        from warehouse.analyze import past_state
        from warehouse.store.scratch_folders import scratch_folder
        from warehouse.warehouse import Warehouse

        number = version(state.as_of)
        if self.lake is None:
            if number is not None:
                raise UsageError(
                    f"--as-of {state.as_of}: only a lake has versions: give it with --lake"
                )
            yield Warehouse(self.db, lock_timeout=self.lock_timeout), state
            return
        with scratch_folder() as folder:
            made = folder / "lake.duckdb"
            shared = extending.first("lakes", "--lake")
            collected = shared.collect(self.lake, made, version=number, lock_timeout=LOCK_TIMEOUT)
            as_of = None if number is not None else state.as_of
            # the notes are about boards of the present
            if as_of is None or past_state.moment(as_of) >= dt.datetime.now(dt.UTC):
                for note in collected.notes:
                    output.say(note)
            read = Warehouse(made, lock_timeout=self.lock_timeout)
            yield read, replace(state, as_of=as_of)


def version(as_of: str | None) -> int | None:
    """Return the number of `version:N`, or None for a time. Raises UsageError for another word."""
    if as_of is None or not as_of.startswith(_VERSION):
        return None
    text = as_of.removeprefix(_VERSION)
    if not (text.isascii() and text.isdecimal()):
        raise UsageError(f"--as-of {as_of}: give the number of a version, as in version:3")
    return int(text)
