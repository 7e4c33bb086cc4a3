"""Checks of a metric's file besides its keys: names exist, parameters are declared and used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from warehouse.errors import DefinitionError, nearest
from warehouse.metrics.aggregates import AGGREGATE, WEIGHT
from warehouse.metrics.parameters import Parameter
from warehouse.sql_text import functions, relations, templates

if TYPE_CHECKING:
    from warehouse.metrics.catalogue import Definition, RanxName, TrecName

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# How trec_eval writes a parameter's value in a name: as it is, or with a number of decimals.
_FORMAT = re.compile(r"\{(:\.\d{1,2}f)?\}")
# Words of the notation that are not metrics: trec_eval's sets, and its line that is not a number.
RESERVED = ("official", "set", "all_trec", "qrels_jg", "prefs", "all_prefs", "relstring")
# Columns that stand beside those of metrics, in what is shown and in the SQL that makes it.
COLUMNS = frozenset({
    "part", "place", "group", "run", "system", "answered", "judged", "name", "num_answered",
    "num_judged", "query_id", "retrieved", "relevant_retrieved", "relevant", "unjudged_at_10",
    "num_ret", "judged_at_10", "method", "weights",
})  # fmt: skip


def check_header(found: Definition) -> None:
    """Refuse a header with parts that contradict each other."""
    where, names = found.where, [p.name for p in found.parameters]
    low, high = found.range
    if not low <= high:
        raise DefinitionError(f"{where}: range is [lowest, highest], not [{low:g}, {high:g}]")
    if found.at != "cutoff" and found.at not in names:
        raise DefinitionError(f"{where}: at: no parameter {found.at!r}{nearest(found.at, names)}")
    for p in found.parameters:
        _check_parameter(p, names, f"{where}: parameter {p.name}")
    for trec in found.trec_names:
        _check_trec_name(trec, found, names, f"{where}: trec_eval.{trec.name}")
    for ranx in found.ranx_names:
        _known(ranx.fraction, names, f"{where}: ranx.{ranx.name}: fraction")
        _check_values(ranx, found, names, f"{where}: ranx.{ranx.name}")
    for key in found.other:
        if key in names:
            raise DefinitionError(
                f"{where}: other.{key}: is a parameter here; it is one or the other"
            )


def check_reads(names: Sequence[str], where: str) -> None:
    """Refuse unknown relations."""
    known = templates.names_in("relations")
    for name in names:
        if name not in known:
            hint = nearest(name, known) or f"; there are {', '.join(known)}"
            raise DefinitionError(f"{where}: reads: no relation {name!r}{hint}")


def _check_trec_name(trec: TrecName, found: Definition, names: list[str], where: str) -> None:
    for listed in ("numbers", "named"):
        for name in getattr(trec, listed):
            _known(name, names, f"{where}: {listed}")
    _check_values(trec, found, names, where)
    if not _FORMAT.fullmatch(trec.format):
        raise DefinitionError(f"{where}: format is {{}} or as {{:.2f}}, not {trec.format!r}")
    if trec.numbers and trec.param is not None:
        raise DefinitionError(f"{where}: lists numbers or a param; it is one or the other")
    listed_param = None if trec.param is None else found.parameter(trec.param)
    if trec.named and (listed_param is None or listed_param.type != "gains"):
        raise DefinitionError(f"{where}: named: stand among gains, and param is none of that type")


def _check_values(
    peer: TrecName | RanxName, found: Definition, names: list[str], where: str
) -> None:
    """Refuse a peer's name with an unknown parameter, or with values that it cannot have."""
    _known(peer.param, names, f"{where}: param")
    parameter = None if peer.param is None else found.parameter(peer.param)
    for value in peer.values:
        if parameter is None:
            raise DefinitionError(f"{where}: values: of no parameter; name it: param")
        try:
            parameter.read(str(value))
        except (ValueError, OverflowError) as error:
            raise DefinitionError(f"{where}: values: {error}") from None


