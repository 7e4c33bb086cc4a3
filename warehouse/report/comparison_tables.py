"""Comparisons as tables for people: values with marks, and pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from warehouse.analyze.paired_tests import VALUES, Compared
from warehouse.analyze.side_by_side import SideBySide
from warehouse.analyze.significance import level, probability
from warehouse.analyze.texts import in_short
from warehouse.errors import counted
from warehouse.metrics.notation import known_metric
from warehouse.metrics.protocols import left_out
from warehouse.report.formats import Mark, Writer, marked, one_line
from warehouse.report.layout import chosen
from warehouse.store.database import records

_ARROWS = {"higher": " ↑", "lower": " ↓"}


# The sources of columns of the tables that are not columns of the data.
_MADE_OF: Mapping[str, tuple[str, ...]] = {
    "interval": ("low", "high"), "d": ("effect_size",), "W/T/L": ("wins", "ties", "losses"),
    "adjusted p": ("p_adjusted",), "needed": ("queries_needed",),
    "if all relevant": ("if_all_relevant",), "P(worse)": ("p_worse",), "P(equal)": ("p_equal",),
    "P(better)": ("p_better",),
}  # fmt: skip


@dataclass(frozen=True)
class _Column:
    """A column of a table, with the names by which it may be asked for."""

    head: str
    names: Sequence[str]
    cells: Sequence[Any]
    is_number: bool = False


def _table(
    columns: Sequence[_Column], asked: Sequence[str], writer: Writer, spare: Sequence[str]
) -> str:
    """Write the columns that were asked for, in that order; if these are none, all."""
    wanted = [one for name in asked for one in columns if name in one.names]
    kept = list({id(one): one for one in wanted or columns}.values())
    rows = list(zip(*(one.cells for one in kept), strict=True))
    return writer.table([one.head for one in kept], rows, [one.is_number for one in kept], spare)


def named_columns(found: Compared, asked: Sequence[str]) -> list[str]:
    """Return the names of the columns that were asked for. Raises UsageError for a wrong one."""
    known: dict[str, Sequence[str]] = dict.fromkeys((*VALUES, *found.pairs.columns), ())
    known |= dict.fromkeys((*_MADE_OF, *map(_judged_name, found.metrics)), ())
    known |= {name: [found.labels.get(name, name)] for name in found.metrics}
    return chosen(asked, known)


def data_columns(found: Compared, asked: Sequence[str]) -> list[str]:
    """Return the columns of the data that the tables' columns are made of."""
    judged = dict.fromkeys(map(_judged_name, found.metrics), ("judged",))
    values = dict.fromkeys(found.metrics, ("metric", "value"))
    made_of = {**_MADE_OF, **judged, **values}
    return list(dict.fromkeys(part for name in asked for part in made_of.get(name, (name,))))


def values(found: Compared, writer: Writer, asked: Sequence[str] = ()) -> str:
    """Write the runs' values, one column per metric: the best bold, the second underlined.

    Letters after a value name the runs that it is significantly better than. `asked` names the
    columns, if not all are wanted.
    """
    cells = {(row["metric"], row["run"]): row for row in records(found.values)}
    letters = {row["run"]: row["letter"] for row in cells.values()}
    columns = [_Column("run", ["run"], found.runs)]
    columns.append(_Column("", ["letter"], [letters[run] for run in found.runs]))
    judged: dict[str, _Column] = {}
    for metric in found.metrics:
        of_metric = [cells[metric, run] for run in found.runs]
        head = found.labels.get(metric, metric) + _ARROWS.get(found.directions[metric], "")
        columns.append(_Column(head, [metric], [_value(row, writer.digits) for row in of_metric]))
        if len({row["queries"] for row in of_metric}) > 1:
            names = [f"queries of {metric}", "queries"]
            columns.append(
                _Column(names[0], names, [row["queries"] for row in of_metric], is_number=True)
            )
        if any(row["if_all_relevant"] is not None for row in of_metric):
            supposed = [row["if_all_relevant"] for row in of_metric]
            names = ["if all relevant", "if_all_relevant"]
            columns.append(_Column(names[0], names, supposed, is_number=True))
        if any(row["judged"] is not None for row in of_metric):
            name, shares = _judged_name(metric), [row["judged"] for row in of_metric]
            judged[name] = _Column(name, [name, "judged"], shares, is_number=True)
    caption = (
        f"{', '.join(found.labels.get(metric, metric) for metric in found.metrics)} of "
        f"{counted(len(found.runs), 'run')} on {found.dataset}. The best value is bold, the second "
        f"underlined; letters name the runs that a value is significantly better than, and "
        f"{found.tested_in_words}. {_about(found)}."
    )
    text = _table([*columns, *judged.values()], asked, writer, list(judged))
    return writer.captioned(text, caption, f"{found.dataset}-values")


