"""JSON: one object a line, or one object of objects as ranx writes it; and dicts of dicts."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import duckdb

from warehouse import templates
from warehouse.errors import InputError
from warehouse.quoting import literal
from warehouse.readers import checks
from warehouse.readers.columns import chosen, ranked_by_rank
from warehouse.readers.files import LocalFile
from warehouse.readers.guess import head_text
from warehouse.readers.lines import BadLines, blocks, refuse_if_not_text
from warehouse.readers.staged import Kind

Ranking = Literal["score", "rank"]
_HEAD_LINES = 100
# Characters of JSON that are unfolded at a time.
_BATCH = 1 << 22


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
        raise checks.refuse(file.source, places, total + bad.total)
    if kind == "qrels":
        return None
    return "rank" if by_rank else "score"


def read_nested_file(con: duckdb.DuckDBPyConnection, file: LocalFile, kind: Kind) -> None:
    """Fill `staged` from `{query: {document: number}}` in a file. Raises InputError."""
    refuse_if_not_text(file, checks.LIMIT)
    if file.size == 0:
        raise InputError(f"{file.source}: is empty: there is no line of data")
    _read_nested(con, file.source, kind, f"read_text({literal(file.path)})", None)


def read_dict(
    con: duckdb.DuckDBPyConnection, given: Mapping[Any, Any], source: str, kind: Kind
) -> None:
    """Fill `staged` from a dict of dicts. Raises InputError."""
    try:
        text = json.dumps(given, default=_plain)
    except (TypeError, ValueError):
        text = json.dumps(_with_text_keys(source, given), default=_plain)
    _read_nested(con, source, kind, "(select $content as content)", text)


def _read_nested(
    con: duckdb.DuckDBPyConnection, source: str, kind: Kind, content: str, text: str | None
) -> None:
    bound = {} if text is None else {"content": text}
    valid = con.execute(
        f"select case when json_valid(content) then json_type(content) end from {content}", bound
    ).fetchall()
    if valid != [("OBJECT",)]:
        raise InputError(f"{source}: not a JSON object of the form {{query: {{document: number}}}}")
    con.execute("drop table if exists temp.staged_query")
    con.execute(templates.render("ingest/careful_table", kind=kind))
    try:
        sql = templates.render("ingest/nested_queries", content=content)
        con.execute(sql, bound).fetchall()
        _insert_documents(con, kind)
    finally:
        with contextlib.suppress(duckdb.Error):
            con.execute("drop table if exists temp.staged_query")
    problems, total = checks.problems(con, kind, place="rowid + 1")
    if total:
        raise checks.refuse(source, checks.in_words_by_key(problems), total)


def _insert_documents(con: duckdb.DuckDBPyConnection, kind: Kind) -> None:
    ((queries, characters),) = con.execute(templates.render("ingest/nested_size")).fetchall()
    insert = templates.render("ingest/nested_json", kind=kind)
    step = max(1, int(queries * _BATCH / max(characters, 1)))
    for low in range(0, queries, step):
        con.execute(insert, {"low": low, "high": low + step - 1}).fetchall()


def _plain(value: Any) -> Any:
    """Turn a number of NumPy, or a mapping that is no dict, into what JSON knows."""
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "item"):
        return value.item()
    return str(value)


def _with_text_keys(source: str, given: Mapping[Any, Any]) -> dict[str, Any]:
    """Make every key a text; only asked for when JSON does not know the keys' type."""
    texts: dict[str, Any] = {}
    for query, documents in given.items():
        inner = documents
        if isinstance(documents, Mapping):
            inner = {_key(document): value for document, value in documents.items()}
            if len(inner) < len(documents):
                raise InputError(
                    f"{source}: query {_key(query)!r}: two documents have the same id as text"
                )
        texts[_key(query)] = inner
    if len(texts) < len(given):
        raise InputError(f"{source}: two queries have the same id as text")
    return texts


def _key(key: Any) -> str:
    plain = key.item() if hasattr(key, "item") else key
    if isinstance(plain, float) and plain.is_integer():
        plain = int(plain)
    return plain if isinstance(plain, str) else str(plain)


def _pointer(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")


def _keys(file: LocalFile) -> Sequence[str]:
    """Return the keys of the first objects, each once, in their order."""
    keys: dict[str, None] = {}
    for line in head_text(file).split("\n")[:_HEAD_LINES]:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            keys |= dict.fromkeys(value)
    return list(keys)
