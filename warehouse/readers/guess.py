"""The format of a file: from its first lines, then from its suffix."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import PurePath

from warehouse.readers.files import COMPRESSED, LocalFile
from warehouse.readers.line_looks import BOM
from warehouse.readers.staged import COLUMNS

_EXTENSIONS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "ranx",
    ".parquet": "parquet",
    ".pq": "parquet",
}
# Metrics end neither like files nor like TREC files.
_ENDS = (*_EXTENSIONS, *COMPRESSED, ".run", ".res", ".trec", ".txt")
# A single brace may be the id of a query.
_JSON = re.compile(r'\{\s*("(?:[^"\\]|\\.)*"\s*:|\}\s*$)', re.DOTALL)
_NESTED = re.compile(r'\{\s*("(?:[^"\\]|\\.)*"\s*:\s*\{|\}\s*$)', re.DOTALL)
# Lists by query, which have their own error: no other line begins another object.
_LISTS = re.compile(r'\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[(?!.*\n\s*\{\s*")', re.DOTALL)
_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_PAIR = re.compile(rf"\d+:{_NUMBER.pattern}")
_BLANKS = re.compile(r"[ \t]+")
# RecBole writes the type of a column after its name.
_TYPED = re.compile(r"\w+:(token|float)(_seq)?")
# From 1973 on, in seconds; in milliseconds that is more digits.
_UNIX_TIME = re.compile(r"[1-9]\d{8,12}")


def guess(file: LocalFile, mapping: Iterable[str] = ()) -> str:
    """Return the format; `mapping` holds the column names that the caller requested."""
    if file.head.startswith(b"PAR1"):
        return "parquet"
    by_extension = _EXTENSIONS.get(PurePath(file.name).suffix.lower())
    text = head_text(file)
    stripped = text.lstrip()
    if _JSON.match(stripped):
        is_nested = _NESTED.match(stripped) or (by_extension == "ranx" and _LISTS.match(stripped))
        return "ranx" if is_nested else "jsonl"
    if by_extension == "parquet":
        return "parquet"
    line = first_data_line(text)
    wanted = {name for names in COLUMNS.values() for name in names} | set(mapping)
    for delimiter, name in ((",", "csv"), ("\t", "tsv")):
        cells = header_cells(line, delimiter)
        if len(cells) > 1 and (wanted.intersection(cells) or all(map(_TYPED.fullmatch, cells))):
            return name
    if looks_like_trec(line):
        return "trec"
    if by_extension:
        return by_extension
    if "," in line and len(line.split()) == 1:
        return "csv"
    return "trec"


def head_text(file: LocalFile) -> str:
    """Return the first bytes of a file as text, whatever they are."""
    return file.head.removeprefix(BOM).decode("utf-8", "replace")


def header_cells(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line of a CSV or TSV file.

    >>> header_cells('a,"b,c"', ",")
    ['a', 'b,c']
    """
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return line.split(delimiter)


def looks_like_trec(line: str) -> bool:
    """Whether a line could belong to TREC qrels or a TREC run.

    >>> looks_like_trec("q1 0 d1 2"), looks_like_trec("q1 Q0 d1 1 0.5 tag"), looks_like_trec("a,b")
    (True, True, False)
    """
    cells = _cells(line)
    if len(cells) == 4:
        return _INTEGER.fullmatch(cells[3]) is not None
    return len(cells) >= 6 and _NUMBER.fullmatch(cells[4]) is not None


def other_layout(file: LocalFile) -> str | None:
    """Return what a file holds if its first lines are not a TREC run or qrels, and what to do.

    Some formats look like TREC by chance, as `user item rating time` looks like qrels.
    """
    lines = [_cells(line) for line in islice(_data_lines(head_text(file)), 2)]
    names = "below a first line with the names query_id, doc_id and"
    # a long line may be cut within its last cell
    if any(all(map(_PAIR.fullmatch, cells[1:-1] or cells[1:] or cells)) for cells in lines):
        return (
            "pairs of a column and a value are a sparse matrix (libsvm), which is not read: give each "
            f"value a line of its own, {names} score (or relevance)"
        )
    by_chance = "; if it is TREC all the same, say its format"
    # the first line may hold other names of columns
    if lines and len(lines[-1]) == 4 and _UNIX_TIME.fullmatch(lines[-1][3]):
        return (
            f"its fourth column holds times ({lines[-1][3]}), where TREC qrels have the relevance: put "
            "a line with the names of the columns on top (query_id, doc_id, relevance, as they come, "
            f"with tabs between){by_chance}"
        )
    if lines and all(len(cells) > 6 and all(map(is_number, cells)) for cells in lines):
        return (
            f"its lines are numbers, {len(lines[0])} in the first, and no TREC run: give each document "
            f"a line of its own, {names} score (or rank){by_chance}"
        )
    return None


def ends_as_a_file(name: str) -> bool:
    """Whether a name has the suffix of a file that is read here.

    >>> ends_as_a_file("bm25.run.gz"), ends_as_a_file("P.5,10")
    (True, False)
    """
    return PurePath(name).suffix.lower() in _ENDS


def is_number(cell: str) -> bool:
    """Whether a cell holds a number, so that it is not a column name."""
    return _NUMBER.fullmatch(cell.strip()) is not None


def first_data_line(text: str) -> str:
    """Return the first line that is neither blank nor a comment, or an empty text."""
    return next(_data_lines(text), "")


def _data_lines(text: str) -> Iterator[str]:
    for line in io.StringIO(text, newline="\n"):
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.removesuffix("\n").rstrip("\r")


def _cells(line: str) -> list[str]:
    return _BLANKS.split(line.strip(" \t\r"))
