"""The chart of achieved significance levels."""

from __future__ import annotations

from warehouse.errors import UsageError, counted
from warehouse.extensions.collections.discrimination import Discrimination
from warehouse.report.charts import (
    HEIGHT,
    MOST_NAMED,
    WIDTH,
    Line,
    Spec,
    count_axis,
    drawn_lines,
    end_labels,
    label,
    left_grey,
    text,
    whole_spec,
)

# The highest significance level on a chart, unless alpha is above it.
_HIGHEST_LEVEL = 0.15


def significance_levels(found: Discrimination) -> Spec:
    """Return the chart of achieved significance levels: a curve for each metric (Sakai 2006).

    The pairs of runs stand by falling level, and only levels of at most 0.15 are drawn. The nearer a
    curve is to the origin, the more pairs its metric tells apart. Raises UsageError if no level is
    so low.
    """
    alpha = found.how.alpha
    top = max(_HIGHEST_LEVEL, alpha)
    by_metric: dict[str, list[Spec]] = {}
    last = 1
    for metric, rank, base, run, _, p, _ in found.levels.fetchall():
        last = max(last, rank)
        if p <= top:
            point = {"x": rank, "y": p, "run": f"{text(base)}, {text(run)}", "series": text(metric)}
            by_metric.setdefault(metric, []).append(point)
    shares = {row[0]: row[3] for row in found.relation.fetchall()}
    drawn = [name for name in shares if name in by_metric]
    if not drawn:
        raise UsageError(f"no pair of runs has a p of at most {top:g}: there is nothing to draw")
    lines = [
        Line(f"{label(found.labels.get(name, name))}, {shares[name]:.0%}", points, points)
        for name in drawn
        for points in [by_metric[name]]
    ]
    x = {
        "field": "x", "type": "quantitative", "title": "pairs of runs, the least certain first",
        "scale": {"domain": (0, last), "nice": False}, "axis": count_axis(True),
    }  # fmt: skip
    y = {
        "field": "y", "type": "quantitative", "title": "achieved significance level (p)",
        "scale": {"domain": (0, top), "nice": False},
    }  # fmt: skip
    level = {
        "name": "alpha",
        "data": {"values": [{"y": alpha}]},
        "mark": {"type": "rule", "color": "#9A9A9A", "strokeWidth": 1, "strokeDash": [2, 2]},
        "encoding": {"y": y},
    }
    named, others = lines[:MOST_NAMED], lines[MOST_NAMED:]
    leaders, labels = end_labels(named, x, y, HEIGHT, (0, top), range(len(named), 0, -1))
    layers = [level, leaders, *drawn_lines(named, others, x, y, "linear"), *labels]
    missing = [name for name in shares if name not in by_metric]
    above = f"; every p of {', '.join(missing)} is above {top:g}" if missing else ""
    subtitle = (
        f"{found.how}, {counted(len(found.runs), 'run')}; after each metric: its share of pairs with "
        f"p < {alpha:g}{above}{left_grey(len(named), len(others), 'metric')}"
    )
    return whole_spec(
        f"Discriminative power: {label(found.dataset, 40)}", subtitle, WIDTH - 80, HEIGHT, layers
    )
