"""What a run of the tests leaves out: examples of properties, parameters, files without a test of it.

A run with EXPECTED_SKIPS, the name of a file of patterns, fails if a test is skipped for another reason.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# The examples of the quick run, as a percentage of those of the full one.
QUICK = 20
# Of the parameters of a core test, the run of the core tests alone has every third.
CORE = 3
# A folder in memory: databases are made there in less time than on a disk that has to hold them.
MEMORY = Path("/dev/shm")


def examples(number: int, **options: Any) -> Callable[[Any], Any]:
    """Give a property this many examples in the full run; CI runs those with more than two again."""
    share = settings.default.max_examples
    given = settings(max_examples=max(1, number * share // 100), deadline=None, **options)
    return lambda test: given(test if number <= 2 else pytest.mark.property(test))


def is_quick(config: pytest.Config) -> bool:
    """Whether the run leaves out what is slow."""
    return "not slow" in config.option.markexpr


def is_core(config: pytest.Config) -> bool:
    """Whether the run has the core tests alone."""
    return bool(config.option.markexpr.startswith("core "))


def is_chosen(item: pytest.Item) -> bool:
    """Whether the very parameters of a test are marked as core, and not the test."""
    chosen = getattr(item, "callspec", None)
    return chosen is None or any(mark.name == "core" for mark in chosen.marks)


def has_no_test(path: Path, config: pytest.Config) -> bool:
    """Whether a file is known to have no test of the run."""
    if not path.name.startswith("test_"):
        return False
    text = path.read_text(encoding="utf-8")
    if is_quick(config):
        return re.search(r"^pytestmark = \[?pytest\.mark\.slow\b", text, re.MULTILINE) is not None
    return is_core(config) and "mark.core" not in text


def unexpected(reasons: Iterable[str]) -> list[str]:
    """Return the reasons for skips that no line of the file EXPECTED_SKIPS matches."""
    known = os.environ.get("EXPECTED_SKIPS")
    if known is None:
        return []
    patterns = Path(known).read_text(encoding="utf-8").splitlines()
    return sorted({one for one in reasons if not any(re.search(p, one) for p in patterns)})


def has_memory() -> bool:
    """Whether there is a folder in memory with room for the tests, in which programs may run."""
    if not (MEMORY.is_dir() and os.access(MEMORY, os.W_OK)):
        return False
    found = os.statvfs(MEMORY)
    return found.f_bavail * found.f_frsize >= 4 << 30 and not found.f_flag & os.ST_NOEXEC
