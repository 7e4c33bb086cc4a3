"""One result in any of the output formats.

Tables for people (table, markdown, latex, html) round numbers; the others keep every digit of a double.
"""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import io
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import chain, count, repeat
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from warehouse.errors import UsageError, check_word, visible
from warehouse.report import exact_values

if TYPE_CHECKING:
    import duckdb

FORMATS = ("table", "json", "jsonl", "csv", "tsv", "markdown", "latex", "html", "parquet")
FOR_PEOPLE = {"table": "", "markdown": "github", "latex": "latex_booktabs", "html": "html"}
# Marks of emphasis in a cell until the table is written: Unicode reserves them for use inside programs.
# In a name they are escaped.
Mark = Literal["best", "second", "other", "raised"]
MARKS: dict[Mark, tuple[str, str]] = {
    "best": ("\ufdd0", "\ufdd1"),
    "second": ("\ufdd2", "\ufdd3"),
    "other": ("\ufdd4", "\ufdd5"),
    "raised": ("\ufdd6", "\ufdd7"),
}
_MARKUP: dict[str, dict[Mark, tuple[str, str]]] = {
    "table": {"best": ("", "*"), "second": ("", "+"), "other": ("", " "), "raised": (" ", "")},
    "markdown": {"best": ("**", "**"), "second": ("<u>", "</u>"), "raised": ("<sup>", "</sup>")},
    "latex": {
        "best": (r"\textbf{", "}"),
        "second": (r"\underline{", "}"),
        "raised": (r"\textsuperscript{", "}"),
    },
    "html": {"best": ("<b>", "</b>"), "second": ("<u>", "</u>"), "raised": ("<sup>", "</sup>")},
}
# From here on, a browser's numbers are not exact.
_MOST_EXACT = 1 << 53
_BREAKS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
# The column of judgments; most grades are whole, and none is rounded.
_GRADE = "relevance"
# Markup in a cell. An underscore counts only if one begins a word and a later one ends a word, a
# backslash only before punctuation.
_MARKDOWN = re.compile(r"[|`*~$]|(?<![^\W_])_(?=.*_(?![^\W_]))|(?<=\])[(\[]|\\(?=[!-/:-@\[-`{-~])")
# Places where LaTeX reads the first sign of a row as part of the rule or break above, or two signs
# as one.
_LATEX = re.compile(r"^(?=[\[*])|(?<=-)(?=-)|(?<=')(?=')|(?<=[`?!])(?=`)|(?<=,)(?=,)")
# An empty group prevents that. It is a mark here, because braces would be escaped.
_NOTHING = "\ufdd8"
# Markup without width on paper: commands of LaTeX, but for arrows and the like, and braces.
_LATEX_MARKUP = re.compile(r"\\shortstack\[\w\]|\$?\\[A-Za-z]+|[{}]|\\(?=[&%$#_{}])")
# Where a head goes on in the next line: before a cutoff or a bracket, or between two words.
_LATEX_BREAK = re.compile(r"(?=[(@])|(?<=[a-z]) (?=[a-z])")
_LATEX_CELL = re.compile(r"(?<!\\)&|\\\\$")
_NO_LABEL = re.compile(r"[^A-Za-z0-9]+")
# Points: the width of one of two columns of a page, of the lines of a page of one column, and the
# room between columns. Smaller types are so much narrower, and have less room between their columns.
_ONE_COLUMN, _ONE_PAGE, _BETWEEN = 240, 345, 12
# How wide a table may be that goes into the margins.
_FAR = 460
_SMALLER = (("small", 0.92, 8), ("footnotesize", 0.85, 6), ("scriptsize", 0.79, 4))
# Signs that are narrower or wider than digits, which are 5 points wide.
_SIGN_WIDTHS = {
    **dict.fromkeys("fijlt.,:;'|!()[] -", 3.6), **dict.fromkeys("mwMW@%+±", 8.4),
    **dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ", 7.4),
}  # fmt: skip
_LATEX_SIGNS = {
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "≠": r"$\neq$",
    "\u03b1": r"$\alpha$",
    "|": r"\textbar{}",
    _NOTHING: "{}",
}
_NUMERIC = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL.*")
Row = Sequence[Any]
# Formats in which no text begins as a formula of a spreadsheet does.
SAFE = {"csv": "safe-csv", "tsv": "safe-tsv"}
# The formats of files by their suffix.
SUFFIXES = {name: name for name in FORMATS if name not in ("table", "markdown", "latex")} | {
    "txt": "table", "md": "markdown", "tex": "latex", "htm": "html", "ndjson": "jsonl",
}  # fmt: skip
# Values of a metric that differ by less are equally good.
_DIGITS = 12
# A column of plain text is so much wider than its head, at least.
_SPARE = 2
# Texts that programs misread in CSV unless quoted: control characters, and fields that begin or end
# with a blank, or begin as a comment or with another quote.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\ufeff]")
_MISREAD = re.compile(rf"{_CONTROL.pattern}|\A[ '#]| \Z")
_FORMULA = re.compile(r"[=+\-@\t\r\uff0b\uff0d\uff1d\uff20]")
# Types that are written as they are in CSV.
_IN_CSV = frozenset({str, int, type(None)})
_encode = json.JSONEncoder(ensure_ascii=False).encode


