"""Curves as pictures: SVG, PDF, PNG, and self-contained HTML pages.

Every line is named at its end and has its own colour, dash and marker, so that the lines can be
told apart by colour-blind readers and in print without colours. The same points give the same
bytes.
"""

from __future__ import annotations

import html
import importlib.util
import io
import textwrap
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warehouse.analyze.curves import Trace
from warehouse.config import installation
from warehouse.errors import UsageError, counted, visible
from warehouse.report.formats import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "png", "pdf", "html")
# More lines than this in one picture are hard to tell apart.
MOST_LINES = 12
# Okabe and Ito's palette for the colour-blind, without its yellow, which is too light for a thin line.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000")
DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "h", ">", "d")
_STYLE: Any = {
    "svg.hashsalt": "warehouse",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Helvetica", "Arial"],
    "font.size": 9,
    "axes.linewidth": 0.8,
    "path.simplify": False,
}
# No dates and no versions: the same points make the same bytes.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
_DRAWN = {"lines": "default", "steps_before": "steps-pre", "steps_after": "steps-post"}
GREY = "#595959"
# Inches.
_PLOT, _LEFT, _BELOW, _RIGHT, _LINE = 4.1, 0.65, 0.6, 0.12, 0.19
_SAMPLE = 0.62


@dataclass(frozen=True)
class Line:
    """The curve of one run: its points in order, and the text at its end."""

    label: str
    points: tuple[tuple[float, float], ...]


def lines(trace: Trace, runs: Sequence[str]) -> list[Line]:
    """Return the lines to draw, in the order of the runs."""
    rows: dict[str, list[Sequence[Any]]] = {run: [] for run in runs}
    for run, _, *row in trace.relation.fetchall():
        if run in rows:
            rows[run].append(row)
    found = []
    for run, of_run in rows.items():
        area = trace.areas.get(run)
        known = "" if area is None else f"  {trace.curve.area} {area:.3f}"
        first, last = of_run[0][2:], of_run[-1][2:]
        if first != last:
            known = f"  {counted(last[0], 'query')} at the end"
        found.append(Line(shorten(run) + known, tuple((x, y) for x, y, *_ in of_run)))
    return found


def shorten(name: str, most: int = 32) -> str:
    """Return a name as one line that fits a picture; long names are cut in the middle.

    >>> shorten("a" * 20 + "b" * 20, 11)
    'aaaaa…bbbbb'
    """
    name = one_line(name)
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}…{name[-half:]}"


def check(format: str, path: Path | None) -> None:
    """Refuse a picture that cannot be made, before anything is computed for it."""
    if path is None:
        raise UsageError(f"-f {format} needs a file: -o FILE")
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError(
            f"pictures need matplotlib: {installation.adding('plot')}; the points alone do not: -f csv"
        )


def draw(trace: Trace, runs: Sequence[str], path: Path, format: str) -> None:
    """Write the picture of some runs' curves to a file, in one of FORMATS."""
    path.write_bytes(_page(trace, runs) if format == "html" else picture(trace, runs, format))


def picture(trace: Trace, runs: Sequence[str], format: str) -> bytes:
    """Return the picture as the bytes of an SVG, PNG or PDF file."""
    goodness = [trace.goodness[run] for run in runs]
    return render(lambda: _figure(trace, lines(trace, runs), goodness), format)


def render(make: Callable[[], Figure], format: str) -> bytes:
    """Return a figure, made in the style that all pictures have, as the bytes of a file."""
    import matplotlib as mpl
    from matplotlib.text import Text

    out = io.BytesIO()
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        if format == "svg":  # its text is text, drawn in the fonts of who looks at it
            warnings.filterwarnings("ignore", "Glyph .* missing")
        figure = make()
        for text in figure.findobj(Text):
            text.set_text(visible(text.get_text(), lines=True))
        figure.savefig(out, format=format, dpi=200, metadata=_METADATA[format])
    return out.getvalue()


