"""Comparisons as tables for people: values with marks, and pair by pair."""

from __future__ import annotations

from typing import Any

from warehouse.analyze.compare import Compared
from warehouse.analyze.side_by_side import SideBySide
from warehouse.analyze.significance import level
from warehouse.metrics.notation import known_metric
from warehouse.report.formats import Mark, marked, one_line, table
from warehouse.store.database import records

_ARROWS = {"higher": " ↑", "lower": " ↓"}


def values(found: Compared, format: str, *, places: int = 4) -> str:
    """Write the runs' values, one column per metric: the best bold, the second underlined.

    Letters after a value name the runs that it is significantly better than.
    """
    cells = {(row["metric"], row["run"]): row for row in records(found.values)}
    letters = {row["run"]: row["letter"] for row in cells.values()}
    heads, columns, numeric = (
        ["run", ""],
        [list(found.runs), list(letters.values())],
        [False, False],
    )
    for metric in found.metrics:
        of_metric = [cells[metric, run] for run in found.runs]
        heads.append(metric + _ARROWS.get(found.directions[metric], ""))
        columns.append([_value(row, places) for row in of_metric])
        numeric.append(False)
        for column, head in (
            ("judged", _judged_name(metric)),
            ("if_all_relevant", "if all relevant"),
        ):
            if any(row[column] is not None for row in of_metric):
                heads.append(head)
                columns.append([row[column] for row in of_metric])
                numeric.append(True)
    rows = list(zip(*columns, strict=True))
    return table(heads, rows, numeric, format, places=places)


def _judged_name(metric: str) -> str:
    """Return the head of the column with the share of judged documents of a metric."""
    known = known_metric(metric)
    return "Judged" if known is None or known.depth is None else f"Judged@{known.depth}"


def _value(row: dict[str, Any], places: int) -> str:
    if row["value"] is None:
        return ""
    number = f"{row['value']:.{places}f}"
    marks: dict[int, Mark] = {1: "best", 2: "second"}
    mark = marked(number, marks.get(row["place"], "other"))
    better_than = "".join(row["better_than"])
    return mark + (marked(better_than, "raised") if better_than else "")


def pairs(found: Compared, format: str, *, places: int = 4) -> str:
    """Write each pair: difference, interval, effect size, counts, p."""
    by_test = found.how.corrected_by != "none"
    heads = ["metric", "base", "run", "difference", f"{level(found.how.alpha)} interval", "d"]
    heads += ["W/T/L", "p", *(["adjusted p"] if by_test else [])]
    rows = []
    for row in records(found.pairs):
        interval = (
            "" if row["low"] is None else f"[{row['low']:+.{places}f}, {row['high']:+.{places}f}]"
        )
        rows.append([
            row["metric"],
            row["base"],
            row["run"],
            "" if row["difference"] is None else f"{row['difference']:+.{places}f}",
            interval,
            "" if row["effect_size"] is None else f"{row['effect_size']:+.2f}",
            f"{row['wins']}/{row['ties']}/{row['losses']}",
            _p(row["p"], places, row["is_significant"] and not by_test),
            *([_p(row["p_adjusted"], places, row["is_significant"])] if by_test else []),
        ])  # fmt: skip
    numeric = [False] * 3 + [True] * 4 + [False] * (2 if by_test else 1)
    return table(heads, rows, numeric, format, places=places)


def _p(p: float | None, places: int, is_significant: bool) -> str:
    if p is None:
        return ""
    least = 10.0**-places
    text = f"<{least:.{places}f}" if p < least else f" {p:.{places}f}"
    return marked(text, "best" if is_significant else "other")


def side_by_side(found: SideBySide, format: str, *, places: int = 4) -> str:
    """Write the queries that differ most, with both lists; in plain text, each has a heading."""
    rows = records(found.relation)
    heads = ["rank", found.base, "relevance", found.run, "relevance"]
    numeric = [True, False, True, False, True]

    def line(row: dict[str, Any]) -> list[Any]:
        return [
            row["rank"], row["base_document"], _grade(row["base_relevance"]), row["document"],
            _grade(row["relevance"]),
        ]  # fmt: skip

    def changed(row: dict[str, Any]) -> str:
        return (
            f"{row['base_value']:.{places}f} -> {row['value']:.{places}f} "
            f"({row['difference']:+.{places}f})"
        )

    if format != "table":
        wide = [[row["query_id"], changed(row), *line(row)] for row in rows]
        return table(
            ["query", found.metric, *heads], wide, [False, False, *numeric], format, places=places
        )
    pieces = []
    for place in dict.fromkeys(row["place"] for row in rows):
        of_query = [row for row in rows if row["place"] == place]
        title = f"{one_line(of_query[0]['query_id'])}  {found.metric} {changed(of_query[0])}"
        body = table(heads, [line(row) for row in of_query], numeric, format, places=places)
        pieces.append(f"{title}\n{body}")
    return "\n".join(pieces)


def _grade(relevance: float | None) -> str | None:
    return None if relevance is None else f"{relevance:g}"
