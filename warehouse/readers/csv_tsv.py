"""CSV and TSV files with a header line, and the lines on which their records begin."""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from warehouse.errors import EmptyError, InputError, option
from warehouse.readers import checks, reshaped, staging, tables
from warehouse.readers.columns import choose, is_header
from warehouse.readers.files import LocalFile
from warehouse.readers.formats import (
    ANY_TABLE,
    Confidence,
    FileFormat,
    Files,
    Head,
    Reading,
    Readings,
    Table,
)
from warehouse.readers.kinds import ColumnNames, Contents, Kind
from warehouse.readers.lines import (
    HIGHEST_GRADE,
    LIMIT,
    UNIX_TIME,
    BadLines,
    counts,
    is_number,
    refuse_if_not_text,
    refuse_long_lines,
)
from warehouse.readers.tables import check_names
from warehouse.sql_text.quoting import ident

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_LINE_ENDS = {"\r\n": "CR LF", "\n": "LF", "\r": "CR"}
# The columns of a table without a header, by their number.
_JUDGED = {
    2: ("query_id", "doc_id"),
    3: ("query_id", "doc_id", "relevance"),
    4: ("query_id", "doc_id", "relevance", "timestamp"),
}
_BARE: Mapping[str, Mapping[int, Sequence[str]]] = {
    "run": {3: ("query_id", "doc_id", "score"), 4: ("query_id", "doc_id", "rank", "score")},
    "qrels": _JUDGED,
    "training": _JUDGED,
}
# RecBole writes the type of a column after its name.
_TYPED_NAME = re.compile(r"\w+:(token|float)(_seq)?")

# The most columns of a file.
_WIDEST = 10_000


