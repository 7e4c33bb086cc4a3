"""Tables for notebooks, with a limited number of rows, of values that are no `Result`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import islice

from warehouse.errors import visible

# The most rows that a notebook shows.
ROWS = 40


def html(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    notes: Sequence[str] = (),
    total: int | None = None,
) -> str:
    """Return the first rows, of a `total`, as a table of HTML, with the number of others, and notes.

    >>> print(html(["run", "AP"], [("a<b", 0.5), ("c", None)]))
    <table>
    <tr><th>run</th><th>AP</th></tr>
    <tr><td>a&lt;b</td><td>0.5000</td></tr>
    <tr><td>c</td><td></td></tr>
    </table>
    <BLANKLINE>
    """
    left = (len(rows) if total is None else total) - ROWS
    more = [f"… {left:,} more rows"] if left > 0 else []
    return "".join(
        [
            f"<table>\n{_row(columns, 'th')}",
            *(_row(row, "td") for row in islice(rows, ROWS)),
            "</table>\n",
            *(f"<div>{escape(visible(note))}</div>\n" for note in (*more, *notes)),
        ]
    )


def _row(cells: Sequence[object], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(_text(cell))}</{tag}>' for cell in cells)}</tr>\n"


def _text(cell: object) -> str:
    text = f"{cell:.4f}" if isinstance(cell, float) else "" if cell is None else str(cell)
    return visible(text)
