"""The relations that metrics read: one file of `sql/relations` each, with what it asks for."""

from __future__ import annotations

from functools import cache
from typing import Any

from warehouse import templates

# What relations ask a protocol for. Whatever else they ask for is a parameter of the metric.
PROTOCOL_VARIABLES = frozenset({"queries", "depth", "judged_only"})


@cache
def relation(name: str) -> tuple[dict[str, Any], str, frozenset[str]]:
    """Return a relation's header, its template, and the names that the template asks for."""
    text = templates.source(f"relations/{name}")
    head = templates.header(text, f"sql/relations/{name}{templates.SUFFIX}")
    body = templates.body(text)
    return head, body, frozenset(templates.variables(body))


@cache
def relation_variables(name: str) -> frozenset[str]:
    """Return the variables of a relation and of all that it reads, relations' names left out."""
    head, _, used = relation(name)
    found = set(used) - set(head["reads"])
    for read in head["reads"]:
        found |= relation_variables(read)
    return frozenset(found)
