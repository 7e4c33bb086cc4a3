"""The drawing library of the pages: `python -m tests.vega` makes it anew, from vl-convert's own.

It is Vega, Vega-Lite and Vega-Embed with what they need, as one script that opens from a file and asks
for no network.
"""

from __future__ import annotations

from pathlib import Path

from warehouse.report import pictures
from warehouse.report.pages import rendering

PATH = rendering.FOLDER / "assets" / "vega.js"


def made() -> str:
    """Return the script, which adds `vegaEmbed` to the window, below the licences that it has now."""
    import vl_convert

    licences, _, _ = PATH.read_text(encoding="utf-8").partition("*/")

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", pictures.VEGA_LITE)
    return f"{licences}*/\n(() => {{\n{bundle.rstrip()}\n}})();\n"


if __name__ == "__main__":
    Path(PATH).write_text(made(), encoding="utf-8", newline="")
