"""Output: data to stdout, narration to stderr."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from warehouse.errors import UsageError, counted, is_utf8, visible
from warehouse.report import file_replacement, formats, pictures, screens
from warehouse.report.result import Result
from warehouse.report.screens import Screen
from warehouse.sql_text.quoting import ident, literal

if TYPE_CHECKING:
    import duckdb

    from warehouse.ingest.steps import Loaded


_COMPRESSED = ("gz", "bz2", "xz", "zst")


def say(text: str, screen: Screen | None = None) -> None:
    """Print narration to stderr, with control characters from names and values escaped.

    Next to a table on a screen it is dim.
    """
    shown = visible(text, lines=True)
    has_table = screen is not None and sys.stderr.isatty()
    print(screen.dim(shown) if screen and has_table else shown, file=sys.stderr)


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
    elif format in pictures.FORMATS:
        pictures.check(format, output)
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
    if loaded.kind == "qrels" and loaded.name != loaded.dataset:
        label = f"judgments of {loaded.name}"
    say(
        f"{label}: {loaded.status}{version} "
        f"({counted(loaded.num_rows, what)}, {counted(loaded.num_queries, 'query')})"
    )
    for text in loaded.warnings:
        warn(f"{label}: {text}")


def say_names(found: Result) -> None:
    """Say which metric each name stands for that was asked for."""
    for metric, label in found.labels.items():
        say(f"{visible(label)}: {visible(metric)}")


def say_where(asked: str | None, dataset: str) -> None:
    """Say into which dataset a source was loaded, if none was asked for."""
    if asked is None:
        say(f"loaded into {dataset}, the only dataset")


def show(
    found: Result | duckdb.DuckDBPyRelation,
    format: str,
    output: Path | None,
    *,
    places: int | None = None,
    wide: bool = False,
    titles: Mapping[str, str] | None = None,
    counts: Collection[str] = (),
) -> None:
    """Write a result, and its notes to stderr, or a relation with these titles and counts.

    A table on a terminal fits it, unless it is to be `wide`.
    """
    result = found if isinstance(found, Result) else Result(found, titles=titles, counts=counts)
    digits = result.places if places is None else places
    screen = screen_for(format, output, digits=digits, wide=wide)
    if screen is not None:
        _to_stdout(screen.visible(result.on(screen)))
    elif format == "parquet":
        with new_file(parquet_file(output)) as path:
            result.write(path, format, digits)
    elif output is not None and format in pictures.FORMATS:
        with new_file(output) as path:
            result.write(path, format)
    else:
        emit(result.document(format, digits), output, format)
    for note in result.rounded_notes(digits):
        say(note, screen)
    if screen is not None and screen.note():
        say(screen.note(), screen)


def screen_for(
    format: str, output: Path | None, *, digits: int = 4, wide: bool = False
) -> Screen | None:
    """Return the terminal that a table is shown on, or None if it goes elsewhere."""
    if output is not None or format != "table":
        return None
    screen = screens.of_terminal(sys.stdout, os.environ)
    return screen and replace(
        screen, digits=digits, width=screens.ENDLESS if wide else screen.width
    )


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
