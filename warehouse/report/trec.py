"""trec_eval's own layout: `%-22s\\t%s\\t%6.4f`, counts as whole numbers, the run's tag first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from warehouse.errors import UsageError
from warehouse.metrics import Defaults, Line, Relstring, trec_name


def text(
    rows: Sequence[tuple[str, str, float | None]],
    requested: Sequence[Line],
    defaults: Defaults,
    *,
    runid: str | None = None,
    places: int = 4,
    strings: Mapping[tuple[str, str], str] | None = None,
    zscores: bool = False,
) -> str:
    """Write `(query_id, metric, value)` rows as trec_eval prints them, in the order asked for.

    The last of them, one of each metric, are those over all queries, whatever a query is called. A
    metric that trec_eval does not have keeps its name in the notation. `strings` holds the text of each
    relstring by its label and the query. With `zscores` the names of numbers begin with a Z.
    """
    names = {str(one.metric) for one in requested if not isinstance(one, Relstring)}
    of_queries = len(rows) - len(names)
    values: dict[str, dict[str, float | None]] = {}
    for query_id, metric, value in rows[:of_queries]:
        values.setdefault(query_id, {})[metric] = value
    for _, query_id in strings or {}:
        values.setdefault(query_id, {})
    total = {metric: value for _, metric, value in rows[of_queries:]}
    lines: list[str] = []
    for query_id, found in chain(values.items(), [("all", total)] if total else []):
        in_total = found is total
        if in_total and runid is not None:
            lines.append(_line("runid", "all", runid))
        for one in requested:
            if isinstance(one, Relstring):
                string = (strings or {}).get((one.trec_name, query_id))
                if string is not None and not in_total:
                    lines.append(_line(one.trec_name, query_id, f"'{string}'"))
                continue
            label, name = trec_name(one.metric, defaults)
            if name is not None and not name.per_query and not in_total:
                continue
            whole = name is not None and name.integer and not zscores
            number = _number(found[str(one.metric)], whole, places)
            line = _line(one.trec_name or label, query_id, number)
            lines.append(f"Z{line}" if zscores else line)
    return "".join(lines)


def _line(label: str, query_id: str, value: str) -> str:
    return f"{label:<22}\t{query_id}\t{value}\n"


def _number(value: float | None, whole: bool, places: int) -> str:
    if value is None:
        return "nan"
    return str(int(value)) if whole else f"{value:6.{places}f}"


def qrels_to_fill(rows: Iterable[tuple[str, str]]) -> str:
    """Write `(query_id, doc_id)` rows as qrels whose relevance is still to be filled in: -1.

    They are sorted by id. Raises UsageError for an id with a blank, which the layout has no room for.

    >>> qrels_to_fill([("q2", "a"), ("q1", "b")])
    'q1 0 b -1\\nq2 0 a -1\\n'
    """
    made = sorted(rows)
    for row in made:
        for name in row:
            if name.split() != [name]:
                raise UsageError(f"{name!r}: an id with a blank; TREC qrels have no room for it")
    return "".join(f"{query} 0 {doc} -1\n" for query, doc in made)
