"""Mending a file whose writing was cut, by a kill or a power failure, within one of its blocks.

DuckDB writes the blocks of its own table of contents in place, each with one checksum. What counts of
such a block is the same before and after, as the write only adds to it. So if the write is cut, nothing
is lost, but the checksum does not fit, and DuckDB refuses the file. The block gets the checksum that
DuckDB computes, first in a copy. Only if everything in the copy is as it was written, the file itself
gets it too.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from warehouse.errors import DatabaseError, WarehouseError
from warehouse.evaluate import verify
from warehouse.sql_text.templates import render
from warehouse.store.file import WarehouseFile
from warehouse.store.scratch_folders import scratch_folder

_TORN = re.compile(
    r"computed checksum (\d+) does not match stored checksum (\d+) in block at location (\d+)"
)


class _Block(NamedTuple):
    """A block whose checksum, the first 8 bytes, is not that of its content."""

    location: int
    stored: int
    computed: int

    def mend(self, path: Path) -> None:
        """Write the checksum of the content. Raises DatabaseError if another is there by now."""
        with path.open("r+b") as file:
            file.seek(self.location)
            if int.from_bytes(file.read(8), "little") != self.stored:
                raise DatabaseError(f"{path}: has changed while it was mended: try again")
            file.seek(self.location)
            file.write(self.computed.to_bytes(8, "little"))


def mend(file: WarehouseFile) -> int:
    """Mend the file, unless it can be read; return how many of its blocks were torn.

    What is stored as current in a file that can be read is derived anew, if it is not right.

    Raises DatabaseError, and leaves the file as it is, if more than checksums is wrong.
    """
    path = file.existing()
    if next(_wrong(file), None) is None:
        with file.read() as con:
            is_right = not con.execute(render("checks/stored_current")).fetchall()
        if not is_right:
            with file.transaction() as con:
                con.execute(render("statements/current_scores", runs=())).fetchall()
        return 0
    with scratch_folder() as folder:
        copy = WarehouseFile(folder / "copy.duckdb", file.resources, file.lock_timeout)
        for suffix in ("", ".wal"):
            part = path.with_name(path.name + suffix)
            if part.exists():
                shutil.copyfile(part, copy.path.with_name(copy.path.name + suffix))
        try:
            torn = _mended(copy)
        except DatabaseError as error:
            why = str(error).replace(str(copy.path), "the file").partition("\n")
            raise DatabaseError(
                f"{path}: more than a checksum is wrong, so nothing was mended: put a good copy in its "
                f"place\n{why[2] or why[0]}"
            ) from error
    for block in torn:
        block.mend(path)
    return len(torn)


def _mended(copy: WarehouseFile) -> list[_Block]:
    """Mend a copy, and return its torn blocks. Raises DatabaseError if its content is not right."""
    torn: list[_Block] = []
    for block in _wrong(copy):
        if block.location in (earlier.location for earlier in torn):
            raise DatabaseError("a block stays wrong")
        block.mend(copy.path)
        torn.append(block)
    with copy.read() as con:
        for relation, problem, _ in con.table(verify.problems(con)).fetchall():
            raise DatabaseError(f"{relation}: {problem}")
    return torn


def _wrong(file: WarehouseFile) -> Iterator[_Block]:
    """Yield the blocks that DuckDB refuses, one after another; the caller mends each."""
    while True:
        try:
            with file.read() as con:
                verify.problems(con)
            return
        except WarehouseError as error:
            found = _TORN.search(str(error))
            if found is None and isinstance(error, DatabaseError):
                raise
            if found is None:
                raise DatabaseError(str(error)) from error
            computed, stored, location = map(int, found.groups())
            yield _Block(location, stored, computed)
