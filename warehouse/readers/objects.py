"""Python objects that hold a table: data frames, Arrow tables, DuckDB relations."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warehouse.config import installation
from warehouse.errors import InputError, UsageError, WarehouseError, counted, first_line
from warehouse.readers import reshaped
from warehouse.readers.formats import ANY_TABLE, ObjectFormat, Reading, Table
from warehouse.readers.kinds import ColumnNames, Kind, Query
from warehouse.readers.staging import suppress_errors, types_of
from warehouse.readers.tables import fill_table
from warehouse.sql_text.quoting import literal
from warehouse.store.engine_errors import in_words
from warehouse.store.scratch_folders import scratch_folder

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection
    from duckdb import DuckDBPyRelation

_VIEW = "warehouse_reader_source"
_TABLES = (
    ("pandas", "DataFrame"),
    ("polars", "DataFrame"),
    ("polars", "LazyFrame"),
    ("pyarrow", "Table"),
)


class TableObject(ObjectFormat):
    """A table in memory: a pandas or polars data frame, an Arrow table, a DuckDB relation, a Query."""

    name = "table"
    contents = ANY_TABLE
    names_columns = True

    def takes(self, source: Any) -> bool:
        """Take any object; its name is refused unless it is a table."""
        return True

    def source_name(self, source: Any) -> str:
        """Return its library and its type. Raises UsageError for other objects."""
        if isinstance(source, Query):
            return source.name
        if _is_relation(_plain(source)):
            return "<DuckDB relation>"
        library, kind = _type_of(source)
        if library:
            return f"<{library} {kind}>"
        dimensions = getattr(source, "ndim", None)
        kind += "" if dimensions is None else f" of {counted(dimensions, 'dimension')}"
        raise UsageError(
            f"cannot read a {kind}: give a path, a dict of dicts, a pandas or polars data frame, "
            "an Arrow table or a DuckDB relation"
        )

    def read(self, con: Connection, source: Any, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read the columns by their types."""
        name = self.source_name(source)
        _refuse_index(source, name, [mapping.get(id, id) for id in ("query_id", "doc_id")])
        with relation_of(con, source) as relation:
            return reshaped.read_relation(
                con, name, kind, relation, mapping, lambda: _column_names(source)
            )

    def read_table(self, con: Connection, source: Any, key: str, ids: Collection[str]) -> Table:
        """Read all columns."""
        name = self.source_name(source)
        _refuse_index(source, name, [key])
        with relation_of(con, source) as relation:
            return Table(name, self.name, None, fill_table(con, name, relation))


@contextlib.contextmanager
def relation_of(con: Connection, table: Any) -> Iterator[str]:
    """Yield the SQL of a relation with the object's rows in order."""
    table = _plain(table)
    if isinstance(table, Query):
        yield f"({table.sql})"
        return
    library, _ = _type_of(table)
    if library in ("pandas", "pyarrow"):
        with _register(con, table) as relation:
            yield relation
        return
    if library == "polars":
        with _reading_errors(table):
            table = table.collect() if hasattr(table, "collect") else table
            _refuse_objects(table)
        if importlib.util.find_spec("pyarrow"):
            with _reading_errors(table):
                arrow = table.to_arrow()
            with relation_of(con, arrow) as relation:
                yield relation
            return
    # A relation may belong to another connection, and polars needs Arrow to be scanned in place.
    with scratch_folder() as folder:
        path = str(folder / "table.parquet")
        with _reading_errors(table):
            if not _is_relation(table):
                table.write_parquet(path)
            elif not _is_closed(table):
                table.to_parquet(path)
        if not Path(path).exists():
            with _reading_errors(table):
                arrow = _arrow_table(table)
            with relation_of(con, arrow) as relation:
                yield relation
            return
        yield f"read_parquet({literal(path)})"


@contextlib.contextmanager
def _reading_errors(table: Any) -> Iterator[None]:
    """Turn errors of other libraries about an unreadable object into ours."""
    try:
        with in_words():
            yield
    except WarehouseError:
        raise
    except Exception as error:
        name = TableObject().source_name(table)
        raise InputError(
            f"{name}: cannot be read as a table: {first_line(error)}; give the columns that are needed, "
            "as text and numbers"
        ) from error


