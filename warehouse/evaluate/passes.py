"""Metrics that one pass over a table serves: each is an expression over the same groups of its rows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

# A query that is an expression over groups of a table, and nothing else: no other query, no comment.
_EXPRESSION = re.compile(
    r"\s*select\s+run_id,\s+query_id,\s+"
    r"(?P<value>(?:(?!\b(?:select|from)\b|--|/\*).)+?)\s+as\s+value\s+"
    r"(?P<groups>from\s+\w+\s+group\s+by\s+run_id,\s+query_id(?:,\s+\w+)*)\s*",
    re.DOTALL,
)


@dataclass(frozen=True)
class Value:
    """One metric of a pass: its number, the SQL of its value, and the value where that is undefined."""

    number: int
    sql: str
    undefined: float | None


@dataclass
class Pass:
    """One look at some rows, and the values that come of it.

    The `source` is what follows the values in a SELECT, or a whole query with the column `value`.
    """

    source: str
    values: list[Value] = field(default_factory=list)
    is_query: bool = False


def passes(metrics: Iterable[tuple[int, float | None, str]]) -> list[Pass]:
    """Put metrics together that one pass can serve, in the order of the first of each pass.

    A metric is its number, its value where it is undefined, and its query.

    >>> best = "select run_id, query_id, max(gain) as value from t group by run_id, query_id"
    >>> for one in passes([(0, 0.0, best), (1, 0.0, "from u"), (2, 0.0, best.replace("max", "min"))]):
    ...     print([value.sql for value in one.values], one.source)
    ['max(gain)', 'min(gain)'] from t group by run_id, query_id
    ['value'] from u
    """
    found: dict[str, Pass] = {}
    for number, undefined, query in metrics:
        alike = _EXPRESSION.fullmatch(query)
        source, sql = (query, "value") if alike is None else (alike["groups"], alike["value"])
        key = f"{number}: {source}" if alike is None else " ".join(source.split())
        of = found.setdefault(key, Pass(source, is_query=alike is None))
        of.values.append(Value(number, sql, undefined))
    return list(found.values())