def check(format: str, known: Sequence[str] = FORMATS) -> str:
    """Return the format's name. Raises UsageError with the nearest known one."""
    if format in SAFE.values():
        return format
    return check_word("output format", format, known)


def of_suffix(path: Path) -> str:
    """Return the format that a file's suffix names. Raises UsageError.

    >>> of_suffix(Path("board.tex"))
    'latex'
    """
    return SUFFIXES[check_word("suffix", path.suffix[1:].lower(), SUFFIXES)]


@dataclass(frozen=True)
class Writer:
    """Writes tables for people in a format, with so many digits after the point."""

    format: str
    digits: int = 4

    @property
    def emphasis(self) -> tuple[Mark, ...]:
        """Return the marks of the best values in a column, where a format has a bold type."""
        return () if self.format == "table" else ("best",)

    def note(self) -> str:
        """Name the data that the written tables do not show, or return nothing."""
        return ""

    def table(
        self,
        heads: Sequence[str],
        rows: Sequence[Row],
        numeric: Sequence[bool],
        spare: Sequence[str] = (),
    ) -> str:
        """Write rows as a table; what is too narrow for it lacks the `spare` columns first."""
        return table(heads, rows, numeric, self.format, digits=self.digits)

    def captioned(self, text: str, caption: str, label: str) -> str:
        """Return a table with its caption, in the formats of papers and pages."""
        return captioned(text, caption, label, self.format)


def text(
    relation: duckdb.DuckDBPyRelation,
    writer: str | Writer,
    *,
    digits: int = 4,
    titles: Mapping[str, str] | None = None,
    counts: Collection[str] = (),
    best: Mapping[str, str] | None = None,
    unneeded: Collection[str] = (),
    spare: Sequence[str] = (),
    shown: Mapping[str, Callable[[Any], str]] | None = None,
) -> str:
    """Write a relation as text, in a format or with a writer of tables for people.

    `titles` renames columns in tables for people. `counts` names metrics whose values are whole
    numbers, whether the metric is a column or is named in the column `metric`; a relevance is
    written as it was given. `best` has the
    better direction of columns whose best values are marked, in formats that have a bold type; in a
    table with a column `part`, these are the best of each part. Tables for people lack the columns
    `unneeded`, on narrow screens first the `spare` ones, and write the values of a column that is
    `shown` in its own way.

    >>> import duckdb
    >>> print(text(duckdb.sql("select 'bm25' as run, 0.5 as AP"), "csv"), end="")
    run,AP
    bm25,0.5
    """
    columns = list(relation.columns)
    exactly = exact_values.select_list(columns, relation.types)
    rows = (relation if exactly is None else relation.project(exactly)).fetchall()
    if isinstance(writer, str) and writer not in FOR_PEOPLE:
        return "".join(_PIECES[writer](columns, [rows]))
    if isinstance(writer, str):
        writer = Writer(writer, digits)
    short = _with_short_numbers(columns, rows, counts)
    marked_rows = _with_best(columns, short, best or {}, writer)
    numeric = are_numeric(relation.types)
    kept = [index for index, column in enumerate(columns) if column not in unneeded]
    if shown:
        ways = [shown.get(column) for column in columns]
        marked_rows = [list(map(_as_shown, row, ways)) for row in marked_rows]
    return writer.table(
        [(titles or {}).get(columns[index], columns[index]) for index in kept],
        list(map(itemgetter(*kept), marked_rows))
        if len(kept) > 1
        else [[row[index] for index in kept] for row in marked_rows],
        [numeric[index] for index in kept],
        [(titles or {}).get(column, column) for column in spare],
    )


def _as_shown(value: Any, way: Callable[[Any], str] | None) -> Any:
    return value if way is None or value is None else way(value)


