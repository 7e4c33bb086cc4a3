"""The relations: steps that metrics share, one file each in `sql/relations`, with their headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from msgspec import Struct, field

from warehouse.sql_text import templates

# The settings of a protocol that relations use.
PROTOCOL_VARIABLES = frozenset(
    {
        "tie_order",
        "score_precision",
        "queries",
        "depth",
        "judged_only",
        "judged_only_first",
        "relevant_only",
        "grades",
        "exclude",
    }
)
# These, and whether a part of the documents is read, whether few predictions are of judged
# documents, whether the documents of predictions are numbers, and whether any scores are equal. All
# other variables are parameters of the metric.
EVALUATION_VARIABLES = PROTOCOL_VARIABLES | {"sliced", "sparse", "numbered", "tied"}
# The tables that an evaluation puts in scope, by the names that relations read them by, each with the
# need of a metric for which alone it is filled, if there is one.
SCOPE: Mapping[str, str | None] = {
    "scope_run": None,
    "scope_ranking": None,
    "scope_hit": None,
    "scope_judgment": None,
    "scope_query": None,
    "scope_document": None,
    "scope_part": None,
    "scope_prediction": "predictions",
    "scope_iteration": "iterations",
    "scope_preference": "preferences",
    "scope_training": "training",
    "scope_attribute": "attributes",
    "scope_query_attribute": "query_attributes",
    "scope_assignment": "assignments",
    "scope_citation": "citations",
}


class Relation(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A relation as its file defines it.

    An `inline` relation is computed where it is read, the others once for all readers. `params` are
    parameters of every metric that reads the relation, declared as in a metric's header; `optional`
    are parameters that a metric may have, None if it does not; `assumes` has values in place of None.
    Its SQL reads other relations, and the tables in `SCOPE`, by names in braces.
    """

    name: str
    summary: str
    grain: tuple[str, ...]
    reads: tuple[str, ...]
    inline: bool = False
    optional: tuple[str, ...] = ()
    assumes: dict[str, Any] = {}
    params: dict[str, dict[str, Any]] = field(default={}, name="param")
    body: str


@cache
def get(name: str) -> Relation:
    """Return a relation by its name.

    >>> get("hits").grain
    ('run_id', 'query_id', 'doc_id')
    """
    text = templates.source(f"relations/{name}")
    head = templates.header(text, f"sql/relations/{name}{templates.SUFFIX}")
    whole = {**head.record, "name": name, "body": templates.body(text)}
    return replace(head, record=whole).convert(Relation)


@cache
def variables(name: str) -> frozenset[str]:
    """Return the variables of a relation and of all that it reads, without names of tables."""
    relation = get(name)
    found = templates.variables(relation.body) - {*relation.reads, *SCOPE}
    for read in relation.reads:
        found |= variables(read)
    return frozenset(found)


@cache
def inherited_params(name: str) -> dict[str, Mapping[str, Any]]:
    """Return the parameters that a metric has because it reads a relation."""
    relation = get(name)
    found: dict[str, Mapping[str, Any]] = {**relation.params}
    for read in relation.reads:
        found |= inherited_params(read)
    return found


def defaults(name: str) -> dict[str, Any]:
    """Return the defaults of the parameters that a relation gives to its readers.

    >>> defaults("retrieved")
    {'judged_only': False, 'scope': 'part'}
    """
    params = inherited_params(name)
    return {key: spec["default"] for key, spec in params.items() if "default" in spec}
