"""trec_eval's own layout: `%-22s\\t%s\\t%6.4f`, counts as whole numbers, the run's tag first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from warehouse.errors import UsageError, visible
from warehouse.metrics.notation import Defaults, Line, Relstring, trec_name


def text(
    rows: Sequence[tuple[str, str, float | None]],
    requested: Sequence[Line],
    defaults: Defaults,
    *,
    runid: str | None = None,
    digits: int = 4,
    strings: Mapping[tuple[str, str], str] | None = None,
    zscores: bool = False,
    summary: bool = True,
) -> str:
    """Write `(query_id, metric, value)` rows as trec_eval prints them, in the order asked for.

    The last row of each metric is the value over all queries, whatever a query is called. A metric
    that trec_eval does not have keeps its own name. `strings` holds the text of each relstring by
    label and query. With `zscores`, the names of numbers begin with a Z. Without a `summary`, the
    values over all queries are left out.
    """
    names = {str(one.metric) for one in requested if not isinstance(one, Relstring)}
    of_queries = len(rows) - len(names)
    values: dict[str, dict[str, float | None]] = {}
    for query_id, metric, value in rows[:of_queries]:
        values.setdefault(query_id, {})[metric] = value
    for _, query_id in strings or {}:
        values.setdefault(query_id, {})
    total = {metric: value for _, metric, value in rows[of_queries:] if summary}
    shown = list(dict.fromkeys(_Value.of(one, defaults, zscores) for one in requested))
    lines: list[str] = []
    for query_id, found in values.items():
        for one in shown:
            if one.metric is not None and one.per_query:
                lines.append(one.line(query_id, found[one.metric], digits))
            elif one.metric is None and strings and (one.label, query_id) in strings:
                lines.append(_line(one.label, query_id, f"'{strings[one.label, query_id]}'"))
    if summary and runid is not None:
        lines.append(_line("runid", "all", visible(runid)))
    for one in shown if total else ():
        if one.metric is not None:
            lines.append(one.line("all", total[one.metric], digits))
    return "".join(lines)


@dataclass(frozen=True)
class _Value:
    """How the lines of a requested name begin, and how its numbers are written.

    `metric` is None for a relstring, which has texts, for single queries only.
    """

    label: str
    metric: str | None
    before: str = ""
    per_query: bool = True
    whole: bool = False

    @classmethod
    def of(cls, one: Line, defaults: Defaults, zscores: bool) -> _Value:
        if isinstance(one, Relstring):
            return cls(one.trec_name, None)
        label, name = trec_name(one.metric, defaults)
        return cls(
            label=one.trec_name or label,
            before="Z" if zscores else "",
            metric=str(one.metric),
            per_query=name is None or name.per_query,
            whole=name is not None and name.integer and not zscores,
        )

    def line(self, query_id: str, value: float | None, digits: int) -> str:
        text = "nan"
        if value is not None:
            text = str(int(value)) if self.whole else f"{value:6.{digits}f}"
        return self.before + _line(self.label, query_id, text)


def _line(label: str, query_id: str, value: str) -> str:
    return f"{label:<22}\t{visible(query_id)}\t{value}\n"


def qrels_to_fill(rows: Iterable[tuple[str, str]]) -> str:
    """Write `(query_id, doc_id)` rows as qrels whose relevance is still to be filled in: -1.

    They are sorted by id. Raises UsageError for an id with a blank, which the layout cannot hold.

    >>> qrels_to_fill([("q2", "a"), ("q1", "b")])
    'q1 0 b -1\\nq2 0 a -1\\n'
    """
    made = sorted(rows)
    for row in made:
        for name in row:
            if name.split() != [name]:
                raise UsageError(f"{name!r}: an id with a blank; TREC qrels have no room for it")
    return "".join(f"{query} 0 {doc} -1\n" for query, doc in made)
