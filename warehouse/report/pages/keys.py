"""Names of files for names of people: safe in a path and in a link, whatever the name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

_OTHER = re.compile(r"[^a-z0-9._-]+")
# Names with a meaning: of our own files, and of devices on Windows.
_TAKEN = re.compile(
    r"index(\.html)?|report\.json|assets|metrics|reference|data|api|sql|(con|prn|aux|nul|com\d|lpt\d)(\..*)?"
)
_LONGEST = 40


def keys(names: Iterable[str]) -> dict[str, str]:
    """Return a key for each name; a name that is not its own key gets a part of its hash.

    >>> keys(["bm25", "BM25", "../x"])
    {'bm25': 'bm25', 'BM25': 'bm25-9aecf1', '../x': 'x-d6b96a'}
    """
    return {name: _key(name) for name in names}


def _key(name: str) -> str:
    plain = _OTHER.sub("-", name.lower()).strip("-._")[:_LONGEST]
    if plain and plain == name and not _TAKEN.fullmatch(plain):
        return plain
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{plain}-{digest}" if plain else digest
