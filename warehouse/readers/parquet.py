"""Parquet files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warehouse.errors import InputError
from warehouse.readers import reshaped, staging, tables
from warehouse.readers.columns import choose
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
from warehouse.readers.kinds import ColumnNames, Kind
from warehouse.readers.parquet_pages import any_damaged
from warehouse.readers.tables import fill_table
from warehouse.sql_text.quoting import ident, literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

# The size from which it costs less to read a file several times than to keep a copy of its rows.
_LARGE = 1 << 22


class Parquet(FileFormat):
    """Typed columns with names."""

    name = "parquet"
    aliases = ("pq",)
    suffixes = (".parquet", ".pq")
    contents = ANY_TABLE
    names_columns = True
    text_size = 3

    def sniff(self, head: Head) -> Confidence:
        """Go by the first bytes, then by the suffix."""
        if head.data.startswith(b"PAR1"):
            return Confidence.CERTAIN
        is_named = head.suffix in self.suffixes
        return Confidence.BINARY_SUFFIX if is_named else Confidence.NONE

    def read(self, con: Connection, source: LocalFile, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read the columns by their types."""
        as_view = source.stays_open and source.size >= _LARGE
        return read_parts(con, source.source, [source], kind, mapping, as_view=as_view)

    def read_table(
        self, con: Connection, source: LocalFile, key: str, ids: Collection[str]
    ) -> Table:
        """Read all columns."""
        types = fill_from_parts(con, source.source, [source])
        return Table(source.source, self.name, source.sha256, types)

    def batch_key(self, file: LocalFile, mapping: ColumnNames) -> tuple[object, ...] | None:
        """Take any files; whether their columns are the same is seen when they are read."""
        return ()

    def read_batch(self, con: Connection, files: Files, mapping: ColumnNames) -> Readings | None:
        """Read files with the same columns."""
        for file in files:
            _refuse_damaged(con, file)
        types, *others = (staging.types_of(con, _relation([file])) for file in files)
        if any(list(of.items()) != list(types.items()) for of in others):
            return None
        if "file_index" in map(str.lower, types):  # it hides which file a row is of
            return None
        source, relation = files[0].source, _relation(files)
        found, ranking = choose(
            source, "run", list(types), mapping,
            sample=lambda name: staging.first_values(con, relation, ident(name)),
        )  # fmt: skip
        tables.refuse_lost_digits(con, source, relation, types, found)
        columns = tables.by_types(source, "run", found, types)
        tables.fill(con, "run", relation, columns, together=True)
        return tables.batch_readings(con, files, ranking, found["value"])


def read_parts(
    con: Connection,
    name: str,
    files: Sequence[LocalFile],
    kind: Kind,
    mapping: ColumnNames,
    *,
    as_view: bool = False,
) -> Reading:
    """Fill `staged` from files that are the parts of one table, in their order.

    `as_view` is as in `tables.read`, for a single file.
    """

    def names() -> list[str]:  # with names of nested fields
        rows = con.execute("select name from parquet_schema($1)", [files[0].path]).fetchall()
        return [str(name) for (name,) in rows]

    relation = _whole(con, name, files)
    return reshaped.read_relation(con, name, kind, relation, mapping, names, as_view=as_view)


def fill_from_parts(con: Connection, name: str, files: Sequence[LocalFile]) -> Mapping[str, str]:
    """Fill `staged_table` from files that are the parts of one table; return the types."""
    return fill_table(con, name, _whole(con, name, files))


def _whole(con: Connection, name: str, files: Sequence[LocalFile]) -> str:
    """Return the SQL of the rows of all parts. Raises InputError for parts that do not fit."""
    first = None
    for file in files:
        _refuse_damaged(con, file)
        if len(files) > 1:
            with tables.table_errors(file.source):
                columns = list(staging.types_of(con, _relation([file])).items())
            first = first or columns
            if columns != first:  # the values would be cast to the types of the first part
                raise InputError(
                    f"{name}: the columns of {Path(file.source).name} are not those of "
                    f"{Path(files[0].source).name}, or have other types: write it again as one table"
                )
    return _relation(files)


def _refuse_damaged(con: Connection, file: LocalFile) -> None:
    """Refuse a file with a page whose bytes do not fit its checksum: DuckDB would read other values."""
    with tables.table_errors(file.source):
        chunks = staging.run(con, "ingest/parquet_chunks", path=file.path)
    with Path(file.path).open("rb") as handle:
        if any_damaged(handle, chunks):
            raise InputError(
                f"{file.source}: is damaged: the checksum of a page does not fit its bytes; take "
                "another copy of the file, or write it again"
            )


def _relation(files: Sequence[LocalFile]) -> str:
    return f"read_parquet({literal([file.path for file in files])}, binary_as_string = true)"
