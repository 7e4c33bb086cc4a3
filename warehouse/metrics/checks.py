"""Checks of a metric's file apart from its keys: names exist, parameters are declared and used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from warehouse.config import toml
from warehouse.config.key_paths import KeyPath
from warehouse.errors import DefinitionError, nearest
from warehouse.metrics.aggregates import AGGREGATE, NO_RELEVANT, WEIGHT
from warehouse.metrics.header import RanxTable, TrecTable
from warehouse.metrics.parameters import Parameter
from warehouse.sql_text import functions, relations, templates

if TYPE_CHECKING:
    from warehouse.metrics.template import Template

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# The macros by which a template writes its values as an expression: see `evaluate/plan.py`.
_WRITERS = frozenset({"value", "part", "summed", "fact"})
# Words of the notation that are not metrics: trec_eval's sets, and its line that is not a number.
RESERVED = ("official", "set", "all_trec", "qrels_jg", "prefs", "all_prefs", "relstring")
# Columns that stand next to columns of metrics, in what is shown and in the SQL that makes it.
COLUMNS = frozenset({
    "part", "place", "group", "run", "system", "answered", "judged", "name", "num_answered",
    "num_judged", "query_id", "retrieved", "relevant_retrieved", "relevant", "unjudged_at_10", "text",
    "num_ret", "judged_at_10", "method", "weights",
})  # fmt: skip


def check_header(found: Template, document: toml.Document) -> None:
    """Refuse a header with parts that contradict each other."""
    names = [p.name for p in found.parameters]
    if found.at != "cutoff":
        check_known(document, ("at",), found.at, names)
    for p in found.parameters:
        _check_parameter(p, names, document)
    for trec in found.trec_names:
        path: KeyPath = ("trec_eval", trec.name)
        for key in ("numbers", "named"):
            for name in getattr(trec, key):
                check_known(document, (*path, key), name, names)
        _check_values(trec, found, document, path)
        if trec.numbers and trec.param is not None:
            raise document.error(path, "lists numbers or a param; it is one or the other")
        listed = found.parameter(trec.param or "")
        if trec.named and (listed is None or listed.type != "gains"):
            raise document.error(path, "named: stand among gains, and param is none of that type")
    for ranx in found.ranx_names:
        path = ("ranx", ranx.name)
        check_known(document, (*path, "fraction"), ranx.fraction, names)
        _check_values(ranx, found, document, path)
    for key in found.other:
        if key in names:
            raise document.error(("other", key), "is a parameter here; it is one or the other")


def check_range(document: toml.Document, path: KeyPath, bounds: tuple[float, float]) -> None:
    """Refuse a range whose lowest value is not below its highest."""
    low, high = bounds
    if not low < high:
        problem = f"range is [lowest, highest], not [{low:g}, {high:g}]"
        raise document.error((*path, "range"), problem, path)


def check_reads(names: Iterable[str], document: toml.Document) -> None:
    """Refuse unknown relations."""
    known = templates.names_in("relations")
    for name in names:
        if name not in known:
            hint = nearest(name, known) or f"; there are {', '.join(known)}"
            raise document.error(("reads",), f"no relation {name!r}{hint}")


def check_known(
    document: toml.Document, path: KeyPath, name: str | None, names: Iterable[str]
) -> None:
    """Refuse the name of a parameter that does not exist."""
    known = list(names)
    if name is not None and name not in known:
        raise document.error(path, f"no parameter {name!r}{nearest(name, known)}")


def _check_values(
    peer: TrecTable | RanxTable, found: Template, document: toml.Document, path: KeyPath
) -> None:
    """Refuse a peer's name with an unknown parameter, or with values that it cannot have."""
    check_known(document, (*path, "param"), peer.param, (p.name for p in found.parameters))
    parameter = found.parameter(peer.param or "")
    if peer.values and parameter is None:
        raise document.error((*path, "values"), "of no parameter; name it: param")
    for value in peer.values:
        try:
            assert parameter is not None
            parameter.read(str(value))
        except (ValueError, OverflowError) as error:
            raise document.error((*path, "values"), str(error)) from None


def _check_parameter(p: Parameter, names: list[str], document: toml.Document) -> None:
    path = ("param", p.name)
    if p.required and p.default is not None:
        raise document.error(path, "is required and has a default; it is one or the other")
    if p.type == "choice" and not p.choices:
        raise document.error(path, "a choice needs choices")
    if p.choices and p.type != "choice":
        raise document.error(path, f"choices are of the type choice, not of {p.type}")
    check_known(document, (*path, "above"), p.above, names)
    for value, needed in p.needs.items():
        if value not in p.choices:
            hint = nearest(value, p.choices)
            raise document.error((*path, "needs"), f"no choice {value!r}{hint}")
        check_known(document, (*path, "needs"), needed, names)
    for value in p.at_most:
        if value not in p.needs:
            hint = nearest(value, p.needs)
            raise document.error((*path, "at_most"), f"{value!r} needs nothing{hint}")
    for value, others in p.excludes.items():
        if value not in p.choices:
            hint = nearest(value, p.choices)
            raise document.error((*path, "excludes"), f"no choice {value!r}{hint}")
        for name in others:
            check_known(document, (*path, "excludes"), name, names)
    for name in p.replaces:
        check_known(document, (*path, "replaces"), name, names)


