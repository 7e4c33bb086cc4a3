"""Where something stands in a TOML record: the keys that lead to it."""

from __future__ import annotations

# Tables of a list are numbered from 1.
KeyPath = tuple[str | int, ...]


def key_text(path: KeyPath) -> str:
    """Return the name of a table or a key, as errors show it.

    >>> key_text(("datasets", "films", "attributes", 2, "file"))
    'datasets.films.attributes 2: file'
    """
    text = ""
    for key, before in zip(path, ("", *path), strict=False):
        between = "" if not text else ": " if isinstance(before, int) else "."
        text += f" {key}" if isinstance(key, int) else f"{between}{key}"
    return text
