"""What was tried, and what was not survived."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

# Words of the engine or of Python, which no message may have.
_RAW = re.compile(r"Traceback|\b(Binder|Conversion|Catalog|Parser|Constraint|INTERNAL) Error\b")


# How many seconds pass between two lines about how far it is.
_PAUSE = 30


@dataclass
class Outcome:
    """The number of cases by how they ended, and the failures with their words.

    `by_operation` has the numbers of each operation, `sizes` its number of writes.
    """

    title: str
    ends: Counter[str] = field(default_factory=Counter)
    by_operation: dict[str, Counter[str]] = field(default_factory=dict)
    failures: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    asked: int = 0
    started: float = field(default_factory=time.monotonic)
    _told: float = field(default_factory=time.monotonic)

    def begin(self, asked: int, note: str) -> None:
        """Say what is tried, and how many cases there are to be if that is known."""
        self.asked = asked
        self.notes.append(note)
        print(f"{self.title}: {note}", file=sys.stderr, flush=True)

    def add(self, end: str, operation: str | None = None, number: int = 1) -> None:
        """Count cases, and say from time to time how far it is."""
        self.ends[end] += number
        if operation is not None:
            self.by_operation.setdefault(operation, Counter())[end] += number
        if time.monotonic() - self._told > _PAUSE:
            self._told = time.monotonic()
            print(self._head(), file=sys.stderr, flush=True)

    @contextmanager
    def case(self, name: str) -> Iterator[None]:
        """Note a case that fails, and go on."""
        try:
            yield
        except Exception as error:
            self.failures.append((name, f"{type(error).__name__}: {error}"))
            said = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            print(f"not survived: {name}: {said}", file=sys.stderr, flush=True)

    def _head(self) -> str:
        ends = ", ".join(f"{number:,} {end}" for end, number in sorted(self.ends.items()))
        total = f"{self.ends.total():,}" + (f" of {self.asked:,}" if self.asked else "")
        return (
            f"{self.title}: {total} cases ({ends}), {len(self.failures):,} not survived, "
            f"{time.monotonic() - self.started:.0f} s"
        )

    def lines(self) -> list[str]:
        """Return it for people, with a table if there are several operations."""
        names = sorted(self.ends)
        width = max(map(len, self.by_operation), default=0)
        table = [
            "  ".join([f"  {'operation':<{width}}", *(f"{n:>8}" for n in ["writes", *names])])
        ] * bool(self.by_operation)
        for operation, ends in self.by_operation.items():
            numbers = [self.sizes.get(operation, ""), *(ends[name] for name in names)]
            table.append("  ".join([f"  {operation:<{width}}", *(f"{n:>8}" for n in numbers)]))
        wrong = [f"  {name}\n    {text}" for name, text in self.failures[:20]]
        return [self._head(), *(f"  {note}" for note in self.notes), *table, *wrong]


def check_sentence(message: str, *names: str) -> None:
    """Fail unless a refusal has words for people and some names."""
    assert message.strip(), "a refusal without words"
    assert not _RAW.search(message), f"the engine's words: {message}"
    for name in names:
        assert name in message, f"without {name}: {message}"
