"""The contents of the pages of protocols and of the schema, from the same source as the manual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from warehouse.analyze import listings, protocol_catalogue
from warehouse.metrics import protocols


@dataclass(frozen=True)
class Rule:
    """A rule of a protocol, and whether the default protocol has another."""

    name: str
    value: str
    differs: bool


@dataclass(frozen=True)
class About:
    """A protocol: what it is, and the rules that it has."""

    name: str
    summary: str
    rules: tuple[Rule, ...]


def all_protocols() -> list[About]:
    """Return the protocols with their rules, each compared with the default."""
    return [
        About(
            name,
            found.summary,
            tuple(
                Rule(rule, values[-1], bool(differs))
                for rule, differs, *values in protocol_catalogue.protocol_rules(
                    list(dict.fromkeys([protocols.DEFAULT, name]))
                )
                if values[-1]
            ),
        )
        for name, found in protocols.catalogue().items()
    ]


@dataclass(frozen=True)
class Column:
    """A column of a relation, its type, and its meaning."""

    column: str
    type: str
    comment: str | None


@dataclass(frozen=True)
class Relation:
    """A view, macro or table: `view` is its name; views and macros have an example."""

    kind: str
    view: str
    comment: str
    example: str | None
    columns: tuple[Column, ...]

    @property
    def is_table(self) -> bool:
        """Whether people rarely need it: it is in a schema of its own."""
        return "." in self.view


def relations(con: duckdb.DuckDBPyConnection) -> tuple[Relation, ...]:
    """Return the views, macros and tables of a file, as `Warehouse.schema` lists them."""
    found: dict[tuple[str, str], list[Sequence[str]]] = {}
    for row in listings.schema(con).fetchall():
        found.setdefault((row[0], row[1]), []).append(row)
    return tuple(
        Relation(
            kind, name, rows[0][4], rows[0][5],
            tuple(Column(*row[2:5]) for row in rows if row[2] is not None),
        )
        for (kind, name), rows in found.items()
    )  # fmt: skip
