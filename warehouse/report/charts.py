"""Charts as Vega-Lite specifications: curves, and runs over time.

`-o FILE` makes pictures of them, and notebooks draw them. The lines of the best runs or systems have
a name at their end, and their own colour, dash and marker, so that colour-blind readers, and readers
of a print without colours, can tell them apart; the other lines are grey. Names are data of a
specification, never expressions or markup.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from warehouse.analyze import significance
from warehouse.analyze.curves import Trace
from warehouse.analyze.dataset_board import Board
from warehouse.analyze.history import Timeline
from warehouse.errors import UsageError, counted, visible
from warehouse.metrics.notation import known_metric
from warehouse.report.formats import one_line

Spec = dict[str, Any]
# More lines than this are hard to tell apart.
MOST_NAMED = 8
# Colours of Okabe and Ito, and of Tol, for the colour-blind; none looks like the red of the gates.
COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#882255", "#56B4E9", "#000000", "#CC79A7", "#808000",
)  # fmt: skip
DASHES = ((1, 0), (6, 2), (2, 2), (8, 2, 2, 2), (12, 3), (5, 2, 1, 2), (3, 1), (1, 3))
MARKERS = (
    "circle", "square", "triangle-up", "triangle-down", "triangle-right", "triangle-left",
    "cross", "M-1.1,-1.2L1.1,-1.2L-1.1,1.2L1.1,1.2Z",
)  # fmt: skip
RED = "#D00000"
# Of bars and points: a gain, a loss, and a value that is neither.
_PLUS, _MINUS, _VALUE = "#1B6B93", "#B4530F", "#5B7FA6"
_OTHER, _LEADER, _GRID = "#BDBDBD", "#DDDDDD", "#ECECEC"
_INK, _QUIET = "#1A1A1A", "#595959"
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
# In pixels: the plot, the distance of two labels, and where a label's sample and text begin.
WIDTH, HEIGHT, _SQUARE = 520, 300, 360
_LINE, _SAMPLE, _TEXT = 15, 14, 42
_SIZE = 11
# The most points of a grey line.
_MOST_POINTS = 300
# Widths of signs as parts of the type size, as in Helvetica; others are 0.56, and wide ones 1.
_NARROW = dict.fromkeys("ijl|'", 0.23) | dict.fromkeys(" ftI.,:;!/()[]-`", 0.31)
_BROAD = dict.fromkeys("mwMW@%…", 0.9)
_DAY = 86_400
# Seconds between two times on an axis.
_STEPS = (
    1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10_800, 21_600, 43_200,
    _DAY, 2 * _DAY, 5 * _DAY, 10 * _DAY,
)  # fmt: skip
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 12_000, 24_000)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
# From the epoch, the days that Python knows.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
# Left, top, right and bottom, in pixels.
_Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Line:
    """A line: its label, its points in order, and the points with a marker."""

    label: str
    points: Sequence[Mapping[str, Any]]
    marked: Sequence[Mapping[str, Any]] = ()


def curve(trace: Trace) -> Spec:
    """Return the chart of a curve: a line for each run. Raises UsageError if there is none."""
    if not trace.runs:
        raise UsageError(f"{trace.metric}: there is nothing to draw")
    best = trace.best(MOST_NAMED)
    by_run: dict[str, list[Sequence[Any]]] = {run: [] for run in trace.runs}
    for run, _, *row in trace.relation.fetchall():
        by_run[run].append(row)
    named: list[Line] = []
    others: list[Line] = []
    for run, rows in by_run.items():
        if run not in best:
            others.append(Line(label(run), _points(trace, run, _thinned(rows))))
            continue
        points = _points(trace, run, rows)
        # the first of a few marked points is another one on each line
        every = max(1, len(points) // 6)
        marked = rows if len(rows) <= 12 else rows[len(named) * every // len(best) :: every]
        shown = label(run) + _known(trace, run, rows)
        named.append(Line(shown, points, _points(trace, run, marked, is_line=False)))
    return _curve_spec(trace, named, others)


def _points(
    trace: Trace, run: str, rows: Sequence[Sequence[Any]], *, is_line: bool = True
) -> list[dict[str, Any]]:
    """Return the points of rows; a line whose steps come before its points begins on the left."""
    points = [{"x": x, "y": y, "run": text(run)} for x, y, *_ in rows]
    if is_line and trace.curve.joined == "steps_before":
        points.insert(0, points[0] | {"x": trace.curve.x.range[0]})
    return points


def _known(trace: Trace, run: str, rows: Sequence[Sequence[Any]]) -> str:
    """Return the text after a run's name: its area, and of how many queries its end is."""
    area = trace.areas.get(run)
    first, last = rows[0][2:], rows[-1][2:]
    found = "" if area is None else f", {trace.curve.area} {area:.3f}"
    return found if first == last else f"{found}, {counted(last[0], 'query')} at the end"


