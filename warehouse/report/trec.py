"""trec_eval's own layout: `%-22s\\t%s\\t%6.4f`, counts as whole numbers, the run's tag first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from warehouse.catalogue import TrecName
from warehouse.metrics import Defaults, Requested, trec_name


def text(
    rows: Iterable[tuple[str, str, float | None]],
    requested: Sequence[Requested],
    defaults: Defaults,
    *,
    runid: str | None = None,
    places: int = 4,
) -> str:
    """Write `(query_id, metric, value)` rows as trec_eval prints them.

    A metric that trec_eval does not have keeps its name in the notation.
    """
    labels: dict[str, list[tuple[str, TrecName | None]]] = {}
    for one in requested:
        label, name = trec_name(one.metric, defaults)
        labels.setdefault(str(one.metric), []).append((one.trec_name or label, name))
    lines: list[str] = []
    in_total = False
    for query_id, metric, value in rows:
        if query_id == "all" and not in_total:
            in_total = True
            if runid is not None:
                lines.append(_line("runid", "all", runid))
        for label, name in labels[metric]:
            if name is not None and not name.per_query and not in_total:
                continue
            lines.append(_line(label, query_id, _number(value, name, places)))
    return "".join(lines)


def _line(label: str, query_id: str, value: str) -> str:
    return f"{label:<22}\t{query_id}\t{value}\n"


def _number(value: float | None, name: TrecName | None, places: int) -> str:
    if value is None:
        return "nan"
    return str(int(value)) if name is not None and name.integer else f"{value:6.{places}f}"
