"""Sparse matrices of SciPy in files: rows are queries and columns documents, by their numbers from 0."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from warehouse.config import installation
from warehouse.errors import InputError, UsageError, first_line
from warehouse.readers import reshaped
from warehouse.readers.files import SPARSE_MATRIX, LocalFile
from warehouse.readers.formats import Confidence, FileFormat, Head, Reading, Table
from warehouse.readers.kinds import ColumnNames, Kind
from warehouse.readers.staging import suppress_errors
from warehouse.readers.tables import fill_table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_VIEW = "warehouse_reader_matrix"


class Npz(FileFormat):
    """A sparse matrix that `scipy.sparse.save_npz` has written: labels, or the scores of a run.

    What is stored is a judgment or a score; a zero that is stored is one, too.
    """

    name = "npz"
    suffixes = (SPARSE_MATRIX,)
    contents = ("run", "qrels", "training")

    def sniff(self, head: Head) -> Confidence:
        """Go by the suffix: other zip archives are not read."""
        return Confidence.BINARY_SUFFIX if head.suffix in self.suffixes else Confidence.NONE

    def read(self, con: Connection, source: LocalFile, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read the stored values, row by row."""
        value = "score" if kind == "run" else "relevance"
        with _relation(con, source, value) as relation:
            names = ("query_id", "doc_id", value)
            return reshaped.read_relation(con, source.source, kind, relation, {}, lambda: names)

    def read_table(
        self, con: Connection, source: LocalFile, key: str, ids: Collection[str]
    ) -> Table:
        """Read the stored rows."""
        with _relation(con, source, "value") as relation:
            return Table(
                source.source, self.name, source.sha256, fill_table(con, source.source, relation)
            )


@contextlib.contextmanager
def _relation(con: Connection, source: LocalFile, value: str) -> Iterator[str]:
    """Yield the SQL of the stored values of a matrix with their places."""
    matrix = _load(source).tocoo()
    con.register(_VIEW, {"query_id": matrix.row, "doc_id": matrix.col, value: matrix.data})
    try:
        yield f"(from {_VIEW})"
    finally:
        with suppress_errors():
            con.unregister(_VIEW)


def _load(source: LocalFile) -> Any:
    """Return the matrix in a file, whose places are all inside it. Raises InputError."""
    try:
        from scipy import sparse
    except ImportError:
        raise UsageError(f"{source.source}: needs SciPy: {installation.adding('stats')}") from None
    try:
        matrix = sparse.load_npz(source.path)
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
    except Exception as error:  # whatever a damaged archive makes SciPy and NumPy raise
        raise InputError(
            f"{source.source}: is no sparse matrix as scipy.sparse.save_npz writes it: "
            f"{first_line(error)}"
        ) from error
    if matrix.dtype.kind not in "biuf":
        raise InputError(f"{source.source}: holds values of the type {matrix.dtype}, not numbers")
    return matrix
