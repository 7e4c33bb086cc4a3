"""How many random examples a property has: a share of them in the quick run, all in the full one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings

# The examples of the quick run, as a percentage of those of the full one.
QUICK = 20


def examples(number: int, **options: Any) -> Callable[[Any], Any]:
    """Give a property this many examples in the full run; CI runs those with more than two again."""
    share = settings.default.max_examples
    given = settings(max_examples=max(1, number * share // 100), deadline=None, **options)
    return lambda test: given(test if number <= 2 else pytest.mark.property(test))
