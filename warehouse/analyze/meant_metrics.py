"""Which metrics are meant by names in SQL that no row has."""

from __future__ import annotations

import re
from collections.abc import Mapping

from duckdb import DuckDBPyConnection as Connection

from warehouse.errors import DefinitionError, UsageError, listing
from warehouse.metrics.notation import parse_one
from warehouse.store.database import ALIAS

# Parts of statements that ask for metrics, and text between single quotes.
_ASKED = re.compile(r"\b(metric|metric_name|(board_as_of|compare)\s*\()", re.IGNORECASE)
_TEXT = re.compile(r"'((?:[^']|'')*)'")
# The most texts that are looked at.
_MOST = 50


def words(sql: str, params: Mapping[str, object]) -> list[str]:
    """Return the texts in a statement and its parameters that may name metrics.

    >>> words("from leaderboard where metric = 'ndcg@10'", {}), words("select 'a'", {})
    (['ndcg@10'], [])
    >>> words("from compare('dl19', 'a', 'b', $m)", {"m": "map"})
    ['dl19', 'a', 'b', 'map']
    """
    if not _ASKED.search(sql):
        return []
    found = [text.replace("''", "'") for text in _TEXT.findall(sql)]
    found += [value for value in params.values() if isinstance(value, str)]
    return list(dict.fromkeys(found))[:_MOST]


def note(con: Connection, names: list[str]) -> str:
    """Say by which names stored metrics are known that some words mean; else return an empty text."""
    rows = con.execute(
        f"select distinct metric from {ALIAS}.store.evaluation where kind = 'metric'"
    ).fetchall()
    stored = {str(row[0]) for row in rows}
    meant: list[str] = []
    for word in names:
        try:
            name = str(parse_one(word).metric)
        except (UsageError, DefinitionError, ValueError):
            continue
        if name != word and name in stored and word not in stored:
            meant.append(f"'{word}' is stored as '{name}'")
    return listing(meant, 4)
