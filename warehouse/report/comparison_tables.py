"""Comparisons as tables for people: values with marks, and pair by pair."""

from __future__ import annotations

from typing import Any

from warehouse.analyze.compare import Compared
from warehouse.analyze.side_by_side import SideBySide
from warehouse.analyze.significance import level, probability
from warehouse.analyze.texts import in_short
from warehouse.errors import counted
from warehouse.metrics.notation import known_metric
from warehouse.report.formats import Mark, Writer, marked, one_line
from warehouse.store.database import records

_ARROWS = {"higher": " ↑", "lower": " ↓"}


def values(found: Compared, writer: Writer) -> str:
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
    judged: dict[str, list[float | None]] = {}
    for metric in found.metrics:
        of_metric = [cells[metric, run] for run in found.runs]
        heads.append(found.labels.get(metric, metric) + _ARROWS.get(found.directions[metric], ""))
        columns.append([_value(row, writer.places) for row in of_metric])
        numeric.append(False)
        if any(row["if_all_relevant"] is not None for row in of_metric):
            heads.append("if all relevant")
            columns.append([row["if_all_relevant"] for row in of_metric])
            numeric.append(True)
        if any(row["judged"] is not None for row in of_metric):
            judged[_judged_name(metric)] = [row["judged"] for row in of_metric]
    heads += judged
    columns += judged.values()
    numeric += [True] * len(judged)
    rows = list(zip(*columns, strict=True))
    caption = (
        f"{', '.join(found.labels.get(metric, metric) for metric in found.metrics)} of "
        f"{counted(len(found.runs), 'run')} on {found.dataset}. The best value is bold, the second "
        "underlined; letters name the runs that a value is significantly better than. "
        f"{found.notes[0]}."
    )
    text = writer.table(heads, rows, numeric, list(judged))
    return writer.captioned(text, caption, f"{found.dataset}-values")


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


def pairs(found: Compared, writer: Writer) -> str:
    """Write each pair: difference, interval, effect size, counts, p."""
    places = writer.places
    by_test = found.how.corrected_by != "none"
    heads = ["metric", "base", "run", "difference", f"{level(found.how.alpha)} interval", "d"]
    heads += ["W/T/L", "p", *(["adjusted p"] if by_test else [])]
    rows = []
    for row in records(found.pairs):
        interval = (
            "" if row["low"] is None else f"[{row['low']:+.{places}f}, {row['high']:+.{places}f}]"
        )
        rows.append([
            found.labels.get(row["metric"], row["metric"]),
            row["base"],
            row["run"],
            "" if row["difference"] is None else f"{row['difference']:+.{places}f}",
            interval,
            "" if row["effect_size"] is None else f"{row['effect_size']:+.2f}",
            f"{row['wins']}/{row['ties']}/{row['losses']}",
            _p(row["p"], row["is_significant"] and not by_test),
            *([_p(row["p_adjusted"], row["is_significant"])] if by_test else []),
        ])  # fmt: skip
    numeric = [False] * 3 + [True] * 4 + [False] * (2 if by_test else 1)
    several = len({row[1] for row in rows}) > 1
    caption = (
        f"Differences between runs on {found.dataset}: run minus base, Cohen's d, and queries won, tied "
        f"and lost (W/T/L). A significant p is bold. {found.notes[0]}."
    )
    text = writer.table(heads, rows, numeric, ["d", "W/T/L", *([] if several else ["base"])])
    return writer.captioned(text, caption, f"{found.dataset}-pairs")


def _p(p: float | None, is_significant: bool) -> str:
    if p is None:
        return ""
    text = probability(p)
    aligned = text if text.startswith("<") else f" {text}"
    return marked(aligned, "best" if is_significant else "other")


def side_by_side(found: SideBySide, writer: Writer) -> str:
    """Write the queries that differ most, with both lists; in plain text, each has a heading."""
    places = writer.places
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

    if writer.format != "table":
        wide = [[row["query_id"], changed(row), *line(row)] for row in rows]
        return writer.table(["query", found.metric, *heads], wide, [False, False, *numeric])
    pieces = []
    for place in dict.fromkeys(row["place"] for row in rows):
        of_query = [row for row in rows if row["place"] == place]
        title = f"{one_line(of_query[0]['query_id'])}  {found.metric} {changed(of_query[0])}"
        if text := found.texts.get(of_query[0]["query_id"]):
            title += f"\n{in_short(text, 80)}"
        body = writer.table(heads, [line(row) for row in of_query], numeric)
        pieces.append(f"{title}\n{body}")
    return "\n".join(pieces)


def _grade(relevance: float | None) -> str | None:
    return None if relevance is None else f"{relevance:g}"
