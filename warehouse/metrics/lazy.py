"""A mapping whose values are made on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

_T = TypeVar("_T")


class Lazy(Mapping[str, _T]):
    """Known names and their values, each made once by `make(name)`.

    >>> lengths = Lazy(["one", "three"], len)
    >>> "one" in lengths, lengths["three"], list(lengths)
    (True, 5, ['one', 'three'])
    """

    def __init__(self, names: Iterable[str], make: Callable[[str], _T]) -> None:
        self._made: dict[str, _T | None] = dict.fromkeys(names)
        self._make = make

    def __getitem__(self, name: str) -> _T:
        found = self._made[name]
        if found is None:
            found = self._made[name] = self._make(name)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._made

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)