def pieces(
    columns: Sequence[str],
    types: Sequence[object],
    chunks: Iterable[Sequence[Row]],
    writer: str | Writer,
    *,
    digits: int = 4,
) -> Iterator[str]:
    """Write rows that come in chunks as text, piece by piece; tables after the last row.

    >>> list(pieces(["i"], ["INTEGER"], [[(1,), (2,)], [(3,)]], "csv"))
    ['i\\n', '1\\n2\\n', '3\\n']
    """
    if isinstance(writer, str) and writer not in FOR_PEOPLE:
        yield from _PIECES[writer](columns, chunks)
        return
    rows = _with_short_numbers(columns, [row for chunk in chunks for row in chunk])
    by = Writer(writer, digits) if isinstance(writer, str) else writer
    yield by.table(columns, rows, are_numeric(types))


def _with_short_numbers(
    columns: Sequence[str], rows: Sequence[Row], counts: Collection[str] = ()
) -> Sequence[Row]:
    """Return the rows with whole numbers for values of counting metrics, and grades as given."""
    named = columns.index("metric") if "metric" in columns else None
    if not counts and _GRADE not in columns:
        return rows

    def short(row: Row, column: str, value: Any) -> Any:
        if not isinstance(value, float):
            return value
        of = row[named] if named is not None and column == "value" else column
        if value.is_integer():
            return int(value) if of in counts or column == _GRADE else value
        return repr(value) if column == _GRADE and math.isfinite(value) else value

    return [[short(row, c, v) for c, v in zip(columns, row, strict=True)] for row in rows]


def _with_best(
    columns: Sequence[str], rows: Sequence[Row], best: Mapping[str, str], writer: Writer
) -> Sequence[Row]:
    """Return the rows with the best values of some columns marked; of a single row nothing is."""
    if not writer.emphasis:
        return rows
    marked_rows = [list(row) for row in rows]
    part = columns.index("part") if "part" in columns else None
    for index, column in enumerate(columns):
        sign = {"higher": 1, "lower": -1}.get(best.get(column, ""))
        groups: dict[Any, list[list[Any]]] = {}
        for row in marked_rows if sign is not None else ():
            if row[index] is not None:
                groups.setdefault(None if part is None else row[part], []).append(row)
        for group in groups.values():
            values = [round((sign or 1) * row[index], _DIGITS) for row in group]
            marks = dict(zip(sorted(set(values), reverse=True), writer.emphasis, strict=False))
            for row, value in zip(group, values, strict=True):
                if len(group) > 1 and value in marks:
                    row[index] = marked(cell(row[index], writer.digits), marks[value])
    return marked_rows


def marked(text: str, mark: Mark) -> _Marked:
    """Return a cell's text with an emphasis, which each format for people writes in its own way.

    "best" is bold, "second" underlined, "raised" a superscript; "other" aligns the other values of
    such a column. In plain text the best has a * and the second a +.

    >>> print(table(["AP"], [[marked("0.5", "best") + marked("a", "raised")]], [False], "markdown"))
    | AP                  |
    |---------------------|
    | **0.5**<sup>a</sup> |
    <BLANKLINE>
    """
    before, after = MARKS[mark]
    return _Marked(f"{before}{one_line(text)}{after}")


class _Marked(str):
    """A cell with marks: all else in it has been made one line."""

    __slots__ = ()

    def __add__(self, other: str, /) -> _Marked:
        return _Marked(f"{self}{other if isinstance(other, _Marked) else one_line(other)}")


def write_parquet(relation: duckdb.DuckDBPyRelation, path: Path) -> None:
    """Write a relation as a Parquet file."""
    import duckdb

    try:
        relation.write_parquet(str(path.absolute()))
    except duckdb.IOException as error:
        raise UsageError(f"{path}: cannot be written: {error}") from error


def are_numeric(types: Sequence[object]) -> list[bool]:
    """Return which columns of these types have numbers."""
    return [_NUMERIC.fullmatch(str(kind).upper()) is not None for kind in types]