class Delimited(FileFormat):
    """Records with a delimiter between their cells, below a line with the names of the columns."""

    contents: ClassVar[tuple[Contents, ...]] = ANY_TABLE
    names_columns = True
    delimiter: ClassVar[str]
    delimiters: ClassVar[str]
    """The word for several of them."""
    pads: ClassVar[bool] = False
    """Whether a record may lack cells at its end, which are then null."""

    def sniff(self, head: Head) -> Confidence:
        """Go by the names in the first line, then by the suffix."""
        first = cells(head.line, self.delimiter)
        is_named = is_header(first) or not set(first).isdisjoint(head.names)
        # one set of documents needs one column only
        if is_named and (len(first) > 1 or head.contents == "documents"):
            return Confidence.HEADER
        if len(first) > 1 and all(map(_TYPED_NAME.fullmatch, first)):
            return Confidence.HEADER
        return Confidence.SUFFIX if head.suffix in self.suffixes else Confidence.NONE

    def read(self, con: Connection, source: LocalFile, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read the records with the CSV reader, as text."""
        refuse_if_not_text(source)
        header, blank_lines = _header(source, self.delimiter)
        if any(map(is_number, header)) and "query_id" not in (*header, *mapping):
            names = "query_id, doc_id, " + ("rank, score" if kind == "run" else "relevance")
            if len(header) > names.count(",") + 1:
                names += ", and a name for each other column"
            raise InputError(
                f"{source.source}: neither a TREC run, nor qrels, nor a table with a header line: its "
                f"first line holds values ({', '.join(header[:6])}). Put a line with the names of the "
                f"columns on top ({names}, as they come, with {self.delimiters} between)"
                f"{self._bare(kind, source)}"
            )
        found, ranking = choose(
            source.source, kind, header, mapping,
            sample=lambda name: _first_cells(source, self.delimiter, header.index(name)),
        )  # fmt: skip
        with self._records(con, [source], len(header), blank_lines) as relation:
            tables.fill(con, kind, relation, _numbered(found, header, source))
            rejects = staging.run(con, "ingest/rejects", limit=LIMIT)
        lines = _Lines(source, self.delimiter, rejects, staging.row_count(con))
        warnings = _tidy(con, [source], kind, found)
        checks.check_staged(
            con, kind, source.source,
            word=ranking, unread=None, bad=lines.rejects(), columns=found,
            words=lambda problems: checks.in_words(problems, lines.of_row),
        )  # fmt: skip
        return Reading(ranking, warnings=warnings, value=found.get("value"))

    def read_table(
        self, con: Connection, source: LocalFile, key: str, ids: Collection[str]
    ) -> Table:
        """Read all columns as text."""
        refuse_if_not_text(source)
        header, blank_lines = _header(source, self.delimiter)
        check_names(source.source, header)
        with self._records(con, [source], len(header), blank_lines) as relation:
            rejects = _fill_table(con, relation, header)
        lines = _Lines(source, self.delimiter, rejects, staging.row_count(con, "staged_table"))
        lines.rejects().refuse(source.source)
        types = dict.fromkeys(header, "VARCHAR")
        return Table(source.source, self.name, source.sha256, types, False, lines.of_row)

    def batch_key(self, file: LocalFile, mapping: ColumnNames) -> tuple[object, ...] | None:
        """Return the header, where it stands, and the line ends."""
        if not file.traits.is_text:
            return None
        header, blank_lines = _header(file, self.delimiter)
        traits = file.traits
        ends = traits.has_return, traits.windows_ends, traits.has_blank
        return *ends, blank_lines, tuple(header)

    def read_batch(self, con: Connection, files: Files, mapping: ColumnNames) -> Readings | None:
        """Read all records in one statement."""
        header, blank_lines = _header(files[0], self.delimiter)
        found, ranking = choose(
            files[0].source, "run", header, mapping,
            sample=lambda name: _first_cells(files[0], self.delimiter, header.index(name)),
        )  # fmt: skip
        with self._records(con, files, len(header), blank_lines) as relation:
            tables.fill(con, "run", relation, _numbered(found, header, files[0]), together=True)
            if staging.any_reject(con):
                return None
            if _tidy(con, files, "run", found):
                return None  # reading each alone says so
        return tables.batch_readings(con, files, ranking, found["value"])

    def _bare(self, kind: Kind, source: LocalFile) -> str:
        """Return how a file without a header could be read as it is."""
        return ""

    @contextlib.contextmanager
    def _records(
        self, con: Connection, files: Sequence[LocalFile], width: int, blank_lines: int
    ) -> Iterator[str]:
        """Yield the SQL of the records as text columns c0, c1 …; refused ones are in `staged_reject`.

        Every file has this many columns, and this many blank lines above its header. Raises
        InputError for lines that are too long for the CSV reader, and for mixed line ends.
        """
        for file in files:
            refuse_long_lines(file)
            _refuse_other_ends(file)
        with staging.rejects(con), tables.table_errors(files[0].source):
            yield staging.render(
                "ingest/delimited", paths=[file.path for file in files],
                delimiter=self.delimiter, width=width, blank_lines=blank_lines,
                quote='"', header=True, pads=self.pads,
            )  # fmt: skip


class Csv(Delimited):
    """Records with commas between their cells."""

    name = "csv"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    delimiter = ","
    delimiters = "commas"

    def sniff(self, head: Head) -> Confidence:
        """Take a first line with commas and without blanks for a record, too."""
        confidence = super().sniff(head)
        is_record = "," in head.line and len(head.line.split()) == 1
        # the id of a document may have commas
        if confidence or not is_record or head.contents == "documents":
            return confidence
        return Confidence.SHAPE


class Tsv(Delimited):
    """Records with tabs between their cells."""

    name = "tsv"
    suffixes: ClassVar[tuple[str, ...]] = (".tsv",)
    delimiter = "\t"
    delimiters = "tabs"

    def _bare(self, kind: Kind, source: LocalFile) -> str:
        rows = [row for _, row in islice(_records(source, self.delimiter), 100)]
        is_one = _looks_bare(kind, [row for row in rows if _has_content(row)])
        alike = kind == "qrels" and len(rows[0]) == 2
        of_pairs = f" {option('relevance', '1')}, if each is relevant" if alike else ""
        return f", or read it as it is: {option('format', 'bare')}{of_pairs}" if is_one else ""

    def has_header(self, file: LocalFile, names: Collection[str]) -> bool:
        """Whether the first line with content has one of these names of columns."""
        refuse_if_not_text(file)
        return not set(_header(file, self.delimiter)[0]).isdisjoint(names)

    def read_bare(
        self, con: Connection, file: LocalFile, names: Mapping[int, Sequence[str]]
    ) -> Table:
        """Read the columns of a file without a header, whose names go by their number.

        A quote is a character like others.
        """
        refuse_if_not_text(file)
        first = file.text.partition("\n")[0].rstrip("\r").split(self.delimiter)
        if len(first) not in names:
            raise InputError(
                f"{file.source}: its first line neither names its columns nor has "
                f"{' or '.join(map(str, names))} of them with {self.delimiters} between, but "
                f"{len(first)}; put a line with their names on top"
            )
        columns = names[len(first)]
        refuse_long_lines(file)
        with staging.rejects(con), tables.table_errors(file.source):
            relation = staging.render(
                "ingest/delimited", paths=[file.path], delimiter=self.delimiter,
                width=len(columns), blank_lines=0, quote="", header=False, pads=False,
            )  # fmt: skip
            rejects = _fill_table(con, relation, columns)
        if rejects:  # without quotes, records are lines
            BadLines([row[:2] for row in rejects], rejects[0][2]).refuse(file.source)
        types = dict.fromkeys(columns, "VARCHAR")
        return Table(file.source, self.name, file.sha256, types, False, lambda row: row)


class BareTsv(Tsv):
    """Records with tabs, and without a line that names the columns, as Elliot and MovieLens have them.

    A run has user, item and score, or query, document and rank; judgments have user, item, rating and
    perhaps a time. Which of both the third column of a run is, its values say.
    """

    name = "bare"
    aliases: ClassVar[tuple[str, ...]] = ("elliot",)
    suffixes = ()
    contents: ClassVar[tuple[Contents, ...]] = ("run", "qrels", "training")
    names_columns = False

    def sniff(self, head: Head) -> Confidence:
        """Never guess it: three values in a line could be others."""
        return Confidence.NONE

    def batch_key(self, file: LocalFile, mapping: ColumnNames) -> tuple[object, ...] | None:
        """Read each alone."""
        return None

    def read(self, con: Connection, source: LocalFile, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read the columns by their positions."""
        table = self.read_bare(con, source, _BARE[kind])
        if kind != "run":
            return reshaped.read(con, table, kind, mapping)
        third = list(table.columns)[2]
        ((are_ranks, are_mixed, are_rising),) = staging.run(
            con, "checks/places_or_scores",
            table=f"(select query_id, {third} as third from staged_table)",
        )  # fmt: skip
        self.check_ranks(source, len(table.columns), are_ranks, are_mixed or are_rising)
        if not are_ranks or third == "rank":
            return reshaped.read(con, table, kind, mapping)
        con.execute("alter table staged_table rename column score to rank")
        named = replace(table, columns=dict.fromkeys(("query_id", "doc_id", "rank"), "VARCHAR"))
        reading = reshaped.read(con, named, kind, mapping)
        warning = "the third column counts the documents of each query: it is read as their ranks"
        return replace(reading, warnings=(*reading.warnings, *self.rank_warnings(warning)))

    def rank_warnings(self, warning: str) -> tuple[str, ...]:
        """Return the warnings about a third column that is read as ranks."""
        return (warning,)

    def check_ranks(
        self, source: LocalFile, width: int, are_ranks: bool, are_unclear: bool
    ) -> None:
        """Refuse a third column that may be scores or ranks."""
        if not are_ranks and (are_unclear or width > 3):
            raise InputError(
                f"{source.source}: it is not clear whether its third column is a score or a rank: put a "
                f"line with the names of its {width} columns on top (query_id, doc_id, score or rank, "
                f"with {self.delimiters} between)"
            )


class MsMarco(BareTsv):
    """Runs of MS MARCO: query, document and rank, with ColBERT's score as a fourth column, and tabs."""

    name = "msmarco"
    aliases: ClassVar[tuple[str, ...]] = ("colbert",)
    contents: ClassVar[tuple[Contents, ...]] = ("run",)

    def sniff(self, head: Head) -> Confidence:
        """Go by the third column: it counts the documents of each query."""
        if head.contents != "run" or len(head.line.split(self.delimiter)) not in _BARE["run"]:
            return Confidence.NONE
        # the last line may be cut
        lines = list(head.lines())[: None if head.text.endswith("\n") else -1]
        rows = [line.split(self.delimiter) for line in lines]
        if any(len(row) not in _BARE["run"] or not all(map(is_number, row[2:])) for row in rows):
            return Confidence.NONE
        # one document a query says nothing
        is_it = counts([row[0] for row in rows], [float(row[2]) for row in rows])
        return Confidence.CONTENT if is_it else Confidence.NONE

    def rank_warnings(self, warning: str) -> tuple[str, ...]:
        """Say nothing: it is the format."""
        return ()

    def check_ranks(
        self, source: LocalFile, width: int, are_ranks: bool, are_unclear: bool
    ) -> None:
        """Refuse a third column that is no rank."""
        if not are_ranks:
            raise InputError(
                f"{source.source}: a run of MS MARCO has the rank in its third column, from 1 on down "
                f"each list, and this one has not; if it is the score, {option('format', 'bare')}"
            )


def cells(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line.

    >>> cells('a,"b,c"', ",")
    ['a', 'b,c']
    """
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return line.split(delimiter)


def _looks_bare(kind: Kind, rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first rows of a file without a header are what BareTsv takes them for."""
    width = len(rows[0])
    if width not in _BARE.get(kind, {}) or any(len(row) != width for row in rows):
        return False
    if width == 2:
        return True
    times = [row for row in rows if UNIX_TIME.fullmatch(row[-1])]
    if not all(is_number(row[2]) for row in rows) or len(times) != (len(rows) if width > 3 else 0):
        return False
    if kind == "run":
        return width == 3
    # what counts the rows of a query is a rank, and a relevance is small
    thirds = [float(row[2]) for row in rows]
    return max(thirds) <= HIGHEST_GRADE and not counts([row[0] for row in rows], thirds)


def _numbered(found: Mapping[str, str], header: Sequence[str], file: LocalFile) -> tables.Columns:
    """Return the columns of records, which are identified by position."""
    columns = {ours: (f"c{header.index(theirs)}", "text") for ours, theirs in found.items()}
    return tables.trimmed_numbers(columns) if file.traits.has_blank else columns


def _fill_table(con: Connection, relation: str, names: Sequence[str]) -> list[tuple[int, str, int]]:
    """Fill `staged_table` from records, with names for their columns; return the first refused ones."""
    columns = ", ".join(f"c{place} as {ident(name)}" for place, name in enumerate(names))
    con.execute(f"create temp table staged_table as select {columns} from {relation}").fetchall()
    return staging.run(con, "ingest/rejects", limit=LIMIT)


def _tidy(
    con: Connection, files: Sequence[LocalFile], kind: Kind, found: Mapping[str, str]
) -> tuple[str, ...]:
    """Take away the blanks around staged ids, if there are any; return a warning."""
    if "value" in found and not any(file.traits.has_blank for file in files):
        return ()
    return tables.tidy_ids(con, files[0].source, kind, found)


def _refuse_other_ends(file: LocalFile) -> None:
    """Refuse lines that end differently from those above: the CSV reader goes by the first."""
    if not file.traits.has_return or file.traits.windows_ends:
        return
    first = None
    for line, end in _ends(file):
        first = first or end
        if end != first:
            reason = f"ends with {end}, and the lines above it with {first}: end all lines alike"
            raise InputError(f"{file.source}: 1 problem", problems=[(line, reason)])


def _header(file: LocalFile, delimiter: str) -> tuple[list[str], int]:
    """Return the cells of the first line with content, and the number of blank lines above it.

    Raises InputError if there is none, or if it has too many: the engine would take minutes.
    """
    for line, record in _records(file, delimiter):
        if len(record) > _WIDEST:
            raise InputError(
                f"{file.source}: line {line} has {len(record):,} columns, and a table may have "
                f"{_WIDEST:,}: give each document a row of its own"
            )
        if _has_content(record):
            return [name.strip() for name in record], line - 1
    raise EmptyError(file.source, "line")


def _first_cells(file: LocalFile, delimiter: str, index: int) -> list[str]:
    """Return the first cells of a column below its name."""
    rows = (record for _, record in _records(file, delimiter) if _has_content(record))
    return [record[index] for record in islice(rows, 1, 101) if len(record) > index]


def _has_content(record: Sequence[str]) -> bool:
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


class _Lines:
    """The lines on which the records and the rows of a delimited file begin.

    DuckDB numbers records, blank ones too, but not lines; rows are the records that it accepted. If
    every row is one line, that is simple. Otherwise Python reads the file again, as far as the
    problems to show reach. `rejects` are the first refused records: after the last of them, lines
    may come out too small, but never small enough to be among the first problems.
    """

    def __init__(
        self, file: LocalFile, delimiter: str, rejects: Sequence[tuple[int, str, int]], rows: int
    ) -> None:
        self._file = file
        self._rows = rows
        self._total = rejects[0][2] if rejects else 0
        self._reasons = {number: reason for number, reason, _ in rejects}
        self._records = enumerate(_records(file, delimiter), 1)
        self._record_lines: dict[int, int] = {}
        self._row_lines: list[int] = []
        self._header_seen = False

    def rejects(self) -> BadLines:
        """Return the lines of the refused records."""
        while len(self._record_lines) < len(self._reasons) and self._step():
            pass
        problems = ((self._record_lines.get(n, n), reason) for n, reason in self._reasons.items())
        return BadLines(list(problems), self._total)

    def of_row(self, number: int) -> int:
        """Return the line on which a row begins."""
        if self._is_simple:
            return number + 1
        while number > len(self._row_lines) and self._step():
            pass
        return self._row_lines[number - 1] if number <= len(self._row_lines) else number + 1

    @cached_property
    def _is_simple(self) -> bool:
        return not self._reasons and self._rows + 1 == self._file.lines

    def _step(self) -> bool:
        number, (line, record) = next(self._records, (0, (0, [])))
        if not number:
            return False
        if number in self._reasons:
            self._record_lines[number] = line
        elif record and self._header_seen:
            self._row_lines.append(line)
        self._header_seen = self._header_seen or _has_content(record)
        return True
