"""How much memory the system gives this process, where that is limited."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from warehouse.errors import NO_MEMORY, UsageError

# Below this, DuckDB cannot be started and used without the risk that it ends the process.
LEAST = 64 << 20
# When it is imported, SQLAlchemy's dialect starts DuckDB twice more, for a moment, with threads.
LEAST_TO_MIGRATE = 160 << 20
# The number of glibc's setting of how many heaps there are.
_ARENA_MAX = -8


def room() -> int | None:
    """Return how many bytes this process may still map, or None where that is not limited."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    if allowed == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:  # not on Linux
        return allowed
    return max(allowed - pages * resource.getpagesize(), 0)


def share_one_heap() -> None:
    """Let threads share one heap: in glibc each reserves 64 MB for its own, of what is limited."""
    import ctypes

    with suppress(AttributeError, OSError, TypeError):  # not glibc
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def check(least: int = LEAST) -> None:
    """Raise UsageError if the system gives this process too little memory to start DuckDB."""
    left = room()
    if left is not None and left < least:
        raise UsageError(NO_MEMORY)
