"""What format a file has: by a look at its first lines, then by its extension."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from pathlib import PurePath

from warehouse.readers.files import COMPRESSED, LocalFile
from warehouse.readers.looks import BOM
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
# No metric ends as a file does, nor as those of TREC do.
_ENDS = (*_EXTENSIONS, *COMPRESSED, ".run", ".res", ".trec", ".txt")
# A brace alone may be the id of a query.
_JSON = re.compile(r'\{\s*("(?:[^"\\]|\\.)*"\s*:|\}\s*$)', re.DOTALL)
_NESTED = re.compile(r'\{\s*("(?:[^"\\]|\\.)*"\s*:\s*\{|\}\s*$)', re.DOTALL)
_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def guess(file: LocalFile, mapping: Iterable[str] = ()) -> str:
    """Return the format; `mapping` holds the column names that the caller asked for."""
    if file.head.startswith(b"PAR1"):
        return "parquet"
    by_extension = _EXTENSIONS.get(PurePath(file.name).suffix.lower())
    text = head_text(file)
    stripped = text.lstrip()
    if _JSON.match(stripped):
        return "ranx" if _NESTED.match(stripped) else "jsonl"
    if by_extension == "parquet":
        return "parquet"
    line = first_data_line(text)
    wanted = {name for names in COLUMNS.values() for name in names} | set(mapping)
    for delimiter, name in ((",", "csv"), ("\t", "tsv")):
        cells = header_cells(line, delimiter)
        if len(cells) > 1 and wanted.intersection(cells):
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
    """Whether a line could be one of TREC qrels or of a TREC run.

    >>> looks_like_trec("q1 0 d1 2"), looks_like_trec("q1 Q0 d1 1 0.5 tag"), looks_like_trec("a,b")
    (True, True, False)
    """
    cells = re.split(r"[ \t]+", line.strip(" \t\r"))
    if len(cells) == 4:
        return _INTEGER.fullmatch(cells[3]) is not None
    return len(cells) >= 6 and _NUMBER.fullmatch(cells[4]) is not None


def ends_as_a_file(name: str) -> bool:
    """Whether a name ends as those of files do that are read here.

    >>> ends_as_a_file("bm25.run.gz"), ends_as_a_file("P.5,10")
    (True, False)
    """
    return PurePath(name).suffix.lower() in _ENDS


def is_number(cell: str) -> bool:
    """Whether a cell holds a number, and so is no name of a column."""
    return _NUMBER.fullmatch(cell.strip()) is not None


def first_data_line(text: str) -> str:
    """Return the first line that is neither blank nor a comment, or an empty text."""
    for line in text.split("\n"):
        if line.strip() and not line.lstrip().startswith("#"):
            return line.rstrip("\r")
    return ""
