"""Runs over time as a picture: a dot per run, a line for the best so far, a name per record."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warehouse.analyze.history import Timeline
from warehouse.errors import UsageError, counted
from warehouse.report import pictures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("svg", "png", "pdf")
# More names than this hide each other; only those of the last records are written.
MOST_NAMES = 14
_BLUE, _ORANGE = pictures.COLOURS[:2]


def draw(found: Timeline, path: Path, format: str) -> None:
    """Write the picture of some runs over time to a file, in one of FORMATS."""
    rows = found.relation.filter("value is not null").fetchall()
    if not rows:
        raise UsageError(f"{found.metric}: has no value to draw")
    path.write_bytes(pictures.render(lambda: _figure(found, rows), format))


def _figure(found: Timeline, rows: list[tuple[Any, ...]]) -> Figure:
    from matplotlib import dates
    from matplotlib.figure import Figure

    times = [row[0].astimezone(dt.UTC) for row in rows]
    values = [row[4] for row in rows]
    records = [(at, row[4], row[1]) for at, row in zip(times, rows, strict=True) if row[6]]
    figure = Figure(figsize=(7.2, 4.0))
    axes = figure.add_axes((0.09, 0.11, 0.88, 0.73))
    title = f"{found.metric} over time: {pictures.shorten(found.dataset, 40)}"
    figure.text(0.09, 0.97, title, va="top", size=11, weight="bold", parse_math=False)
    what = f"{counted(len(rows), 'run')}, protocol {found.protocol}, qrels version {found.qrels_version}"
    if records:
        what += "; the line is the best so far"
    figure.text(0.09, 0.91, what, va="top", size=8.5, color=pictures.GREY, parse_math=False)
    axes.plot(times, values, linestyle="none", marker="o", markersize=4, color="#9a9a9a", zorder=3)
    if records:
        ends = [*records, (times[-1], records[-1][1], "")]
        axes.plot(
            [at for at, *_ in ends], [value for _, value, _ in ends],
            drawstyle="steps-post", color=_BLUE, linewidth=1.4, zorder=2,
        )  # fmt: skip
        axes.plot(
            [at for at, *_ in records], [value for _, value, _ in records],
            linestyle="none", marker="D", markersize=5.5, color=_ORANGE,
            markeredgecolor="white", markeredgewidth=0.5, zorder=4,
        )  # fmt: skip
    lower = found.direction == "lower"
    first, span = times[0], (times[-1] - times[0]) or dt.timedelta(seconds=1)
    for at, value, run in records[-MOST_NAMES:]:
        # names stand over the free corner above a step, where there is room to its left
        begins = (at - first) / span < 0.012 * len(run)
        axes.annotate(
            pictures.shorten(run), (at, value),
            xytext=(-3 if not begins else 3, -5 if lower else 5), textcoords="offset points",
            ha="left" if begins else "right", va="top" if lower else "bottom",
            size=8.5, parse_math=False, zorder=5,
        )  # fmt: skip
    locator: Any = dates.AutoDateLocator()  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    formatter: Any = dates.ConciseDateFormatter(locator, tz=dt.UTC)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_formatter(formatter)
    axes.margins(x=0.04, y=0.12)
    # matplotlib has no dates beyond these, as Python has none
    ends_of_time = [dt.datetime.min, dt.datetime(9999, 12, 31, 23, 59)]
    earliest, latest = dates.date2num(ends_of_time)  # type: ignore[no-untyped-call]
    left, right = axes.get_xlim()
    axes.set_xlim(max(left, earliest), min(right, latest))
    axes.set_ylabel(found.metric, parse_math=False)
    pictures.remove_frame(axes)
    return figure
