"""A text file as blocks of whole lines with their line numbers: the careful way of reading.

Each block goes to DuckDB as one bound text: no CSV rule stands between a line and its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warehouse.config import limits
from warehouse.errors import InputError, counted
from warehouse.readers.files import BOM, LocalFile
from warehouse.readers.kinds import FIELDS
from warehouse.readers.staging import render

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

# The most problems of a source that an error shows.
LIMIT = 10
BLOCK = 1 << 22
# The longest line that DuckDB's CSV reader accepts; it silently drops what exceeds its buffers.
LONGEST_RECORD = 1 << 21
# White space in C, and so in trec_eval, except the newline and the carriage return, which ends lines.
_BLANKS = bytes.maketrans(b"\t\v\f", b"   ")
# The number of bytes in which the last line is sought first.
_TAIL = 1 << 12
# What no line holds: bytes that are no text, byte order marks where it begins, other ends of lines.
_NOT_TEXT = re.compile("[\x00\udc80-\udcff]|(?:(?<=[\r\n])|\\A)\ufeff|\r")
_NOT_TEXT_BUT_RETURNS = re.compile(_NOT_TEXT.pattern.removesuffix("|\r"))
_WRONG = {
    "\x00": "holds a NUL byte",
    "\ufeff": "begins with a byte order mark, as where files were put together: take it out",
    "\r": "holds a carriage return, as lines of old Macs end: end each line with a newline",
}
# A comment begins so; a line of data may, too.
_HASH = "#"
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# A number above is no relevance for certain: a file without a header may have anything there.
HIGHEST_GRADE = 10
# From 1973 on, in seconds; in milliseconds that is more digits.
UNIX_TIME = re.compile(r"[1-9]\d{8,12}")
_GRADE = re.compile(r"[+-]?[0-9]+([.]0+)?")
_BLANK = re.compile(r"[ \t]+")


@dataclass(frozen=True)
class Block:
    """Whole lines; `first` is the number of the first one."""

    text: str
    first: int


@dataclass
class BadLines:
    """The lines that cannot be read: the first few with the reason, and their number."""

    problems: list[tuple[int, str]] = field(default_factory=list)
    total: int = 0

    def add(self, line: int, reason: str) -> None:
        """Count a line and keep it if it is among the first."""
        self.total += 1
        if len(self.problems) < LIMIT:
            self.problems.append((line, reason))

    def refuse(self, source: str, opening: str = "{problems}") -> None:
        """Raise InputError for the lines; `opening` may have their number as {problems} or {lines}."""
        if self.total:
            number = {noun: counted(self.total, noun[:-1]) for noun in ("problems", "lines")}
            raise InputError(
                f"{source}: {opening.format(**number)}",
                problems=sorted(self.problems),
                total=self.total,
            )


def insert_lines(
    con: Connection,
    file: LocalFile,
    template: str,
    *,
    single_blanks: bool = True,
    skipped: int = 0,
    **values: Any,
) -> BadLines:
    """Run a template that inserts lines for each block; return the lines that are not text.

    The first ones are `skipped`.
    """
    bad = BadLines()
    sql = render(template, **values)
    for block in blocks(file, bad, single_blanks=single_blanks):
        text = block.text
        if block.first <= skipped:
            lines = text.split("\n")
            gone = min(len(lines) - 1, skipped - block.first + 1)
            text = "\n" * gone + "\n".join(lines[gone:])
        con.execute(sql, {"text": text, "first": block.first}).fetchall()
    return bad


def fields_of(line: str) -> list[str]:
    """Return the fields of a line of a TREC file."""
    return _BLANK.split(line.strip(" \t\r\n"))


def is_number(text: str) -> bool:
    """Whether a field holds a number, so that it is not a column name."""
    return NUMBER.fullmatch(text.strip()) is not None


def counts(queries: Sequence[str], numbers: Sequence[float]) -> bool:
    """Whether numbers count the rows of each query, from 0 or 1, where one has several.

    >>> counts(["a", "a", "b"], [1, 2, 1]), counts(["a", "b"], [1, 1]), counts(["a", "a"], [2, 1])
    (True, False, False)
    """
    last, last_number = None, -1.0
    for query, number in zip(queries, numbers, strict=True):
        if number not in ((last_number + 1,) if query == last else (0, 1)):
            return False
        last, last_number = query, number
    return len(set(queries)) < len(queries)


def has_fields(line: str) -> bool:
    """Whether a line could belong to TREC qrels or a TREC run.

    >>> has_fields("q1 0 d1 2"), has_fields("q1 Q0 d1 1 0.5 tag"), has_fields("a,b")
    (True, True, False)
    """
    fields = fields_of(line)
    if len(fields) == FIELDS["qrels"]:
        return _GRADE.fullmatch(fields[3]) is not None
    if len(fields) < FIELDS["run"] or not is_number(fields[4]):
        return False
    return len(fields) == FIELDS["run"] or is_number(fields[3])


def is_comment(line: str) -> bool:
    """Whether a line begins with # and has not the fields of a TREC file: an id may begin so, too.

    >>> is_comment("# a note"), is_comment("#1 0 d1 2")
    (True, False)
    """
    return line.lstrip().startswith(_HASH) and not has_fields(line)


def hash_warnings(con: Connection, file: LocalFile) -> tuple[str, ...]:
    """Return the warning about a file where # begins lines of both kinds, data and comments."""
    sql = "select count(*), min(line) from staged where starts_with(query_id, $1)"
    ((data, first),) = con.execute(sql, [_HASH]).fetchall()
    if not data:
        return ()
    every = sum(
        f"\n{block.text}".count(f"\n{_HASH}")
        for block in blocks(file, BadLines(), single_blanks=True)
    )
    if every == data:
        return ()
    return (
        f"{_HASH} begins {counted(data, 'line')} of data, which {'is' if data == 1 else 'are'} read "
        f"(line {first:,}{'' if data == 1 else ' first'}), and {counted(every - data, 'comment')}: "
        "a comment is what lacks the fields of the format",
    )


