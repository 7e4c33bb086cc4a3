"""How many random examples a property has: a share of them in the quick run, all in the full one."""

from __future__ import annotations

from hypothesis import settings

# The examples of the quick run, as a percentage of those of the full one.
QUICK = 20


def examples(number: int, **options: object) -> settings:
    """Return the settings of a property that has this many examples in the full run."""
    share = settings.default.max_examples
    return settings(max_examples=max(1, number * share // 100), deadline=None, **options)
