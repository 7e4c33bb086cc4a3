"""Nested JSON as ranx writes it, {query: {document: number}}; and dicts of dicts, which are the same."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from warehouse.errors import InputError, counted, first_line, is_utf8, listing
from warehouse.readers import checks, staging, tables
from warehouse.readers.columns import is_header
from warehouse.readers.files import LocalFile
from warehouse.readers.formats import Confidence, FileFormat, Head, ObjectFormat, Reading, Table
from warehouse.readers.jsonl import TOO_DEEP, fill_from_json, is_deep
from warehouse.readers.kinds import ColumnNames, Contents, Kind
from warehouse.readers.lines import LIMIT, refuse_if_not_text
from warehouse.readers.objects import relation_of
from warehouse.readers.records import Records, columns_of_arrays, hits_of, joined_splits
from warehouse.sql_text.quoting import literal
from warehouse.store.scratch_folders import scratch_folder

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_CONTENTS: tuple[Contents, ...] = ("run", "qrels", "training", "attributes", "documents")
_LACKS: Mapping[Contents, str] = {
    "iterations": "{query: {document: grade}} holds no iterations: a document is there once for each "
    "query. Read it without iterations, or take a format that has them, as trec"
}
_NESTED = re.compile(r'\{\s*("(?:[^"\\]|\\.)*"\s*:\s*\{|\}\s*$)', re.DOTALL)
# Lists by query, which have their own error: no other line begins another object.
_LISTS = re.compile(r'\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[(?!.*\n\s*\{\s*")', re.DOTALL)
# The size of a nested file from which Python reads it, the number of documents of a dict that go to
# DuckDB as one text, and the number of characters of JSON that are unfolded at a time: these bound
# the memory.
_LARGE = 1 << 25
_DOCUMENTS = 200_000
_CHARACTERS = 1 << 22
# The byte order mark, which DuckDB's reader of whole texts keeps.
_MARK = 0xFEFF
# A lone surrogate, as in a file name in another encoding, with the text around it.
_HALF = re.compile(r"[^\"]{0,40}[\ud800-\udfff][^\"]{0,40}")

_Part = tuple[str, dict[str, str]]


class NestedJson(FileFormat):
    """One JSON object in a file: {query: {document: number}}."""

    name = "ranx"
    aliases = ("json",)
    suffixes = (".json",)
    contents = _CONTENTS
    lacks = _LACKS

    def sniff(self, head: Head) -> Confidence:
        """Go by the first characters, then by the suffix."""
        text = head.text.lstrip()
        is_named = head.suffix in self.suffixes
        if _NESTED.match(text) or (is_named and _LISTS.match(text)):
            return Confidence.CERTAIN
        return Confidence.SUFFIX if is_named else Confidence.NONE

    def read(self, con: Connection, source: LocalFile, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read it with DuckDB, a large one with Python, which takes less memory for one value."""
        refuse_if_not_text(source)
        given = _load(source) if source.size > _LARGE else None
        if given is not None:
            return _read_parts(con, source.source, kind, _texts(source.source, given))
        whole = f"read_text({literal(source.path)})"
        text = f"(select ltrim(content, chr({_MARK})) as content from {whole})"
        return _read_parts(con, source.source, kind, [(text, {})])

    def read_table(
        self, con: Connection, source: LocalFile, key: str, ids: Collection[str]
    ) -> Table:
        """Read {id: {name: value}}."""
        refuse_if_not_text(source)
        try:
            given = Path(source.path).read_bytes()
            # Python's own depth differs by version
            if is_deep(given):
                raise InputError(f"{source.source}: {TOO_DEEP}")
            value = json.loads(given.decode("utf-8-sig"), object_pairs_hook=without_repetition)
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise InputError(f"{source.source}: not JSON: {error}") from None
        except ValueError as error:
            raise InputError(f"{source.source}: {error}; keep one of them") from None
        if not isinstance(value, dict):
            shape = "{id: {name: value}}"
            raise InputError(f"{source.source}: not a JSON object of the form {shape}")
        types = _fill_table(con, source.source, value, key)
        return Table(source.source, self.name, source.sha256, types)