def _figure(trace: Trace, drawn: Sequence[Line], goodness: Sequence[float]) -> Figure:
    from matplotlib.figure import Figure

    label = max((_width(line.label, 9) for line in drawn), default=0.0)
    square = trace.curve.x.range == trace.curve.y.range == (0, 1)
    across = _PLOT if square else 1.3 * _PLOT
    up = max(_PLOT if square else 0.8 * _PLOT, _LINE * len(drawn))
    width = _LEFT + across + _SAMPLE + label + _RIGHT
    head = _head(trace, width - _LEFT - _RIGHT)
    above = 0.3 + 0.17 * len(head)
    height = _BELOW + up + above
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes(
        (_LEFT / width, _BELOW / height, across / width, up / height),
    )
    title, *rest = head
    figure.text(
        _LEFT / width, 1 - 0.12 / height, title, va="top", size=11, weight="bold", parse_math=False
    )
    for number, text in enumerate(rest):
        at = 1 - (0.34 + 0.17 * number) / height
        figure.text(_LEFT / width, at, text, va="top", size=8.5, color=GREY, parse_math=False)
    _axes(axes, trace, drawn)
    ends = [_data_end(axes, line) for line in drawn]
    for number, line in enumerate(drawn):
        _line(axes, line, number, trace, len(drawn))
    places = spread_labels([y for _, y in ends], _LINE / up, goodness)
    for number, at in enumerate(places):
        _label(axes, drawn[number].label, number, ends, at, across)
    return figure


def _head(trace: Trace, width: float) -> list[str]:
    """Return the title and, wrapped to a width, the description of the curves."""
    what, rules = f"{trace.metric}, {trace.over}", f"protocol {trace.protocol.name}"
    fits = max(30, int(width / _width("n" * 20, 8.5) * 20))
    title = f"{trace.curve.title}: {shorten(trace.dataset, 40)}"
    if len(f"{what}; {rules}") <= fits:
        return [title, f"{what}; {rules}"]
    return [title, *textwrap.wrap(what, fits), rules]


def _width(text: str, size: float) -> float:
    """Return the width of a text in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    # a dollar sign would begin a formula
    path = TextPath((0, 0), text.replace("$", "S"), size=size, prop=FontProperties())
    return float(path.get_extents().x1) / 72


def remove_frame(axes: Axes) -> None:
    """Give a plot its grid and remove decoration."""
    axes.grid(color="#e3e3e3", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=3, color=GREY)


def _axes(axes: Axes, trace: Trace, drawn: Sequence[Line]) -> None:
    found = trace.curve
    for axis, set_limits, set_name, at in (
        (found.x, axes.set_xlim, axes.set_xlabel, 0),
        (found.y, axes.set_ylim, axes.set_ylabel, 1),
    ):
        low, high = axis.range
        seen = max((point[at] for line in drawn for point in line.points), default=1.0)
        if axis.name == found.y.name and found.x.range[1] == float("inf"):
            high = min(high, 1.08 * seen or 1.0)
        elif high == float("inf"):
            high = max(seen, low + 1)
        room = 0.015 * (high - low)
        set_limits(low - room, high + room)
        set_name(axis.name, parse_math=False)
    remove_frame(axes)
    if found.chance:
        axes.plot([0, 1], [0, 1], color="#9a9a9a", linewidth=0.8, dashes=(2, 2), zorder=1.5)


def _line_style(number: int) -> dict[str, Any]:
    """Return the colour, dash and marker of a line; the first 77 lines all differ."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[(number + 2 * (number // len(COLOURS))) % len(DASHES)],
        "marker": MARKERS[number % len(MARKERS)],
        "linewidth": 1.4,
        "markersize": 4.6,
        "markeredgecolor": "white",
        "markeredgewidth": 0.5,
    }


def _line(axes: Axes, line: Line, number: int, trace: Trace, of: int) -> None:
    joined, points = trace.curve.joined, line.points
    # a few markers, at other places along each line
    every: Any = (
        list(range(len(points))) if len(points) <= 12 else (0.03 + 0.16 * number / of, 0.16)
    )
    if joined == "steps_before":
        points = ((trace.curve.x.range[0], points[0][1]), *points)
        every = [at + 1 for at in every] if isinstance(every, list) else every
    axes.plot(
        *zip(*points, strict=True),
        drawstyle=_DRAWN[joined],
        markevery=every,
        zorder=3 + number / of,
        **_line_style(number),
    )


