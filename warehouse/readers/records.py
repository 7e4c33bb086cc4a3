"""Python objects that are neither dicts of dicts nor tables: records, lists of hits, sparse matrices."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from warehouse.errors import InputError, UsageError
from warehouse.readers import reshaped
from warehouse.readers.columns import candidates
from warehouse.readers.formats import ObjectFormat, Reading, Table
from warehouse.readers.jsonl import fill_from_json
from warehouse.readers.kinds import ColumnNames, Kind
from warehouse.readers.objects import is_table
from warehouse.store.scratch_folders import scratch_folder

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

Record = Mapping[str, Any]


class Records(ObjectFormat):
    """Records with our columns: named tuples, dataclasses or dicts, in a list or a generator.

    Also lists of hits, one for each query, whose id is then its place from 0; and a matrix, where
    queries are rows and documents columns, with places from 0 as ids: an array of NumPy or PyTorch, or
    a sparse one of SciPy, of which only stored cells are values.
    """

    name = "records"
    contents = ("run", "qrels", "iterations", "training")
    names_columns = True

    def takes(self, source: Any) -> bool:
        """Take records, generators and matrices."""
        return is_records(source) or isinstance(source, Iterator) or _is_matrix(source)

    def source_name(self, source: Any) -> str:
        """Return the name of its type."""
        return f"<{type(source).__name__}>"

    def read(self, con: Connection, source: Any, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read the fields as columns."""
        if kind == "run" and _is_matrix(source) and "int" in str(_as_array(source).dtype):
            raise UsageError(
                f"{self.source_name(source)}: whole numbers may be scores or ids: give scores as real "
                "numbers, and ids as lists in a column of a frame"
            )
        table = self.read_table(con, source, "query_id", ["query_id", "doc_id"])
        return reshaped.read(con, table, kind, mapping)

    def read_table(self, con: Connection, source: Any, key: str, ids: Collection[str]) -> Table:
        """Read all fields."""
        return read_records(con, self.source_name(source), self.name, source, ids)


def read_records(
    con: Connection, name: str, format: str, source: Any, ids: Collection[str]
) -> Table:
    """Fill `staged_table` with the fields of records, which go to the engine as JSON Lines.

    `name` is the source's name in messages; the columns of `ids` keep all their digits.
    """
    with scratch_folder() as folder:
        path = folder / "records.jsonl"
        with path.open("w", encoding="utf-8") as file:
            empty = True
            for number, record in enumerate(_records(name, source), 1):
                file.write(_line(name, number, record))
                empty = False
        if empty:
            raise InputError(f"{name}: is empty: there is no record in it")
        return Table(name, format, None, fill_from_json(con, name, str(path), ids))


def is_records(source: object) -> bool:
    """Whether a list holds the records of one source, or its lists of hits, and not several sources.

    >>> is_records([{"query_id": "q", "doc_id": "d", "score": 1.0}]), is_records([{"q": {"d": 1.0}}])
    (True, False)
    """
    if not isinstance(source, list | tuple) or not source or hasattr(source, "_fields"):
        return False
    first = source[0]
    if isinstance(first, list):
        return bool(first) and isinstance(first[0], Mapping)
    if isinstance(first, Mapping):
        return not all(isinstance(one, Mapping) for one in first.values())
    return hasattr(first, "_fields") or _is_instance(first)


def hits_of(given: Mapping[Any, Any]) -> list[Record] | None:
    """Return the records of {query: [hit, …]}, or None for other mappings.

    >>> hits_of({"q": [{"corpus_id": 3, "score": 0.5}]})
    [{'corpus_id': 3, 'score': 0.5, 'query_id': 'q'}]
    """
    lists = list(given.values())
    hits = list(chain.from_iterable(one for one in lists if isinstance(one, list)))
    if not hits or not all(isinstance(one, list) for one in lists):
        return None
    if not all(isinstance(hit, Mapping) for hit in hits):
        return None
    return [{**hit, "query_id": query} for query, several in given.items() for hit in several]