class Dict(ObjectFormat):
    """A dict of dicts in memory."""

    name = "dict"
    contents = _CONTENTS
    lacks = _LACKS

    def takes(self, source: Any) -> bool:
        """Take any mapping."""
        return isinstance(source, Mapping)

    def source_name(self, source: Any) -> str:
        """Return the name of its type."""
        return f"<{type(source).__name__}>"

    def read(self, con: Connection, source: Any, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read it through Arrow if that is there, else as JSON; lists of hits as records."""
        name = self.source_name(source)
        columns = columns_of_arrays(name, source, kind, mapping)
        if columns is not None:
            return Records().read(con, columns, kind, mapping)
        hits = hits_of(source)
        if hits is not None:
            return Records().read(con, hits, kind, mapping)
        return read_dict(con, joined_splits(name, source), name, kind)

    def read_table(self, con: Connection, source: Any, key: str, ids: Collection[str]) -> Table:
        """Read {id: {name: value}}."""
        name = self.source_name(source)
        return Table(name, self.name, None, _fill_table(con, name, source, key))


def read_dict(con: Connection, given: Mapping[Any, Any], source: str, kind: Kind) -> Reading:
    """Fill `staged` from a dict of dicts, as `NestedJson` does. Raises InputError."""
    table = _arrow_table(given, kind)
    if table is None:
        return _read_parts(con, source, kind, _texts(source, given))
    value = ("value", "real" if str(table.schema.field("value").type) == "double" else "whole")
    columns = {"query_id": ("query_id", "text"), "doc_id": ("doc_id", "text"), "value": value}
    with relation_of(con, table) as relation:
        tables.fill(con, kind, relation, columns)
    _refuse_columns(source, [*islice(given, 100)])
    # the keys of a dict are unique, and all that is in a table can be read
    checks.check_staged(
        con, kind, source, words=checks.in_words_by_key, unread=None, unique=True, columns={}
    )
    return Reading()


def _refuse_columns(source: str, queries: Sequence[object]) -> None:
    """Refuse a table that is written column by column: its columns are no queries."""
    if is_header([str(query) for query in queries]):
        raise InputError(
            f"{source}: is a table by columns ({listing(map(str, queries))}): give its rows, as "
            "to_dict(orient='records') of pandas does, and to_json(orient='records', lines=True)"
        )


def _arrow_table(given: Mapping[Any, Any], kind: Kind) -> Any:
    """Return the pairs of a dict as an Arrow table, ten times faster than through JSON.

    Returns None if pyarrow is not installed, or if a key is not a text or a value not a plain
    number of the kind; the way through JSON handles these. Arrow is shown no nested value: one
    that is nested deeply would end the process.
    """
    try:
        import pyarrow as pa
    except ImportError:
        return None
    lists = list(given.values())
    if not all(isinstance(inner, dict) and inner for inner in lists):
        return None
    numbers = list(chain.from_iterable(inner.values() for inner in lists))
    if not all(_is_number(kind) for kind in {*map(type, numbers)}):
        return None
    try:
        queries = pa.array(list(given))
        documents = pa.array(list(chain.from_iterable(lists)))
        values = pa.array(numbers)
        indices = b"".join(
            n.to_bytes(4, sys.byteorder) * len(inner) for n, inner in enumerate(lists)
        )
        buffers = [None, pa.py_buffer(indices)]
        places = pa.Array.from_buffers(pa.int32(), len(documents), buffers)
        keys = pa.DictionaryArray.from_arrays(places, queries)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    fits = {"run": (pa.float64(), pa.int64())}.get(kind, (pa.int64(),))
    whole = all(array.null_count == 0 for array in (queries, documents, values))
    if not whole or not queries.type == documents.type == pa.string() or values.type not in fits:
        return None
    return pa.table({"query_id": keys, "doc_id": documents, "value": values})


def _is_number(kind: type) -> bool:
    """Whether the values of a type are single numbers: Python's or NumPy's."""
    is_numpy = kind.__module__ == "numpy" and kind.__name__ != "ndarray"
    return is_numpy or issubclass(kind, int | float)


def _load(file: LocalFile) -> dict[str, Any] | None:
    """Read a large file with Python: DuckDB takes many times the memory for one JSON value.

    Returns None if the file is not JSON or repeats a key: then DuckDB reads it, and reports the
    problem.
    """
    try:
        with Path(file.path).open(encoding="utf-8-sig") as handle:
            value = json.load(handle, object_pairs_hook=without_repetition)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object from JSON pairs; a ValueError names a repeated key.

    >>> without_repetition([("d1", 1), ("d2", 2)])
    {'d1': 1, 'd2': 2}
    """
    value = dict(pairs)
    if len(value) < len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice!r} is there twice")
    return value


