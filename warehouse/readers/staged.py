"""What a reader hands back, and the words of the formats."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import duckdb

from warehouse.errors import UsageError, nearest

Kind = Literal["run", "qrels"]

FORMATS = ("trec", "csv", "tsv", "jsonl", "parquet", "ranx")
ALIASES = {
    "json": "ranx",
    "ndjson": "jsonl",
    "jsonlines": "jsonl",
    "trec_eval": "trec",
    "pq": "parquet",
}
NAMED_COLUMNS = ("csv", "tsv", "jsonl", "parquet", "table")

# Our column names by kind; the ones that a table may go without come last.
COLUMNS: Mapping[Kind, tuple[str, ...]] = {
    "run": ("query_id", "doc_id", "score", "rank"),
    "qrels": ("query_id", "doc_id", "relevance", "iteration"),
}

LAYOUT: Mapping[Kind, str] = {
    "run": "query Q0 document rank score tag",
    "qrels": "query iteration document relevance",
}

# A run may have more: its tag takes the rest of the line, as for trec_eval.
FIELDS: Mapping[Kind, int] = {"run": 6, "qrels": 4}


@dataclass(frozen=True)
class Staged:
    """What `stage` read into the temporary table `staged`.

    `source` is the path as given, `<stdin>` or a word for the object in memory; `source_sha256` is
    of the bytes after decompression, None for objects; `ranked_by` says what a run's column `score`
    holds (with "rank" lower is better), None for qrels; `tag` is the tag on the last line of a TREC
    run; `warnings` are sentences about the whole file, with counts; `normalise` is the expression
    that made the document ids.
    """

    kind: Kind
    source: str
    format: str
    rows: int
    source_sha256: str | None
    ranked_by: Literal["score", "rank"] | None
    tag: str | None
    warnings: tuple[str, ...]
    normalise: str | None = None


def canonical_kind(kind: str) -> Kind:
    """Return the kind if it is one, else raise UsageError."""
    if kind == "run":
        return "run"
    if kind == "qrels":
        return "qrels"
    raise UsageError(f"unknown kind {kind!r}{nearest(kind, COLUMNS)} (known: run, qrels)")


def canonical_format(name: str) -> str:
    """Return the format's own name; aliases are read, unknown names refused with the nearest.

    >>> canonical_format("ndjson")
    'jsonl'
    """
    folded = name.lower()
    folded = ALIASES.get(folded, folded)
    if folded not in FORMATS:
        known = ", ".join(FORMATS)
        raise UsageError(f"unknown format {name!r}{nearest(folded, FORMATS)} (known: {known})")
    return folded


def checked_mapping(kind: Kind, columns: Mapping[str, str] | None) -> dict[str, str]:
    """Return `{our name: their name}`; a name of ours that the kind does not have is refused."""
    mapping = dict(columns or {})
    for ours, theirs in mapping.items():
        if ours not in COLUMNS[kind]:
            known = ", ".join(COLUMNS[kind])
            raise UsageError(
                f"{'a run has' if kind == 'run' else 'qrels have'} no column {ours!r}"
                f"{nearest(ours, COLUMNS[kind])} (known: {known})"
            )
        if not isinstance(theirs, str) or not theirs:
            raise UsageError(f"the column for {ours!r} must be a name, not {theirs!r}")
    return mapping


@contextlib.contextmanager
def file_order(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Keep the order of the source, whatever the connection is set to."""
    ((keeps,),) = con.execute("select current_setting('preserve_insertion_order')").fetchall()
    if keeps:
        yield
        return
    con.execute("set preserve_insertion_order = true")
    try:
        yield
    finally:
        with contextlib.suppress(duckdb.Error):
            con.execute("set preserve_insertion_order = false")