def _thinned(rows: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
    every = -(-len(rows) // _MOST_POINTS)
    return rows if every == 1 else [*rows[:-1:every], rows[-1]]


def _curve_spec(trace: Trace, named: Sequence[Line], others: Sequence[Line]) -> Spec:
    found = trace.curve
    is_square = found.x.range == found.y.range == (0, 1)
    width, height = (_SQUARE, _SQUARE) if is_square else (WIDTH - 80, HEIGHT)
    every = [point for line in (*named, *others) for point in line.points]
    top = {axis: max(point[axis] for point in every) for axis in "xy"}
    domains = {}
    for axis, it in (("x", found.x), ("y", found.y)):
        low, high = it.range
        if axis == "y" and found.x.range[1] == inf:
            high = min(high, 1.08 * top["y"] or 1.0)
        elif high == inf:
            high = max(top[axis], low + 1)
        domains[axis] = (low, high)
    title = f"{found.title}: {label(trace.dataset, 40)}"
    what, rules = f"{trace.metric}, {trace.over}", f"protocol {trace.protocol.name}"
    about = f"{what}; {rules}{left_grey(len(named), len(others), 'run')}"
    joined = {"lines": "linear", "steps_before": "step-before", "steps_after": "step-after"}
    x = {
        "field": "x", "type": "quantitative", "title": visible(found.x.name),
        "scale": {"domain": domains["x"], "nice": False},
        "axis": {} if is_square else count_axis(found.x.name in ("rank", "documents needed")),
    }  # fmt: skip
    y = {
        "field": "y", "type": "quantitative", "title": visible(found.y.name),
        "scale": {"domain": domains["y"], "nice": False},
        "axis": count_axis(found.y.name in ("rank", "documents needed")),
    }  # fmt: skip
    layers = []
    if found.chance:
        layers.append(
            {
                "data": {"values": [{"x": 0, "y": 0}, {"x": 1, "y": 1}]},
                "mark": {
                    "type": "line",
                    "color": "#9A9A9A",
                    "strokeWidth": 1,
                    "strokeDash": [2, 2],
                },
                "encoding": {"x": x, "y": y},
            }
        )
    goodness = [trace.goodness[run] for run in trace.runs if run in trace.best(MOST_NAMED)]
    leaders, labels = end_labels(named, x, y, height, domains["y"], goodness)
    layers += [leaders, *drawn_lines(named, others, x, y, joined[found.joined]), *labels]
    return whole_spec(title, about, width, height, layers)


def history(found: Timeline) -> Spec:
    """Return the chart of runs over time: a line for each system. Raises UsageError without a value.

    Runs without a system are lines of their own, of all their versions.
    """
    rows = found.relation.filter("value is not null").fetchall()
    if not rows:
        raise UsageError(f"{found.metric}: has no value to draw")
    by_series: dict[tuple[bool, str], list[Mapping[str, Any]]] = {}
    for at, run, version, system, value, best, is_record, _ in rows:
        point = {
            "x": int(at.timestamp() * 1000), "y": value, "run": text(run), "best": best,
            "time": at.astimezone(dt.UTC).isoformat(" ", "seconds"),
            "series": text(system or run),
            "is_record": is_record, "is_red": (run, version) in found.red,
        }  # fmt: skip
        by_series.setdefault((system is None, system or run), []).append(point)
    sign = -1 if found.direction == "lower" else 1

    def goodness(points: Sequence[Mapping[str, Any]]) -> float:
        return max(sign * float(point["y"]) for point in points)

    ranked = sorted(by_series.values(), key=goodness, reverse=True)
    named = [Line(label(points[0]["series"]), points, points) for points in ranked[:MOST_NAMED]]
    others = [Line(label(points[0]["series"]), points, points) for points in ranked[MOST_NAMED:]]
    return _history_spec(found, named, others)


def _history_spec(found: Timeline, named: Sequence[Line], others: Sequence[Line]) -> Spec:
    every = sorted(
        (point for line in (*named, *others) for point in line.points), key=lambda p: p["x"]
    )
    values = [float(point["y"]) for point in every]
    room = 0.1 * (max(values) - min(values)) or 0.1 * abs(values[0]) or 1.0
    domain = (min(values) - room, max(values) + room)
    first, last = every[0]["x"], every[-1]["x"]
    span = last - first or 4 * _DAY * 1000
    times = (first - span // 40, last + span // 40) if last > first else (first - span, last + span)
    better = {"higher": "higher is better", "lower": "lower is better"}.get(found.direction)
    metric = known_metric(found.metric)
    is_whole = metric is not None and metric.is_count
    x = {
        "field": "x", "type": "quantitative", "title": "time of the run (UTC)",
        "scale": {"domain": times, "nice": False, "zero": False}, "axis": _dates(*times),
    }  # fmt: skip
    name = visible(found.labels.get(found.metric, found.metric))
    y = {
        "field": "y", "type": "quantitative", "title": f"{name} ({better})" if better else name,
        "scale": {"domain": domain, "nice": False, "zero": False}, "axis": count_axis(is_whole),
    }  # fmt: skip
    layers: list[Spec] = []
    has_records = any(point["is_record"] for point in every)
    if has_records and len(every) > 1:
        steps = [*(point for point in every if point["is_record"]), every[-1]]
        layers.append(
            {
                "name": "best",
                "data": {"values": [{"x": point["x"], "y": point["best"]} for point in steps]},
                "mark": {
                    "type": "line", "interpolate": "step-after", "color": "#8C8C8C",
                    "strokeWidth": 1, "strokeDash": [1, 2],
                },
                "encoding": {"x": x, "y": y},
            }
        )  # fmt: skip
    leaders, labels = end_labels(named, x, y, HEIGHT, domain, range(len(named), 0, -1))
    layers += [leaders, *drawn_lines(named, others, x, y, "linear"), *_states(every, x, y), *labels]
    layers += _names_of_records(every, x, y, times, domain, found.direction == "lower")
    title = f"{name} over time: {label(found.dataset, 40)}"
    marks = []
    if has_records and len(every) > 1:
        marks.append("diamonds: records; dotted line: the best so far")
    if any(point["is_red"] for point in every):
        marks.append("red crosses: a gate failed")
    about = (
        f"{counted(len(every), 'run')}, protocol {found.protocol}, "
        f"qrels version {found.qrels_version}{left_grey(len(named), len(others), 'line')}"
    )
    return whole_spec(title, about, WIDTH, HEIGHT, layers, "; ".join(marks))


def critical_difference(board: Board) -> Spec:
    """Return the critical-difference diagram of mean ranks over datasets (Demšar 2006).

    Runs or systems that a bar joins cannot be told apart. Raises UsageError if the board has no
    critical difference, as without ranks, or if no two of them differ.
    """
    if board.critical is None:
        raise UsageError(
            "the diagram is of mean ranks over several datasets that differ: use ranks"
        )
    names = "run" if "run" in board.relation.columns else "system"
    rows = board.relation.project(f"{names}, mean_rank").fetchall()
    rows.sort(key=lambda row: row[1])
    ranks = [rank for _, rank in rows]
    bars = significance.within(ranks, board.critical)
    last = max(len(rows), math.ceil(ranks[-1]))
    half = (len(rows) + 1) // 2
    first_level = 0.9 + 0.4 * len(bars)
    marks = []
    for place, (name, rank) in enumerate(rows):
        is_left = place < half
        level = first_level + 0.7 * (place if is_left else len(rows) - 1 - place)
        marks.append(
            {
                "run": text(name), "label": f"{label(name)} ({rank:.2f})", "x": rank, "y": level,
                "top": 0, "end": 1 if is_left else last, "is_left": is_left,
            }
        )  # fmt: skip
    deepest = max(mark["y"] for mark in marks) + 0.3
    x = {
        "field": "x", "type": "quantitative", "title": "mean rank",
        "scale": {"domain": (1, last), "nice": False, "zero": False},
        "axis": {"orient": "top", "tickMinStep": 1, "grid": False},
    }  # fmt: skip
    y = {
        "field": "y", "type": "quantitative", "axis": None,
        "scale": {"domain": (deepest, 0), "nice": False},
    }  # fmt: skip
    thin = {"type": "rule", "color": "#888888", "strokeWidth": 1}
    tip = [{"field": "run", "type": "nominal"}]
    joined = [
        {"x": ranks[low] - 0.02, "end": ranks[high] + 0.02, "y": 0.5 + 0.4 * number}
        for number, (low, high) in enumerate(bars)
    ]
    layers: list[Spec] = [
        {
            "name": "stems",
            "data": {"values": marks},
            "mark": thin,
            "encoding": {"x": x, "y": y | {"field": "top"}, "y2": {"field": "y"}},
        },
        {
            "name": "arms",
            "data": {"values": marks},
            "mark": thin,
            "encoding": {"x": x, "x2": {"field": "end"}, "y": y, "tooltip": tip},
        },
        {
            "name": "alike",
            "data": {"values": joined},
            "mark": {"type": "rule", "color": _PLUS, "strokeWidth": 4, "strokeCap": "round"},
            "encoding": {"x": x, "x2": {"field": "end"}, "y": y},
        },
    ]
    for side, at, align in (("left", -6, "right"), ("right", {"expr": "width + 6"}, "left")):
        layers.append(
            {
                "name": f"names-{side}",
                "data": {"values": [mark for mark in marks if mark["is_left"] == (side == "left")]},
                "mark": {"type": "text", "align": align, "baseline": "middle", "fontSize": _SIZE},
                "encoding": {"x": {"value": at}, "y": y, "text": {"field": "label"}},
            }
        )
    about = (
        f"{counted(len(rows), names)} in {counted(len(board.datasets), 'dataset')}; critical difference "
        f"{board.critical:.2f} (Nemenyi, alpha {board.alpha:g}); a bar joins what cannot be told apart"
    )
    height = int(26 * deepest)
    return whole_spec("Mean ranks over datasets", about, WIDTH - 120, height, layers)


def bars() -> Spec:
    """Return the chart of bars of which pages choose the values: rows with `at, value, text`.

    The parameters `low` and `high` are the ends of its axis; with `sign` 1 or -1, colours tell gains
    from losses.
    """
    y = {
        "field": "value", "type": "quantitative", "title": None,
        "scale": {"domain": [{"expr": "low"}, {"expr": "high"}], "nice": False},
    }  # fmt: skip
    x = {"field": "at", "type": "ordinal", "axis": None, "scale": {"paddingInner": 0.15}}
    tip = {"field": "text", "type": "nominal"}
    colour = {
        "condition": [
            {"test": "sign * datum.value > 0", "value": _PLUS},
            {"test": "sign * datum.value < 0", "value": _MINUS},
        ],
        "value": _VALUE,
    }
    whole = {"x": x, "y": {"value": 0}, "y2": {"value": {"expr": "height"}}, "tooltip": tip}
    layers: list[Spec] = [
        {
            "name": "rows",
            "mark": {"type": "bar", "minBandSize": 0.5},
            "encoding": {"x": x, "y": y, "color": colour, "tooltip": tip},
        },
        {
            "name": "zero",
            "data": {"values": [{"value": 0}]},
            "mark": {"type": "rule", "color": "#888888"},
            "encoding": {"y": y},
        },
        # a bar of nothing is pointed at too
        {"name": "hits", "mark": {"type": "bar", "opacity": 0}, "encoding": whole},
    ]
    return _chosen_by_pages(WIDTH, 220, layers, sign=0)


def scatter() -> Spec:
    """Return the chart of points of which pages choose the values: rows with `x, y, text`.

    The parameters `low` and `high` are the ends of both axes; points on the line are equal values.
    """
    scale = {"domain": [{"expr": "low"}, {"expr": "high"}], "nice": False}
    x, y = ({"field": axis, "type": "quantitative", "scale": scale} for axis in "xy")
    colour = {
        "condition": [
            {"test": "datum.y > datum.x", "value": _PLUS},
            {"test": "datum.y < datum.x", "value": _MINUS},
        ],
        "value": _VALUE,
    }
    layers: list[Spec] = [
        {
            "name": "diagonal",
            "data": {"values": [{}]},
            "mark": {"type": "rule", "color": "#9A9A9A", "strokeDash": [4, 4]},
            "encoding": {
                "x": {"value": 0}, "x2": {"value": {"expr": "width"}},
                "y": {"value": {"expr": "height"}}, "y2": {"value": 0},
            },
        },
        {
            "name": "rows",
            "mark": {
                "type": "point", "filled": True, "opacity": 1, "size": 60, "stroke": "white",
                "strokeWidth": 1,
            },
            "encoding": {
                "x": x, "y": y, "color": colour, "tooltip": {"field": "text", "type": "nominal"},
            },
        },
    ]  # fmt: skip
    return _chosen_by_pages(_SQUARE, _SQUARE, layers)


def _chosen_by_pages(width: int, height: int, layers: Sequence[Spec], **params: float) -> Spec:
    given = {"low": 0, "high": 1, **params}
    return whole_spec("", "", width, height, layers) | {
        "data": {"values": []},
        "params": [{"name": name, "value": value} for name, value in given.items()],
    }


def _states(points: Sequence[Mapping[str, Any]], x: Spec, y: Spec) -> list[Spec]:
    """Return the marks of records and of failed gates."""
    records = [_only(point, "x", "y") for point in points if point["is_record"]]
    red = [_only(point, "x", "y") for point in points if point["is_red"]]
    return [
        {
            "name": "records",
            "data": {"values": records},
            "mark": {
                "type": "point", "shape": "diamond", "size": 110, "filled": False,
                "color": "#404040", "strokeWidth": 1.3, "opacity": 1,
            },
            "encoding": {"x": x, "y": y},
        },
        {
            "name": "red",
            "data": {"values": red},
            "mark": {
                "type": "point", "shape": "M-1,-1L1,1M-1,1L1,-1", "size": 70, "filled": False,
                "color": RED, "strokeWidth": 2.4, "opacity": 1,
            },
            "encoding": {"x": x, "y": y},
        },
    ]  # fmt: skip


def _only(point: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: point[name] for name in names}


def drawn_lines(
    named: Sequence[Line], others: Sequence[Line], x: Spec, y: Spec, interpolate: str
) -> list[Spec]:
    """Return the lines, the grey ones below the others, and their markers."""
    layers: list[Spec] = []
    tips = [
        {"field": name, "title": name, "type": "nominal"}
        for name in ("run", "series", "time")
        if name in named[0].points[0]
    ]
    value = {"field": "y", "title": y["title"], "type": "quantitative", "format": ".4~f"}
    for kind, lines in (("others", others), ("named", named)):
        if not lines:
            continue
        is_named = kind == "named"
        look = _looks(len(named)) if is_named else {}
        data = {"values": _numbered(lines, "points")}
        layers.append(
            {
                "name": f"{kind}-lines",
                "data": data,
                "transform": [{"filter": "!datum.is_alone"}],
                "mark": {"type": "line", "interpolate": interpolate}
                | ({"strokeWidth": 1.8} if is_named else {"color": _OTHER, "strokeWidth": 1}),
                "encoding": {
                    "x": x,
                    "y": y,
                    "order": {"field": "at", "type": "quantitative"},
                    "detail": {"field": "line", "type": "nominal"},
                    "tooltip": tips[:1] if len(tips) == 1 else tips[1:2],
                }
                | {key: look[key] for key in ("color", "strokeDash") if key in look},
            }
        )
        if lines[0].marked:
            is_same = lines[0].marked is lines[0].points
            layers.append(
                {
                    "name": f"{kind}-points",
                    "data": data if is_same else {"values": _numbered(lines, "marked")},
                    "mark": {
                        "type": "point", "filled": True, "opacity": 1, "size": 34 if is_named else 14,
                        "color": _OTHER,
                    } | ({"stroke": "white", "strokeWidth": 0.6} if is_named else {}),
                    "encoding": {"x": x, "y": y, "tooltip": [*tips, value]}
                    | {key: look[key] for key in ("color", "shape") if key in look},
                }
            )  # fmt: skip
    return layers


def _numbered(lines: Sequence[Line], what: str) -> list[dict[str, Any]]:
    hidden = ("best", "is_record", "is_red")
    return [
        {key: value for key, value in point.items() if key not in hidden}
        | {"line": n, "at": at}
        | ({"is_alone": True} if len(line.points) == 1 else {})
        for n, line in enumerate(lines)
        for at, point in enumerate(getattr(line, what))
    ]


def _looks(number: int) -> Spec:
    """Return the encodings that give each of the named lines its colour, dash and marker."""
    domain = list(range(number))
    ranges = {"color": COLOURS, "strokeDash": DASHES, "shape": MARKERS}
    return {
        channel: {
            "field": "line", "type": "nominal", "legend": None,
            "scale": {"domain": domain, "range": list(values[:number])},
        }
        for channel, values in ranges.items()
    }  # fmt: skip


def end_labels(
    named: Sequence[Line],
    x: Spec,
    y: Spec,
    height: int,
    domain: tuple[float, float],
    goodness: Sequence[float],
) -> tuple[Spec, list[Spec]]:
    """Return the lines that lead to the names next to the plot, and these, each after a sample."""
    low, high = domain
    ends = [line.points[-1] for line in named]
    wanted = [(end["y"] - low) / (high - low) for end in ends]
    places = spread_labels(wanted, _LINE / height, goodness)
    left, right = x["scale"]["domain"]
    rows = [
        {
            "line": n, "label": line.label, "x": end["x"], "y": end["y"],
            "place": low + place * (high - low), "is_line": len(line.points) > 1,
            "is_near": right - end["x"] < 0.25 * (right - left),
        }
        for n, (line, end, place) in enumerate(zip(named, ends, places, strict=True))
    ]  # fmt: skip
    look = _looks(len(named))
    data = {"values": rows}
    at = {"field": "place", "type": "quantitative"}

    def right_of(pixels: float) -> Spec:
        return {"value": {"expr": f"width + {pixels}"}}

    middle = (_SAMPLE + _TEXT) / 2 - 3
    # a line across the whole plot would look like data
    leaders = {
        "name": "leaders",
        "data": {"values": [row for row in rows if row["is_near"]]},
        "mark": {"type": "rule", "color": _LEADER, "strokeWidth": 0.8},
        "encoding": {"x": x, "x2": right_of(_SAMPLE - 3), "y": y, "y2": {"field": "place"}},
    }
    return leaders, [
        {
            "name": "samples",
            "data": {"values": [row for row in rows if row["is_line"]]},
            "mark": {"type": "rule", "strokeWidth": 1.8},
            "encoding": {"x": right_of(_SAMPLE), "x2": right_of(_TEXT - 6), "y": y | at}
            | _only(look, "color", "strokeDash"),
        },
        {
            "name": "markers",
            "data": data,
            "mark": {
                "type": "point", "filled": True, "size": 34, "opacity": 1, "stroke": "white",
                "strokeWidth": 0.6,
            },
            "encoding": {"x": right_of(middle), "y": y | at} | _only(look, "color", "shape"),
        },
        {
            "name": "labels",
            "data": data,
            "mark": {"type": "text", "align": "left", "baseline": "middle", "fontSize": _SIZE},
            "encoding": {"x": right_of(_TEXT), "y": y | at, "text": {"field": "label"}},
        },
    ]  # fmt: skip


def _names_of_records(
    points: Sequence[Mapping[str, Any]],
    x: Spec,
    y: Spec,
    times: tuple[int, int],
    domain: tuple[float, float],
    is_lower: bool,
) -> list[Spec]:
    """Return the names of the runs that were records, where there is room for them, newest first."""
    size = _SIZE - 1
    taken: set[tuple[int, int]] = set()
    for point in points:
        across, up = _pixels(point, times, domain)
        taken |= _cells((across - 5, up - 5, across + 5, up + 5))
    # names that stand in the same way next to their points, in one layer
    placed: dict[tuple[str, str, int], list[Mapping[str, Any]]] = {}
    for point in reversed(points):
        if not point["is_record"] or point["run"] == point["series"]:
            continue
        across, up = _pixels(point, times, domain)
        row = _only(point, "x", "y") | {"run": label(point["run"])}
        wide = _width(row["run"], size)
        above = (up - size - 8, "bottom", -8)
        below = (up + 7, "top", 8)
        for (top, baseline, dy), (left, align) in itertools.product(
            (below, above) if is_lower else (above, below),
            ((across - wide, "right"), (across, "left"), (across - wide / 2, "center")),
        ):
            box = (left - 2, top, left + wide + 2, top + size + 1)
            if _is_inside(box) and taken.isdisjoint(cells := _cells(box)):
                taken |= cells
                placed.setdefault((align, baseline, dy), []).append(row)
                break
    return [
        {
            "name": f"names-{align}-{baseline}-{'stroke' in halo}",
            "data": {"values": rows},
            "mark": {
                "type": "text", "fontSize": size, "color": _QUIET,
                "align": align, "baseline": baseline, "dy": dy,
            } | halo,
            "encoding": {"x": x, "y": y, "text": {"field": "run"}},
        }
        for (align, baseline, dy), rows in placed.items()
        for halo in ({"stroke": "white", "strokeWidth": 3}, {})
    ]  # fmt: skip


def _pixels(
    point: Mapping[str, Any], times: tuple[int, int], domain: tuple[float, float]
) -> tuple[float, float]:
    """Return where a point is in the plot, from its left and from its top."""
    across = (point["x"] - times[0]) / (times[1] - times[0]) * WIDTH
    return across, (domain[1] - point["y"]) / (domain[1] - domain[0]) * HEIGHT


def _is_inside(box: _Box) -> bool:
    return box[0] > 0 and box[2] < WIDTH and box[1] > 0 and box[3] < HEIGHT


def _cells(box: _Box) -> set[tuple[int, int]]:
    """Return the cells of a grid of two pixels that a box has a part of."""
    left, top, right, bottom = (int(side // 2) for side in box)
    return set(itertools.product(range(left, right + 1), range(top, bottom + 1)))


def _width(text: str, size: float) -> float:
    """Return about how wide a text is in pixels."""
    signs = (
        _NARROW.get(sign) or _BROAD.get(sign) or (1.0 if ord(sign) > 0x2E80 else 0.6)
        for sign in text
    )
    return size * sum(signs)


def count_axis(is_whole: bool) -> Spec:
    """Return the format of an axis of counts: whole numbers only."""
    return {"tickMinStep": 1, "format": ",d"} if is_whole else {}


def _dates(first: int, last: int) -> Spec:
    """Return the axis of times, in milliseconds: with days, or if they are few with clock and day.

    It is an axis of numbers: Vega's own of times differs between its ways of running.
    """
    span = (last - first) / 1000
    step = next((step for step in _STEPS if span <= 5.5 * step), None)
    if step is None:
        ticks = _months(first, last)
    else:
        step *= 1000
        ticks = list(range(-(-first // step) * step, last + 1, step))
    day = "utcFormat(datum.value, '%Y-%m-%d')"
    clock = "%H:%M:%S" if step is not None and step < 60_000 else "%H:%M"
    is_short = step is not None and step < _DAY * 1000
    return {
        "values": ticks or [first],
        "labelExpr": f"[utcFormat(datum.value, '{clock}'), {day}]" if is_short else day,
        "labelOverlap": True,
        "labelSeparation": 8,
    }


def _months(first: int, last: int) -> list[int]:
    """Return at most six beginnings of months between two times, the same number of months apart."""
    begin, end = (min(max(time / 86_400_000, _FIRST_DAY), _LAST_DAY) for time in (first, last))
    days = [_EPOCH + dt.timedelta(days=day) for day in (begin, end)]
    months = [12 * day.year + day.month for day in days]
    step = next(step for step in _MONTHS if months[1] - months[0] <= 5.5 * step)
    found = []
    for number in range(-(-months[0] // step) * step, months[1] + 1, step):
        year, month = divmod(number, 12)
        if 1 <= year <= 9999:
            day = dt.datetime(year, month + 1, 1, tzinfo=dt.UTC)
            found.append((day - _EPOCH) // dt.timedelta(milliseconds=1))
    return [time for time in found if first <= time <= last]


def left_grey(named: int, others: int, what: str) -> str:
    """Return a note on the lines without names, if there are any."""
    if not others:
        return ""
    return f"; the best {named} of {counted(named + others, what)} have names, the others are grey"


def text(name: str) -> str:
    """Return a name as one line, with control characters escaped."""
    return visible(one_line(name), lines=True)


def label(name: str, most: int = 32) -> str:
    """Return a name as one line that fits a chart; long names are cut in the middle.

    >>> label("a" * 20 + "b" * 20, 11)
    'aaaaa…bbbbb'
    """
    name = text(name)
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}…{name[-half:]}"


def spread_labels(wanted: Sequence[float], gap: float, goodness: Sequence[float]) -> list[float]:
    """Return heights from 0 to 1 with a gap between them, as near as possible to those wanted.

    Of equal heights, the better line gets the upper one.

    >>> [round(height, 2) for height in spread_labels([0.9, 0.5, 0.5, 0.1], 0.1, [1, 2, 3, 4])]
    [0.9, 0.45, 0.55, 0.1]
    """

    def key(number: int) -> tuple[float, float, int]:
        return -round(wanted[number], 6), -goodness[number], number

    order = sorted(range(len(wanted)), key=key)
    # blocks of neighbours that touch: the heights they want, each moved up by what is above it
    blocks: list[list[float]] = []
    for index, number in enumerate(order):
        blocks.append([wanted[number] + gap * index])
        while len(blocks) > 1 and _mean(blocks[-2]) < _mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    moved = [_mean(block) for block in blocks for _ in block]
    lowest = gap * (len(wanted) - 1)
    found = [0.0] * len(wanted)
    for index, number in enumerate(order):
        found[number] = min(max(moved[index], lowest), max(1.0, lowest)) - gap * index
    return found


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def whole_spec(
    title: str, about: str, width: int, height: int, layers: Sequence[Spec], more: str = ""
) -> Spec:
    """Return a whole specification, with its description wrapped below the title."""
    under = [
        line for part in (about, more) for line in textwrap.wrap(visible(part), width // 5 + 15)
    ]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": {"text": title, "subtitle": under},
        "width": width,
        "height": height,
        "layer": list(layers),
        "config": {
            "font": FONT, "background": "white", "padding": 10,
            "view": {"stroke": None},
            "title": {
                "anchor": "start", "frame": "group", "fontSize": 14, "fontWeight": "normal",
                "color": _INK, "subtitleFontSize": _SIZE, "subtitleColor": _QUIET,
                "subtitlePadding": 5, "offset": 12,
            },
            "axis": {
                "gridColor": _GRID, "domainColor": "#888888", "tickColor": "#888888",
                "labelColor": _QUIET, "titleColor": _INK, "titleFontWeight": "normal",
                "labelFlush": False, "labelFontSize": _SIZE, "titleFontSize": _SIZE, "titlePadding": 8,
            },
            "text": {"color": _INK},
        },
    }  # fmt: skip
