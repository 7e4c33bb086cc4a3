"""Slices: named partitions of a dataset's queries or documents, versioned and put in scope.

A slice is a name and an SQL expression over a row of attributes; its value is the part. Subjects
without attributes, or for which the expression is null, are in the part `not_included`.

While a part is evaluated, `scope_part (query_id)` or `scope_part (doc_id)` holds its members, and
the engine reads only that part: its judgments and its hits, and for documents ranks counted within
it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

import duckdb

from warehouse.config.settings import VERSION
from warehouse.errors import UsageError, command, counted, listing, nearest
from warehouse.evaluate.slice_columns import (
    ALIASES,
    IDS,
    PLURALS,
    attributes_of,
    check_scores,
    columns_read,
    counted_columns,
    subject_of,
)
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text import expressions
from warehouse.sql_text.expressions import Expression
from warehouse.sql_text.quoting import ident, literal
from warehouse.sql_text.templates import render
from warehouse.store.clock import Clock
from warehouse.store.database import ALIAS
from warehouse.store.engine_errors import in_words

REST = "not_included"
# With more parts than this, an id was probably used as an attribute.
MOST_PARTS = 1000
_GIVEN = re.compile(r"\s*(?P<name>[A-Za-z_][\w.-]*)\s*(?:=(?!=)\s*(?P<expression>.*))?", re.DOTALL)
_HINT = (
    "write a name, or one expression over attributes, as in "
    "length = case when words < 5 then 'short' else 'long' end or size = quantiles(words, 4)"
)
_OF_ALL_ROWS = frozenset({"quantiles", "mass"})


@dataclass(frozen=True)
class Slice:
    """A version of a slice; a new one has no id yet. Its members are in `slice_row`."""

    dataset: str
    name: str
    subject: str
    definition: str
    content_hash: str
    num_parts: int
    slice_id: int | None
    next_version: int
    # the SQL of the rows of the documents that nobody judged, null where other rows have a say
    _others: tuple[str, str] | None = None

    @property
    def id(self) -> str:
        """The column that holds the ids of its subjects."""
        return IDS[self.subject]

    @property
    def of_documents(self) -> bool:
        """Whether it is a partition of the documents."""
        return self.subject == "document"


class NotYetError(Exception):
    """The members of the slice `name` depend on values that are computed in the same call."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def resolve(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    given: str,
    qrels_id: int,
    protocol: Protocol,
    to_come: Collection[str] = (),
) -> Slice:
    """Return the slice of a dataset that a text names or defines, as of now.

    These qrels and the training set must be in scope. Raises UsageError for an unreadable
    definition, and NotYetError if it reads values of metrics that are still `to_come`.
    """
    name, text = _name_and_text(con, dataset, given)
    expression = _read(con, given, text)
    attributes = attributes_of(con, dataset)
    subject = subject_of(dataset, given, expression, attributes)
    named, counts = columns_read(expression, subject, attributes[subject])
    if not check_scores(con, given, expression, counts, dataset, qrels_id, protocol, to_come):
        raise NotYetError(name)
    subjects = partial(
        render, "slices/subjects",
        dataset=dataset, subject=subject, id=IDS[subject], qrels_id=qrels_id,
        protocol=protocol.name, attributes=named, counts=counts,
    )  # fmt: skip
    con.execute(subjects(known=True))
    alias = ALIASES[subject]
    expressions.bind(
        con, f"slice {given}", text, _HINT,
        table=f"slice_subject as {alias}", column=f"{alias}.slice_subject_id",
    )  # fmt: skip
    rows = partial(render, "slices/rows", expression=text, alias=alias, rest=REST)
    family = _family(con, text, alias)
    with expressions.errors_of(f"slice {given}"), in_words():
        con.execute(rows(table="slice_row", family=family))
    ((content, num_parts, all_in_rest),) = con.execute(
        render("slices/contents", rest=REST)
    ).fetchall()
    if all_in_rest:
        raise UsageError(
            f"slice {given}: gives null for all {PLURALS[subject]}; look at the attributes: "
            f"{command('attributes', dataset)}"
        )
    _check_number(given, num_parts)
    ((last, slice_id),) = con.execute(
        render("slices/stored", file=ALIAS),
        {
            "dataset": dataset,
            "name": name,
            "qrels_id": qrels_id,
            "protocol": protocol.name,
            "subject": subject,
            "definition": text,
            "content_hash": content,
        },
    ).fetchall()
    with_others = subject == "document" and not expression.has_window
    with_others = with_others and not expression.functions.keys() & _OF_ALL_ROWS
    return Slice(
        dataset, name, subject, text, content, num_parts,
        slice_id, next_version=last + 1,
        _others=(subjects(known=False), rows(table="other_row", family=family)) if with_others else None,
    )  # fmt: skip


def _check_number(given: str, num_parts: int) -> None:
    if num_parts > MOST_PARTS:
        raise UsageError(
            f"slice {given}: makes {num_parts:,} parts; {MOST_PARTS:,} at most, or is it an id? "
            "Cut a number into parts with quantiles(x, 4) or mass(x, 10)"
        )