def check_body(found: Template, text: str, types: Mapping[str, str]) -> None:
    """Refuse a template whose parameters differ from those that its header declares.

    `text` is the whole file, so that errors can name its lines. `types` are the types of the
    parameters that relations need.
    """
    where = found.where
    declared = {p.name for p in found.parameters} - _of_every_metric(found)
    known = templates.names_in("relations")
    macros = sorted(templates.environment().globals)
    if not found.body:
        raise DefinitionError(f"{where}: no SQL below the header")
    for name in sorted(declared):
        if name in macros or name in found.reads:
            what = "macro" if name in macros else "relation"
            raise DefinitionError(
                f"{where}: parameter {name}: the name of a {what}; choose another"
            )
    used = templates.variables(text, where) - _WRITERS
    needed: dict[str, str] = {}
    for name in found.reads:
        if name not in used:
            raise DefinitionError(
                f"{where}: reads {name}, but the SQL does not: write {{{{ {name} }}}}"
            )
        asked = relations.variables(name) - relations.EVALUATION_VARIABLES
        asked -= set(relations.get(name).optional) - declared
        needed |= dict.fromkeys(asked.union(relations.inherited_params(name)), name)
    for name in sorted(used - declared - set(found.reads)):
        if name in known:
            raise DefinitionError(f"{where}: the SQL reads {name}: add it to reads")
        hint = nearest(name, [*declared, *known, *macros]) or f"; declare it: [param.{name}]"
        if name in functions.definitions():
            hint = f"; it is a function of the SQL: write {name}(...) without braces"
        raise DefinitionError(f"{where}: the SQL uses {name!r}, which is not declared{hint}")
    for name in sorted(set(needed) - declared):
        raise DefinitionError(
            f"{where}: reads {needed[name]}, which asks for a parameter {name!r}: "
            f"declare it: [param.{name}]"
        )
    for p in found.parameters:
        if p.name not in needed:
            continue
        wanted = types[p.name]
        # whole grades are grades
        if p.type != wanted and (p.type, wanted) != ("integer", "grade"):
            raise DefinitionError(
                f"{where}: parameter {p.name}: {needed[p.name]} asks for one of type {wanted}"
            )
    for name in sorted(declared - used - set(needed)):
        raise DefinitionError(f"{where}: parameter {name}: declared, but the SQL does not use it")


def _of_every_metric(found: Template) -> set[str]:
    """Return the parameters that templates do not get, except one that pools on request."""
    ours = {NO_RELEVANT, WEIGHT}
    return ours if found.pools == "asked" else {AGGREGATE, *ours}


def check_other(one: Template, known: Mapping[str, Template]) -> None:
    """Refuse references to another metric that does not exist or cannot read the value."""
    for key, target in one.other.items():
        where = f"{one.where}: other.{key}"
        for name in [target] if isinstance(target, str) else target.values():
            if name not in known:
                raise DefinitionError(f"{where}: no such metric {name!r}{nearest(name, known)}")
        # the parameter is read as one of the other metric
        if isinstance(target, str) and known[target].parameter(key) is None:
            hint = nearest(key, [p.name for p in known[target].parameters])
            raise DefinitionError(f"{where}: {target}: no parameter {key!r}{hint}")


def names_of(others: Iterable[Template]) -> dict[str, str]:
    """Return every name that is taken, in lower case, with whose it is."""
    taken = dict.fromkeys(RESERVED, "the notation")
    for one in others:
        taken |= {name.lower(): one.name for name in _names(one)}
    return taken


def check_names(own: Iterable[Template], taken: dict[str, str]) -> None:
    """Refuse a template that takes an existing name, its own or a peer's; add its names to these."""
    for one in own:
        if one.name.lower() in COLUMNS - taken.keys():
            raise DefinitionError(
                f"{one.where}: tables of values have a column {one.name.lower()}; choose another name"
            )
        if not _NAME.fullmatch(one.name):
            raise DefinitionError(
                f"{one.where}: the file's name is the metric's: letters, digits and _, a letter first"
            )
        for name in _names(one):
            if name.lower() in taken:
                raise DefinitionError(
                    f"{one.where}: the name {name} is taken by {taken[name.lower()]}; choose another"
                )
        taken |= names_of([one])


def _names(found: Template) -> set[str]:
    """Return every name of a metric."""
    return {
        found.name,
        *(alias.name for alias in found.names),
        *(ranx.name for ranx in found.ranx_names),
        *(trec.name for trec in found.trec_names),
    }