def _texts(source: str, given: Mapping[Any, Any]) -> Iterator[_Part]:
    """Yield the queries as JSON texts with a bounded number of documents each."""
    part: dict[Any, Any] = {}
    documents = 0
    for query, value in given.items():
        part[query] = value
        documents += len(value) if isinstance(value, Mapping) else 1
        if documents >= _DOCUMENTS:
            yield _text(source, part)
            part, documents = {}, 0
    yield _text(source, part)


def _text(source: str, part: Mapping[Any, Any]) -> _Part:
    inner = (value for value in part.values() if isinstance(value, Mapping))
    # JSON would write others too: None as null, 1.0 as 1.0, and 1 as it writes "1"
    if {type(key) for key in chain(part, *inner)} not in ({str}, {int}):
        part = _with_text_keys(source, part)
    return "(select $content as content)", {"content": _as_json(source, part)}


def _as_json(source: str, value: Any) -> str:
    """Return the JSON of a value. Raises InputError for values that JSON cannot hold."""
    try:
        text = json.dumps(value, default=_plain, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"{source}: {first_line(error)}") from error
    except RecursionError:
        raise InputError(f"{source}: {TOO_DEEP}") from None
    if not is_utf8(text):
        half = _HALF.search(text)
        near = "" if half is None else f": {half[0]!r}"
        raise InputError(f"{source}: holds what is no text, and cannot be written as UTF-8{near}")
    return text


def _read_parts(con: Connection, source: str, kind: Kind, parts: Iterable[_Part]) -> Reading:
    """Fill `staged` from parts of a source as JSON texts."""
    staging.run(con, "ingest/staged_lines", kind=kind)
    con.execute("create temp table staged_empty (query_id varchar)")
    empty = sum(_unfold(con, source, kind, content, bound) for content, bound in parts)
    checks.check_staged(con, kind, source, words=checks.in_words_by_key)
    if not empty:
        return Reading()
    what = f"{counted(empty, 'query')} without a document"
    warning = {
        "run": f"{what}: the run answers {'it' if empty == 1 else 'them'} with nothing",
        "qrels": f"{what} passed over: to count them, judge one with relevance 0",
        "training": f"{what}: the size of the training set counts {'it' if empty == 1 else 'them'}",
    }
    return Reading(warnings=(warning.get(kind, warning["qrels"]),))


def _unfold(con: Connection, source: str, kind: Kind, content: str, bound: dict[str, str]) -> int:
    """Put the pairs of one JSON text into `staged` in batches; return how many queries are empty."""
    shape = f"select case when json_valid(content) then json_type(content) end from {content}"
    found = con.execute(shape, bound).fetchall()
    if found != [("OBJECT",)]:
        but = "; of a list write one object a line (JSON Lines)" if found == [("ARRAY",)] else ""
        raise InputError(
            f"{source}: not a JSON object of the form {{query: {{document: number}}}}{but}"
        )
    staging.drop(con, "staged_query")
    try:
        staging.run(con, "ingest/nested_queries", bound, content=content)
        _refuse_columns(source, staging.first_values(con, "staged_query", "query_id"))
        if twice := staging.run(con, "checks/query_twice", limit=LIMIT):
            problems = [(None, f"query {query!r} is there twice") for query, _ in twice]
            raise checks.refuse(source, problems, int(twice[0][1]))
        ((queries, characters, empty),) = staging.run(con, "ingest/nested_size")
        con.execute(
            "insert into staged_empty select query_id from staged_query "
            "where cast(documents as varchar) = '{}' order by position"
        )
        insert = staging.render("ingest/nested_json", kind=kind)
        step = max(1, int(queries * _CHARACTERS / max(characters, 1)))
        for low in range(0, queries, step):
            con.execute(insert, {"low": low, "high": low + step - 1}).fetchall()
        return int(empty)
    finally:
        staging.drop(con, "staged_query")