def columns_of_arrays(
    name: str, given: Mapping[Any, Any], kind: Kind, mapping: ColumnNames
) -> list[Record] | None:
    """Return the records of a mapping of columns, of which one has the documents; None for others.

    A column is a list or an array. With two dimensions, each row belongs to one query; without a
    column of queries, its place from 0 is the query's id. `name` is the source's name in messages.

    >>> columns_of_arrays("<dict>", {"doc_id": [["a", "b"]], "score": [[0.5, 0.25]]}, "run", {})
    [{'doc_id': ['a', 'b'], 'score': [0.5, 0.25], 'query_id': 0}]
    """

    def column(ours: str) -> str | None:
        """Return the name of a column of ours."""
        names = [key for key in given if isinstance(key, str)]
        named = mapping.get(ours, ours)
        return named if named in given else next(iter(candidates(kind, ours, names)), None)

    if any(isinstance(one, Mapping | str) for one in given.values()):
        return None
    documents = column("doc_id")
    if documents is None:
        return None
    lists = {key: _as_list(one) for key, one in given.items()}
    if any(one is None or (one and isinstance(one[0], Mapping)) for one in lists.values()):
        return None
    columns = {key: one for key, one in lists.items() if one is not None}
    lengths = {key: len(one) for key, one in columns.items()}
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"{key} {length:,}" for key, length in lengths.items())
        raise InputError(f"{name}: its columns are not of one length: {sizes}")
    if column("query_id") is None and columns[documents] and _is_list(columns[documents][0]):
        columns["query_id"] = list(range(len(columns[documents])))
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _as_list(one: Any) -> list[Any] | None:
    """Return a list, a tuple or an array as a list, None for others."""
    if _is_list(one):
        return list(one)
    array = _as_array(one)
    return array.tolist() if getattr(array, "ndim", 0) and hasattr(array, "tolist") else None


def _is_list(one: object) -> bool:
    return isinstance(one, list | tuple)


def _as_array(one: Any) -> Any:
    """Return an array of another library as one of NumPy; an object with a method `tolist` as it is."""
    if hasattr(one, "tolist") or not hasattr(one, "__array__") or is_table(one):
        return one
    import numpy as np

    return np.asarray(one)


def joined_splits(source: str, given: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return the queries of {split: {query: {document: value}}}; other mappings as they are.

    Raises UsageError if two splits have the same query.

    >>> joined_splits("<dict>", {"test": {"q": {"d": 1}}})
    {'q': {'d': 1}}
    """
    splits = list(given.values())
    if not splits or not all(isinstance(one, Mapping) and one for one in splits):
        return given
    if not all(isinstance(lists, Mapping) for one in splits for lists in one.values()):
        return given
    joined: dict[Any, Any] = {}
    for split, queries in given.items():
        for query in queries.keys() & joined.keys():
            raise UsageError(
                f"{source}: query {query!r} is in several splits ({', '.join(map(str, given))}): give "
                f"one of them, as in source[{split!r}]"
            )
        joined |= queries
    return joined


def _is_matrix(source: object) -> bool:
    """Whether an object is an array of rows and columns; frames are none."""
    if hasattr(source, "tocoo"):
        return True
    array = _as_array(source)
    return hasattr(array, "tolist") and getattr(array, "ndim", 0) == 2


def _cells(matrix: Any) -> Iterator[tuple[int, int, Any]]:
    """Yield row, column and value of the cells of a matrix, of a sparse one those that are stored."""
    if hasattr(matrix, "tocoo"):
        sparse = matrix.tocoo()
        yield from zip(sparse.row.tolist(), sparse.col.tolist(), sparse.data.tolist(), strict=True)
        return
    for row, values in enumerate(_as_array(matrix).tolist()):
        for column, value in enumerate(values):
            yield row, column, value


def _is_instance(one: object) -> bool:
    return dataclasses.is_dataclass(one) and not isinstance(one, type)


def _records(name: str, source: Any) -> Iterator[Record]:
    """Yield the records of a source."""
    if _is_matrix(source):
        for row, column, value in _cells(source):
            yield {"query_id": row, "doc_id": column, "score": value, "relevance": value}
        return
    for number, one in enumerate(source):
        if isinstance(one, list):
            yield from ({**hit, "query_id": number} for hit in one)
        elif isinstance(one, Mapping):
            yield one
        elif hasattr(one, "_asdict"):
            yield one._asdict()
        elif _is_instance(one):
            yield {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
        else:
            raise UsageError(
                f"{name}: holds a {type(one).__name__}: give named tuples, dicts or dataclasses with "
                "the fields query_id, doc_id and score or relevance; several runs are a list of paths, "
                "dicts or tables"
            )


def _line(name: str, number: int, record: Record) -> str:
    """Return a record as a line of JSON; one that is not finite is text there, and refused."""
    try:
        return json.dumps(record, allow_nan=False, default=_plain) + "\n"
    except ValueError:
        shown = {key: str(one) if _is_lost(one) else one for key, one in record.items()}
        return json.dumps(shown, default=_plain) + "\n"
    except TypeError as error:
        raise InputError(f"{name}: row {number:,}: {error}") from None


def _is_lost(value: object) -> bool:
    return hasattr(value, "__float__") and not math.isfinite(float(value))


def _plain(value: Any) -> Any:
    """Return the Python number or text of another library's scalar."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a {type(value).__name__} is no number and no text")
