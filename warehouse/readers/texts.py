"""Texts of queries or documents: a table with an id, a text and perhaps a title in each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duckdb import DuckDBPyConnection as Connection

from warehouse.config import limits
from warehouse.errors import InputError, listing, nearest, option
from warehouse.readers import staging
from warehouse.readers.attributes import open_table, stage_rows
from warehouse.readers.formats import Table
from warehouse.readers.kinds import IDS, Subject
from warehouse.readers.normalise import normalise as normalise_ids
from warehouse.readers.tables import is_nested

# The names that collections have for our columns, the likeliest first.
_ID: Mapping[Subject, tuple[str, ...]] = {
    "document": ("doc_id", "_id", "id", "docid", "docno", "pid", "passage_id"),
    "query": ("query_id", "_id", "id", "qid"),
}
_TITLE = ("title", "headline")
_TEXT: Mapping[Subject, tuple[str, ...]] = {
    "document": ("text", "body", "passage", "segment", "contents", "content", "abstract"),
    "query": ("text", "query", "question", "title"),
}
# The columns of files with tabs and without a header, as in MS MARCO.
_BARE: Mapping[Subject, Mapping[int, tuple[str, ...]]] = {
    "document": {
        2: ("doc_id", "text"), 3: ("doc_id", "title", "text"),
        4: ("doc_id", "url", "title", "text"),
    },
    "query": {2: ("query_id", "text")},
}  # fmt: skip


@dataclass(frozen=True)
class StagedTexts:
    """What `stage_texts` read into the temporary table `staged_text (subject_id, title, text)`."""

    subject: Subject
    source: str
    format: str
    source_sha256: str | None
    normalise: str | None
    num_texts: int


def stage_texts(
    con: Connection,
    source: Any,
    subject: Subject,
    *,
    id: str | None = None,
    title: str | None = None,
    text: str | None = None,
    format: str | None = None,
    normalise: str | None = None,
) -> StagedTexts:
    """Read texts into `staged_text`; `id`, `title` and `text` name columns with unusual names.

    Raises InputError and UsageError.

    >>> from warehouse.store import database
    >>> con = database.memory()
    >>> stage_texts(con, {"q1": {"text": "what is an owl"}}, "query").num_texts
    1
    >>> con.execute("from staged_text").fetchall()
    [('q1', None, 'what is an owl')]
    """
    staging.drop(con, "staged", "staged_text")
    key = IDS[subject]
    given = [name for name in (id, title, text) if name is not None]
    hints = [*given, *_ID[subject], *_TITLE, *_TEXT[subject]]
    bare = None if given else _BARE[subject]
    try:
        with staging.file_order(con), open_table(con, source, key, format, hints, bare) as table:
            ids = _column(table, "id", id, _ID[subject])
            texts = _column(table, "text", text, _TEXT[subject], [ids])
            titles = _optional(table, title, [name for name in _TITLE if name != texts])
            names = [name for name in (titles, texts) if name is not None]
            _refuse_key(table, key, ids, names)
            stage_rows(con, table, key, ids, names)
            if normalise is not None:
                normalise_ids(con, table.source, normalise, id=key, within=())
            rows = staging.row_count(con)
            limits.current().check_rows(table.source, rows)
            staging.run(con, "ingest/texts", key=key, title=titles, text=texts)
    except BaseException:
        staging.drop(con, "staged_text")
        raise
    finally:
        staging.drop(con, "staged")
    return StagedTexts(subject, table.source, table.format, table.sha256, normalise, rows)


def _column(
    table: Table, what: str, given: str | None, known: Sequence[str], taken: Sequence[str] = ()
) -> str:
    """Return the column for one of ours. Raises InputError if there is none, or it is no text."""
    found = given or next((name for name in known if name in table.columns), None)
    has = f"the source has: {listing(table.columns)}"
    if found is None:
        example = next((name for name in table.columns if name not in taken), "NAME")
        raise InputError(
            f"{table.source}: there is no column {' or '.join(known[:3])}; {has}. "
            f"Say which one holds the {what}s, e.g. --{what} {example}"
        )
    if found not in table.columns:
        hint = nearest(found, table.columns)
        raise InputError(f"{table.source}: there is no column {found!r}{hint} ({has})")
    if what != "id" and is_nested(table.columns[found]):
        raise InputError(
            f"{table.source}: the column {found!r} holds lists or records, not texts; name another "
            f"one with --{what}"
        )
    return found


def _optional(table: Table, given: str | None, known: Sequence[str]) -> str | None:
    if given is None and not any(name in table.columns for name in known):
        return None
    return _column(table, "title", given, known)


def _refuse_key(table: Table, key: str, id: str, names: Sequence[str]) -> None:
    if id in names:
        raise InputError(f"{table.source}: the column {id!r} cannot hold the ids and the texts")
    if id != key and key in names:
        raise InputError(
            f"{table.source}: {option('id', id)}: there is a column {key} too, which holds ids by its "
            "name"
        )
