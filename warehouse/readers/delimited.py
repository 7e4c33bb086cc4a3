"""CSV and TSV files as records of text, with the line on which each begins."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import duckdb

from warehouse.errors import InputError, first_line
from warehouse.readers import checks, rejects
from warehouse.readers.files import LocalFile
from warehouse.readers.lines import refuse_long_lines
from warehouse.sql_text import templates

DELIMITERS = {"csv": ",", "tsv": "\t"}
_LINE_ENDS = {"\r\n": "CR LF", "\n": "LF", "\r": "CR"}


@contextlib.contextmanager
def relation_of_records(
    con: duckdb.DuckDBPyConnection,
    files: Sequence[LocalFile],
    delimiter: str,
    width: int,
    blank_lines: int,
) -> Iterator[str]:
    """Yield the SQL of delimited files' records as text columns c0, c1 …; see `rejects.first`.

    Every file has this many columns, and this many blank lines above its header. Raises InputError
    for lines that are too long for the CSV reader, and for mixed line ends.
    """
    for file in files:
        refuse_long_lines(file, checks.LIMIT)
        _refuse_other_ends(file)
    layout = {"delimiter": delimiter, "width": width, "blank_lines": blank_lines}
    with rejects.collected(con):
        try:
            yield templates.render(
                "ingest/delimited", paths=[file.path for file in files], **layout
            )
        except duckdb.InvalidInputException as error:
            told = first_line(error)
            raise InputError(f"{files[0].source}: cannot be read as a table: {told}") from error


def _refuse_other_ends(file: LocalFile) -> None:
    """Refuse lines that end differently from those above: the CSV reader goes by the first."""
    if not file.look.has_return or file.look.windows_ends:
        return
    first = None
    for line, end in _ends(file):
        first = first or end
        if end != first:
            reason = f"ends with {end}, and the lines above it with {first}: end all lines alike"
            raise InputError(f"{file.source}: 1 problem", problems=[(line, reason)])


def header_of(file: LocalFile, delimiter: str) -> tuple[list[str], int]:
    """Return the cells of the first line with content, and the number of blank lines above it.

    Raises InputError if there is none.
    """
    for line, record in _records(file, delimiter):
        if _holds_something(record):
            return record, line - 1
    raise InputError(f"{file.source}: is empty: there is no line of data")


def _holds_something(record: Sequence[str]) -> bool:
    return any(cell.strip() for cell in record)


def _records(file: LocalFile, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records of a delimited file, blank ones too, each with its first line."""
    csv.field_size_limit(1 << 30)
    with Path(file.path).open(encoding="utf-8-sig", newline="") as handle:
        reader = csv.reader(handle, delimiter=delimiter)
        begins = 1
        for record in reader:
            yield begins, record
            begins = reader.line_num + 1


def _ends(file: LocalFile) -> Iterator[tuple[int, str]]:
    """Yield each line that ends a record, and its line end; one within quotes does not count."""
    quotes = 0
    with Path(file.path).open(encoding="utf-8-sig", newline="") as handle:
        for number, line in enumerate(handle, 1):
            quotes += line.count('"')
            end = next((name for end, name in _LINE_ENDS.items() if line.endswith(end)), None)
            if end is not None and quotes % 2 == 0:
                yield number, end


class Lines:
    """The lines on which the records and the rows of a delimited file begin.

    DuckDB numbers records, blank ones too, but not lines; rows are the records that it accepted. If
    every row is one line, that is simple. Otherwise Python reads the file again, as far as the
    problems to show reach. `refused` are the first refused records: after the last of them, lines
    may come out too small, but never small enough to be among the first problems.
    """

    def __init__(self, file: LocalFile, delimiter: str, refused: Iterable[int], rows: int) -> None:
        self._refused = set(refused)
        self._simple = not self._refused and rows + 1 == file.lines
        self._records = enumerate(_records(file, delimiter), 1)
        self._record_lines: dict[int, int] = {}
        self._row_lines: list[int] = []
        self._header_seen = False

    def of_record(self, number: int) -> int:
        """Return the line on which a record begins."""
        while number not in self._record_lines and self._step():
            pass
        return self._record_lines.get(number, number)

    def of_row(self, number: int) -> int:
        """Return the line on which a row begins."""
        if self._simple:
            return number + 1
        while number > len(self._row_lines) and self._step():
            pass
        return self._row_lines[number - 1] if number <= len(self._row_lines) else number + 1

    def _step(self) -> bool:
        number, (line, record) = next(self._records, (0, (0, [])))
        if not number:
            return False
        if number in self._refused:
            self._record_lines[number] = line
        elif record and self._header_seen:
            self._row_lines.append(line)
        self._header_seen = self._header_seen or _holds_something(record)
        return True