def _about(found: Compared) -> str:
    """Return the part of captions about a comparison."""
    about = [found.notes[0], left_out(found.protocol), found.in_percent]
    return "; ".join(text for text in about if text)


def _judged_name(metric: str) -> str:
    """Return the head of the column with the share of judged documents of a metric."""
    known = known_metric(metric)
    return "Judged" if known is None or known.depth is None else f"Judged@{known.depth}"


def _value(row: dict[str, Any], digits: int) -> str:
    if row["value"] is None:
        return ""
    number = f"{row['value']:.{digits}f}"
    marks: dict[int, Mark] = {1: "best", 2: "second"}
    mark = marked(number, marks.get(row["place"], "other"))
    better_than = "".join(row["better_than"])
    return mark + (marked(better_than, "raised") if better_than else "")


def pairs(found: Compared, writer: Writer, asked: Sequence[str] = ()) -> str:
    """Write each pair: difference, interval, effect size, counts, p, and the power on request.

    `asked` names the columns, if not all are wanted.
    """
    digits, by_test = writer.digits, found.how.corrected_by != "none"
    rows = records(found.pairs)

    def signed(value: float | None, digits: int = digits) -> str:
        return "" if value is None else f"{value:+.{digits}f}"

    def interval(row: dict[str, Any]) -> str:
        return "" if row["low"] is None else f"[{signed(row['low'])}, {signed(row['high'])}]"

    def column(
        head: str, names: Sequence[str], cell: Callable[[dict[str, Any]], Any], *, is_number: bool
    ) -> _Column:
        return _Column(head, names, [cell(row) for row in rows], is_number)

    def significant(row: dict[str, Any]) -> str:
        return _p(row["p"], row["is_significant"] and not by_test)

    metric, level_ = "metric", f"{level(found.how.alpha)} interval"
    columns = [
        column(
            metric, [metric], lambda row: found.labels.get(row[metric], row[metric]),
            is_number=False,
        ),
        column("base", ["base"], lambda row: row["base"], is_number=False),
        column("run", ["run"], lambda row: row["run"], is_number=False),
        column(
            "difference", ["difference"], lambda row: signed(row["difference"]), is_number=True
        ),
        column(level_, ["interval", *_MADE_OF["interval"]], interval, is_number=True),
        column(
            "d", ["d", *_MADE_OF["d"]], lambda row: signed(row["effect_size"], 2), is_number=True
        ),
        column(
            "W/T/L", ["W/T/L", *_MADE_OF["W/T/L"]],
            lambda row: f"{row['wins']}/{row['ties']}/{row['losses']}", is_number=True,
        ),
        column("p", ["p"], significant, is_number=False),
    ]  # fmt: skip
    if by_test:
        columns.append(
            column(
                "adjusted p", ["adjusted p", *_MADE_OF["adjusted p"]],
                lambda row: _p(row["p_adjusted"], row["is_significant"]), is_number=False,
            )
        )  # fmt: skip
    if found.how.power:
        columns += [
            column("detectable", ["detectable"], lambda row: row["detectable"], is_number=True),
            column(
                "needed", ["needed", *_MADE_OF["needed"]], lambda row: row["queries_needed"],
                is_number=True,
            ),
        ]  # fmt: skip
    if found.how.rope is not None:
        columns += [
            column(
                f"P({name})", [f"P({name})", f"p_{name}"], itemgetter(f"p_{name}"), is_number=True
            )
            for name in ("worse", "equal", "better")
        ]
    several = len({row["base"] for row in rows}) > 1
    power = f" {found.how.power_in_words.capitalize()}." if found.how.power else ""
    power += "" if found.how.rope is None else f" {found.how.rope_in_words}."
    caption = (
        f"Differences between runs on {found.dataset}: run minus base, Cohen's d, and queries won, tied "
        f"and lost (W/T/L). A significant p is bold. {_about(found)}.{power}"
    )
    is_wide = found.how.power or found.how.rope is not None
    spare = ["d", "W/T/L", *([] if several else ["base"]), *([level_] if is_wide else [])]
    text = _table(columns, asked, writer, spare)
    return writer.captioned(text, caption, f"{found.dataset}-pairs")


def _p(p: float | None, is_significant: bool) -> str:
    if p is None:
        return ""
    text = probability(p)
    aligned = text if text.startswith("<") else f" {text}"
    return marked(aligned, "best" if is_significant else "other")


def side_by_side(found: SideBySide, writer: Writer) -> str:
    """Write the queries that differ most, with both lists; in plain text, each has a heading."""
    digits = writer.digits
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
            f"{row['base_value']:.{digits}f} -> {row['value']:.{digits}f} "
            f"({row['difference']:+.{digits}f})"
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
