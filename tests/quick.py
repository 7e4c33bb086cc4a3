"""What the quick run takes of a test that has many parameters or examples; CI runs all of them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import settings

# The examples of a property in the quick run, as a percentage of those in the full one.
QUICK = 20


def some(values: Iterable[object], every: int) -> list[object]:
    """Give each `every`-th set of parameters, the first included, and mark the others slow.

    A tuple is a set of parameters, anything else the only one of its set.
    """
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            marks=[pytest.mark.slow] if place % every else [],
        )
        for place, value in enumerate(values)
    ]


def examples(number: int, **options: object) -> settings:
    """Return the settings of a property that has this many examples in the full run."""
    share = settings.default.max_examples
    return settings(max_examples=max(1, number * share // 100), deadline=None, **options)
