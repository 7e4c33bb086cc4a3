"""Whose a file or a folder is: what others could have written is not executed."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from warehouse.errors import InputError


def is_own(found: os.stat_result) -> bool:
    """Whether a file or folder belongs to the caller; where files have no owner, it does.

    >>> is_own(os.stat(os.curdir)) or os.stat(os.curdir).st_uid != os.geteuid()
    True
    """
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def is_private(found: os.stat_result) -> bool:
    """Whether a file or folder belongs to the caller, and nobody else can write it."""
    return is_own(found) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def refuse_links(folder: Path, noun: str) -> None:
    """Refuse a folder of others with a link in it, which leads elsewhere, or a pipe, which never ends.

    Raises InputError.
    """
    for root, folders, files in os.walk(folder):
        for path in (Path(root, name) for name in sorted([*folders, *files])):
            with suppress(FileNotFoundError):  # removed meanwhile
                mode = path.lstat().st_mode
                if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                    found = "a link" if stat.S_ISLNK(mode) else "a device or a pipe"
                    raise InputError(f"{path}: is {found}; a {noun} has files and folders alone")
