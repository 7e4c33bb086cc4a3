"""Limits of loaded files: a file may come from others, and may be made to fill a disk or a memory.

They stand under [limits] in `warehouse.toml`; a file that says nothing has the defaults here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from warehouse.config import project
from warehouse.errors import DefinitionError, InputError

SIZE = r"^[0-9]+(\.[0-9]+)? ?[kMGT]?i?B$"
UNPACKED, LINE, NESTING, ROWS = "50GB", "64MiB", 128, 1_000_000_000
_POWERS = {"": 0, "k": 1, "M": 2, "G": 3, "T": 4}


@dataclass(frozen=True)
class Limits:
    """The most bytes that a source may have once it is unpacked or copied, and a line of it.

    `nesting` is how deep JSON may be, `rows` how many rows a source may have.
    """

    unpacked: str = UNPACKED
    line: str = LINE
    nesting: int = NESTING
    rows: int = ROWS

    @property
    def line_bytes(self) -> int:
        """Return the length of the longest line, in bytes."""
        return in_bytes(self.line)

    def check_unpacked(self, source: str, size: int) -> None:
        """Refuse a source of so many bytes."""
        if size > in_bytes(self.unpacked):
            raise _above(source, f"has more than {self.unpacked} unpacked", "unpacked")

    def check_rows(self, source: str, rows: int) -> None:
        """Refuse a source of so many rows."""
        if rows > self.rows:
            raise _above(source, f"has {rows:,} rows, more than {self.rows:,}", "rows")


def _above(source: str, what: str, key: str) -> InputError:
    return InputError(
        f"{source}: {what}; if that is right, set {key} under [limits] in {project.FILE}"
    )


def current() -> Limits:
    """Return the limits of the project in the current folder.

    A file that is wrong, or another user's, has the defaults; code that needs the file reports why.
    """
    try:
        here = project.current()
    except DefinitionError:
        return Limits()
    if here.file is None or "limits" not in here.document.record:
        return Limits()
    found = here.contents.limits
    return Limits(found.unpacked, found.line, found.nesting, found.rows)


def in_bytes(size: str) -> int:
    """Read a size.

    >>> in_bytes("50GB"), in_bytes("1.5 MiB"), in_bytes("10B")
    (50000000000, 1572864, 10)
    """
    number, unit = re.fullmatch(r"([0-9.]+) ?([kMGT]?i?)B", size).groups()  # type: ignore[union-attr]
    base = 1024 if unit.endswith("i") else 1000
    return int(float(number) * base ** _POWERS[unit.removesuffix("i")])
