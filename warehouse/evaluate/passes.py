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
_GROUPS = (
    r"(?P<groups>from\s+(?P<table>\w+)\s+group\s+by\s+run_id,\s+query_id(?P<keys>(?:,\s+\w+)*))"
)
_KEYS = re.compile(r"\w+")
# A name that is not that of a function.
_NAME = re.compile(r"\b[a-z_]\w*\b(?!\s*\()")
_EXPRESSION = re.compile(
    rf"\s*select\s+run_id,\s+query_id,\s+(?P<value>{_PLAIN})\s+as\s+value\s+{_GROUPS}\s*",
    re.DOTALL,
)
_OF_A_STEP = re.compile(
    rf"\s*with\s+(?P<step>\w+)\s+as\s+\("
    rf"\s*select\s+run_id,\s+query_id,\s+(?P<columns>{_PLAIN})\s+{_GROUPS}\s*\)"
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

    The `source` follows the columns of an inner step in a SELECT; or it is a whole query with the column
    `value`. The rows of a step may be grouped `again`.
    """

    source: str
    values: list[Value]
    is_query: bool = False
    again: bool = False

    @property
    def columns(self) -> dict[str, list[str]]:
        """The SQL of each column of the inner step: one that values share, or one for each value."""
        found: dict[str, list[str]] = {}
        if not self.again:
            return {name: [sql] for value in self.values for name, sql in value.columns.items()}
        for name in self.values[0].columns:
            each = [value.columns[name] for value in self.values]
            found[name] = each if len(set(each)) > 1 else each[:1]
        return found


@dataclass
class _Table:
    """The metrics that are expressions over the rows of each query in one table.

    A metric has one row for each query, so that each column by which it groups besides has one value for
    a query: grouping by those of all metrics makes the same groups.
    """

    name: str
    keys: dict[str, None] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    values: list[Value] = field(default_factory=list)

    def add(
        self, number: int, undefined: float | None, groups: str, value: str, columns: dict[str, str]
    ) -> None:
        """Add a metric: its value, over the columns of an inner step."""
        self.keys.update(dict.fromkeys(_KEYS.findall(groups)))
        renamed = {name: self._name(sql) for name, sql in columns.items()}
        value = _NAME.sub(lambda name: renamed.get(name[0], name[0]), value)
        self.values.append(
            Value(number, value, undefined, {renamed[name]: sql for name, sql in columns.items()})
        )

    def as_pass(self) -> Pass:
        """Return the pass of its metrics."""
        groups = ", ".join(["run_id", "query_id", *self.keys])
        return Pass(f"from {self.name}\ngroup by {groups}", self.values)

    def _name(self, sql: str) -> str:
        """Return a column's name in the pass; what has the same SQL is one column."""
        return self.names.setdefault(" ".join(sql.split()), f"column_{len(self.names)}")


def passes(metrics: Iterable[tuple[int, float | None, str]]) -> list[Pass]:
    """Group metrics that one pass can compute, in the order of the first of each pass.

    A metric is its number, its value if undefined, and its query.

    >>> best = "select run_id, query_id, max(gain) as value from t group by run_id, query_id"
    >>> for one in passes([(0, 0.0, best), (1, 0.0, "from u"), (2, 0.0, best.replace("max", "min"))]):
    ...     print(one.columns, [value.sql for value in one.values])
    {'column_0': ['max(gain)'], 'column_1': ['min(gain)']} ['column_0', 'column_1']
    {} ['value']
    """
    found: dict[object, Pass | _Table] = {}
    for number, undefined, query in metrics:
        if direct := _EXPRESSION.fullmatch(query):
            table = _table(found, direct)
            table.add(number, undefined, direct["keys"], "value", {"value": direct["value"]})
            continue
        step = _OF_A_STEP.fullmatch(query)
        columns = None if step is None else _columns(step["columns"])
        if step is None or columns is None or (not step["again"] and _is_nested(columns)):
            value = Value(number, "value", undefined)
            found[number] = Pass(query, [value], is_query=True)
        elif step["again"]:
            value = Value(number, step["value"], undefined, columns)
            shape = (" ".join(step["groups"].split()), step["value"], undefined, *columns)
            known = found.setdefault(shape, Pass(step["groups"], [], again=True))
            known.values.append(value)
        else:
            _table(found, step).add(number, undefined, step["keys"], step["value"], columns)
    return [one.as_pass() if isinstance(one, _Table) else one for one in found.values()]


def _table(found: dict[object, Pass | _Table], query: re.Match[str]) -> _Table:
    table = found.setdefault(("from", query["table"]), _Table(query["table"]))
    assert isinstance(table, _Table)
    return table


def _is_nested(columns: dict[str, str]) -> bool:
    """Whether a column is computed from another one, by its name.

    >>> _is_nested({"m": "max(x)", "n": "n"}), _is_nested({"m": "max(x)", "n": "count(x) - m"})
    (False, True)
    """
    return any(
        name in columns and name != sql.strip()
        for sql in columns.values()
        for name in _NAME.findall(sql)
    )


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
