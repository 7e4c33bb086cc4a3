"""Sphinx builds the manual from these settings: `sphinx-build -W docs docs/_build`.

Nothing of it needs a network, so the pages can be read from a disk.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

project = "ranking-warehouse"
author = "the authors of ranking-warehouse"
extensions = ["myst_parser"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "The warehouse for ranking evaluation"
html_math_renderer = "mathml"
html_copy_source = False
highlight_language = "text"
# DuckDB's own syntax, such as `from leaderboard` and lambdas, is not known to the highlighter.
suppress_warnings = ["misc.highlighting_failure"]


def mathml(node: Any, display: str) -> str:
    """Return a formula as MathML, which browsers show by themselves; a name stays one word."""
    return convert(node.astext(), display=display).replace('</mi><mi mathvariant="normal">', "")


def inline(translator: Any, node: Any) -> None:
    """Write a formula within a line, in place of its LaTeX."""
    translator.body.append(mathml(node, "inline"))
    raise nodes.SkipNode


def block(translator: Any, node: Any) -> None:
    """Write a formula on a line of its own, in place of its LaTeX."""
    translator.body.append(f'<div class="math">{mathml(node, "block")}</div>')
    raise nodes.SkipNode


def lead_on(app: Any, name: str, source: list[str]) -> None:
    """Let a link to the reference's index lead to the generated page that its title names.

    Where the sources are read, as on a code host, there is only the index.
    """
    link = re.compile(r'(\]\((?:[\w./]*/)?)index\.md "([\w./#-]+)"\)')
    source[0] = link.sub(r"\1\2)", source[0])


def setup(app: Any) -> None:
    """Generate the reference before the pages are read."""
    import generate

    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.connect("source-read", lead_on)
    app.connect("builder-inited", lambda _: generate.write(HERE / "reference"))
