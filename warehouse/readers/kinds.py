"""The kinds of rows that readers make, their columns, and notes on a source that was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast

from warehouse.errors import UsageError, nearest

if TYPE_CHECKING:
    from warehouse.readers.ir_metadata import Description

# The kinds of rows of a source. "iterations" are qrels with one judgment per iteration of a
# document.
Kind = Literal["run", "qrels", "iterations", "preferences", "training"]

# What a source may hold beside these: attributes of documents or queries, and one set of documents that
# is the ground truth of every query.
Contents = Kind | Literal["attributes", "documents"]
# The column that orders the documents of a run: the higher score, or the lower rank.
Ranking = Literal["score", "rank"]
# Names that the user gives for the columns of a source: {our name: their name}.
ColumnNames = Mapping[str, str]

# Our column names by kind; the optional ones come last.
COLUMNS: Mapping[Kind, tuple[str, ...]] = {
    "run": ("query_id", "doc_id", "score", "rank"),
    "qrels": ("query_id", "doc_id", "relevance", "iteration"),
    "iterations": ("query_id", "doc_id", "relevance", "iteration"),
    "preferences": ("query_id", "judgment_group", "judgment_subgroup", "doc_id", "level"),
    "training": ("query_id", "doc_id", "relevance"),
}

# The columns whose values must be unique together.
KEYS: Mapping[Kind, tuple[str, ...]] = {
    "run": ("query_id", "doc_id"),
    "qrels": ("query_id", "doc_id"),
    "iterations": ("query_id", "iteration", "doc_id"),
    "preferences": ("query_id", "judgment_group", "judgment_subgroup", "doc_id"),
    "training": ("query_id", "doc_id"),
}

# The column of the value; the other kinds have relevance.
VALUES: Mapping[Kind, str] = {"run": "score", "preferences": "level"}

# The subjects of attributes, and the column that names each.
Subject = Literal["document", "query"]
IDS: Mapping[Subject, str] = {"document": "doc_id", "query": "query_id"}

# The column that distinguishes runs staged together.
RUN_NUMBER = "run_number"

_QRELS_LAYOUT = "query iteration document relevance"
LAYOUT: Mapping[Kind, str] = {
    "run": "query Q0 document rank score tag",
    "qrels": _QRELS_LAYOUT,
    "iterations": _QRELS_LAYOUT,
    "preferences": "query group subgroup document level",
    "training": _QRELS_LAYOUT,
}

# A run may have more: as in trec_eval, its tag is the sixth, and the rest of the line is nothing.
FIELDS: Mapping[Kind, int] = {kind: len(layout.split()) for kind, layout in LAYOUT.items()}

_HAVE: Mapping[Kind, str] = {
    "run": "a run has",
    "qrels": "qrels have",
    "iterations": "qrels have",
    "preferences": "preferences have",
    "training": "a training set has",
}


@dataclass(frozen=True)
class Query:
    """Rows that SQL returns on the connection that reads them, and how to call them in messages."""

    sql: str
    name: str


@dataclass(frozen=True)
class Staged:
    """The rows that `stage` read into the temporary table `staged`.

    `source` is the path as given, `<stdin>` or a word for the object in memory; `source_sha256` is
    of the bytes after decompression, None for objects; `ranked_by` says what a run's column `score`
    holds (with "rank" lower is better), None for the other kinds; `tag` is the tag on the last line
    of a TREC run; `warnings` are sentences about the whole file, with counts; `normalise` is the
    expression that made the document ids, `relevance` that which made the grades, `where` the condition
    that chose the rows, and `repeated` the rule for those that repeat; `columns` are the names of a
    table's columns that were given, by ours; `about` is what the header of a run says of it; `value` is
    the column from which scores or relevances come, if it has a name. `is_view` says that `staged`
    is a view of the file; then `staged_key` has the hash of query and document of each row.
    """

    kind: Kind
    source: str
    format: str
    rows: int
    source_sha256: str | None
    ranked_by: Ranking | None
    tag: str | None
    warnings: tuple[str, ...]
    normalise: str | None = None
    relevance: str | None = None
    where: str | None = None
    repeated: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    about: Description | None = None
    value: str | None = None
    is_view: bool = False


def canonical_kind(kind: str) -> Kind:
    """Return the kind. Raises UsageError if there is no such kind."""
    if kind in COLUMNS:
        return cast(Kind, kind)
    raise UsageError(f"unknown kind {kind!r}{nearest(kind, COLUMNS)} (known: {', '.join(COLUMNS)})")


def column_mapping(kind: Kind, columns: Mapping[str, str] | None) -> dict[str, str]:
    """Return `{our name: their name}`; refuse a name of ours that the kind does not have."""
    if not isinstance(columns or {}, Mapping):
        raise UsageError(f"columns is a dict, not {columns!r}")
    mapping = dict(columns or {})
    for ours, theirs in mapping.items():
        if ours not in COLUMNS[kind]:
            known = ", ".join(COLUMNS[kind])
            raise UsageError(
                f"{_HAVE[kind]} no column {ours!r}{nearest(ours, COLUMNS[kind])} (known: {known})"
            )
        if not isinstance(theirs, str) or not theirs:
            raise UsageError(f"the column for {ours!r} must be a name, not {theirs!r}")
    return mapping


def columns_of(columns: Mapping[str, str] | None, *kinds: Kind) -> dict[Kind, dict[str, str]]:
    """Return the column names of each kind, from those given for several. Raises UsageError.

    >>> columns_of({"doc_id": "item", "score": "s"}, "qrels", "run")
    {'qrels': {'doc_id': 'item'}, 'run': {'doc_id': 'item', 'score': 's'}}
    """
    known = [name for kind in kinds for name in COLUMNS[kind]]
    for ours in columns or ():
        if ours not in known:
            have = ", ".join(dict.fromkeys(known))
            raise UsageError(
                f"no source has a column {ours!r}{nearest(ours, known)} (known: {have})"
            )
    return {
        kind: {ours: theirs for ours, theirs in (columns or {}).items() if ours in COLUMNS[kind]}
        for kind in kinds
    }
