"""A template: the file of a metric, a curve, a fusion method or a normalisation, as its header says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar

from msgspec import Struct, convert
from msgspec.structs import asdict

from warehouse.config import toml
from warehouse.config.key_paths import KeyPath
from warehouse.metrics import checks
from warehouse.metrics.header import Header, ParametrisedHeader, RanxTable, TrecTable
from warehouse.metrics.parameters import Declaration, Parameter, Value, parameter, read_values
from warehouse.sql_text import relations, templates

_T = TypeVar("_T", bound="Template")


class Function(Struct, frozen=True, kw_only=True):
    """A Python function that computes a metric's value from a ranking, with its source.

    `keywords` are the parameters of the metric that it takes.
    """

    call: Callable[..., object]
    source: str
    keywords: tuple[str, ...]


class Alias(Struct, frozen=True):
    """A name that a peer has for a metric, with the parameters that it fixes.

    `usual` holds the peer's own defaults of other parameters.
    """

    peer: str
    name: str
    fixed: dict[str, Value] = {}
    usual: dict[str, Value] = {}


class TrecName(TrecTable, frozen=True, kw_only=True):
    """A name that trec_eval has for a metric.

    `param` is the parameter that follows it as a list; each value is a metric of its own, by
    default the `values`. If the parameter is itself a list, or gains by grade, the whole list is
    one value. Among gains, the parameters in `named` may also be set (p=0.8). `numbers` are
    parameters listed in order; with `first`, further numbers are ignored. `given` holds values of
    other parameters implied by the name.
    """

    name: str


class RanxName(RanxTable, frozen=True, kw_only=True):
    """A name that ranx has for a metric, with the values that it implies.

    `fraction` is the parameter whose decimals are part of the name, as in `rbp.95`. A name with
    `param` stands for one metric for each of its `values`.
    """

    name: str


class Template(Struct, frozen=True, kw_only=True):
    """The definition in the file of a template.

    `reads` names relations, `aggregate` says how the values of the queries are combined, and
    `undefined` is the value of a query without one. `pools` says when the SQL returns, apart from the
    rows of the queries, a row for all of them: never, on request (asked) or always. `counts` says
    that it counts something, so that a sum of its values is a whole number. `function` computes the
    values from the rows of the SQL, which are then the lists of `graded_lists`. `other` has, by
    parameter, the other metric that peers mean by it: the metric's name for any value, which is
    kept, or names by value, which is dropped.
    """

    name: str
    title: str
    summary: str
    formula: str
    latex: str = ""
    reference: str = ""
    reads: tuple[str, ...] = ()
    direction: str = "none"
    aggregate: str = "mean"
    undefined: float | None = None
    parameters: tuple[Parameter, ...] = ()
    at: str = "cutoff"
    names: tuple[Alias, ...] = ()
    ranx_names: tuple[RanxName, ...] = ()
    trec_names: tuple[TrecName, ...] = ()
    other: dict[str, str | dict[str, str]] = {}
    body: str
    where: str
    is_own: bool = False
    pools: str = "never"
    counts: bool = False
    function: Function | None = None
    kind: ClassVar[str] = "template"

    @property
    def needs_cutoff(self) -> bool:
        """Whether it has no value without a cutoff."""
        cutoff = self.parameter("cutoff")
        return cutoff is not None and cutoff.required

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of that name, if there is one."""
        return next((p for p in self.parameters if p.name == name), None)


def source(folder: str, name: str) -> tuple[toml.Document, str]:
    """Return the header and the SQL of a template that ships with the package."""
    return parts(templates.source(f"{folder}/{name}"), f"sql/{folder}/{name}{templates.SUFFIX}")


def parts(text: str, where: str) -> tuple[toml.Document, str]:
    """Return the header and the SQL in the text of a template."""
    return templates.header(text, where), templates.body(text).rstrip("; \n")


def header_parameters(document: toml.Document, head: ParametrisedHeader) -> tuple[Parameter, ...]:
    """Return the parameters that a header and the relations that it reads declare."""
    own = [_parameter(document, name, one) for name, one in head.param.items()]
    checks.check_reads(getattr(head, "reads", ()), document)
    inherited: dict[str, Any] = {}
    for read in getattr(head, "reads", ()):
        inherited |= relations.inherited_params(read)
    of_relations = [
        _parameter(document, name, convert(one, Declaration), inherited=True)
        for name, one in inherited.items()
        if name not in head.param
    ]
    return (*own, *of_relations)


def _parameter(
    document: toml.Document, name: str, spec: Declaration, *, inherited: bool = False
) -> Parameter:
    try:
        return parameter(name, spec, inherited=inherited)
    except (ValueError, OverflowError) as error:
        raise document.error(("param", name, "default"), str(error)) from None


def template(
    kind: type[_T],
    document: toml.Document,
    head: Header,
    name: str,
    body: str,
    parameters: tuple[Parameter, ...] = (),
    **more: Any,
) -> _T:
    """Return the definition by a header and its SQL; `more` are fields that the header does not have."""
    known = kind.__struct_fields__
    given = {key: value for key, value in asdict(head).items() if key in known}
    if isinstance(head, ParametrisedHeader):
        more["names"] = tuple(_aliases(document, head, parameters))
        more["ranx_names"] = (
            *(RanxName(name=one) for one in head.names.get("ranx", ()) if isinstance(one, str)),
            *(
                RanxName(name=key, **_peer_table(document, ("ranx", key), one, parameters))
                for key, one in head.ranx.items()
            ),
        )
        more["trec_names"] = tuple(
            TrecName(name=key, **_peer_table(document, ("trec_eval", key), one, parameters))
            for key, one in head.trec_eval.items()
        )
    found = kind(
        **given
        | {"name": name, "body": body, "where": document.where, "parameters": parameters}
        | more
    )
    checks.check_header(found, document)
    return found


def _peer_table(
    document: toml.Document,
    path: KeyPath,
    table: TrecTable | RanxTable,
    parameters: Iterable[Parameter],
) -> dict[str, Any]:
    """Return the keys of a peer's name, with its values read like values of parameters."""
    return asdict(table) | {"given": _values(document, (*path, "given"), table.given, parameters)}


def _values(
    document: toml.Document,
    path: KeyPath,
    given: Mapping[str, Any],
    parameters: Iterable[Parameter],
) -> dict[str, Value]:
    try:
        return read_values(parameters, given)
    except (ValueError, OverflowError) as error:
        raise document.error(path, str(error)) from None


def _aliases(
    document: toml.Document, head: ParametrisedHeader, parameters: tuple[Parameter, ...]
) -> Iterable[Alias]:
    """Yield the names that peers have, each a string, or a table of `name` and what it fixes.

    The table `usual` in it has the peer's own defaults.
    """
    for peer, names in head.names.items():
        for number, given in enumerate(names, 1):
            path = ("names", peer, number)
            if isinstance(given, str):
                yield Alias(peer, given)
                continue
            if peer == "ranx":  # the values that its names fix are in a table of that name
                raise document.error(path, "is a table; write a string, and a table [ranx.NAME]")
            fixed = {key: value for key, value in given.items() if key not in ("name", "usual")}
            usual = given.get("usual", {})
            if not isinstance(given.get("name"), str) or not isinstance(usual, dict):
                raise document.error(path, "a table has a name and parameters, and a table usual")
            named = ("names", peer, given["name"])
            yield Alias(
                peer,
                given["name"],
                _values(document, named, fixed, parameters),
                _values(document, named, usual, parameters),
            )