@contextlib.contextmanager
def _register(con: Connection, table: Any) -> Iterator[str]:
    """Register a frame or Arrow table; DuckDB types Python objects by a sample of a thousand."""
    with _reading_errors(table):
        table = _copy_if_reversed(table)
        con.register(_VIEW, table)
    holds_objects = False
    try:
        with _reading_errors(table):
            holds_objects = _holds_objects(con, table)
            if holds_objects:
                # a later object of another type would be cast to the sample's: 1.25 to 1
                con.execute(f"set pandas_analyze_sample = {len(table)}")
        yield _VIEW
    finally:
        with suppress_errors():
            if holds_objects:
                con.execute("reset pandas_analyze_sample")
            con.unregister(_VIEW)


def _holds_objects(con: Connection, table: Any) -> bool:
    """Whether a table is a frame with columns of Python objects that are not all text."""
    kinds = [str(kind) for kind in table.dtypes] if hasattr(table, "iloc") else []
    if "object" not in kinds:
        return False
    each = zip(kinds, types_of(con, _VIEW).values(), strict=True)
    return any(kind == "object" and theirs != "VARCHAR" for kind, theirs in each)


def _copy_if_reversed(table: Any) -> Any:
    """Return a frame or Arrow table as DuckDB can scan it: a reversed frame is copied."""
    if not hasattr(table, "iloc"):
        return table
    columns = (table.iloc[:, number] for number in range(table.shape[1]))
    plain = (one.to_numpy() for one in columns if type(one.dtype).__module__.startswith("numpy"))
    return table.copy() if any(min(array.strides) < 0 for array in plain) else table


def _refuse_objects(frame: Any) -> None:
    """Refuse columns of Python objects: Arrow would read their addresses as values."""
    for name, kind in frame.schema.items():
        if str(kind) == "Object":
            source = TableObject().source_name(frame)
            raise InputError(
                f"{source}: column {name!r} holds Python objects: cast it to text or numbers"
            )


def _is_closed(relation: DuckDBPyRelation) -> bool:
    """Whether a relation's database may write no file, as after ad-hoc SQL."""
    with suppress_errors():
        setting = "select current_setting('enable_external_access') as is_open"
        answer = relation.query("r", setting)
        return answer is not None and not answer.fetchall()[0][0]
    return False


def _arrow_table(relation: DuckDBPyRelation) -> Any:
    """Return the rows of a relation as an Arrow table."""
    try:
        return relation.to_arrow_table()
    except ImportError:
        raise UsageError(
            f"reading the answer of a query needs pyarrow: {installation.adding('arrow')}"
        ) from None


def _is_relation(table: Any) -> bool:
    import duckdb

    return isinstance(table, duckdb.DuckDBPyRelation)


def _type_of(source: Any) -> tuple[str, str]:
    """Return the library of a table and its name there; for others, no library and the type's name.

    Some libraries derive their frames from pandas'.
    """
    for kind in type(source).__mro__:
        found = kind.__module__.split(".")[0], kind.__name__
        if found in _TABLES:
            return found
    return "", type(source).__name__


def _plain(source: Any) -> Any:
    """Return the relation of a result, or another source as it is."""
    # any column of a relation is an attribute of it
    relation = source if _is_relation(source) else getattr(source, "relation", None)
    return relation if _is_relation(relation) else source


def is_table(source: Any) -> bool:
    """Whether an object is a table, or a part of one that its library has: a column, a batch."""
    source = _plain(source)
    libraries = {kind.__module__.split(".")[0] for kind in type(source).__mro__}
    return not libraries.isdisjoint(("pandas", "polars", "pyarrow", "_duckdb", "duckdb"))


def _refuse_index(table: Any, source: str, names: Iterable[str]) -> None:
    """Refuse a pandas frame whose index has a required column: an index is not a column."""
    if _type_of(table)[0] != "pandas":
        return
    for name in names:
        if name in table.index.names and name not in table.columns:
            raise InputError(
                f"{source}: {name!r} is its index, which is not read: make it a column by "
                "reset_index()"
            )


def _column_names(table: Any) -> Iterable[str]:
    """Return the names of an object's columns."""
    names = table.column_names if hasattr(table, "column_names") else table.columns
    return map(str, names)