def _check_parameter(p: Parameter, names: list[str], where: str) -> None:
    if p.required and p.default is not None:
        raise DefinitionError(f"{where}: is required and has a default; it is one or the other")
    if p.type == "choice" and not p.choices:
        raise DefinitionError(f"{where}: a choice needs choices")
    if p.choices and p.type != "choice":
        raise DefinitionError(f"{where}: choices are of the type choice, not of {p.type}")
    _known(p.above, names, f"{where}: above")
    for value, needed in p.needs.items():
        if value not in p.choices:
            raise DefinitionError(f"{where}: needs: no choice {value!r}{nearest(value, p.choices)}")
        _known(needed, names, f"{where}: needs")
    for value in p.at_most:
        if value not in p.needs:
            raise DefinitionError(
                f"{where}: at_most: {value!r} needs nothing{nearest(value, p.needs)}"
            )
    for name in p.replaces:
        _known(name, names, f"{where}: replaces")
    if p.default is None:
        return
    try:
        default = p.read(str(p.default))
    except (ValueError, OverflowError) as error:
        raise DefinitionError(f"{where}: default: {error}") from None
    if repr(default) != repr(p.default):
        raise DefinitionError(f"{where}: default: write {default!r}, not {p.default!r}")


def _known(name: str | None, names: Iterable[str], where: str) -> None:
    if name is not None and name not in names:
        raise DefinitionError(f"{where}: no parameter {name!r}{nearest(name, names)}")


def check_body(found: Definition, text: str, types: Mapping[str, str]) -> None:
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
    used = templates.variables(text, where)
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
        hint = nearest(name, [*declared, *known, *macros]) or f"; declare it: [params.{name}]"
        if name in functions.definitions():
            hint = f"; it is a function of the SQL: write {name}(...) without braces"
        raise DefinitionError(f"{where}: the SQL uses {name!r}, which is not declared{hint}")
    for name in sorted(set(needed) - declared):
        raise DefinitionError(
            f"{where}: reads {needed[name]}, which asks for a parameter {name!r}: "
            f"declare it: [params.{name}]"
        )
    for p in found.parameters:
        if p.name in needed and p.type != types[p.name]:
            raise DefinitionError(
                f"{where}: parameter {p.name}: {needed[p.name]} asks for one of type {types[p.name]}"
            )
    for name in sorted(declared - used - set(needed)):
        raise DefinitionError(f"{where}: parameter {name}: declared, but the SQL does not use it")


def _of_every_metric(found: Definition) -> set[str]:
    """Return the parameters that templates do not get, except one that pools on request."""
    return {WEIGHT} if found.pools == "asked" else {AGGREGATE, WEIGHT}


def check_other(own: Iterable[Definition], known: Mapping[str, Definition]) -> None:
    """Refuse references to another metric that does not exist or cannot read the value."""
    for one in own:
        for key, target in one.other.items():
            where = f"{one.where}: other.{key}"
            for name in [target] if isinstance(target, str) else target.values():
                if name not in known:
                    raise DefinitionError(f"{where}: no such metric {name!r}{nearest(name, known)}")
            # the parameter is read as one of the other metric
            if isinstance(target, str):
                _known(key, [p.name for p in known[target].parameters], f"{where}: {target}")


def check_names(own: Iterable[Definition], others: Iterable[Definition]) -> None:
    """Refuse a project's metric that takes an existing name, a metric's own or a peer's."""
    taken = dict.fromkeys(RESERVED, "the notation")
    for one in others:
        taken |= {name.lower(): one.name for name in _names(one)}
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
        taken |= {name.lower(): one.name for name in _names(one)}


def _names(found: Definition) -> set[str]:
    """Return every name of a metric."""
    return {
        found.name,
        *(alias.name for alias in found.names),
        *(ranx.name for ranx in found.ranx_names),
        *(trec.name for trec in found.trec_names),
    }
