"""What a refusal has to name, whatever its words are.

The words of a message are tested once, beside what raises it. Other tests say which names it gives, in
their order: "tinny … tiny" stands for the wrong name and the nearest right one, "gates 1 … max_drop"
for the place and the key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from warehouse.errors import UsageError, WarehouseError


def tells(message: str, wanted: str) -> bool:
    """Whether a message holds a text or, if that has a …, the names that stand between its …"""
    names = (rf"(?<!\w){re.escape(name)}(?!\w)" for name in wanted.split(" … "))
    return wanted in message or re.search(".*?".join(names), message, re.DOTALL) is not None


@contextmanager
def expect_refusal(wanted: str, error: type[WarehouseError] = UsageError) -> Iterator[None]:
    """Expect an error that names what is wanted; see `tells`."""
    with pytest.raises(error) as caught:
        yield
    assert tells(str(caught.value), wanted), (str(caught.value), wanted)
