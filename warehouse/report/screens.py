"""Tables on a screen: as wide as it is, with the best values in bold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from warehouse.errors import listing, visible
from warehouse.report.formats import MARKS, Mark, Row, Writer, cell, one_line

# Wider than any table.
ENDLESS = 10**9
_GAP = "  "
# The least length of a shortened text.
_NARROW = 16
# Where the head of a column can go on in the next line: after a sign, before a cutoff or a bracket.
_HEAD_BREAKS = re.compile(r"(?<=[ _,/|-])|(?=[(@])")
_MARK = re.compile(f"[{''.join(sign for ends in MARKS.values() for sign in ends)}]")
_SIGNS: Mapping[bool, Mapping[Mark, tuple[str, str]]] = {
    True: {"best": ("\x1b[1m", "\x1b[22m"), "second": ("\x1b[4m", "\x1b[24m"), "raised": (" ", "")},
    False: {"best": ("", "*"), "second": ("", "+"), "other": ("", " "), "raised": (" ", "")},
}
_STYLE = re.compile("(\x1b\\[[0-9]+m)")
_DIM = ("\x1b[2m", "\x1b[22m")


@dataclass(frozen=True)
class Screen(Writer):
    """A screen for people: so many characters wide, and with bold type or without.

    A table that is too wide has its heads broken into lines, then its longest texts shortened, then
    its last columns left out. `note` names the missing parts.

    >>> screen = Screen(width=25)
    >>> rows = [["reranker_of_bm25_100", 0.5]]
    >>> print(screen.table(["run", "AP(rel=2)"], rows, [False, True]), end="")
                           AP
    run               (rel=2)
    ----------------  -------
    reranker_o…5_100   0.5000
    >>> screen.note()
    'shortened with … to fit 25 columns; --wide shows everything'
    """

    format: str = "table"
    width: int = 100
    is_styled: bool = False
    hint: str = "; --wide shows everything"
    _missing: dict[str, list[str]] = field(default_factory=dict, compare=False)

    @property
    def emphasis(self) -> tuple[Mark, ...]:
        """Return the marks of the best values in a column."""
        return ("best", "second") if self.is_styled else ()

    def note(self) -> str:
        """Name the data that the written tables do not show, or return nothing."""
        parts = ["shortened with …"] if "texts" in self._missing else []
        columns = list(dict.fromkeys(self._missing.get("columns", ())))
        if columns:
            parts.append(f"without {listing(columns, 6)}")
        if not parts:
            return ""
        return f"{' and '.join(parts)} to fit {self.width} columns{self.hint}"

    def visible(self, text: str) -> str:
        """Return a text of tables with all control characters escaped except their style."""
        parts = _STYLE.split(text)
        return "".join(part if n % 2 else visible(part, lines=True) for n, part in enumerate(parts))

    def dim(self, text: str) -> str:
        """Return a text as it is shown next to tables."""
        return text.join(_DIM) if self.is_styled and text else text

    def table(
        self,
        heads: Sequence[str],
        rows: Sequence[Row],
        numeric: Sequence[bool],
        spare: Sequence[str] = (),
    ) -> str:
        """Write a table that fits the screen."""
        titles = [one_line(head) for head in heads]
        cells = [[self._signed(cell(value, self.digits)) for value in row] for row in rows]
        bodies = [max((_width(row[n]) for row in cells), default=0) for n in range(len(titles))]
        lines = [[title] for title in titles]
        widths = [max(_width(title), body) for title, body in zip(titles, bodies, strict=True)]
        if _total(widths) > self.width:
            lines = [_broken(title, body) for title, body in zip(titles, bodies, strict=True)]
            widths = [
                max(body, *map(_width, head)) for head, body in zip(lines, bodies, strict=True)
            ]
        kept = self._fit(widths, titles, cells, numeric, spare)
        height = max(len(lines[n]) for n in kept)
        heads_of = [[*[""] * (height - len(lines[n])), *lines[n]] for n in kept]
        written = [
            *zip(*heads_of, strict=True),
            ["-" * widths[n] for n in kept],
            *([row[n] for n in kept] for row in cells),
        ]
        return "".join(
            _GAP.join(
                _aligned(self._shortened(text, widths[n]), widths[n], numeric[n])
                for text, n in zip(row, kept, strict=True)
            ).rstrip()
            + "\n"
            for row in written
        )

    def _fit(
        self,
        widths: list[int],
        titles: Sequence[str],
        cells: Sequence[Sequence[str]],
        numeric: Sequence[bool],
        spare: Sequence[str],
    ) -> Sequence[int]:
        """Narrow the longest texts; return the columns that there is room for.

        Empty columns, and spare ones that say the same in all rows, are left out before texts are
        shortened; the other spare ones, and then the last ones, where short texts are too wide.
        """
        kept = list(range(len(widths)))
        least = [
            width if number else min(width, _NARROW)
            for width, number in zip(widths, numeric, strict=True)
        ]
        same = {n: cells[0][n] for n in kept if len({row[n] for row in cells}) == 1}
        spared = [titles.index(title) for title in spare if title in titles]
        empty = [n for n in kept[1:] if same.get(n) == ""]
        say_the_same = list(dict.fromkeys([*empty, *(n for n in spared if n in same)]))
        to_leave = [n for n in spared if n not in same]
        to_leave += [n for n in reversed(kept[1:]) if n not in (*spared, *empty)]
        gone: dict[int, str] = {}
        for columns, needed in ((say_the_same, widths), (to_leave, least)):
            for n in columns:
                if _total([needed[k] for k in kept]) > self.width:
                    kept.remove(n)
                    value = f" ({same[n] or 'empty'})" if columns is say_the_same else ""
                    gone[n] = titles[n].rstrip(" ↑↓") + value
        if cells:  # nothing is missed on an empty table
            self._missing.setdefault("columns", []).extend(gone[n] for n in sorted(gone))
        while (over := _total([widths[n] for n in kept]) - self.width) > 0:
            long = [n for n in kept if widths[n] > least[n]]
            if not long:
                break
            widest = max(widths[n] for n in long)
            longest = [n for n in long if widths[n] == widest]
            next_width = max([widths[n] for n in long if widths[n] < widest], default=0)
            floor = max(next_width, *(least[n] for n in longest))
            for n in longest:
                widths[n] -= min(widest - floor, -(-over // len(longest)))
        return kept

    def _shortened(self, text: str, width: int) -> str:
        """Return a text of at most so many characters: prose loses its end, a name its middle."""
        if _width(text) <= width:
            return text
        self._missing.setdefault("texts", [])
        if " " in text.strip():
            before, after = width - 1, 0
        else:
            after = (width - 1) // 3
            before = width - 1 - after
        return f"{_begin(text, before)}…{_begin(text[::-1], after)[::-1]}"

    def _signed(self, text: str) -> str:
        """Return a cell with its marks written for this screen."""
        if text.isascii():
            return text
        for mark, ends in MARKS.items():
            written = _SIGNS[self.is_styled].get(mark, ("", ""))
            for sign, shown in zip(ends, written, strict=True):
                text = text.replace(sign, shown)
        return text


def _width(text: str) -> int:
    """Return how many characters of the screen a text takes."""
    if text.isascii() and "\x1b" not in text:
        return len(text)
    from wcwidth import wcswidth

    return int(wcswidth(_STYLE.sub("", text)))


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _aligned(text: str, width: int, is_number: bool) -> str:
    spaces = " " * (width - _width(text))
    return spaces + text if is_number else text + spaces


def _begin(text: str, width: int) -> str:
    while _width(text) > width:
        text = text[:-1]
    return text


def _broken(head: str, width: int) -> list[str]:
    """Break a head into lines, as narrow as its longest part or so many characters.

    >>> _broken("AP(rel=2) ↑", 6), _broken("nDCG@10 ↑", 6), _broken("run", 9)
    (['AP ↑', '(rel=2)'], ['nDCG', '@10 ↑'], ['run'])
    """
    name, arrow = (head[:-2], head[-2:]) if head.endswith((" ↑", " ↓")) else (head, "")
    parts = [part for part in _HEAD_BREAKS.split(name) if part]
    width = max([width, *(_width(part.rstrip()) for part in parts)])
    lines = [""]
    for part in parts:
        if lines[-1] and _width((lines[-1] + part).rstrip()) > width:
            lines.append("")
        lines[-1] += part
    lines = [line.rstrip() for line in lines]
    if arrow:
        with_room = [n for n in (-1, *range(len(lines))) if _width(lines[n] + arrow) <= width]
        if with_room:
            lines[with_room[0]] += arrow
        else:
            lines.append(arrow.strip())
    return lines


def of_terminal(stream: Any, environment: Mapping[str, str]) -> Screen | None:
    """Return the screen that a stream writes to, or None if it is a pipe or a file.

    The width comes from COLUMNS, else from the terminal. Nothing is bold if NO_COLOR is set or if
    TERM is dumb.
    """
    if not stream.isatty():
        return None
    import shutil

    styled = not environment.get("NO_COLOR") and environment.get("TERM", "dumb") != "dumb"
    return Screen(width=shutil.get_terminal_size().columns, is_styled=styled)
