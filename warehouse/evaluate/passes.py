"""Metrics that one pass over a table can compute: expressions over the same groups of rows.

A metric may be an expression over the groups, or over an inner step with columns per group.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

# What concerns a single row or group: no other query, nothing that makes or reads other rows, no
# comment.
_PLAIN = r"(?:(?!\b(?:select|from|unnest|over)\b|--|/\*).)+?"
_GROUPS = r"from\s+\w+\s+group\s+by\s+run_id,\s+query_id(?:,\s+\w+)*"
_EXPRESSION = re.compile(
    rf"\s*select\s+run_id,\s+query_id,\s+(?P<value>{_PLAIN})\s+as\s+value\s+(?P<groups>{_GROUPS})\s*",
    re.DOTALL,
)
_OF_A_STEP = re.compile(
    rf"\s*with\s+(?P<step>\w+)\s+as\s+\("
    rf"\s*select\s+run_id,\s+query_id,\s+(?P<columns>{_PLAIN})\s+(?P<groups>{_GROUPS})\s*\)"
    rf"\s*select\s+run_id,\s+query_id,\s+(?P<value>{_PLAIN})\s+as\s+value\s+from\s+(?P=step)"
    r"(?P<again>\s+group\s+by\s+run_id,\s+query_id)?\s*",
    re.DOTALL,
)
_COLUMN = re.compile(r"(?P<sql>.+?)\s+as\s+(?P<name>\w+)|(?P<key>\w+)", re.DOTALL)
# Separators of a list of columns: commas outside brackets.
_BRACKETS = re.compile(r"[(\[]|[)\]]|,")
# Columns of a pass itself.
_OWN = frozenset({"metric_number", "run_id", "query_id", "value"})


@dataclass(frozen=True)
class Value:
    """One metric of a pass: its number, the SQL of its value, and its value if undefined.

    `columns` is the SQL of the inner step's columns, by name.
    """

    number: int
    sql: str
    undefined: float | None
    columns: dict[str, str] = field(default_factory=dict)


@dataclass
class Pass:
    """One pass over some rows, and the values computed from it.

    The `source` follows the values in a SELECT, or the columns of the inner step; or it is a whole
    query with the column `value`. The rows of a step may be grouped `again`.
    """

    source: str
    values: list[Value]
    is_query: bool = False
    again: bool = False

    @property
    def columns(self) -> dict[str, list[str]]:
        """The SQL of each column of the inner step; a column that values share appears once."""
        found: dict[str, list[str]] = {}
        for name in self.values[0].columns:
            each = [value.columns[name] for value in self.values]
            found[name] = each if len(set(each)) > 1 else each[:1]
        return found


def passes(metrics: Iterable[tuple[int, float | None, str]]) -> list[Pass]:
    """Group metrics that one pass can compute, in the order of the first of each pass.

    A metric is its number, its value if undefined, and its query.

    >>> best = "select run_id, query_id, max(gain) as value from t group by run_id, query_id"
    >>> for one in passes([(0, 0.0, best), (1, 0.0, "from u"), (2, 0.0, best.replace("max", "min"))]):
    ...     print([value.sql for value in one.values], one.source)
    ['max(gain)', 'min(gain)'] from t group by run_id, query_id
    ['value'] from u
    """
    found: dict[object, Pass] = {}
    for number, undefined, query in metrics:
        key, one = _pass(number, undefined, query)
        known = found.setdefault(key, one)
        if known is not one:
            known.values += one.values
    return list(found.values())


def _pass(number: int, undefined: float | None, query: str) -> tuple[object, Pass]:
    """Return the pass of one metric, and what others must share with it to be part of it."""
    if direct := _EXPRESSION.fullmatch(query):
        value = Value(number, direct["value"], undefined)
        return " ".join(direct["groups"].split()), Pass(direct["groups"], [value])
    step = _OF_A_STEP.fullmatch(query)
    columns = None if step is None else _columns(step["columns"])
    if step is None or columns is None:
        return number, Pass(query, [Value(number, "value", undefined)], is_query=True)
    value = Value(number, step["value"], undefined, columns)
    shape = (" ".join(step["groups"].split()), step["value"], bool(step["again"]))
    made = Pass(step["groups"], [value], again=bool(step["again"]))
    return (*shape, undefined, *columns), made


def _columns(text: str) -> dict[str, str] | None:
    """Return the SQL of columns by their names, or None if that needs a closer look.

    >>> _columns("num_rel, least(5, num_ret) as looked_at")
    {'num_rel': 'num_rel', 'looked_at': 'least(5, num_ret)'}
    """
    if "'" in text or '"' in text:
        return None
    ends, depth = [-1], 0
    for mark in _BRACKETS.finditer(text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1, ",": 0}[mark[0]]
        if mark[0] == "," and depth == 0:
            ends.append(mark.start())
    ends.append(len(text))
    found: dict[str, str] = {}
    for start, end in itertools.pairwise(ends):
        column = _COLUMN.fullmatch(text[start + 1 : end].strip())
        if column is None:
            return None
        name = column["name"] or column["key"]
        if name in found or name in _OWN:
            return None
        found[name] = column["sql"] or name
    return found
