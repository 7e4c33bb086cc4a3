"""What goes to stdout (data) and to stderr (narration)."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from warehouse.errors import UsageError, counted, is_utf8, visible
from warehouse.report import file_replacement, formats
from warehouse.report.result import Result
from warehouse.sql_text.quoting import ident, literal

if TYPE_CHECKING:
    import duckdb

    from warehouse.ingest import Loaded


_COMPRESSED = ("gz", "bz2", "xz", "zst")


def say(text: str) -> None:
    """Print narration to stderr, with control characters from names and values escaped."""
    print(visible(text, lines=True), file=sys.stderr)


def warn(text: str) -> None:
    """Print a warning to stderr."""
    say(f"warning: {text}")


def choose_format(
    format: str | None, output: Path | None, more: Sequence[str] = (), *, safe: bool = False
) -> str:
    """Return the requested format, else the one that the file's suffix names, else table.

    If `safe`, it is one without formulas of spreadsheets; only CSV and TSV have one.

    >>> choose_format(None, Path("board.md")), choose_format("csv", Path("board.md"))
    ('markdown', 'csv')
    """
    known = (*formats.FORMATS, *more)
    suffix = "" if output is None else output.suffix.removeprefix(".").lower()
    named = formats.SUFFIXES.get(suffix, suffix)
    if suffix in _COMPRESSED or (format is None and named[:1].isalpha() and named not in known):
        raise UsageError(f"{output}: results are written as {', '.join(known)}, not as .{suffix}")
    if format is None:
        format = named if named in known else "table"
    if formats.check(format, known) == "parquet":
        parquet_file(output)
    if safe and format not in formats.SAFE:
        raise UsageError(f"--safe-csv is for -f csv and -f tsv, not for {format}")
    return formats.SAFE[format] if safe else format


def emit(text: str, output: Path | None, format: str = "table") -> None:
    """Write a result to stdout or to a file; a page of text counts as a table here."""
    with open_writer(output, format) as write:
        write(text)


@contextmanager
def open_writer(output: Path | None, format: str) -> Iterator[Callable[[str], object]]:
    """Yield a function that writes to stdout, or to a file that appears when the block succeeds.

    Other formats than tables are the same bytes on stdout as in a file: UTF-8, whatever the
    terminal. Control characters are escaped in what people read, and all of them on a terminal, which
    would obey them.
    """
    is_text = format in formats.FOR_PEOPLE
    if output is None:
        if format != "table" and isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
        is_shown = is_text or sys.stdout.isatty()
        yield lambda text: _to_stdout(visible(text, lines=True) if is_shown else text)
        return
    with new_file(output) as path, path.open("w", encoding="utf-8", newline="") as file:
        yield lambda text: file.write(visible(text, lines=True) if is_text else text)


@contextmanager
def new_file(output: Path) -> Iterator[Path]:
    """Yield a path to write a file to; report the file when it is in place."""
    with file_replacement.new_file(output) as path:
        yield path
    say(f"wrote {output}")


def _to_stdout(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def parquet_file(output: Path | None) -> Path:
    """Return the file to write Parquet to, which is required."""
    if output is None:
        raise UsageError("-f parquet needs a file: -o FILE")
    if not is_utf8(str(output.absolute())):
        raise UsageError(f"{output}: is not UTF-8: give Parquet another name, or another folder")
    return output


def say_loaded(loaded: Loaded) -> None:
    """Print the outcome of loading a source, with its warnings."""
    what = {"qrels": "judgment", "training": "example", "run": "prediction"}[loaded.kind]
    version = f", version {loaded.version}" if loaded.status == "replaced" else ""
    of_dataset = {"qrels": "qrels", "training": "training set"}.get(loaded.kind)
    label = f"{of_dataset} of {loaded.dataset}" if of_dataset else loaded.name
    say(
        f"{label}: {loaded.status}{version} "
        f"({counted(loaded.num_rows, what)}, {counted(loaded.num_queries, 'query')})"
    )
    for text in loaded.warnings:
        warn(f"{label}: {text}")


def show(
    found: Result | duckdb.DuckDBPyRelation,
    format: str,
    output: Path | None,
    *,
    places: int = 4,
    titles: Mapping[str, str] | None = None,
    counts: Collection[str] = (),
) -> None:
    """Write a result, and its notes to stderr, or a relation with these titles and counts."""
    result = found if isinstance(found, Result) else Result(found, titles=titles, counts=counts)
    if format == "parquet":
        with new_file(parquet_file(output)) as path:
            result.write(path, format)
    else:
        emit(result.text(format, places), output, format)
    for note in result.told(places):
        say(note)


def transpose(relation: duckdb.DuckDBPyRelation, column: str) -> duckdb.DuckDBPyRelation:
    """Transpose a relation; a column's values become the names: for few rows with many columns.

    >>> import duckdb
    >>> transpose(duckdb.sql("select 1 as version, 'bm25' as run"), "version").fetchall()
    [('run', 'bm25')]
    """
    others = [name for name in relation.columns if name != column]
    heads = [f"{column} {row[0]}" for row in relation.project(ident(column)).fetchall()]
    rows = relation.project(", ".join(f"{ident(name)}::varchar" for name in others)).fetchall()
    lines = [(name, *(row[place] for row in rows)) for place, name in enumerate(others)]
    shown = [line for line in lines if any(cell is not None for cell in line[1:])]
    values = ", ".join(f"({', '.join(literal(cell) for cell in line)})" for line in shown)
    names = ", ".join(map(ident, ["of", *heads]))
    from warehouse.store import database

    con = database.start()
    con.execute(f"create table turned as from (values {values}) as t({names})")
    return con.table("turned")


class Steps:
    """A step counter on stderr, drawn only on a terminal; the number of steps is unknown."""

    def __init__(self) -> None:
        self.done = 0
        self.active = sys.stderr.isatty()

    def step(self, label: str) -> None:
        """Count one more."""
        self.done += 1
        if self.active:
            sys.stderr.write(f"\r\x1b[K{visible(label)}: {self.done}")
            sys.stderr.flush()

    def __enter__(self) -> Callable[[str], None]:
        return self.step

    def __exit__(self, *_: object) -> None:
        if self.active and self.done:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Progress:
    """A counter on stderr, drawn only on a terminal; a total of 0 is unknown."""

    def __init__(self, what: str, total: int) -> None:
        self.what = what
        self.total = total
        self.done = 0
        self.active = sys.stderr.isatty() and total != 1

    def step(self, label: str) -> None:
        """Count one more."""
        self.done += 1
        if self.active:
            of_all = f"/{self.total}" if self.total else ""
            sys.stderr.write(f"\r\x1b[K{self.what} {self.done}{of_all}  {visible(label)}")
            sys.stderr.flush()

    def close(self) -> None:
        """Remove the line."""
        if self.active:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def __enter__(self) -> Callable[[str], None]:
        return self.step

    def __exit__(self, *_: object) -> None:
        self.close()
