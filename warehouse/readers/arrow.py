"""Arrow files: of feather, of IPC, and streams of IPC as Hugging Face datasets are saved in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from warehouse.config import installation
from warehouse.errors import InputError, UsageError, first_line
from warehouse.readers import reshaped
from warehouse.readers.files import LocalFile
from warehouse.readers.formats import ANY_TABLE, Confidence, FileFormat, Head, Reading, Table
from warehouse.readers.kinds import ColumnNames, Kind
from warehouse.readers.objects import relation_of
from warehouse.readers.tables import fill_table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_FILE = b"ARROW1\0\0"
# Each message of a stream begins so, before its length.
_STREAM = b"\xff\xff\xff\xff"


class Arrow(FileFormat):
    """Typed columns with names, in an Arrow file or stream."""

    name = "arrow"
    aliases = ("feather", "ipc")
    suffixes = (".arrow", ".feather", ".ipc")
    contents = ANY_TABLE
    names_columns = True

    def sniff(self, head: Head) -> Confidence:
        """Go by the first bytes, then by the suffix."""
        if head.data.startswith((_FILE, _STREAM)):
            return Confidence.CERTAIN
        is_named = head.suffix in self.suffixes
        return Confidence.BINARY_SUFFIX if is_named else Confidence.NONE

    def read(self, con: Connection, source: LocalFile, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read the columns by their types."""
        return read_parts(con, source.source, [source], kind, mapping)

    def read_table(
        self, con: Connection, source: LocalFile, key: str, ids: Collection[str]
    ) -> Table:
        """Read all columns."""
        types = fill_from_parts(con, source.source, [source])
        return Table(source.source, self.name, source.sha256, types)


def read_parts(
    con: Connection, name: str, files: Sequence[LocalFile], kind: Kind, mapping: ColumnNames
) -> Reading:
    """Fill `staged` from files that are the parts of one table, in their order."""
    table = _table(name, files)
    with relation_of(con, table) as relation:
        return reshaped.read_relation(
            con, name, kind, relation, mapping, lambda: map(str, table.column_names)
        )


def fill_from_parts(con: Connection, name: str, files: Sequence[LocalFile]) -> Mapping[str, str]:
    """Fill `staged_table` from files that are the parts of one table; return the types."""
    with relation_of(con, _table(name, files)) as relation:
        return fill_table(con, name, relation)


def _table(name: str, files: Sequence[LocalFile]) -> Any:
    """Return the rows of files as one table, which stays on the disk."""
    try:
        import pyarrow as pa
    except ImportError:
        raise UsageError(f"{name}: needs pyarrow: {installation.adding('arrow')}") from None
    tables = []
    for file in files:
        try:
            whole = pa.memory_map(file.path)
            is_file = file.head.startswith(_FILE)
            reader = pa.ipc.open_file(whole) if is_file else pa.ipc.open_stream(whole)
            tables.append(reader.read_all())
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{file.source}: is no Arrow file: {first_line(error)}") from error
    try:
        return pa.concat_tables(tables)
    except pa.ArrowException as error:
        raise InputError(f"{name}: its parts do not fit: {first_line(error)}") from error