def table(
    heads: Sequence[str],
    rows: Sequence[Row],
    numeric: Sequence[bool],
    format: str,
    *,
    digits: int = 4,
) -> str:
    """Write rows as a table for people; numeric columns are right-aligned."""
    heads = [one_line(head) for head in heads]
    if format == "table":
        return _plain(heads, rows, numeric, digits)
    from tabulate import tabulate

    cells = [[cell(value, digits) for value in row] for row in rows]
    aligned = ["right" if number else "left" for number in numeric]
    if format == "markdown":
        heads, *cells = ([_escape_markdown(cell) for cell in row] for row in [heads, *cells])
    if format == "latex":
        heads, *cells = ([_LATEX.sub(_NOTHING, cell) for cell in row] for row in [heads, *cells])
    if format == "markdown":
        # before the widths of the columns are counted; the others escape what they are given
        cells = [[_with_marks(cell, format) for cell in row] for row in cells]
    text = tabulate(
        cells,
        headers=heads,
        tablefmt=FOR_PEOPLE[format],
        colalign=aligned if cells else None,
        disable_numparse=True,
    )
    if format == "latex":
        if not cells:  # the columns are not counted from the heads
            columns = "".join(side[0] for side in aligned)
            text = text.replace("{tabular}{}", f"{{tabular}}{{{columns}}}", 1)
        for sign, written in _LATEX_SIGNS.items():
            text = text.replace(sign, written)
    text = _with_marks(text, format)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def _plain(heads: Sequence[str], rows: Sequence[Row], numeric: Sequence[bool], digits: int) -> str:
    """Write rows as a table in plain text, column by column: there may be many rows."""
    ways: dict[type, Callable[[Any], str]] = {
        float: f"{{:.{digits}f}}".format,
        int: str,
        str: lambda text: one_line(text).strip(),
    }
    columns: list[Iterable[str]] = []
    of_columns = zip(*rows, strict=True) if rows else repeat(())
    for head, values, is_right in zip(heads, of_columns, numeric, strict=False):
        kinds = set(map(type, values))
        if len(kinds) == 1 and (way := ways.get(*kinds)) is not None:
            texts = list(map(way, values))
        else:
            texts = [_with_marks(cell(value, digits), "table").strip() for value in values]
        is_ascii = "".join(texts).isascii()
        widths = map(len if is_ascii else _width, texts)
        width = max(_width(head) + _SPARE, max(widths, default=0))
        pad = str.rjust if is_right and rows else str.ljust
        padded: Iterable[str]
        if is_ascii:
            padded = map(pad, texts, repeat(width))
        else:
            padded = [pad(text, width + len(text) - _width(text)) for text in texts]
        columns.append(chain((pad(head, width + len(head) - _width(head)), "-" * width), padded))
    lines = map(str.rstrip, map("  ".join, zip(*columns, strict=True)))
    return "".join(f"{line}\n" for line in lines)


