"""The only two ways by which a Python value becomes part of SQL text."""

from __future__ import annotations

from warehouse.errors import UsageError, is_utf8


def ident(name: str) -> str:
    """Quote an identifier.

    >>> ident("user id")
    '"user id"'
    """
    return '"' + str(name).replace('"', '""') + '"'


def literal(value: object) -> str:
    """Write a Python value as a SQL literal; a float stays a double (0.7 alone would be a DECIMAL).

    A tuple of pairs is a map. Raises UsageError for a text that is not UTF-8.

    >>> literal("it's"), literal(0.7), literal(3), literal(None), literal(True)
    ("'it''s'", '0.7e0', '3', 'null', 'true')
    >>> literal([1, 2]), literal(((1, 0.5), (2, 3.0)))
    ('[1, 2]', 'map {1: 0.5e0, 2: 3.0e0}')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        if text in ("nan", "inf", "-inf"):
            return f"'{text}'::double"
        return text if "e" in text else text + "e0"
    if isinstance(value, tuple) and all(isinstance(item, tuple) for item in value) and value:
        return "map {" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    text = str(value)
    if not is_utf8(text):
        raise UsageError(f"{text}: is not UTF-8; SQL has no room for it: give it another name")
    return "'" + text.replace("'", "''") + "'"