def _fill_table(con: Connection, source: str, given: Mapping[Any, Any], key: str) -> dict[str, str]:
    """Fill `staged_table` from a dict of dicts, which DuckDB reads as JSON Lines."""
    if not given:
        raise InputError(f"{source}: is empty: there is no row of data")
    with scratch_folder() as folder:
        path = folder / "rows.jsonl"
        with path.open("w", encoding="utf-8") as handle:
            for id, values in given.items():
                if not isinstance(values, Mapping):
                    raise InputError(f"{source}: {id!r}: not a dict of the form {{name: value}}")
                if key in values:
                    raise InputError(f"{source}: {id!r}: {key!r} names the keys, not a value")
                row = {key: text_of(source, id)} | {
                    str(name): value for name, value in values.items() if not _is_missing(value)
                }
                handle.write(_as_json(f"{source}: {id!r}", row) + "\n")
        return fill_from_json(con, source, str(path), [key])


def _is_missing(value: Any) -> bool:
    """Whether a value stands for a missing one: NaN, or pandas' NA, which is not even unequal."""
    try:
        return bool(value != value)
    except TypeError:
        return True
    except ValueError:  # several values
        return False


def _plain(value: Any) -> Any:
    """Convert values that JSON does not know: NumPy's values, sets, decimals, dates.

    The members of a set are sorted. Raises TypeError for values without a text of their own.
    """
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, date | time | UUID):
        return str(value)
    raise TypeError(f"{value!r} is neither text nor a number")


def _with_text_keys(source: str, given: Mapping[Any, Any]) -> dict[str, Any]:
    """Make every key a text."""
    texts: dict[str, Any] = {}
    for query, documents in given.items():
        inner = documents
        if isinstance(documents, Mapping):
            inner = {text_of(source, document): value for document, value in documents.items()}
            if len(inner) < len(documents):
                where = f"{source}: query {text_of(source, query)!r}"
                raise InputError(f"{where}: a document is there twice, as text and as a number")
        texts[text_of(source, query)] = inner
    if len(texts) < len(given):
        raise InputError(f"{source}: a query is there twice, as text and as a number")
    return texts


def text_of(source: str, key: Any) -> str:
    """Return the key of a dict as an id: integers without a fraction; a missing key has no id."""
    plain = key.item() if hasattr(key, "item") else key
    if isinstance(plain, str):
        return plain
    if isinstance(plain, int) and key is not plain and key.dtype.kind == "M":
        # NumPy uses it to count nanoseconds; NaT has no other text
        plain = key if str(key) == "NaT" else datetime.fromisoformat(str(key.astype("M8[us]")))
    if plain is None or isinstance(plain, bytes | bool) or str(plain) in ("nan", "<NA>", "NaT"):
        raise InputError(f"{source}: {key!r} is no id: give a text or a whole number")
    if isinstance(plain, datetime):
        return _time_text(plain)
    return str(int(plain) if isinstance(plain, float) and plain.is_integer() else plain)


def _time_text(time: datetime) -> str:
    """Return a time as DuckDB writes times of tables: with a zone, it is in UTC."""
    shown = str(time if time.tzinfo is None else time.astimezone(UTC))
    clock, zone, _ = shown.partition("+")
    return (clock.rstrip("0") if "." in clock else clock) + ("+00" if zone else "")
