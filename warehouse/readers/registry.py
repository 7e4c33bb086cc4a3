"""The formats: the one module that knows all of them, and values derived from their descriptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path, PurePath
from typing import Any

from warehouse import extending
from warehouse.errors import InputError, UsageError, WarehouseError, check_text, nearest, option
from warehouse.readers import files
from warehouse.readers.arrow import Arrow
from warehouse.readers.csv_tsv import BareTsv, Csv, MsMarco, Tsv
from warehouse.readers.files import COMPRESSED, LocalFile
from warehouse.readers.formats import Confidence, FileFormat, Format, Head, ObjectFormat
from warehouse.readers.jsonl import JsonLines
from warehouse.readers.kinds import COLUMNS, Contents, Kind
from warehouse.readers.objects import TableObject
from warehouse.readers.parquet import Parquet
from warehouse.readers.prefs import Preferences
from warehouse.readers.ranx import Dict, NestedJson
from warehouse.readers.records import Records
from warehouse.readers.sampled import Sampled
from warehouse.readers.text import Text
from warehouse.readers.trec import Trec

# In the order in which they are listed; of two that are equally sure of a file, the first one reads it.
FORMATS: list[FileFormat] = [
    Trec(), Csv(), Tsv(), JsonLines(), Parquet(), Arrow(), NestedJson(), BareTsv(), MsMarco(),
    Preferences(), Sampled(), Text(),
]  # fmt: skip
# Of sources in memory, the first one that takes an object reads it.
IN_MEMORY: list[ObjectFormat] = [Dict(), Records(), TableObject()]


@cache
def _added() -> dict[FileFormat | ObjectFormat, str]:
    """Return the formats that extensions add, each under a name that no other one has."""
    taken = {one.name for one in (*FORMATS, *IN_MEMORY)}
    found: dict[FileFormat | ObjectFormat, str] = {}
    for extension, kind in extending.objects("formats"):
        for one in extending.attempt(extension, f"format {kind.__name__}", kind):
            if not isinstance(one, FileFormat | ObjectFormat) or one.name in taken:
                extending.leave_out(extension, f"format {one.name}: is none, or its name is taken")
            else:
                taken.add(one.name)
                found[one] = extension
    return found


def of_files() -> list[FileFormat]:
    """Return the formats of files, ours first."""
    return [*FORMATS, *(one for one in _added() if isinstance(one, FileFormat))]


def of_objects() -> list[ObjectFormat]:
    """Return the formats of objects in memory; extensions' formats are asked first."""
    return [*(one for one in _added() if isinstance(one, ObjectFormat)), *IN_MEMORY]


# The names of all of our columns.
_COLUMN_NAMES = {name for columns in COLUMNS.values() for name in columns}
# The kinds of rows, as the subject of a sentence.
_WHAT: Mapping[Contents, str] = {
    "run": "a run is",
    "qrels": "qrels are",
    "iterations": "judgments by iteration are",
    "preferences": "preferences are",
    "training": "a training set is",
    "attributes": "attributes are",
    "documents": "one set of documents for all queries is",
}


def names(contents: Contents) -> list[str]:
    """Return the names of the formats of files that can hold some contents.

    >>> names("run")[:7]
    ['trec', 'csv', 'tsv', 'jsonl', 'parquet', 'arrow', 'ranx']
    """
    return [format.name for format in of_files() if contents in format.contents]


def find(name: str, contents: Contents) -> FileFormat:
    """Return the format of a name or an alias. Raises UsageError unless it can hold the contents.

    >>> find("ndjson", "run").name
    'jsonl'
    """
    folded = check_text("format", name).lower()
    for format in of_files():
        if folded in (format.name, *format.aliases):
            if contents not in format.contents:
                raise UsageError(_refusal(format, contents))
            return format
    known = names(contents)
    raise UsageError(f"unknown format {name!r}{nearest(folded, known)} (known: {', '.join(known)})")


def guess(file: LocalFile, contents: Contents, columns: Iterable[str] = ()) -> FileFormat:
    """Return the format of a file with some contents, of which some have these names of `columns`.

    Raises InputError if it is not clear.
    """
    head = Head(file.head, file.text, file.suffix, contents, {*columns})
    format = max(of_files(), key=lambda format: _sureness(format, head))
    if contents not in format.contents:
        if contents in format.lacks:
            raise UsageError(f"{file.source}: {format.lacks[contents]}")
        known = ", ".join(names(contents))
        raise InputError(
            f"{file.source}: its format is not clear: say it with {option('format', None)}: {known}"
        )
    if objection := format.objection(head):
        raise InputError(f"{file.source}: {objection}")
    return format


def _sureness(format: FileFormat, head: Head) -> Confidence:
    """Return how sure a format is of a file; one of an extension that fails is not."""
    if format not in _added():
        return format.sniff(head)
    sure = extending.attempt(_added()[format], f"{format.name}", lambda: format.sniff(head))
    return next(sure, Confidence.NONE)


def in_memory(source: Any, contents: Contents) -> ObjectFormat:
    """Return the format of an object in memory. Raises UsageError unless it can hold the contents."""
    format = next(format for format in of_objects() if format.takes(source))
    name = format.source_name(source)
    if contents not in format.contents:
        raise UsageError(f"{name}: {_refusal(format, contents)}")
    return format


def missing(source: Any) -> WarehouseError | None:
    """Return the error for a source that names no file and no dataset, before it is read."""
    named = meant(source, "qrels")
    return files.missing(source) if named is source else in_memory(named, "qrels").missing(named)


def meant(source: Any, contents: Contents) -> Any:
    """Return the dataset or the folder that a text or a path names; others as they are."""
    for format in of_objects():
        source = format.meant(source, contents)
    return source


def is_source(folder: Path) -> bool:
    """Whether a folder holds one source."""
    return any(format.is_folder(folder) for format in of_objects())


def qrels_kind(format: str | None, *, iterations: bool) -> Kind:
    """Return the kind as which qrels are read.

    >>> qrels_kind("trec", iterations=True), qrels_kind("prefs", iterations=False)
    ('iterations', 'preferences')
    """
    kind: Kind = "qrels" if format is None else find(format, "qrels").kind_of("qrels")
    if not iterations:
        return kind
    if kind == "preferences":
        raise UsageError(
            f"preferences have groups and subgroups: {option('iterations')} is for judgments, "
            f"the format {format} for preferences; take one of the two"
        )
    return "iterations"


def check_mapping(format: Format, mapping: Mapping[str, str]) -> None:
    """Refuse names for the columns of a format whose columns have none."""
    if mapping and not format.names_columns:
        can = [one.name for one in (*of_files(), *of_objects()) if one.names_columns]
        raise UsageError(f"columns can be named for {', '.join(can)}, not for {format.name}")


def column_names(mapping: Mapping[str, str]) -> set[str]:
    """Return the names of columns by which the header of a table of ours is known."""
    return _COLUMN_NAMES | {*mapping.values()}


def is_file_name(name: str) -> bool:
    """Whether a name has the suffix of a file that is read here; metrics have none.

    >>> is_file_name("bm25.run.gz"), is_file_name("P.5,10")
    (True, False)
    """
    suffixes = (*COMPRESSED, *(suffix for format in of_files() for suffix in format.suffixes))
    return PurePath(name).suffix.lower() in suffixes


def _refusal(format: Format, contents: Contents) -> str:
    if contents in format.lacks:
        return format.lacks[contents]
    known = ", ".join(names(contents))
    return f"{_WHAT[contents]} read from files of the format {known}, not from {format.name}"
