"""What was tried, and what was not survived."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

# Words of the engine or of Python, which no message may have.
_RAW = re.compile(r"Traceback|\b(Binder|Conversion|Catalog|Parser|Constraint|INTERNAL) Error\b")


@dataclass
class Outcome:
    """The number of cases by how they ended, and the failures with their words."""

    title: str
    ends: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, end: str) -> None:
        """Count a case."""
        self.ends[end] += 1

    @contextmanager
    def case(self, name: str) -> Iterator[None]:
        """Note a case that fails, and go on."""
        try:
            yield
        except Exception as error:
            self.failures.append((name, f"{type(error).__name__}: {error}"))

    def lines(self) -> list[str]:
        """Return it for people."""
        ends = ", ".join(f"{number:,} {end}" for end, number in sorted(self.ends.items()))
        failed = f"{len(self.failures):,} not survived"
        head = f"{self.title}: {self.ends.total():,} cases ({ends}), {failed}, {self.seconds:.0f} s"
        wrong = [f"  {name}\n    {text}" for name, text in self.failures[:20]]
        return [head, *(f"  {note}" for note in self.notes), *wrong]


def check_sentence(message: str, *names: str) -> None:
    """Fail unless a refusal has words for people and some names."""
    assert message.strip(), "a refusal without words"
    assert not _RAW.search(message), f"the engine's words: {message}"
    for name in names:
        assert name in message, f"without {name}: {message}"
