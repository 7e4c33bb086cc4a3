"""JSON: one object a line, or one object of objects as ranx writes it; and dicts of dicts."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import duckdb

from warehouse.errors import InputError, first_line, is_utf8
from warehouse.readers import checks, tables
from warehouse.readers.columns import chosen, ranked_by_rank
from warehouse.readers.files import HEAD, LocalFile
from warehouse.readers.guess import head_text
from warehouse.readers.lines import LONGEST_LINE, BadLines, blocks, refuse_if_not_text
from warehouse.readers.staged import Kind
from warehouse.sql_text import templates
from warehouse.sql_text.quoting import literal

Ranking = Literal["score", "rank"]
_HEAD_LINES = 100
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


def read_lines(
    con: duckdb.DuckDBPyConnection, file: LocalFile, kind: Kind, mapping: Mapping[str, str]
) -> Ranking | None:
    """Fill `staged` from a JSON Lines file. Raises InputError."""
    available = _keys(file)
    if not available and not head_text(file).strip():
        raise InputError(f"{file.source}: is empty: there is no line of data")
    if not available:
        raise InputError(f"{file.source}: not JSON Lines: the first line is not a JSON object")
    found = chosen(file.source, kind, available, mapping)
    by_rank = ranked_by_rank(kind, found, available, mapping)
    con.execute(templates.render("ingest/careful_table", kind=kind))
    pointers = {ours: _pointer(theirs) for ours, theirs in found.items()}
    insert = templates.render("ingest/json_lines", kind=kind, pointers=pointers)
    bad = BadLines(checks.LIMIT)
    for block in blocks(file, bad, single_blanks=False):
        con.execute(insert, {"text": block.text, "first": block.first}).fetchall()
    problems, total = checks.problems(con, kind, place="line", word="rank" if by_rank else "score")
    if total or bad.total:
        places = [*checks.in_words(problems), *bad.problems]
        raise checks.refuse_staged(con, kind, file.source, places, total + bad.total)
    if kind != "run":
        return None
    return "rank" if by_rank else "score"


def read_nested_file(con: duckdb.DuckDBPyConnection, file: LocalFile, kind: Kind) -> int:
    """Fill `staged` from `{query: {document: number}}` in a file. Raises InputError.

    Returns the number of queries without documents, for which nothing is staged.
    """
    refuse_if_not_text(file, checks.LIMIT)
    given = _loaded(file) if file.size > _LARGE else None
    if given is None:
        whole = f"read_text({literal(file.path)})"
        text = f"(select ltrim(content, chr({_MARK})) as content from {whole})"
        return _read_parts(con, file.source, kind, [(text, {})])
    return _read_parts(con, file.source, kind, _texts(file.source, given))


def read_dict(
    con: duckdb.DuckDBPyConnection, given: Mapping[Any, Any], source: str, kind: Kind
) -> int:
    """Fill `staged` from a dict of dicts, as `read_nested_file` does. Raises InputError."""
    table = _arrow(given, kind)
    if table is None:
        return _read_parts(con, source, kind, _texts(source, given))
    family = "real" if kind == "run" else "whole"
    columns = {"query_id": ("query_id", "text"), "doc_id": ("doc_id", "text")}
    columns["value"] = ("value", family)
    tables.fill_from(con, table, kind, columns)
    # the keys of a dict are unique, and all that is in a table can be read
    _refuse_problems(con, source, kind, unread=None, unique=True)
    return 0


def _arrow(given: Mapping[Any, Any], kind: Kind) -> Any:
    """Return the pairs of a dict as an Arrow table, ten times faster than through JSON.

    Returns None if pyarrow is not installed, or if a key is not a text or a value not a plain
    number of the kind; the way through JSON handles these.
    """
    try:
        import pyarrow as pa
    except ImportError:
        return None
    lists = list(given.values())
    if not all(isinstance(inner, dict) and inner for inner in lists):
        return None
    try:
        queries = pa.array(list(given))
        documents = pa.array(list(chain.from_iterable(lists)))
        values = pa.array(list(chain.from_iterable(inner.values() for inner in lists)))
        numbers = b"".join(
            n.to_bytes(4, sys.byteorder) * len(inner) for n, inner in enumerate(lists)
        )
        buffers = [None, pa.py_buffer(numbers)]
        places = pa.Array.from_buffers(pa.int32(), len(documents), buffers)
        keys = pa.DictionaryArray.from_arrays(places, queries)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    fits = {"run": (pa.float64(), pa.int64())}.get(kind, (pa.int64(),))
    whole = all(array.null_count == 0 for array in (queries, documents, values))
    if not whole or not queries.type == documents.type == pa.string() or values.type not in fits:
        return None
    return pa.table({"query_id": keys, "doc_id": documents, "value": values})


def _loaded(file: LocalFile) -> dict[str, Any] | None:
    """Read a large file with Python: DuckDB takes many times the memory for one JSON value.

    Returns None if the file is not JSON or repeats a key: then DuckDB reads it, and reports the
    problem.
    """
    try:
        with Path(file.path).open(encoding="utf-8-sig") as handle:
            value = json.load(handle, object_pairs_hook=without_repetition)
    except ValueError:
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
    return "(select $content as content)", {"content": as_json(source, part)}


def as_json(source: str, value: Any) -> str:
    """Return the JSON of a value. Raises InputError for values that JSON cannot hold."""
    try:
        text = json.dumps(value, default=plain, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"{source}: {first_line(error)}") from error
    if not is_utf8(text):
        half = _HALF.search(text)
        near = "" if half is None else f": {half[0]!r}"
        raise InputError(f"{source}: holds what is no text, and cannot be written as UTF-8{near}")
    return text


def _read_parts(
    con: duckdb.DuckDBPyConnection, source: str, kind: Kind, parts: Iterable[_Part]
) -> int:
    con.execute(templates.render("ingest/careful_table", kind=kind))
    empty = sum(_unfold(con, source, kind, content, bound) for content, bound in parts)
    _refuse_problems(con, source, kind)
    return empty


def _refuse_problems(
    con: duckdb.DuckDBPyConnection,
    source: str,
    kind: Kind,
    *,
    unread: str | None = checks.UNREAD,
    unique: bool = False,
) -> None:
    problems, total = checks.problems(con, kind, place=checks.PLACE, unread=unread, unique=unique)
    if total:
        raise checks.refuse_staged(con, kind, source, checks.in_words_by_key(problems), total)


def _unfold(
    con: duckdb.DuckDBPyConnection, source: str, kind: Kind, content: str, bound: dict[str, str]
) -> int:
    """Put the pairs of one JSON text into `staged` in batches; return how many queries are empty."""
    shape = f"select case when json_valid(content) then json_type(content) end from {content}"
    found = con.execute(shape, bound).fetchall()
    if found != [("OBJECT",)]:
        but = "; of a list write one object a line (JSON Lines)" if found == [("ARRAY",)] else ""
        raise InputError(
            f"{source}: not a JSON object of the form {{query: {{document: number}}}}{but}"
        )
    con.execute("drop table if exists temp.staged_query")
    try:
        sql = templates.render("ingest/nested_queries", content=content)
        con.execute(sql, bound).fetchall()
        ((queries, characters, empty),) = con.execute(
            templates.render("ingest/nested_size")
        ).fetchall()
        insert = templates.render("ingest/nested_json", kind=kind)
        step = max(1, int(queries * _CHARACTERS / max(characters, 1)))
        for low in range(0, queries, step):
            con.execute(insert, {"low": low, "high": low + step - 1}).fetchall()
        return int(empty)
    finally:
        with contextlib.suppress(duckdb.Error):
            con.execute("drop table if exists temp.staged_query")


def plain(value: Any) -> Any:
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


def _pointer(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")


def _keys(file: LocalFile) -> Sequence[str]:
    """Return the keys of the first objects, each once, in order."""
    keys: dict[str, None] = {}
    for line in _first_lines(file):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            keys |= dict.fromkeys(value)
    return list(keys)


def _first_lines(file: LocalFile) -> Iterator[str]:
    """Yield the lines that begin in a file's head, each to its end, but not too many."""
    seen = 0
    with Path(file.path).open(encoding="utf-8-sig", errors="replace", newline="\n") as handle:
        for _ in range(_HEAD_LINES):
            if seen > HEAD or not (line := handle.readline(LONGEST_LINE)):
                return
            seen += len(line)
            yield line
