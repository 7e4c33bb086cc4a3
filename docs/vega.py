"""The drawing library of the pages: the build makes `vega.js` from vl-convert's bundle.

It is Vega, Vega-Lite and Vega-Embed as one script, which opens from a file and asks for no network. Its
licences stand in `vega.txt`. `python docs/vega.py` makes it without a build.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

BuildHookInterface: Any = object
with suppress(ImportError):  # by hand, outside a build
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parents[1]
REPORT = ROOT / "warehouse" / "report"
ASSETS = REPORT / "pages" / "assets"


def write() -> None:
    """Write the script, which adds `vegaEmbed` to the window, below its licences."""
    import vl_convert

    (version,) = re.findall(
        r'^VEGA_LITE = "(\d.*)"$',
        (REPORT / "pictures.py").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    licences = (ASSETS / "vega.txt").read_text(encoding="utf-8").rstrip()
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", version)
    text = f"/* {licences} */\n(() => {{\n{bundle.rstrip()}\n}})();\n"
    (ASSETS / "vega.js").write_text(text, encoding="utf-8", newline="")


class Hook(BuildHookInterface):  # type: ignore[misc]
    """Makes the script before the package is built, unless it is there, as in the sdist."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the script; hatchling calls this."""
        if not (ASSETS / "vega.js").exists():
            write()


if __name__ == "__main__":
    write()
