"""Charts as pictures: SVG, PNG and PDF files, and self-contained HTML pages.

vl-convert draws the Vega-Lite specifications of `charts` without a browser or a network. The same
specification makes the same bytes.
"""

from __future__ import annotations

import html
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from warehouse.config import installation
from warehouse.errors import UsageError, counted, visible

if TYPE_CHECKING:
    from warehouse.report.charts import Spec
    from warehouse.report.result import Result

FORMATS = ("svg", "png", "pdf")
# The Vega-Lite that draws, whichever others this vl-convert has.
VEGA_LITE = "6.4"
# Pixels of a PNG for each of the specification's.
_SCALE = 2.0


def check(format: str, path: Path | None) -> None:
    """Refuse a picture that cannot be made, before anything is computed for it."""
    if path is None:
        raise UsageError(f"-f {format} needs a file: -o FILE")
    check_extra()


def check_extra() -> None:
    """Raise UsageError if the extra that draws pictures is not installed."""
    if importlib.util.find_spec("vl_convert") is None:
        raise UsageError(
            f"pictures need vl-convert: {installation.adding('plot')}; "
            "the values need nothing: -f csv"
        )


def picture(spec: Spec, format: str) -> bytes:
    """Return a chart as the bytes of an SVG, PNG or PDF file. Raises UsageError without the extra."""
    check_extra()
    import vl_convert

    spec = {key: value for key, value in spec.items() if key != "$schema"}
    if format == "svg":
        return str(vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)).encode()
    if format == "png":
        return bytes(vl_convert.vegalite_to_png(spec, vl_version=VEGA_LITE, scale=_SCALE))
    return bytes(vl_convert.vegalite_to_pdf(spec, vl_version=VEGA_LITE))


def page(found: Result, title: str) -> bytes:
    """Return a result's chart and its rows as one HTML page without external files."""
    svg = picture(found.chart or {}, "svg").decode()
    title = html.escape(title)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)
    notes = "".join(f"<p>{html.escape(note)}</p>\n" for note in found.notes)
    text = f"""<!DOCTYPE html>
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
<summary>{counted(len(found), "point")}</summary>
{found.text("html")}</details>
</body>
</html>
"""
    return visible(text, lines=True).encode()
