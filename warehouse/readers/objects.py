"""Python objects that hold a table (data frames, Arrow tables, DuckDB relations) as relations."""

from __future__ import annotations

import contextlib
import importlib.util
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb

from warehouse.errors import InputError, UsageError, WarehouseError, first_line
from warehouse.readers.staged import Query
from warehouse.sql_text.quoting import literal
from warehouse.store.engine_errors import in_words

_VIEW = "warehouse_reader_source"
_TABLES = (
    ("pandas", "DataFrame"),
    ("polars", "DataFrame"),
    ("polars", "LazyFrame"),
    ("pyarrow", "Table"),
)


@contextlib.contextmanager
def relation_of(con: duckdb.DuckDBPyConnection, table: Any) -> Iterator[str]:
    """Yield the SQL of a relation with the object's rows in order."""
    table = _plain(table)
    if isinstance(table, Query):
        yield f"({table.sql})"
        return
    library, _ = _kind(table)
    if library in ("pandas", "pyarrow"):
        with _registered(con, table) as relation:
            yield relation
        return
    if library == "polars":
        with _readable(table):
            table = _collected(table)
            _refuse_objects(table)
        if importlib.util.find_spec("pyarrow"):
            with _readable(table):
                arrow = table.to_arrow()
            with relation_of(con, arrow) as relation:
                yield relation
            return
    # A relation may belong to another connection, and polars needs Arrow to be scanned in place.
    with tempfile.TemporaryDirectory(prefix="warehouse-") as folder:
        path = str(Path(folder) / "table.parquet")
        with _readable(table):
            if not isinstance(table, duckdb.DuckDBPyRelation):
                table.write_parquet(path)
            elif not _is_closed(table):
                table.to_parquet(path)
        if not Path(path).exists():
            with _readable(table):
                arrow = _arrow(table)
            with relation_of(con, arrow) as relation:
                yield relation
            return
        yield f"read_parquet({literal(path)})"


@contextlib.contextmanager
def _readable(table: Any) -> Iterator[None]:
    """Turn errors of other libraries about an unreadable object into ours."""
    try:
        with in_words():
            yield
    except WarehouseError:
        raise
    except Exception as error:
        raise InputError(
            f"{object_name(table)}: cannot be read as a table: {first_line(error)}; give the columns "
            "that are needed, as text and numbers"
        ) from error


@contextlib.contextmanager
def _registered(con: duckdb.DuckDBPyConnection, table: Any) -> Iterator[str]:
    """Register a frame or Arrow table; DuckDB types Python objects by a sample of a thousand."""
    with _readable(table):
        table = _scannable(table)
        con.register(_VIEW, table)
    try:
        with _readable(table):
            if _holds_objects(con, table):
                # a later object of another type would be cast to that of the sample: 1.25 to 1
                con.execute(f"set pandas_analyze_sample = {len(table)}")
        yield _VIEW
    finally:
        with contextlib.suppress(duckdb.Error):
            con.execute("reset pandas_analyze_sample")
            con.unregister(_VIEW)


def _holds_objects(con: duckdb.DuckDBPyConnection, table: Any) -> bool:
    """Whether a table is a frame with columns of Python objects that are not all text."""
    kinds = [str(kind) for kind in table.dtypes] if hasattr(table, "iloc") else []
    if "object" not in kinds:
        return False
    each = zip(kinds, types_of(con, _VIEW).values(), strict=True)
    return any(kind == "object" and theirs != "VARCHAR" for kind, theirs in each)


def _scannable(table: Any) -> Any:
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
            raise InputError(
                f"{object_name(frame)}: column {name!r} holds Python objects: cast it to text or numbers"
            )


def _is_closed(relation: duckdb.DuckDBPyRelation) -> bool:
    """Whether a relation's database may write no file, as after ad-hoc SQL."""
    try:
        answer = relation.query("r", "select current_setting('enable_external_access') as is_open")
    except duckdb.Error:
        return False
    return answer is not None and not answer.fetchall()[0][0]


def _arrow(relation: duckdb.DuckDBPyRelation) -> Any:
    """Return the rows of a relation as an Arrow table."""
    try:
        return relation.to_arrow_table()
    except ImportError:
        raise UsageError(
            "reading the answer of a query needs pyarrow: pip install 'ranking-warehouse[arrow]'"
        ) from None


def _collected(frame: Any) -> Any:
    return frame.collect() if hasattr(frame, "collect") else frame


def _kind(source: Any) -> tuple[str, str]:
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
    if isinstance(source, duckdb.DuckDBPyRelation):  # any column is an attribute of it
        return source
    relation = getattr(source, "relation", None)
    return relation if isinstance(relation, duckdb.DuckDBPyRelation) else source


def is_table(source: Any) -> bool:
    """Whether an object is a table, or a part of one that its library has: a column, a batch."""
    source = _plain(source)
    libraries = {kind.__module__.split(".")[0] for kind in type(source).__mro__}
    return not libraries.isdisjoint(("pandas", "polars", "pyarrow", "_duckdb", "duckdb"))


def object_name(source: Any) -> str:
    """Return the words for a data frame or relation; refuse other objects."""
    if isinstance(source, Query):
        return source.name
    source = _plain(source)
    if isinstance(source, duckdb.DuckDBPyRelation):
        return "<DuckDB relation>"
    library, kind = _kind(source)
    if library:
        return f"<{library} {kind}>"
    raise UsageError(
        f"cannot read a {kind}: give a path, a dict of dicts, a pandas or polars data frame, "
        "an Arrow table or a DuckDB relation"
    )


def refuse_index(table: Any, names: Iterable[str]) -> None:
    """Refuse a pandas frame whose index has a required column: an index is not a column."""
    if _kind(table)[0] != "pandas":
        return
    for name in names:
        if name in table.index.names and name not in table.columns:
            raise InputError(
                f"{object_name(table)}: {name!r} is its index, which is not read: make it a column by "
                "reset_index()"
            )


def column_names(table: Any) -> Iterable[str]:
    """Return the names of an object's columns."""
    names = table.column_names if hasattr(table, "column_names") else table.columns
    return map(str, names)


def types_of(con: duckdb.DuckDBPyConnection, relation: str) -> dict[str, str]:
    """Return the columns of a relation with their types."""
    described = con.execute(f"describe select * from {relation}").fetchall()
    return {str(row[0]): str(row[1]) for row in described}
