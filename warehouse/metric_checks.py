"""What must hold in a metric's file beside its keys: names that exist, parameters declared and used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from warehouse import templates
from warehouse.errors import DefinitionError, nearest
from warehouse.relations import PROTOCOL_VARIABLES, relation_variables

if TYPE_CHECKING:
    from warehouse.catalogue import Definition, Parameter

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# Words of the notation that stand for no metric: trec_eval's sets, and its line that is no number.
RESERVED = ("official", "set", "all_trec", "relstring")


def check_header(found: Definition) -> None:
    """Refuse a header whose parts do not fit each other."""
    where, names = found.where, [p.name for p in found.parameters]
    low, high = found.range
    if not low <= high:
        raise DefinitionError(f"{where}: range is [lowest, highest], not [{low:g}, {high:g}]")
    if found.at != "cutoff" and found.at not in names:
        raise DefinitionError(f"{where}: at: no parameter {found.at!r}{nearest(found.at, names)}")
    for p in found.parameters:
        _check_parameter(p, names, f"{where}: parameter {p.name}")
    for trec in found.trec_names:
        _known(trec.param, names, f"{where}: trec_eval.{trec.name}: param")
        for key in trec.given:
            _known(key, names, f"{where}: trec_eval.{trec.name}: given")
    for ranx in found.ranx_names:
        _known(ranx.fraction, names, f"{where}: ranx.{ranx.name}: fraction")
        for key in ranx.given:
            _known(key, names, f"{where}: ranx.{ranx.name}: given")


def _check_parameter(p: Parameter, names: list[str], where: str) -> None:
    if p.required and p.default is not None:
        raise DefinitionError(f"{where}: is required and has a default; it is one or the other")
    if p.type == "choice" and not p.choices:
        raise DefinitionError(f"{where}: a choice needs choices")
    _known(p.above, names, f"{where}: above")
    for value, needed in p.needs.items():
        if value not in p.choices:
            raise DefinitionError(f"{where}: needs: no choice {value!r}{nearest(value, p.choices)}")
        _known(needed, names, f"{where}: needs")
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
    """Refuse a template that does not use what its header declares, or uses more than that.

    `text` is the whole file: lines that errors name are counted in it. `types` are the types of the
    parameters that relations ask for.
    """
    where = found.where
    declared = {p.name for p in found.parameters}
    relations = templates.names_in("relations")
    macros = sorted(templates.environment().globals)
    if not found.body:
        raise DefinitionError(f"{where}: no SQL below the header")
    for name in sorted(declared):
        if name in macros or name in relations:
            what = "macro" if name in macros else "relation"
            raise DefinitionError(
                f"{where}: parameter {name}: the name of a {what}; choose another"
            )
    used = templates.variables(text, where)
    needed: dict[str, str] = {}
    for name in found.reads:
        if name not in relations:
            hint = nearest(name, relations) or f"; there are {', '.join(relations)}"
            raise DefinitionError(f"{where}: reads: no relation {name!r}{hint}")
        if name not in used:
            raise DefinitionError(
                f"{where}: reads {name}, and the SQL does not: write {{{{ {name} }}}}"
            )
        needed |= dict.fromkeys(relation_variables(name) - PROTOCOL_VARIABLES, name)
    for name in sorted(used - declared - set(found.reads)):
        if name in relations:
            raise DefinitionError(f"{where}: the SQL reads {name}: add it to reads")
        hint = nearest(name, [*declared, *relations, *macros]) or f"; declare it: [params.{name}]"
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
        raise DefinitionError(f"{where}: parameter {name}: declared, and the SQL does not use it")


def check_names(own: Iterable[Definition], others: Iterable[Definition]) -> None:
    """Refuse a project's metric that takes a name, of its own or of a peer, that is taken already."""
    taken = dict.fromkeys(RESERVED, "the notation")
    for one in others:
        taken |= {name.lower(): one.name for name in _names(one)}
    for one in own:
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
    """Return every name by which a metric is known."""
    return {
        found.name,
        *(alias.name for alias in found.names),
        *(ranx.name for ranx in found.ranx_names),
        *(trec.name for trec in found.trec_names),
    }
