"""Whose a file or a folder is: what others could have written is not executed."""

from __future__ import annotations

import os
import stat


def is_own(found: os.stat_result) -> bool:
    """Whether a file or folder belongs to the caller; where files have no owner, it does.

    >>> is_own(os.stat(os.curdir)) or os.stat(os.curdir).st_uid != os.geteuid()
    True
    """
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def is_private(found: os.stat_result) -> bool:
    """Whether a file or folder belongs to the caller, and nobody else can write it."""
    return is_own(found) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
