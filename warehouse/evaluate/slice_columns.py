"""The columns that a slice can read: attributes, counts, and mean scores of queries or documents."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import duckdb

from warehouse.errors import UsageError, command, listing, nearest
from warehouse.metrics.notation import parse_one
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.expressions import Expression
from warehouse.sql_text.templates import render

IDS = {"query": "query_id", "document": "doc_id"}
ALIASES = {"query": "queries", "document": "docs"}
PLURALS = {"query": "queries", "document": "documents"}
# The counts of each subject, apart from its attributes, and their sources.
_COUNTS: dict[str, dict[str, tuple[str, ...]]] = {
    "query": {"num_relevant": (), "difficulty": ("mean_scores",)},
    "document": {"frequency": (), "training_frequency": ()},
}
_OF_SCORES = "mean_score"


def attributes_of(con: duckdb.DuckDBPyConnection, dataset: str) -> dict[str, dict[str, str]]:
    """Return the attributes of a dataset's queries and documents with their types."""
    found: dict[str, dict[str, str]] = {"query": {}, "document": {}}
    for subject, attribute, kind in con.execute(
        render("statements/current_attributes"), {"dataset": dataset}
    ).fetchall():
        found[str(subject)][str(attribute)] = str(kind)
    return found


def counted_columns() -> set[str]:
    """Return the names of all counts, of queries and of documents."""
    return {column for one in _COUNTS.values() for column in one}


def subject_of(
    dataset: str, given: str, expression: Expression, attributes: Mapping[str, Mapping[str, str]]
) -> str:
    """Return the subject of an expression: the one that has all of its columns."""
    known = {subject: {IDS[subject], *_COUNTS[subject], *attributes[subject]} for subject in IDS}
    folded = {subject: {name.lower() for name in names} for subject, names in known.items()}
    fitting = [
        subject
        for subject in IDS
        if all(_fits(column, ALIASES[subject], folded[subject]) for column in expression.columns)
        and not (subject == "document" and _OF_SCORES in expression.functions)
    ]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        what = "names no column" if not expression.columns else "fits queries and documents"
        raise UsageError(
            f"slice {given}: {what}; say which are meant by writing a column with its table, as in "
            "queries.query_id or docs.doc_id"
        )
    lacking = [
        column
        for column in expression.columns
        if not any(_fits(column, ALIASES[s], folded[s]) for s in IDS)
    ]
    if not lacking:
        raise UsageError(
            f"slice {given}: mixes columns of queries and of documents; a slice is of one of them"
        )
    hints = [
        f"no column {'.'.join(column)!r}{_nearest_column(column[-1], known)}" for column in lacking
    ]
    raise UsageError(
        f"slice {given}: {'; '.join(hints)}; dataset {dataset} has of queries "
        f"{listing(sorted(known['query']))}, of documents {listing(sorted(known['document']))}"
    )


def _nearest_column(name: str, known: Mapping[str, set[str]]) -> str:
    """Return a suggestion of the nearest column; a column of that very name needs its table."""
    for subject, names in known.items():
        if name in names:
            return f"; did you mean {ALIASES[subject]}.{name}?"
    return nearest(name, sorted(set().union(*known.values())))


def _fits(column: Sequence[str], alias: str, known: set[str]) -> bool:
    """Whether a column, written with or without its table, is one of these."""
    table, name = column[:-1], column[-1]
    if table and table[0].lower() != alias:
        # a field of a record is written the same way
        return len(column) > 1 and column[0].lower() in known
    return name.lower() in known and len(table) <= 1


def columns_read(
    expression: Expression, subject: str, attributes: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Return the attributes and counts that the rows of the subjects must have."""
    named = {part.lower() for column in expression.columns for part in column}
    used = {name: kind for name, kind in attributes.items() if name.lower() in named}
    counts: list[str] = []
    for name, read in _COUNTS[subject].items():
        if name in named and name not in {one.lower() for one in used}:
            counts += [one for one in (*read, name) if one not in counts]
    if _OF_SCORES in expression.functions and "mean_scores" not in counts:
        counts.append("mean_scores")
    return used, counts


def check_scores(
    con: duckdb.DuckDBPyConnection,
    given: str,
    expression: Expression,
    counts: Sequence[str],
    dataset: str,
    qrels_id: int,
    protocol: Protocol,
    to_come: Collection[str],
) -> bool:
    """Refuse metrics that the slice reads and of which no current run has values against the qrels.

    Returns whether the values of all are there; the values of the others are `to_come`.
    """
    named = expression.functions.get(_OF_SCORES, frozenset())
    named |= {"AP"} if "difficulty" in counts else frozenset()
    if not named:
        return True
    rows = con.execute(
        render("slices/scored"), {"qrels_id": qrels_id, "protocol": protocol.name}
    ).fetchall()
    stored = {str(row[0]) for row in rows}
    lacking = named - stored
    for name in sorted(lacking.difference(to_come)):
        try:
            metric = str(parse_one(name, defaults=protocol.defaults()).metric)
        except UsageError as error:
            raise UsageError(f"slice {given}: {error}") from None
        how = command(
            "evaluate", dataset,
            metrics=[metric], qrels=_older(con, qrels_id), protocol=protocol.name,
        )  # fmt: skip
        why = (
            f"no run of {dataset} has values of {metric} under protocol {protocol.name} yet: {how}"
        )
        if metric in stored or metric in to_come:
            why = f"values of {name} are stored as {metric}: write {_OF_SCORES}('{metric}')"
        raise UsageError(f"slice {given}: {why}")
    return not lacking


def _older(con: duckdb.DuckDBPyConnection, qrels_id: int) -> int | None:
    """Return the version of qrels that are not the newest of their dataset."""
    rows = con.execute(
        "select qrels_version from qrels_version where qrels_id = $id and not is_current",
        {"id": qrels_id},
    ).fetchall()
    return int(rows[0][0]) if rows else None
