"""Pages as HTML: the Jinja environment of the templates, and how values are written in them."""

from __future__ import annotations

import datetime as dt
import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup, escape

from warehouse.analyze.significance import probability
from warehouse.errors import counted, visible
from warehouse.metrics.aggregates import WORDS
from warehouse.report import charts
from warehouse.report.presentation import left_out_queries

if TYPE_CHECKING:
    from warehouse.report.pages.contents import Measure

FOLDER = Path(__file__).parent
# Grades from this on look the same; their numbers tell them apart.
_HIGHEST_LEVEL = 4
# The levels of a heat map.
_HOTTEST = 6


def render(template: str, root: str, values: Mapping[str, Any]) -> str:
    """Render a page; `root` leads from it to the first folder."""
    return _environment().get_template(template).render(root=root, **values)


@cache
def _environment() -> jinja2.Environment:
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    env.filters |= {
        "number": number,
        "rows_of_values": rows_of_values,
        "signed": signed,
        "thousands": lambda value: f"{value:,}",
        "counted": counted,
        "moment": moment,
        "grade": lambda relevance: f"{relevance:g}",
        "level": lambda relevance: min(max(floor(relevance), 0), _HIGHEST_LEVEL),
        "left_out_queries": left_out_queries,
        "words": lambda aggregate: WORDS.get(aggregate, aggregate),
        "json": data,
        "heat": heat,
        "probability": probability,
        "quoted": shlex.quote,
    }
    # charts whose values a page chooses, as JSON for an attribute
    env.globals["bars"] = json.dumps(charts.bars())
    env.globals["scatter"] = json.dumps(charts.scatter())
    return env


def _visible(value: Any) -> Any:
    """Show control characters in texts, which may be names of anything."""
    return visible(value, lines=True) if type(value) is str else value


def number(value: float | None, is_count: bool = False) -> Markup:
    """Return a value as tables show it.

    >>> print(number(0.74590351), number(12.0, True))
    0.7459 12
    """
    return Markup(_number(value, is_count))


def _number(value: float | None, is_count: bool) -> str:
    if value is None:
        return ""
    return str(int(value)) if is_count and float(value).is_integer() else f"{value:.4f}"


def rows_of_values(
    rows: Iterable[tuple[str, Sequence[float | None]]],
    path_of: Callable[[str], str],
    measures: Sequence[Measure],
) -> Markup:
    """Return rows of a table, each with a name that is a link, and a value of each measure.

    A site has hundreds of thousands of them, which a template writes more slowly.
    """
    found = []
    for name, values in rows:
        pairs = zip(values, measures, strict=True)
        cells = "".join([f"<td>{_number(value, of.is_count)}</td>" for value, of in pairs])
        link = f'<a href="../{escape(path_of(name))}">{escape(_visible(name))}</a>'
        found.append(f'<tr><th scope="row">{link}</th>{cells}</tr>')
    return Markup("\n  ".join(found))


def heat(value: float, among: Iterable[float | None]) -> int:
    """Return how high a value is among others, from 0 to the highest level.

    >>> [heat(value, [0.0, 1.0]) for value in (-1, 0, 0.5, 1)]
    [0, 0, 3, 6]
    """
    values = [one for one in among if one is not None]
    low, high = min(values), max(values)
    share = (value - low) / (high - low) if high > low else 0.5
    return round(_HOTTEST * min(max(share, 0.0), 1.0))


def signed(value: float) -> str:
    """Return a difference with its sign."""
    return f"{value:+.4f}"


def moment(value: dt.datetime) -> str:
    """Return a time in UTC, as far as people need it.

    >>> moment(dt.datetime(2026, 9, 1, 12, 5, 9, tzinfo=dt.UTC))
    '2026-09-01 12:05 UTC'
    """
    return f"{value.astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC"


def data(value: Any) -> Markup:
    """Return a value as JSON that cannot end the element around it."""
    return Markup(_json(value, allow_nan=False).replace("<", "\\u003c"))


def script(name: str, value: Any, stamp: str) -> str:
    """Return a script that hands a value to the page of the same stamp; it may hold infinity."""
    return (
        f"(window.warehouse ??= {{}})[{_json(name)}] = {_json({'stamp': stamp, 'data': value})};\n"
    )


def _json(value: Any, *, allow_nan: bool = True) -> str:
    return json.dumps(value, separators=(",", ":"), default=str, allow_nan=allow_nan)