def _width(text: str) -> int:
    """Return how many columns of a screen a text takes."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth

    return wcswidth(text)


def captioned(text: str, caption: str, label: str, format: str) -> str:
    r"""Return a table of `table` with its caption; in plain text it has none.

    In LaTeX it floats, over both columns of a page if it is wide, in a smaller type where the lines
    are short, and has a label for `\ref`.

    >>> print(captioned("| AP |\n", "AP of 2 runs", "dl19", "markdown"), end="")
    | AP |
    <BLANKLINE>
    AP of 2 runs
    """
    caption = one_line(caption)
    if format == "markdown":
        return f"{text}\n{_escape_markdown(caption)}\n"
    if format == "html":
        return text.replace("<table>", f"<table>\n<caption>{escape(caption)}</caption>", 1)
    if format != "latex":
        return text
    from tabulate import LATEX_ESCAPE_RULES

    caption = "".join(LATEX_ESCAPE_RULES.get(sign, sign) for sign in caption)
    for sign, written in _LATEX_SIGNS.items():
        caption = caption.replace(sign, written)
    environment, text = _fitting(text)
    label = _NO_LABEL.sub("-", label).strip("-")
    return (
        f"\\begin{{{environment}}}\n\\centering\n\\caption{{{caption}}}\n\\label{{tab:{label}}}\n"
        f"\\smallskip\n{text}\\end{{{environment}}}\n"
    )


def _fitting(text: str) -> tuple[str, str]:
    """Return the environment of a LaTeX table, and the table as it fits lines that may be short.

    If it is wider than a page of one column, its heads are broken into lines, and its type is smaller
    where the lines are shorter than it. What is still too wide goes as far into both margins.
    """
    columns = _latex_widths(text)
    if sum(columns) + len(columns) * _BETWEEN > _ONE_PAGE:
        text = _with_broken_heads(text)
        columns = _latex_widths(text)
    width = sum(columns) + len(columns) * _BETWEEN
    environment = "table*" if width > _ONE_COLUMN else "table"
    smaller = ""
    for size, share, between in _SMALLER:
        if width > _ONE_PAGE:
            room = f"\\setlength{{\\tabcolsep}}{{{between // 2}pt}}"
            smaller += f"\\ifdim\\linewidth<{math.ceil(width)}pt \\{size}{room}\\fi\n"
            width = share * sum(columns) + len(columns) * between
    if width > _FAR:
        smaller = f"% wider than most pages: leave columns out, with --columns\n{smaller}"
    if width > _ONE_PAGE:
        text = f"\\makebox[\\linewidth]{{%\n{text.rstrip()}}}\n"
    return environment, smaller + text


def _with_broken_heads(text: str) -> str:
    """Return a LaTeX table whose heads go on in another line before a cutoff or a bracket."""
    lines = text.splitlines(keepends=True)
    sides = re.sub(r".*{tabular}{(\w+)}.*", r"\1", lines[0].strip())
    heads = _LATEX_CELL.split(lines[2].rstrip())
    for index, side in enumerate(sides):
        parts = [part for part in _LATEX_BREAK.split(heads[index].strip()) if part]
        if len(parts) > 1:
            heads[index] = f" \\shortstack[{side}]{{{(chr(92) * 2).join(parts)}}} "
    return "".join([*lines[:2], "&".join(heads[: len(sides)]), "\\\\\n", *lines[3:]])


def _latex_widths(text: str) -> list[float]:
    """Return about how many points wide the columns of a LaTeX table are, in a type of 10 points."""
    rows = [_LATEX_CELL.split(line)[:-1] for line in text.splitlines() if line.endswith("\\\\")]

    def width(cell: str) -> float:
        bold = 1.15 if "\\textbf" in cell else 1
        parts = (_LATEX_MARKUP.sub("", part).strip() for part in cell.split("\\\\"))
        return bold * max(sum(_SIGN_WIDTHS.get(sign, 5.4) for sign in part) for part in parts)

    return [max(map(width, cells)) for cells in zip(*rows, strict=True)]


def page(body: str) -> str:
    """Return HTML as a whole page, which names its encoding."""
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Table</title>\n'
        f"{body}</html>\n"
    )


def _with_marks(text: str, format: str) -> str:
    """Return a text with its marks written in a format."""
    if text.isascii():  # as no mark is
        return text
    for mark, ends in MARKS.items():
        for sign, written in zip(ends, _MARKUP[format].get(mark, ("", "")), strict=True):
            text = text.replace(sign, written)
    return text


def cell(value: object, digits: int) -> str:
    """Return a value as people read it."""
    if isinstance(value, _Marked):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    if isinstance(value, dt.datetime) and not exact_values.is_infinite(value):
        # one without a zone is what it says, wherever it is read
        return (value.astimezone(dt.UTC) if value.tzinfo else value).strftime("%Y-%m-%d %H:%M")
    text = _json_text(value) if isinstance(value, dict | list | tuple) else _text(value)
    return one_line(text)


def one_line(text: str) -> str:
    """Return any text as one line, with its control characters escaped."""
    if text.isprintable():
        return text
    return visible(_BREAKS.sub(" ", text))


def _escape_markdown(text: str) -> str:
    r"""Return a text with everything escaped that is markup in Markdown or HTML.

    >>> print(_escape_markdown("<b>a_b_c *x* _y_</b>"))
    &lt;b&gt;a_b_c \*x\* \_y_&lt;/b&gt;
    """
    return escape(_MARKDOWN.sub(r"\\\g<0>", text), quote=False)


def _text(value: object) -> str:
    if isinstance(value, dt.date):  # as a datetime is, too
        return exact_values.moment(value)
    return f"{value:f}" if isinstance(value, decimal.Decimal) else str(value)


def _json_text(value: object) -> str:
    """Return a value as JSON, with all digits of a number; NaN and infinity are null."""
    kind = type(value)
    if kind is str:
        return _encode(value)
    if kind is float:
        return repr(value) if math.isfinite(value) else "null"  # type: ignore[arg-type]
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if isinstance(value, dict):
        items = (f"{_encode(_text(key))}: {_json_text(item)}" for key, item in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_json_text, value))}]"
    return _text(value) if isinstance(value, int | decimal.Decimal) else _encode(_text(value))


def _separated(
    columns: Sequence[str], chunks: Iterable[Sequence[Row]], delimiter: str, *, safe: bool = False
) -> Iterator[str]:
    for rows in chain([[columns]], chunks):
        cells = (
            map(_csv_row, rows) if not safe else [[*map(_no_formula, _csv_row(r))] for r in rows]
        )
        cells = list(cells)
        out = io.StringIO()
        csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(cells)
        text = out.getvalue()
        if _may_be_misread(text, delimiter) and _is_misread(cells):
            text = "".join(delimiter.join(map(_quoted, row)) + "\n" for row in cells)
        yield text


def _may_be_misread(text: str, delimiter: str) -> bool:
    """Whether a text may have a field that is misread: quicker than to look at each."""
    ends = [f"{end}{sign}" for end in (delimiter, "\n") for sign in " '#"]
    ends += [f" {delimiter}", " \n"]
    return (
        any(one in text for one in ends)
        or text[:1] in (" ", "'", "#")
        or bool(_CONTROL.search(text))
    )


def _is_misread(cells: Iterable[Row]) -> bool:
    return any(isinstance(one, str) and _MISREAD.search(one) for row in cells for one in row)


def _quoted(value: object) -> str:
    """Return a field between quotes, but for a number and for what is empty."""
    if not isinstance(value, str) or not value:
        return "" if value is None else str(value)
    return '"' + value.replace('"', '""') + '"'


def _no_formula(value: object) -> object:
    """Return a field that no spreadsheet takes for a formula: such a text gets a quote before it.

    >>> _no_formula("=cmd|' /C calc'!A0"), _no_formula("bm25"), _no_formula(-0.5)
    ("'=cmd|' /C calc'!A0", 'bm25', -0.5)
    """
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def _csv_row(row: Row) -> list[object]:
    # most values are written as they are: a call for each would take longer than all else
    return [
        value
        if (kind := type(value)) in _IN_CSV or (kind is float and math.isfinite(value))
        else _csv_field(value)
        for value in row
    ]


def _csv_field(value: object) -> str:
    if isinstance(value, bool | dict | list | tuple):
        return _json_text(value)
    return "" if value != value else _text(value)


def _json_rows(columns: Sequence[str], rows: Sequence[Row]) -> list[str]:
    keys = [_encode(key) + ": " for key in _unique_keys(columns)]
    return [
        f"{{{', '.join([k + _json_text(v) for k, v in zip(keys, row, strict=True)])}}}"
        for row in rows
    ]


def _unique_keys(columns: Sequence[str]) -> list[str]:
    """Return unique names of columns: repeated names are numbered, as DuckDB does in a table."""
    keys: list[str] = []
    for column in columns:
        numbered = (f"{column}_{number}" for number in count(1))
        keys.append(next(key for key in chain([column], numbered) if key not in keys))
    return keys


def _json(columns: Sequence[str], chunks: Iterable[Sequence[Row]]) -> Iterator[str]:
    before = "[\n"
    for rows in chunks:
        if rows:
            yield before + ",\n".join(f"  {line}" for line in _json_rows(columns, rows))
            before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def _json_lines(columns: Sequence[str], chunks: Iterable[Sequence[Row]]) -> Iterator[str]:
    for rows in chunks:
        yield "".join(line + "\n" for line in _json_rows(columns, rows))


def _cells(columns: Sequence[str], chunks: Iterable[Sequence[Row]]) -> Iterator[str]:
    """Yield JSON with the names of the columns and the cells of each row, for a browser.

    A browser's numbers have 53 bits and no NaN: others are `{"number": text}`. Lists and structures
    are text.
    """
    before = f'{{"columns": {json.dumps(columns)}, "rows": ['
    for rows in chunks:
        if rows:
            yield before + ",\n".join(f"[{', '.join(map(_cell, row))}]" for row in rows)
            before = ",\n"
    yield f"{before if before.startswith('{') else ''}]}}\n"


def _cell(value: object) -> str:
    if isinstance(value, dict | list | tuple):
        return _encode(_json_text(value))
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if (
        (isinstance(value, float) and not math.isfinite(value))
        or (is_whole and abs(value) > _MOST_EXACT)  # type: ignore[arg-type]
        or isinstance(value, decimal.Decimal)
    ):
        return f'{{"number": {_encode(_text(value))}}}'
    return _json_text(value)


_PIECES: dict[str, Callable[[Sequence[str], Iterable[Sequence[Row]]], Iterator[str]]] = {
    "csv": partial(_separated, delimiter=","),
    "tsv": partial(_separated, delimiter="\t"),
    "safe-csv": partial(_separated, delimiter=",", safe=True),
    "safe-tsv": partial(_separated, delimiter="\t", safe=True),
    "json": _json,
    "jsonl": _json_lines,
    "cells": _cells,
}
