"""A format: its names and contents, how a file of it is recognised, and how it is read."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from warehouse.errors import InputError, UsageError, WarehouseError
from warehouse.readers import checks, staging
from warehouse.readers.files import LocalFile
from warehouse.readers.kinds import ColumnNames, Contents, Kind, Ranking
from warehouse.readers.lines import LIMIT, is_comment

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from warehouse.readers.ir_metadata import Description


class Confidence(IntEnum):
    """How sure a format is that a file is its own; of two that are equally sure, the first one wins."""

    NONE = 0
    DEFAULT = 1  # fallback: no other format matches
    SHAPE = 2  # the first line could be of this format
    SUFFIX = 3  # the file's name has its suffix
    LAYOUT = 4  # the first line has its fields, with numbers where numbers belong
    HEADER = 5  # the first line names our columns
    BINARY_SUFFIX = 6  # the file's name has the suffix of a binary format: its text means nothing
    CONTENT = 7  # the first bytes are of this format
    CERTAIN = 8  # the first bytes are of this format, and of no other that begins alike
    NAMED = 9  # the first bytes have a word that only this format has


@dataclass(frozen=True)
class Head:
    """The beginning of a file, as bytes and as text, and the contents that the caller wants.

    That is some contents, in columns of which some have these `names` if columns have names.
    """

    data: bytes
    text: str
    suffix: str
    contents: Contents
    names: Collection[str]

    @cached_property
    def line(self) -> str:
        """The first line that is neither blank nor a comment, or an empty text."""
        return next(self.lines(), "")

    def lines(self) -> Iterator[str]:
        """Yield the lines that are neither blank nor comments; the last one may be cut."""
        for line in io.StringIO(self.text, newline="\n"):
            if line.strip() and not is_comment(line):
                yield line.removesuffix("\n").rstrip("\r")


@dataclass(frozen=True)
class Reading:
    """A format's notes on a source that it has read into the table `staged`.

    `ranked_by` says what the scores of a run are, `tag` is its TREC tag, `warnings` are about the
    source as a whole, `about` is what its header says of it, and `value` is the name of the column from
    which scores or relevances come, of a list without these the column of documents. `is_view` is
    as in `Staged`.
    """

    ranked_by: Ranking = "score"
    tag: str | None = None
    warnings: tuple[str, ...] = ()
    about: Description | None = None
    value: str | None = None
    is_view: bool = False


@dataclass(frozen=True)
class Table:
    """A source as the temporary table `staged_table`, in the order of its rows.

    `columns` is `{name: DuckDB type}`; in a format without types (`typed` is False) all are text.
    `line_of` converts the number of a row to its line, if the source has lines.
    """

    source: str
    format: str
    sha256: str | None
    columns: Mapping[str, str]
    typed: bool = True
    line_of: Callable[[int], int] | None = None

    def refuse(self, found: Iterable[checks.Problem], total: int) -> InputError:
        """Return the error for rows with problems, by line or by row."""
        return checks.refuse(self.source, self.in_words(found), total)

    def check(self, con: Connection, check: str, **values: Any) -> None:
        """Refuse the rows that a check finds: their numbers, the problem, the earlier row, the count."""
        found = staging.run(con, check, place=checks.POSITION, limit=LIMIT, **values)
        if found:
            problems = [checks.Problem(row, None, None, why, at) for row, why, at, _ in found]
            raise self.refuse(problems, int(found[0][3]))

    def in_words(
        self, found: Iterable[checks.Problem], row_of: Callable[[int], int] = int
    ) -> checks.LineProblems:
        """Return the problems by line or by row; `row_of` converts a position to a row."""
        if self.line_of is None:
            return checks.in_words_by_row(found, row_of)
        line_of = self.line_of
        return checks.in_words(found, lambda position: line_of(row_of(position)))


# The contents of tables with named columns.
ANY_TABLE: tuple[Contents, ...] = (
    "run", "qrels", "iterations", "training", "attributes", "documents",
)  # fmt: skip
Files = Sequence[LocalFile]
Readings = Sequence[Reading]


class Format(ABC):
    """A format of sources.

    A new format is a subclass of `FileFormat` in a module named after it, and one instance in
    `registry.FORMATS`: messages, help and guesses follow from the class's own description.
    """

    name: ClassVar[str]
    contents: ClassVar[tuple[Contents, ...]]
    """The possible contents of a source of this format."""
    lacks: ClassVar[Mapping[Contents, str]] = {}
    """Why it cannot hold something that one might expect."""
    names_columns: ClassVar[bool] = False
    """Whether its columns have names, so that the user can map them to ours."""
    unit: ClassVar[str] = "line"
    """The unit in which its data are counted, for messages."""

    @abstractmethod
    def source_name(self, source: Any) -> str:
        """Return the name of a source in messages."""

    @abstractmethod
    def read(self, con: Connection, source: Any, kind: Kind, mapping: ColumnNames) -> Reading:
        """Fill the table `staged` of `readers.stage` from a source. Raises InputError.

        It ends with `checks.check_staged`, or `tables.read`, which calls that.
        """

    def read_table(self, con: Connection, source: Any, key: str, ids: Collection[str]) -> Table:
        """Fill the table `staged_table` with all columns of a source that names its columns.

        `key` names the column for the outer keys of nested values; the columns of `ids` keep all
        their digits. Formats that can hold attributes have this method. Raises InputError.
        """
        raise UsageError(f"attributes are not read from files of the format {self.name}")


class ObjectFormat(Format):
    """A format of objects in memory."""

    unit = "row"

    @abstractmethod
    def takes(self, source: Any) -> bool:
        """Whether an object is of this format."""

    def meant(self, source: Any, contents: Contents) -> Any:
        """Return the object of this format that a text or a path names; others as they are."""
        return source

    def missing(self, source: Any) -> WarehouseError | None:
        """Return the error for an object that names nothing that is there, before it is read."""
        return None

    def is_folder(self, folder: Path) -> bool:
        """Whether a folder holds one source of this format, and nothing else."""
        return False


class FileFormat(Format):
    """A format of files."""

    aliases: ClassVar[tuple[str, ...]] = ()
    suffixes: ClassVar[tuple[str, ...]] = ()
    text_size: ClassVar[int] = 1
    """The size of its content as TREC text relative to the size of a file, measured on large runs."""

    def source_name(self, source: LocalFile) -> str:
        """Return the path as given, or <stdin>."""
        return source.source

    @abstractmethod
    def sniff(self, head: Head) -> Confidence:
        """Return how sure it is that a file that begins so is of this format."""

    def objection(self, head: Head) -> str:
        """Return why a file should not be read that is most likely of this format, and what to do."""
        return ""

    def kind_of(self, kind: Kind) -> Kind:
        """Return the kind of the rows if a kind is wanted of a file whose format is given."""
        return kind

    def batch_key(self, file: LocalFile, mapping: ColumnNames) -> tuple[object, ...] | None:
        """Return the key that runs read in one statement must share; None if it must be read alone.

        Raises InputError if reading it alone would raise it.
        """
        return None

    def read_batch(self, con: Connection, files: Files, mapping: ColumnNames) -> Readings | None:
        """Fill `staged`, with a column `run_number`, from runs of one batch key in one statement.

        Returns None if anything is in doubt: reading each alone tells what. Raises InputError and
        duckdb.Error likewise.
        """
        return None