def blocks(
    file: LocalFile, bad: BadLines, *, single_blanks: bool, returns: bool = False
) -> Iterator[Block]:
    """Yield the file's lines in blocks; a line that is not text is emptied and reported to `bad`.

    So is one with a carriage return before its end, unless it may have `returns`. With
    `single_blanks`, tabs and feeds count as blanks, runs of blanks become one, and blanks at both
    ends of a line are removed.
    """
    wrong = _NOT_TEXT_BUT_RETURNS if returns else _NOT_TEXT
    first, most = 1, limits.current()
    with Path(file.path).open("rb") as handle:
        rest = b""
        while True:
            block = handle.read(BLOCK)
            data = rest + block
            if block:
                cut = data.rfind(b"\n") + 1
                data, rest = data[:cut], data[cut:]
                if len(rest) > most.line_bytes:
                    reason = f"longer than {most.line}: not a text of lines"
                    raise InputError(f"{file.source}: 1 problem", problems=[(first, reason)])
            if data:
                if first == 1:
                    data = data.removeprefix(BOM)
                data = data if returns else _without_returns(data)
                data = _with_single_blanks(data) if single_blanks else data
                yield Block(_text(data, first, bad, wrong), first)
                first += data.count(b"\n")
            if not block:
                return


def _without_returns(data: bytes) -> bytes:
    """Remove carriage returns where lines end, with the blanks there if any other is there."""
    data = data.replace(b"\r\n", b"\n")
    if b"\r" not in data:
        return data
    return b"\n".join(line.rstrip(b" \t\r\v\f") for line in data.split(b"\n"))


def _with_single_blanks(data: bytes) -> bytes:
    data = data.translate(_BLANKS)
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    return data.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def _text(data: bytes, first: int, bad: BadLines, wrong: re.Pattern[str]) -> str:
    if not any(one in data for one in (b"\x00", b"\r", BOM)):
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            pass
    text = data.decode("utf-8", "surrogateescape")
    kept: list[str] = []
    done, line = 0, first
    while found := wrong.search(text, done):
        start = text.rfind("\n", done, found.start()) + 1 or done
        end = text.find("\n", found.end())
        end = len(text) if end < 0 else end
        line += text.count("\n", done, start)
        bad.add(line, _WRONG.get(found.group(), "not UTF-8"))
        kept.append(text[done:start])
        done = end
    kept.append(text[done:])
    return "".join(kept)


def refuse_if_not_text(file: LocalFile) -> None:
    """Raise InputError with the lines that are not UTF-8 or hold a NUL byte, if there are any."""
    if file.traits.is_text:
        return
    bad = BadLines()
    for _ in blocks(file, bad, single_blanks=False, returns=True):
        pass
    bad.refuse(file.source, "not UTF-8 text: {lines}")


def refuse_long_lines(file: LocalFile) -> None:
    """Raise InputError with the lines that are longer than the CSV reader takes, if there are any.

    The file is text; a carriage return ends a line, too.
    """
    if file.traits.longest_gap <= LONGEST_RECORD:
        return
    bad = BadLines()
    with Path(file.path).open(encoding="utf-8") as handle:
        for number, line in enumerate(handle, start=1):
            if len(line.encode()) > LONGEST_RECORD:
                bad.add(number, f"longer than {LONGEST_RECORD >> 20} MiB")
    bad.refuse(file.source, "{lines} too long for a table")


def last_line(file: LocalFile) -> str | None:
    """Return the last line that is neither blank nor a comment, with single blanks."""
    size = _TAIL
    while True:
        with Path(file.path).open("rb") as handle:
            handle.seek(max(0, file.size - size))
            tail = handle.read().removeprefix(BOM)
        lines = _with_single_blanks(_without_returns(tail)).decode("utf-8", "replace").split("\n")
        whole = lines if size >= file.size else lines[1:]  # the first may have been cut
        line = next((line for line in reversed(whole) if line and not is_comment(line)), None)
        if line is not None or size >= file.size:
            return line
        size *= 16