def _data_end(axes: Axes, line: Line) -> tuple[float, float]:
    """Return where a line ends, as shares of the plot."""
    end = axes.transAxes.inverted().transform(axes.transData.transform(line.points[-1]))
    return float(end[0]), float(end[1])


def spread_labels(wanted: Sequence[float], gap: float, goodness: Sequence[float]) -> list[float]:
    """Return places from 0 to 1 with a gap between them, as near as possible to those wanted.

    Of equal places, the better line gets the upper one.

    >>> [round(place, 2) for place in spread_labels([0.9, 0.5, 0.5, 0.1], 0.1, [1, 2, 3, 4])]
    [0.9, 0.45, 0.55, 0.1]
    """

    def key(number: int) -> tuple[float, float, int]:
        return -round(wanted[number], 6), -goodness[number], number

    order = sorted(range(len(wanted)), key=key)
    # blocks of neighbours that touch: the places they want, each moved up by what is above it
    blocks: list[list[float]] = []
    for place, number in enumerate(order):
        blocks.append([wanted[number] + gap * place])
        while len(blocks) > 1 and _mean(blocks[-2]) < _mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    moved = [_mean(block) for block in blocks for _ in block]
    lowest = gap * (len(wanted) - 1)
    found = [0.0] * len(wanted)
    for place, number in enumerate(order):
        found[number] = min(max(moved[place], lowest), max(1.0, lowest)) - gap * place
    return found


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _label(
    axes: Axes,
    text: str,
    number: int,
    ends: Sequence[tuple[float, float]],
    at: float,
    across: float,
) -> None:
    """Write a line's label beside the plot, after a sample of the line, and lead to it from its end."""
    style = _line_style(number) | {"clip_on": False, "transform": axes.transAxes}
    x, y = ends[number]
    shared = sum(abs(x - a) < 0.01 and abs(y - b) < 0.01 for a, b in ends) > 1
    begin, until = 1 + 0.16 / across, 1 + 0.52 / across
    # a line across others would not lead anybody
    if not shared and abs(at - y) < 0.15:
        axes.plot(
            [x, 1 + 0.03 / across, begin], [y, y, at], color="#b0b0b0", linewidth=0.6,
            clip_on=False, transform=axes.transAxes, zorder=2,
        )  # fmt: skip
    middle = (begin + until) / 2
    axes.plot([begin, middle, until], [at, at, at], markevery=[1], **style)
    axes.text(
        1 + _SAMPLE / across, at, text, transform=axes.transAxes, va="center", size=9,
        color="black", parse_math=False,
    )  # fmt: skip


def _page(trace: Trace, runs: Sequence[str]) -> bytes:
    """Return the picture and its points as one HTML page without external files."""
    svg = picture(trace, runs, "svg").decode("utf-8")
    svg = svg[svg.index("<svg") :]
    title = html.escape(f"{trace.metric} of {trace.dataset}")
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)
    columns = [trace.relation.columns.index(name) for name in trace.relation.columns]
    names = {"x": trace.curve.x.name, "y": trace.curve.y.name}
    heads = "".join(
        f"<th>{html.escape(names.get(name, name))}</th>" for name in trace.relation.columns
    )
    rows = [row for row in trace.relation.fetchall() if row[0] in set(runs)]
    cells = "\n".join(
        "<tr>" + "".join(f"<td>{_cell(row[column])}</td>" for column in columns) + "</tr>"
        for row in rows
    )
    notes = "".join(f"<p>{html.escape(note)}</p>\n" for note in trace.notes)
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font-family: sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #222; }}
svg {{ max-width: 100%; height: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: 0.15rem 0.8rem; text-align: right; border-bottom: 1px solid #ddd; }}
th:first-child, td:first-child {{ text-align: left; }}
</style>
</head>
<body>
{svg}
{notes}<details>
<summary>{counted(len(rows), "point")}</summary>
<table>
<thead><tr>{heads}</tr></thead>
<tbody>
{cells}
</tbody>
</table>
</details>
</body>
</html>
"""
    return visible(page, lines=True).encode()


def _cell(value: object) -> str:
    return html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))
