"""Which locations of predictions that a database names may be read by this user's program.

Somebody else may have made the database, so nothing in it can be the consent: the locations that the
user has named are in a file of the user's own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from warehouse.config import project
from warehouse.config.ownership import is_private
from warehouse.errors import UsageError, url


def is_allowed(location: str, database: Path) -> bool:
    """Whether a location is in the database's folder or a trusted one, or was allowed."""
    trusted = os.environ.get(project.TRUST, "").split(os.pathsep)
    if "*" in trusted:
        return True
    if url(location) is None:
        real = Path(os.path.realpath(location))
        folders = [database.parent, *(Path(one).expanduser() for one in trusted if one)]
        if any(Path(os.path.realpath(folder)) in real.parents for folder in folders):
            return True
    return location in _allowed()


def allow(locations: Iterable[str]) -> None:
    """Allow locations from now on. Raises UsageError if that cannot be noted."""
    known = _allowed()
    new = [location for location in dict.fromkeys(locations) if location not in known]
    if not new:
        return
    file = _file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.touch(0o600)
        with file.open("a", encoding="utf-8") as out:
            out.write("".join(f"{json.dumps(location)}\n" for location in new))
    except OSError as error:
        raise UsageError(
            f"{file}: cannot be written: {error.strerror}; set XDG_STATE_HOME to a folder of yours, or "
            f"{project.TRUST} to the folder of the predictions"
        ) from error


def _allowed() -> set[str]:
    found = set()
    with suppress(OSError), _file().open(encoding="utf-8") as lines:
        if is_private(os.fstat(lines.fileno())):
            for line in lines:
                with suppress(ValueError):  # cut short, as by a full disk
                    found.add(json.loads(line))
    return found


def _file() -> Path:
    given = Path(os.environ.get("XDG_STATE_HOME") or "")
    base = given if given.is_absolute() else project.expanded("~/.local/state")
    return base / "ranking-warehouse" / "places"