def _name_and_text(con: duckdb.DuckDBPyConnection, dataset: str, given: str) -> tuple[str, str]:
    """Return name and expression of a slice; a name alone is a stored slice or an attribute."""
    found = _GIVEN.fullmatch(given)
    if found is None:
        raise UsageError(f"slice {given}: {_HINT}")
    name = found["name"]
    if found["expression"] is not None:
        return name, found["expression"].strip()
    rows = con.execute(
        "select slice.name, definition from slice join dataset using (dataset_id) "
        "where dataset.name = $dataset order by recency(made_at, content_hash)",
        {"dataset": dataset},
    ).fetchall()
    stored = {str(known): str(definition) for known, definition in rows}
    if name in stored:
        return name, stored[name]
    known = attributes_of(con, dataset)
    columns = {column for one in known.values() for column in one} | counted_columns()
    if name not in columns:
        hint = nearest(name, [*stored, *columns])
        names = f"; it has {listing(sorted([*stored, *columns]))}"
        raise UsageError(
            f"slice {name}: dataset {dataset} has no slice or attribute of that name{hint or names}; "
            f'define one, as in "{name} = EXPRESSION"'
        )
    return name, ident(name)


def _read(con: duckdb.DuckDBPyConnection, given: str, text: str) -> Expression:
    con.execute(render("slices/functions"))
    return expressions.read(con, f"slice {given}", text, _HINT, windows=True)


def _family(con: duckdb.DuckDBPyConnection, text: str, alias: str) -> str:
    described = con.execute(
        f"describe select ({text}\n) as part from slice_subject as {alias}"
    ).fetchall()
    return "real" if str(described[0][1]) in ("DOUBLE", "FLOAT") else "other"


def keep(con: duckdb.DuckDBPyConnection, found: Slice) -> int:
    """Return the id of a slice; a new one is stored with its members, which are in `slice_row`."""
    if found.slice_id is not None:
        return found.slice_id
    ((number, _),) = con.execute(
        render("slices/versions"),
        {
            "dataset": found.dataset,
            "name": found.name,
            "subject": found.subject,
            "definition": found.definition,
            "content_hash": found.content_hash,
            "num_parts": found.num_parts,
            "made_at": Clock(con).now(),
            "program_version": VERSION,
        },
    ).fetchall()
    con.execute(
        "insert into slice_member (slice_id, subject_id, part) "
        "select $id, subject_id, part from slice_row order by part, subject_id",
        {"id": number},
    )
    return int(number)


def add_others(con: duckdb.DuckDBPyConnection, found: Slice, protocol: Protocol) -> None:
    """Add documents and counting queries of the runs in scope that have no known attributes."""
    if not found.of_documents and protocol.queries == "run":
        con.execute(
            "insert into scope_member select distinct query_id, $rest from scope_ranking "
            "anti join scope_member using (query_id)",
            {"rest": REST},
        )
    if found._others is None:
        return
    for statement in found._others:
        con.execute(statement)
    con.execute("insert into scope_member from other_row")


def cut_qrels(con: duckdb.DuckDBPyConnection, found: Slice, rows: str) -> None:
    """Make `part_qrels` from the relation that holds the qrels: its rows, ordered by part."""
    con.execute(
        "create or replace temp table part_qrels as "
        f"select qrels.*, part from {rows} as qrels join scope_member using ({found.id}) order by part"
    )


def judged_in(part: str) -> str:
    """Return SQL of the relation that holds the qrels of one part."""
    return f"(select * exclude (part) from part_qrels where part = {literal(part)})"


def parts(con: duckdb.DuckDBPyConnection, found: Slice, protocol: Protocol) -> list[str]:
    """Return the parts to evaluate; members, document hits and whole qrels must be in scope."""
    sql = render("slices/parts", of_documents=found.of_documents, queries=protocol.queries)
    named = [str(row[0]) for row in con.execute(sql).fetchall()]
    _check_number(found.name, len(named))
    return named


def take_over(con: duckdb.DuckDBPyConnection, qrels_id: int, protocol: Protocol) -> frozenset[int]:
    """Copy the values of queries in the whole to their parts; return the ids of these metrics.

    This excludes pooled metrics: their values over a part are not aggregates of the queries'
    values.
    """
    con.execute(render("slices/query_scores"), {"qrels_id": qrels_id, "protocol": protocol.name})
    rows = con.execute(
        "select distinct metric_number from pending where aggregate <> 'pooled'"
    ).fetchall()
    return frozenset(int(row[0]) for row in rows)


def sentence(found: Slice) -> str:
    """Describe a new slice in one line."""
    version = f", version {found.next_version}" if found.next_version > 1 else ""
    what = f"{counted(found.num_parts, 'part')} of the {PLURALS[found.subject]}"
    return f"slice {found.name}{version}: {what}"
